"""The marks before a line of an output: its number in the file, the path of the file, or the sign of a written line.

They say where a line stands, and are no part of what it says: `12→ x = 1`, `app.py:12:x = 1` and `+ x = 1` all say `x = 1`.
"""

import re
from typing import Final

_NUMBER: Final = r"\d{1,6}(?:→|:|-)"
"""A number as hosts and `grep -n` write it: `12→`, `12:`, and `12-` for a line beside one that matches."""

_NUMBERED: Final = re.compile(rf"({_NUMBER})")
_BEFORE_TEXT: Final = re.compile(rf"^{_NUMBER}\s{{0,200}}")
_BEFORE_WRITTEN_TEXT: Final = re.compile(rf"^(?:\+ |{_NUMBER}\s{{0,200}})")
_BEFORE_FOUND_TEXT: Final = re.compile(rf"^(?:{_NUMBER}\s{{0,200}}|\S{{1,200}}:\d{{1,6}}:)")
_BEFORE_ANY_TEXT: Final = re.compile(rf"^(?:\+ |{_NUMBER}\s{{0,200}}|\S{{1,200}}:\d{{1,6}}:)")
_COMMENT: Final = re.compile(rf"(?:\+ |{_NUMBER})?\s{{0,200}}(?:#|//|/?\*|<!--|\"\"\")")


def number_of(line: str) -> str | None:
    """Return the digits of the number with which a line begins, `12` of `12→ x = 1`; None where it has none."""
    number = _NUMBERED.match(line)
    if number is None:
        return None
    return number[1][:-1]


def without_number(line: str) -> str:
    """Return a line without its number: `12→ x = 1` -> `x = 1`."""
    return _BEFORE_TEXT.sub("", line)


def without_number_or_plus(line: str) -> str:
    """Return a line without its number, or without the sign of a line that a call wrote: `+ x = 1` -> `x = 1`."""
    return _BEFORE_WRITTEN_TEXT.sub("", line)


def without_number_or_path(line: str) -> str:
    """Return a line without its number, or without its path and number: `app.py:12:x = 1` -> `x = 1`."""
    return _BEFORE_FOUND_TEXT.sub("", line)


def without_marks(line: str) -> str:
    """Return a line without any of these marks."""
    return _BEFORE_ANY_TEXT.sub("", line)


def is_comment(line: str) -> bool:
    """Return whether a line of a program is a comment, whatever mark stands before it: `12:  # later`."""
    return _COMMENT.match(line) is not None
