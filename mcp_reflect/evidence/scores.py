"""Scores as people and models write them: .8, "8/10", "8 of 10", "80 %". All of them are .8."""

import re
from typing import Final

from mcp_reflect.models.common import SCORE_WORDS

_SHARE: Final = re.compile(
    r"(?P<number>\d{1,20}(?:[.,]\d{1,20})?)\s{0,20}"
    r"(?:(?:/|of|out of|von|sur|de|su|van)\s{0,20}(?P<base>\d{1,20})|(?P<percent>%))?",
    re.IGNORECASE,
)
_IN_WORDS: Final = re.compile(
    r"""(?ix)(?<![*_`"'#])[*_`"'#]*\b(?:(?:overall|final|quality)[ _]){0,2}(?:score|rating|quality)\b[*_`"':=\s]{0,20}
    (?:is|of|at)?\s{0,20}
    (\d{1,20}(?:[.,]\d{1,20})?(?:\s{0,20}(?:/|of|out\ of)\s{0,20}\d{1,20}|\s{0,20}%)?)[*_]{0,4}\.?(?![\d\w])
    |(?<![\d/.,])(\d{1,20}(?:[.,]\d{1,20})?\s{0,20}(?:/|of|out\ of)\s{0,20}(?:5|10|20|100))
    (?=\s{0,200}(?:[.,;:!)\n|-]|$|(?:because|since|but|overall|stars?|points?)\b))\.?"""
)


def read_score(value: object) -> float | None:
    """Return a score in 0..1, None for what is none. A plain number of 2 to 10 is in tenths, a larger one in percent."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _of_a_plain_number(float(value))
    if not isinstance(value, str):
        return None
    found = _SHARE.fullmatch(value.strip())
    if found is None:
        return SCORE_WORDS.get(value.strip().lower())
    number = float(found["number"].replace(",", "."))
    if found["percent"] is None and found["base"] is None:
        return _of_a_plain_number(number)
    base = 100.0
    if not found["percent"]:
        base = float(found["base"])
    if not base:
        return None
    share = number / base
    if not 0 <= share <= 1:
        return None
    return round(share, 4)


def _of_a_plain_number(number: float) -> float | None:
    if 0 <= number <= 1:
        return number
    if 2 <= number <= 10:
        return round(number / 10, 4)
    if 10 < number <= 100:
        return round(number / 100, 4)
    return None


def score_in_words(text: str) -> tuple[float | None, str]:
    """Return the score that plain words name, and the text without it."""
    for found in _IN_WORDS.finditer(text):
        score = read_score(found[1] or found[2])
        if score is not None:
            rest = f"{text[: found.start()]}\n{text[found.end() :].lstrip(' ,;–—-')}"
            return score, rest.strip()
    return None, text
