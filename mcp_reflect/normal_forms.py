"""Unicode's normal forms of texts from outside, in time that grows with their length."""

import unicodedata
from typing import Final, Literal

_LONGEST_RUN: Final = 30
"""Combining marks in a row; Unicode's Stream-Safe Text Format (UAX #15, section 13) has the same limit.

The standard library sorts each run, which takes a second for ten thousand marks. No language needs as many.
"""


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return a text in a normal form, without the marks of a run behind its thirtieth."""
    if text.isascii():
        return text
    return unicodedata.normalize(form, _without_long_runs(text))


def _without_long_runs(text: str) -> str:
    """Return a text with at most thirty combining marks in a row: "e" and fifty accents as "e" and thirty."""
    are_marks = [unicodedata.combining(char) > 0 for char in text]
    if sum(are_marks) <= _LONGEST_RUN:
        return text
    shortened: list[str] = []
    marks_in_a_row = 0
    for char, is_mark in zip(text, are_marks, strict=True):
        marks_in_a_row = marks_in_a_row + 1 if is_mark else 0
        if marks_in_a_row <= _LONGEST_RUN:
            shortened.append(char)
    return "".join(shortened)
