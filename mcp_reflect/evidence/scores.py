"""Scores as people and models write them: .8, "8/10", "eight out of ten", "80 %". All of them are .8."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from mcp_reflect.models.common import SCORE_WORDS

_SHARE: Final = re.compile(
    r"(?P<number>\d{1,20}(?:[.,]\d{1,20})?)\s{0,20}"
    r"(?:(?:/|of|out of|von|sur|de|su|van)\s{0,20}(?P<base>\d{1,20})|(?P<percent>%))?",
    re.IGNORECASE,
)
_BASE: Final = r"\s{0,20}(?:/|of|out\ of)\s{0,20}"
_NUMBER: Final = r"\d{1,20}(?:[.,]\d{1,20})?"
_VALUE: Final = rf"{_NUMBER}(?:{_BASE}\d{{1,20}}|\s{{0,20}}%)?"
_NAMED: Final = re.compile(
    rf"""(?ix)(?<![*_`"'#])[*_`"'#]*\b(?P<overall>(?:(?:overall|final|quality)[ _]){{0,2}})(?:score|rating|quality)\b
    [*_`"':=\s]{{0,20}}(?:is|of|at)?\s{{0,20}}(?P<value>{_VALUE})[*_]{{0,4}}\.?(?![\d\w])"""
)
"""A score behind its name: "Overall score: 8/10", "quality is 80 %"."""

_GIVEN: Final = re.compile(
    rf"""(?ix)\b(?:give|gave|rate|rated|score|scored|grade)s?\s(?:it|this|that|the\s\w{{1,20}})\s(?:an?\s|at\s|as\s)?
    (?P<value>{_VALUE})\.?(?![\d\w])"""
)
"""A score that is given: "I would give it 70%"."""

_SHARE_ALONE: Final = re.compile(
    rf"""(?ix)(?<![\d/.,])(?P<value>{_NUMBER}{_BASE}(?:5|10|20|100))
    (?=\s{{0,200}}(?:[.,;:!)\n|-]|$|(?:because|since|but|overall|stars?|points?)\b))\.?"""
)
"""A share that stands for itself: "Looks good, 8/10."."""

_BEGINS: Final = re.compile(rf"(?ix)(?P<value>{_VALUE})(?![\d\w])[*_.]*")
_NUMBERS_IN_WORDS: Final[tuple[str, ...]] = (
    *("zero", "one", "two", "three", "four", "five"),
    *("six", "seven", "eight", "nine", "ten"),
)
_IN_LETTERS: Final = re.compile(
    rf"\b({'|'.join(_NUMBERS_IN_WORDS)})(?=\s+(?:out of|of|/)\s+(?:ten|10)\b)|(?<=\bof )ten\b",
    re.IGNORECASE,
)


def read_score(value: object) -> float | None:
    """Return a score in 0..1, None for what is none.

    | value                          | score                                              |
    |--------------------------------|----------------------------------------------------|
    | .8, ".8", 8, "80"              | .8: from 2 to 10 in tenths, above in hundredths    |
    | "80 %", "8/10", "eight of ten" | .8                                                 |
    | "high" and other words         | by the list of words                               |
    | true, "12/10", "8/0", others   | None                                               |
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _of_a_plain_number(float(value))
    if not isinstance(value, str):
        return None
    written = _SHARE.fullmatch(_with_digits(value.strip()))
    if written is None:
        return SCORE_WORDS.get(value.strip().lower())
    number = float(written["number"].replace(",", "."))
    if written["percent"] is None and written["base"] is None:
        return _of_a_plain_number(number)
    base = 100.0 if written["percent"] else float(written["base"])
    if base == 0:
        return None
    share = number / base
    if not 0 <= share <= 1:
        return None
    return round(share, 4)


def _of_a_plain_number(number: float) -> float | None:
    """Return the score that a number without a base stands for; None where that is open.

    0..1 -> itself; 2..10 -> tenths; 10..100 -> hundredths; between 1 and 2 or above 100 -> None
    """
    if 0 <= number <= 1:
        return number
    if 2 <= number <= 10:
        return round(number / 10, 4)
    if 10 < number <= 100:
        return round(number / 100, 4)
    return None


class FoundScore(NamedTuple):
    """The score that a text names, None if it names none, and the text without it."""

    score: float | None
    rest: str


def score_in_words(text: str) -> FoundScore:
    """Return the score that plain words name, and the text without it. The first row that finds one decides.

    | text                                    | score                                               |
    |-----------------------------------------|-----------------------------------------------------|
    | "Style score: 4/10. Overall score: 8/10"| .8, because the overall one sums up the others      |
    | "The quality is 80 %."                  | .8, the first behind a name                         |
    | "I would give it 70%."                  | .7                                                  |
    | "Looks good, 8/10."                     | .8, a share alone                                   |
    | "Clarity: 8/10, style: 4/10"            | None, because nothing says which of them is the one |
    """
    text = _with_digits(text)
    named = list(_NAMED.finditer(text))
    overall = [match for match in named if match["overall"]]
    return (
        _first_score(text, overall)
        or _first_score(text, named)
        or _first_score(text, _GIVEN.finditer(text))
        or _only_share(text)
        or FoundScore(None, text)
    )


def _first_score(text: str, matches: Iterable[re.Match[str]]) -> FoundScore | None:
    """Return the first match whose value is a score: "12/10" is none."""
    for match in matches:
        score = read_score(match["value"])
        if score is not None:
            return FoundScore(score, _without(text, match))
    return None


def _only_share(text: str) -> FoundScore | None:
    """Return the share that stands for itself, also where it is repeated; None where several differ."""
    matches = list(_SHARE_ALONE.finditer(text))
    scores = {read_score(match["value"]) for match in matches}
    if len(scores) != 1:
        return None
    return _first_score(text, matches)


def score_that_begins(text: str) -> FoundScore:
    """Return the score with which a text begins, "9/10. Excellent work.", and what follows it."""
    text = _with_digits(text)
    match = _BEGINS.match(text)
    if match is None:
        return FoundScore(None, text)
    return FoundScore(read_score(match["value"]), text[match.end() :].lstrip(" ,;–—-"))


def _without(text: str, match: re.Match[str]) -> str:
    """Return a text without a score, and without the comma or dash behind it."""
    rest = f"{text[: match.start()]}\n{text[match.end() :].lstrip(' ,;–—-')}"
    return rest.strip()


def _with_digits(text: str) -> str:
    """Return a text with "seven out of ten" as "7 out of 10"."""
    return _IN_LETTERS.sub(lambda word: str(_NUMBERS_IN_WORDS.index(word[0].lower())), text)
