"""Whether a value could be a secret, or is a name for one, a place for one, or a plain word."""

import re
from itertools import pairwise
from typing import Final

from mcp_reflect.patterns import late
from mcp_reflect.redaction.marks import START

# What stands for a value: a reference, a place to fill in, a call's beginning.
_PLACE: Final = late(
    r"[,)\s]|<|\$|\{|ENC\[|Ag[A-D][A-Za-z0-9+/=]{80}|&#x3C;|&lt;|%{1,2}[\w.()]+%|%[a-z]\b|#\{|@@|__[A-Z]|![A-Za-z_]+$|pk[._](?:eyJ|live|test)|%[({s]|\[|\*{2}|\.{3}|…|x{4}|X{4}|!vault|env[.:(\[]|os\.|process\.|secrets\.|vault:|file:|ref[:+]|op://|@"
    r"|(?i:your[_-]|my[_-]|change[_-]?me|replace[_-]?|insert[_-]|enter[_-]|put[_-]your|redacted|not[_-]a[_-]real|example|placeholder|dummy|to-?do\b|n/a\b)"
)
# What is said about a secret rather than the secret: kinds of values, states, and words after a name in prose.
_SAID: Final = frozenset(
    """required optional missing invalid incorrect wrong valid empty string text str bytes int integer number boolean
    bool object array null none nil true false undefined unknown hidden secret password passwd passphrase pass token
    key value default test testing expired disabled enabled active inactive unset changed updated rotated revoked
    rejected refused accepted denied failed mismatch yes no on off auto any all not and the for from with without
    instead because reset prompt prompted input field type length strict never always bearer basic digest oauth
    argument option parameter variable together stored encrypted hashed plaintext protected configured provided
    needed must should could cannot does was were has have are will can may too only also then when where which
    identifier literal keyword operator punctuation comment newline whitespace private public readonly abstract
    username user admin login account email config settings environment function return await lambda async const
    interactive interactively hashing hunting reuse policy manager managers rotation strength""".split()
)
_REFERENCE: Final = late(r"[A-Za-z_$]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+[;,)]?$")
_TYPE: Final = late(r"(?:[A-Z][a-z]+){1,4}$")
_PATH: Final = late(
    r"(?:[A-Za-z]:)?[./~\\]|[a-z][a-z0-9+.-]{1,20}://|arn:|[a-z_.-]{2,40}/[\w.-]{1,40}$"
    r"|[\w.-]{1,80}(?:/[\w.-]{1,80}){1,12}\.[a-z]{1,5}$"
)
_HELD: Final = late(
    r"(?i)pass|secret|token|key|pwd|conf|setting|env|value|cred|auth|param|prop|resource|option|variable|string|util|const"
    r"|context|request|response|user|app|data|type|file|service|manager|provider|client|model|form|input|state"
)
_VERSIONED: Final = late(r"[a-z][a-z0-9/-]*(?::latest|/versions/\w+)$|[a-z_-]+:[a-z/._#:-]+$")
_UUID: Final = late(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")

LONG: Final = 16  # characters from which on a value of mixed signs is taken for chance


def is_place(value: str) -> bool:
    """Whether it only stands for a value, or a secret was cut out of it already."""
    return (
        START in value or bool(_PLACE.match(value)) or len(set(value)) <= 2 or is_example(value) or _is_made_up(value)
    )


# Parts of values that are made up, and those that say so
_ABOUT: Final = frozenset(
    """a access admin any api app auth be before bit client database db default dev for goes here id in is jwt key
    local my new not of old only pass passphrase passwd password prod production random real root secret secure
    session some string strong super the this to token use user value with""".split()
)
_MADE_UP: Final = frozenset(
    "change demo dummy enter example fake fill here insert mock new old put replace sample test your".split()
)
_ASKS: Final = late(r"(?i)change[_-]?me|placeholder|your[_-][a-z]")
_SEQUENCE: Final = late(r"01234567|12345678|abcdefgh|ABCDEFGH|deadbeefdeadbeef")


def _is_made_up(value: str) -> bool:
    """Whether it names itself, counts up, or says with words that it only stands for a secret: `fake_key_1`."""
    if value.lower() in ("password", "passwd", "secret", "token", "pass", "apikey", "api_key"):
        return True
    if len(value) >= 20 and _SEQUENCE.search(value):
        return True
    if _ASKS.search(value):
        return True
    parts = [part for part in re.split(r"[-_ ]", value.lower()) if part and not part.isdigit()]
    known = [part for part in parts if part in _ABOUT or part in _MADE_UP or part in ("abc123", "256")]
    if len(parts) < 2 or len(known) < len(parts):
        return False
    return len(parts) >= 3 or any(part in _MADE_UP for part in parts)


# Keys that documents show, and nobody uses: jwt.io's, Stripe's, reCAPTCHA's for tests, those of RFC 6750 and 7617.
_SHOWN: Final = ("SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c", "4eC39HqLyjWDarjtT1zdp7dc", "6LeIxAcTAAAAA",
                  "QWxhZGRpbjpvcGVuIHNlc2FtZQ", "mF_9.B5f-4.1JqM", "dXNlcjpwYXNz")  # fmt: skip


def is_example(value: str) -> bool:
    """Whether a key says of itself that it is an example, as those of AWS's documents do, or is known as one."""
    return "EXAMPLE" in value or any(one in value for one in _SHOWN)


def is_said(value: str) -> bool:
    """Whether it is a word about a secret."""
    return value.strip(".,;:!?").lower() in _SAID


def is_reference(value: str) -> bool:
    """Whether it names a value: `self.password`, `/run/secrets/db`, `https://…`, `projects/8/secrets/x:latest`."""
    if _VERSIONED.match(value):
        return True
    if value.count("/") < _FEW and is_key(value):  # base64 may begin with a slash
        return False
    if _REFERENCE.match(value):
        if all(part[:1].isupper() for part in value.split(".")) and not _HELD.search(value):
            return False  # two words, and no attribute of anything that holds secrets
        return not any(len(part) >= LONG and _is_drawn_word(part) for part in value.split("."))
    return bool(_PATH.match(value))


def _is_drawn_word(part: str) -> bool:
    return any(map(str.isdigit, part)) and any(map(str.isupper, part)) and any(map(str.islower, part))


def is_type(value: str) -> bool:
    """Whether it is written as a type is: `SecretStr`."""
    return bool(_TYPE.match(value)) and (not value[1:].islower() or len(value) < LONG_WORD or bool(_HELD.search(value)))


LONG_WORD: Final = 9  # letters of a word that is hardly a type's


def is_chance(value: str) -> bool:
    """Whether it looks drawn by chance: long, with digits among letters, and no words in it."""
    if len(value) < LONG or is_reference(value):
        return False
    if _UUID.match(value):
        return True
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    if not digits:  # as few as one of some 400 values of 24 characters of chance
        return len(value) >= 24 and is_mixed_case(value) and not re.search(r"[-_. ]", value)
    return letters > 0 and digits + letters >= 0.8 * len(value)


def is_drawn(value: str) -> bool:
    """Whether what follows a provider's letters was drawn by chance, and is no word or repeated sign."""
    different = len(set(value))
    if different < 6:
        return False
    return any(map(str.isdigit, value)) or is_mixed_case(value) or (value.isupper() and different >= 8)


def is_mixed(value: str) -> bool:
    """Whether letters of both cases and digits stand in it, as chance puts them."""
    return sum(char.isdigit() for char in value) >= 2 and any(map(str.isupper, value)) and any(map(str.islower, value))


def is_mixed_case(value: str) -> bool:
    """Whether its case changes oftener than words written together change it."""
    turns = sum(one.islower() != other.islower() for one, other in pairwise(value))
    return turns >= len(value) / 3


_FEW: Final = 4
_OF_KEY: Final = late(r"[A-Za-z0-9+/_=]{32,200}$")


def is_key(value: str) -> bool:
    """Whether it is a key though its name says no more than `key`: long, and drawn from letters of both cases."""
    return bool(_OF_KEY.match(value)) and is_mixed(value) and is_mixed_case(value)


def is_salt(value: str) -> bool:
    """Whether it is drawn from all that a keyboard has, spaces too, as the salts of WordPress are."""
    signs = {char for char in value if not char.isalnum()}
    return (
        len(value) >= 32
        and len(signs) >= 3
        and value.count(" ") * 10 < len(value)
        and is_mixed(value)
        and not _PATH.match(value)
    )


def is_password(value: str) -> bool:
    """Whether it has what policies ask of a password: letters, and digits or signs among them."""
    letters = any(map(str.isalpha, value))
    return len(value) >= 6 and letters and any(char.isdigit() or char in "!@#$%^&*+=?~" for char in value)
