"""What a place of a secret is, and what a value must be to be one there."""

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from mcp_reflect.patterns import late
from mcp_reflect.redaction.marks import compiled
from mcp_reflect.redaction.values import is_chance, is_mixed, is_password, is_place, is_reference, is_said


class Place(NamedTuple):
    """A kind of secret: the words (in lower case) that its pattern begins with, the pattern, what a value must be.

    The pattern's group `secret` is what goes. Where `needs` has texts, one of them must be in the text too.
    """

    kind: str
    words: tuple[str, ...]
    pattern: str
    fits: Callable[[str], bool]
    needs: tuple[str, ...] = ()


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


_FIELD: Final = late(r"[A-Za-z_]{2,20}=")  # of a header that names its parts


def drawn(value: str) -> bool:
    """Chance, or a password that is no path and no name."""
    return chance(value) or (strong(value) and not is_reference(value))


def in_prose(value: str) -> bool:
    """A password as it stands among words: letters with a digit or a sign within, and no path, name or place."""
    if not 5 <= len(value) <= 100 or is_place(value) or is_said(value) or is_reference(value) or value[-1].isspace():
        return False
    inner = value.strip(".,;:!?()")
    letters = any(map(str.isalpha, inner))
    digits = any(map(str.isdigit, inner))
    signs = any(char in "!@#$%^&*+=?~_" for char in inner)
    return letters and (digits or signs) and not (_SPOKEN.match(inner) or _CODE.match(value))


def strange(value: str) -> bool:
    """A password that stands beside its name without a word between: letters of both cases, digits or signs."""
    signs = sum(char in "!@#$%^&*+?~" for char in value)
    digits = sum(map(str.isdigit, value))
    cases = any(map(str.islower, value)) and any(map(str.isupper, value))
    return (
        len(value) >= 8
        and cases
        and (signs > 0 or digits >= 2 or (digits > 0 and len(value) >= 12))
        and in_prose(value)
    )


def alone(value: str) -> bool:
    """What stands alone in a line behind one that names a secret."""
    return not is_place(value) and (is_chance(value) or strange(value))


_SPOKEN: Final = late(
    r"(?:\d{1,3}(?:st|nd|rd|th|s|x|ms|min|h|kb|mb|gb|%)|v?\d+(?:\.\d+)+\w{0,8}|[A-Z]{2,6}-?\d{1,5}|(?:base|sha|md|utf-?|rsa|aes"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-.*|[0-9a-f]{32,}|ipv?|oauth|http/?|x|tls|bcrypt|argon)-?\d{1,4}\w{0,6}(?:[-_]\w{1,10}){0,3}|\d{4}-\d{2}-\d{2}.{0,20}|_{0,2}[a-z]+_[a-z_]+[})\]]{0,3}|scram-.*)$",
    re.IGNORECASE,
)


# A call, an item, an argument: `headers.get(…)`, `auth[2]`, `strict=True`
_CODE: Final = late(r"[\w.]+[(\[]|[A-Za-z_]\w*=(?:$|[\w.]+$)")


LONG_VALUE: Final = 300  # characters


def by_word(places: Iterable[Place]) -> dict[str, tuple[Place, ...]]:
    """The places by each of the words that they begin with."""
    found: dict[str, list[Place]] = {}
    for one in places:
        for word in one.words:
            found.setdefault(word, []).append(one)
    return {word: tuple(some) for word, some in found.items()}


def spans_at(text: str, folded: str, word: str, places: tuple[Place, ...]) -> list[tuple[int, int, str]]:
    """Where secrets stand at the places that begin with a word: start, end, kind; `folded` is the lower case."""
    some = [
        (compiled(one.pattern, re.IGNORECASE), one)
        for one in places
        if not one.needs or any(need in folded for need in one.needs)
    ]
    found: list[tuple[int, int, str]] = []
    at = folded.find(word) if some else -1
    while at >= 0:
        after = at + len(word)
        for pattern, one in some:
            match = pattern.match(text, at)
            if match is None:
                continue
            start, end = match.span("secret")
            if one.fits(match["secret"]):
                found.append((start, end, one.kind))
            if (
                end - start > LONG_VALUE
            ):  # what is long is looked at once, or a text of words alone would take its square
                after = max(after, end)
        at = folded.find(word, after)
    return found
