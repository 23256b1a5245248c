"""What a place of a secret is, and what a value must be to be one there."""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from mcp_reflect.redaction.marks import compiled
from mcp_reflect.redaction.values import is_chance, is_mixed, is_password, is_place, is_reference, is_said


class Place(NamedTuple):
    """A kind of secret: the words (in lower case) that its pattern begins with, the pattern, what a value must be.

    The pattern's group `secret` is what goes.
    """

    kind: str
    words: tuple[str, ...]
    pattern: str
    fits: Callable[[str], bool]


class Family(NamedTuple):
    """Places of which none is in a text without one of the gate's words."""

    gate: tuple[str, ...]
    places: tuple[Place, ...]


def family(*places: Place) -> Family:
    """Places without a gate of their own: what begins one of their patterns opens it."""
    return Family(tuple(dict.fromkeys(word for one in places for word in one.words)), places)


def anything(value: str) -> bool:
    """Whatever does not only stand for a value."""
    return not is_place(value)


def word(value: str) -> bool:
    """A word that is not one about secrets."""
    return not is_place(value) and not is_said(value)


def strong(value: str) -> bool:
    """What policies ask of a password."""
    return not is_place(value) and is_password(value)


def chance(value: str) -> bool:
    """What was drawn by chance; with a class of characters in it, it is a pattern."""
    return not is_place(value) and "[" not in value and (is_chance(value) or is_mixed(value))


def credential(value: str) -> bool:
    """What follows a scheme of authorization: long, or with a digit, or padded."""
    if is_place(value) or _FIELD.match(value):
        return False
    return len(value) >= 8 and (is_password(value) or len(value) >= 24)


def token(value: str) -> bool:
    """A credential with a digit, or padded."""
    return credential(value) and ("=" in value or any(map(str.isdigit, value)))


_FIELD: Final = re.compile(r"[A-Za-z_]{2,20}=")  # of a header that names its parts


def place(kind: str, words: tuple[str, ...], pattern: str, fits: Callable[[str], bool]) -> Place:
    """A place of a secret."""
    return Place(kind, words, pattern, fits)


def drawn(value: str) -> bool:
    """Chance, or a password that is no path and no name."""
    return chance(value) or (strong(value) and not is_reference(value))


def in_prose(value: str) -> bool:
    """A password as it stands among words: letters with a digit or a sign within, and no path, name or place."""
    if not 5 <= len(value) <= 100 or is_place(value) or is_said(value) or is_reference(value):
        return False
    inner = value.strip(".,;:!?()")
    letters = any(map(str.isalpha, inner))
    digits = any(map(str.isdigit, inner))
    signs = any(char in "!@#$%^&*+=?~_" for char in inner)
    return letters and (digits or signs) and not _SPOKEN.match(inner)


_SPOKEN: Final = re.compile(
    r"(?:\d{1,3}(?:st|nd|rd|th|s|x|ms|min|h|kb|mb|gb|%)|v?\d+(?:\.\d+)+\w{0,8}|[A-Z]{2,6}-?\d{1,5}|(?:base|sha|md|utf-?|rsa|aes"
    r"|ipv?|oauth|http/?|x|tls|bcrypt|argon)-?\d{1,4}\w{0,6}(?:[-_]\w{1,10}){0,3}|\d{4}-\d{2}-\d{2}.{0,20}|[a-z]+_[a-z_]+|[\w.]+\(.*|[a-z_]+=[\w-]*|scram-.*)$",
    re.IGNORECASE,
)


def spans(text: str, folded: str, families: tuple[Family, ...]) -> list[tuple[int, int, str]]:
    """Where secrets stand at the places of the families: start, end, kind; `folded` is the text's lower case."""
    found: list[tuple[int, int, str]] = []
    for family in families:
        if [one for one in family.gate if one in folded]:  # quicker than any(): mostly none is there
            for one in family.places:
                found += _spans(text, folded, one)
    return found


def _spans(text: str, folded: str, one: Place) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    pattern = compiled(one.pattern, re.IGNORECASE)
    for start in one.words:
        at = folded.find(start)
        while at >= 0:
            match = pattern.match(text, at)
            if match and one.fits(match["secret"]):
                found.append((*match.span("secret"), one.kind))
            at = folded.find(start, at + len(start))
    return found
