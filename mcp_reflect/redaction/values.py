"""Whether a value could be a secret, or is a name for one, a place for one, or a plain word."""

import re
from itertools import pairwise
from typing import Final

from mcp_reflect.redaction.marks import START

# What stands for a value: a reference, a place to fill in, a call's beginning.
_PLACE: Final = re.compile(
    r"<|\$|\{|%[A-Z_]+%|pk[._](?:eyJ|live|test)|%[({s]|\[|\*{2}|\.{3}|…|x{4}|X{4}|!vault|env[.:(\[]|os\.|process\.|secrets\.|vault:|file:|ref[:+]|op://|@"
    r"|(?i:your[_-]|my[_-]|change[_-]?me|redacted|example|placeholder|dummy|to-?do\b|n/a\b)"
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
_REFERENCE: Final = re.compile(r"[A-Za-z_$]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+[;,)]?$")
_TYPE: Final = re.compile(r"(?:[A-Z][a-z]+){1,4}$")
_PATH: Final = re.compile(r"(?:[A-Za-z]:)?[./~\\]|[a-z][a-z0-9+.-]{1,20}://|arn:|[a-z_.-]{2,40}/[\w.-]{1,40}$")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")

LONG: Final = 16  # characters from which on a value of mixed signs is taken for chance


def is_place(value: str) -> bool:
    """Whether it only stands for a value, or a secret was cut out of it already."""
    return START in value or bool(_PLACE.match(value)) or len(set(value)) <= 2


def is_said(value: str) -> bool:
    """Whether it is a word about a secret."""
    return value.strip(".,;:!?").lower() in _SAID


def is_reference(value: str) -> bool:
    """Whether it names a value: `self.password`, `/run/secrets/db`, `https://…`."""
    if _REFERENCE.match(value):
        return not any(len(part) >= LONG and _is_drawn_word(part) for part in value.split("."))
    return bool(_PATH.match(value))


def _is_drawn_word(part: str) -> bool:
    return any(map(str.isdigit, part)) and any(map(str.isupper, part)) and any(map(str.islower, part))


def is_type(value: str) -> bool:
    """Whether it is written as a type is: `SecretStr`."""
    return bool(_TYPE.match(value))


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
    if len(set(value)) < 6:
        return False
    return any(map(str.isdigit, value)) or is_mixed_case(value)


def is_mixed(value: str) -> bool:
    """Whether letters of both cases and digits stand in it, as chance puts them."""
    return sum(char.isdigit() for char in value) >= 2 and any(map(str.isupper, value)) and any(map(str.islower, value))


def is_mixed_case(value: str) -> bool:
    """Whether its case changes oftener than words written together change it."""
    turns = sum(one.islower() != other.islower() for one, other in pairwise(value))
    return turns >= len(value) / 3


def is_password(value: str) -> bool:
    """Whether it has what policies ask of a password: letters, and digits or signs among them."""
    letters = any(map(str.isalpha, value))
    return len(value) >= 6 and letters and any(char.isdigit() or char in "!@#$%^&*+=?~" for char in value)
