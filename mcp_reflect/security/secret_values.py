"""The values of secrets: which text can be one, and which only stands for one, names one or speaks of one."""

import re
from functools import cache
from itertools import pairwise
from typing import Final, TypeAlias

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.secret_tables import pattern_of, words_of

START: Final = "[redacted:"
_WORDS: Final = "secret_words.txt"

Secret: TypeAlias = tuple[int, int, str]
"""Where a secret stands in a text: start, end, kind."""

Span: TypeAlias = tuple[int, int]
"""A part of a text: start, end."""


def mark(kind: str) -> str:
    """Return the text that takes the place of a secret of that kind."""
    return f"{START}{kind}]"


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return the compiled pattern of a row of a table, when it is first needed."""
    return re.compile(pattern, flags)


def _stand_ins(kind: str) -> str:
    return pattern_of("secret_stand_ins.txt", kind)


_PLACEHOLDER: Final = lazy_compile(lambda: _stand_ins("placeholder"))
# It asks to be filled in, or is masked: `gho_********`
_ASKS: Final = lazy_compile(
    r"(?i)\*{5}|[•●]{3}|x{8}|change[_-]?me(?!\d+[^\W\d])|placeholder|your[_-][a-z]|\$2[abxy]\$\d\d\$"
)
# Example keys of documents, which are not in use: jwt.io's, Stripe's, reCAPTCHA's for tests, those of RFC 6750 and 7617
_SHOWN: Final = (
    "EXAMPLE",
    "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    "4eC39HqLyjWDarjtT1zdp7dc",
    "6LeIxAcTAAAAA",
    "QWxhZGRpbjpvcGVuIHNlc2FtZQ",
    "mF_9.B5f-4.1JqM",
    "dXNlcjpwYXNz",
)
_ATTRIBUTE: Final = lazy_compile(
    r"[A-Za-z_$]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+[;,)]?\*{0,2}(?:$|(?= [a-z]))"  # `var.x in main.tf`
)
_PATH: Final = lazy_compile(lambda: _stand_ins("path"))
_FOLDER: Final = lazy_compile(r"(?:~|\.{1,2})?(?:/[\w.-]{1,40}){2,12}/?$")
_SETTING: Final = lazy_compile(  # at most three digits
    r"(?!(?:\D*\d){4})(?:[a-z]{2,16}|[A-Z]{2,16})"
    r"(?:[-_.:/](?:(?:[a-z]{1,16}|[A-Z]{1,16})\d{0,3}|\d{1,3}[a-z]?)){1,5}$"
)
_UUID: Final = lazy_compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_BASE64: Final = lazy_compile(r"[A-Za-z0-9+/_=]{32,200}$")
# Numbers, sizes, versions, dates, algorithms, names with underscores, calls and arguments: words of prose, no passwords
_SPOKEN: Final = lazy_compile(lambda: rf"(?:{_stand_ins('spoken')})$", re.IGNORECASE)
RANDOM_LENGTH: Final = (
    16  # characters from which on a value of mixed signs is taken for a random one
)


def is_example(value: str) -> bool:
    """True if a key calls itself an example, as those of AWS's documents do, or is known as one."""
    return any(shown in value for shown in _SHOWN)


def is_placeholder(value: str) -> bool:
    """True if a value only stands for a secret, or a secret was cut out of it already."""
    return (
        START in value
        or bool(_PLACEHOLDER.match(value))
        or len(set(value)) <= (3 if len(value) >= RANDOM_LENGTH else 2)
        or is_example(value)
        or bool(_ASKS.search(value))
    )


def is_said(value: str) -> bool:
    """True for a word about secrets."""
    word = value.strip(".,;:!?").lower()
    return word in words_of(_WORDS, "about") or word in words_of(_WORDS, "function")


def is_state(value: str) -> bool:
    """True for a word that a sentence or a label says of a secret: `wrong`, `here`, `leer`, `eingeben`."""
    return value.strip(".,;:!?").lower() in words_of(_WORDS, "state") or is_label(value)


def is_reference(value: str) -> bool:
    """True for the name of a value: `self.password`, `/run/secrets/db`, `https://…`, `projects/8/secrets/x:latest`."""
    if _ATTRIBUTE.match(value):
        parts = value.split(".")
        return not any(len(part) >= RANDOM_LENGTH and is_mixed(part) for part in parts)
    return bool(_PATH.match(value)) and not (
        value.count("/") < 4 and is_key(value)
    )  # base64 may begin with a slash


def is_dotted_word(value: str) -> bool:
    """True for two or three words with dots between them, and no attribute of an object: `Quitte.Marmelade`."""
    parts = [part.lower() for part in value.split(".")]
    if not 2 <= len(parts) <= 3 or not all(part.isalnum() and len(part) > 2 for part in parts):
        return False
    is_attribute = parts[0] in words_of(_WORDS, "owner") or parts[-1] in words_of(_WORDS, "member")
    return not is_attribute and "pass" not in value.lower()


_TYPE: Final = lazy_compile(
    r"(?:(?:[A-Z][a-z]{1,12}){1,4}(?:String|Str|Text|Type|Option|Bytes|Value|Field)"
    r"|&(?:'\w{1,20})?(?:str|String|\[u8\]|Secret\w{0,20}))[)>,]{0,3}$"
)


def is_type(value: str) -> bool:
    """True for the type of a field or an argument in code: `SecretStr`, `CharField`, `&str`."""
    return bool(_TYPE.match(value))


def is_folder(value: str) -> bool:
    """True for the path of a file or folder that begins at the root, at home or here: `/srv/app2`, `~/work`."""
    return bool(_FOLDER.match(value)) and not is_key(value)


def is_setting(value: str) -> bool:
    """True for words joined by signs, with short numbers: `basic-v2`, `scram-sha-256`, `aes-256-gcm`."""
    return bool(_SETTING.match(value))


def is_mixed(value: str) -> bool:
    """True if letters of both cases and at least two digits stand in a value."""
    return (
        sum(map(str.isdigit, value)) >= 2
        and any(map(str.isupper, value))
        and any(map(str.islower, value))
    )


def is_mixed_case(value: str) -> bool:
    """True if the case changes more often than in words that are joined."""
    turns = sum(one.islower() != other.islower() for one, other in pairwise(value))
    return turns > len(value) / 3


def is_key(value: str) -> bool:
    """True for a long value of mixed letters and digits: a key even where its name says no more than `key`."""
    return bool(_BASE64.match(value)) and is_mixed(value) and is_mixed_case(value)


def is_drawn(value: str) -> bool:
    """True if the rest of a provider's key is neither a word nor a repeated character."""
    different = len(set(value))
    if different < 6:
        return False
    return (
        any(map(str.isdigit, value)) or is_mixed_case(value) or (value.isupper() and different >= 8)
    )


def is_random(value: str) -> bool:
    """True for a long value that looks random: digits among letters, and no words."""
    if len(value) < RANDOM_LENGTH or " " in value or is_reference(value) or is_setting(value):
        return False
    if _UUID.match(value):
        return True
    digits = sum(map(str.isdigit, value))
    letters = sum(map(str.isalpha, value))
    if not digits:  # one of some 400 random values of 24 characters has none
        return len(value) >= 24 and is_mixed_case(value) and not re.search(r"[-_. ]", value)
    return letters > 0 and digits + letters >= 0.8 * len(value)


def is_password(value: str) -> bool:
    """True if a value has what policies ask of a password: letters, and digits or signs among them."""
    letters = any(map(str.isalpha, value))
    return (
        len(value) >= 6
        and letters
        and any(char.isdigit() or char in "!@#$%^&*+=?~" for char in value)
    )


# What the value at a place has to be, from the loosest to the strictest


def word(value: str) -> bool:
    """True for a word that is not one about secrets."""
    return not is_placeholder(value) and not is_said(value)


def random(value: str) -> bool:
    """True for a random value; with a class of characters in it, it is a pattern."""
    return not is_placeholder(value) and "[" not in value and (is_random(value) or is_mixed(value))


def drawn(value: str) -> bool:
    """True for a random value, or one that keeps a policy of passwords and is neither a path nor a name."""
    return random(value) or (
        is_password(value) and not is_placeholder(value) and not is_reference(value)
    )


def credential(value: str) -> bool:
    """True for the word behind a scheme of authorization: a strong or long one, and no field of a header."""
    if is_placeholder(value) or re.match(r"[A-Za-z_]{2,20}=[^=]", value):
        return False
    return len(value) >= 8 and (is_password(value) or len(value) >= 24)


def in_prose(value: str) -> bool:
    """True for a password among words: letters with a digit or a sign among them, and no path, name or place."""
    if not 5 <= len(value) <= 100 or is_placeholder(value) or is_said(value) or is_reference(value):
        return False
    if is_type(value):
        return False
    inner = value.strip(".,;:!?()")
    signs = any(char.isdigit() or char in "!@#$%^&*+=?~_" for char in inner)
    return (
        signs
        and any(map(str.isalpha, inner))
        and not _SPOKEN.match(inner)
        and not value[-1].isspace()
    )


def strange(value: str) -> bool:
    """True for a password that stands beside its name without a word between: both cases, and digits or signs."""
    signs = any(char in "!@#$%^&*+?~" for char in value)
    digits = sum(map(str.isdigit, value))
    cases = any(map(str.islower, value)) and any(map(str.isupper, value))
    enough = signs or digits >= 2 or (digits > 0 and len(value) >= 12)
    return len(value) >= 8 and cases and enough and in_prose(value)


def alone(value: str) -> bool:
    """True for a secret that stands alone in the line behind its name."""
    return not is_placeholder(value) and (is_random(value) or strange(value))


# Values of several words, and of one word that a person chose

_MOST_WORDS: Final = 8
# The name of a secret or of a header, as constants hold them: `refresh_token`, `X-Api-Key`
_NAME: Final = lazy_compile(
    r"(?i)(?:[a-z]+[-_]+){1,6}(?:token|secret|key|password|id|auth)s?$|(?:x-)?[a-z]+-(?:token|key)$"
)


def is_own_word(value: str) -> bool:
    """True for one word that only stands for itself: no place to fill in, reference, state or word about secrets."""
    if is_placeholder(value) or is_reference(value) or value.isdigit():
        return False
    if _NAME.match(value):
        return False
    return not is_said(value) and not is_state(value)


def is_phrase(value: str, *, may_have_glue: bool) -> bool:
    """True for words that can be a secret, and are no label, message or remark about one.

    A word that holds sentences together may stand in a phrase only where a format says that all of it is the value.
    """
    words = value.split()
    if not 2 <= len(words) <= _MOST_WORDS or is_placeholder(value) or "://" in value:
        return False
    if _is_code(value) or is_reference(value) or (len(words) > 2 and value[-1] in ".?:…"):
        return False
    return not any(_tells(word, may_have_glue=may_have_glue) for word in words)


def is_sentence(value: str) -> bool:
    """True for three words and more of which only the first has a capital: `Clear words used`."""
    words = value.split()
    return (
        len(words) > 2
        and value[0].isupper()
        and value[1:].islower()
        and value.replace(" ", "").isalpha()
    )


_CODE: Final = lazy_compile(
    r"[(){}\[\]<>|]|=>|==|\w=|->|\s[-+*/%]\s|\$\w|&&|\|\||;.|^--|\s-{1,2}[A-Za-z]|^[/.~]|%[sd]\b"
)


def _is_code(value: str) -> bool:
    return _CODE.search(value) is not None


def _tells(word: str, *, may_have_glue: bool) -> bool:
    """True for a word that speaks of secrets, or that holds a sentence together where none may stand."""
    if is_label(word):
        return True
    plain = word.strip(".,;:!?\"'()").lower()
    if plain in words_of(_WORDS, "about"):
        return True
    if may_have_glue:
        return False
    return plain in words_of(_WORDS, "state") or plain in words_of("secret_cues.txt", "glue")


def is_label(word: str) -> bool:
    """True for a word of labels, messages and descriptions: `enter`, `characters`, `eingeben`."""
    return word.strip(".,;:!?\"'()").lower() in words_of(_WORDS, "label")
