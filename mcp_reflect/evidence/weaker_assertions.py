"""Whether one assertion says less than another that it took the place of.

Assertions are compared as their lines without blanks. Only what is plain counts: the same line with a larger tolerance,
the same value that only has to be there, or any error in the place of a certain one.
"""

import re
from typing import Final

from mcp_reflect.evidence.suite_text import suite_pattern

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
_LITERAL: Final = re.compile(
    r"\"[^\"]{0,200}\"|'[^']{0,200}'|\d+(?:\.\d+)?|\b(?:True|False|true|false|None|null)\b"
)


def is_weaker(new: str, old: str) -> bool:
    """True where the new assertion says less of the same thing."""
    return (
        _allows_more(new, old)
        or _only_says_that_it_is_there(new, old)
        or _takes_any_error(new, old)
    )


def is_implied(weak: str, others: list[str]) -> bool:
    """True for `assert user is not None` where another assertion looks at the user."""
    subject = _subject("weak", weak)
    return bool(subject) and any(subject in other for other in others)


def changed_value(new: str, old: str) -> tuple[str, str] | None:
    """Return the old and the new expected value of two lines that are the same otherwise; None of any others."""
    if _LITERAL.sub("#", new) != _LITERAL.sub("#", old):
        return None
    before, after = _LITERAL.findall(old), _LITERAL.findall(new)
    changed = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    if len(changed) != 1:
        return None
    return changed[0]


def _allows_more(new: str, old: str) -> bool:
    """True for `abs(total - 10.35) < 1.0` in the place of `< 0.001`, and for three decimals in the place of five."""
    if _NUMBER.sub("#", new) != _NUMBER.sub("#", old):
        return False
    pairs = zip(_NUMBER.finditer(old), _NUMBER.finditer(new), strict=True)
    changed = [pair for pair in pairs if pair[0][0] != pair[1][0]]
    if len(changed) != 1:
        return False
    old_number, new_number = changed[0]
    old_value, new_value = float(old_number[0]), float(new_number[0])
    text_before = old[: old_number.start()]
    if suite_pattern("tolerance").search(text_before):
        return new_value > old_value
    is_precision = suite_pattern("precision").search(text_before) is not None
    return is_precision and new_value < old_value


def _only_says_that_it_is_there(new: str, old: str) -> bool:
    """True for `assert user.name is not None` in the place of `assert user.name == "Ada"`."""
    subject = _subject("weak", new)
    return bool(subject) and subject == _subject("strong", old)


def _takes_any_error(new: str, old: str) -> bool:
    """True for `raises(Exception)` in the place of `raises(ValueError)`."""
    any_error = suite_pattern("any_error")
    if any_error.search(old) or not any_error.search(new):
        return False
    return suite_pattern("some_error").search(old) is not None


def _subject(heading: str, assertion: str) -> str:
    """Return what an assertion is about (`user.name`), by the patterns under a heading of the list; empty if none fits."""
    match = suite_pattern(heading).search(assertion)
    if match is None:
        return ""
    return next(filter(None, match.groups()), "")
