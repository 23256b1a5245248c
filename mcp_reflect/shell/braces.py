"""Brace expansion: `--{force,tags}` is `--force --tags`."""

import re
from itertools import pairwise
from typing import Final, NamedTuple

MOST_WORDS: Final = 64
"""Words that one word may become; one that would become more stays as it is."""

_MOST_CHARS: Final = 1_000  # of a word whose braces are expanded
_NUMBERS: Final = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})(?:\.\.-?(\d{1,6}))?")
_LETTERS: Final = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.-?(\d{1,6}))?")
_PADDED: Final = re.compile(r"-?0\d+")


def expand_braces(word: str) -> list[str] | None:
    """Return the words that a word becomes, itself if it has no braces, and None where these would be too many.

    "a{b,c{1..2}}" becomes "ab", "ac1" and "ac2".
    """
    if "{" not in word or "}" not in word:
        return [word]
    if len(word) > _MOST_CHARS:
        return None
    words: list[str] = []
    waiting = [_PartlyExpanded("", word)]
    while waiting:
        expanded, rest = waiting.pop()
        braces = _first_braces(rest)
        if braces is None:
            words.append(expanded + rest)
            continue
        if len(words) + len(waiting) + len(braces.choices) > MOST_WORDS:
            return None
        expanded += rest[: braces.start]
        tail = rest[braces.end :]
        waiting += [_PartlyExpanded(expanded, choice + tail) for choice in reversed(braces.choices)]
    return words


class _PartlyExpanded(NamedTuple):
    """A word of which the beginning is expanded, and the rest is not yet."""

    expanded: str
    rest: str


class _Braces(NamedTuple):
    """Braces that expand: where they begin and end in a text, and the texts that may stand in their place."""

    start: int
    end: int
    choices: list[str]


def _first_braces(text: str) -> _Braces | None:
    """Return the first braces that expand, of braces within each other the outer ones; None if there are none.

    In "x{y}{a,{b,c}}" those are "{a,{b,c}}": "{y}" is plain text. Inner braces close first, so that a pair that is found
    stands until an outer one takes its place, or until no brace is open before it.
    """
    starts: list[int] = []  # of the pairs of braces that are open
    commas_of_pairs: list[list[int]] = []  # of each of them, by their indexes in the text
    found: _Braces | None = None
    for index, char in enumerate(text):
        if char == "{":
            starts.append(index)
            commas_of_pairs.append([])
        elif char == "," and starts:
            commas_of_pairs[-1].append(index)
        elif char == "}" and starts:
            start = starts.pop()
            commas = [comma - start - 1 for comma in commas_of_pairs.pop()]
            choices = _choices(text[start + 1 : index], commas)
            if choices is not None:
                found = _Braces(start, index + 1, choices)
        if found is not None and not any(start < found.start for start in starts):
            return found
    return found


def _choices(inner: str, commas: list[int]) -> list[str] | None:
    """Return what the text `inner` of a pair of braces stands for; None for braces that are plain text.

    "a,b" gives ["a", "b"], "1..3" gives ["1", "2", "3"], "x" gives None. `commas` are the indexes in `inner` of the
    commas of this pair, without those of braces within it.
    """
    if commas:
        edges = [-1, *commas, len(inner)]
        return [inner[start + 1 : end] for start, end in pairwise(edges)]
    letters = _LETTERS.fullmatch(inner)
    if letters is not None:
        first, last, step = letters.groups("1")
        return [chr(code) for code in _range(ord(first), ord(last), int(step))]
    numbers = _NUMBERS.fullmatch(inner)
    if numbers is not None:
        first, last, step = numbers.groups("1")
        width = _width(first, last)
        return [f"{number:0{width}d}" for number in _range(int(first), int(last), int(step))]
    return None


def _width(first: str, last: str) -> int:
    """Return how many digits each number of a range has: two for `01..10`, and as many as it needs for `1..10`."""
    if _PADDED.fullmatch(first) or _PADDED.fullmatch(last):
        return max(len(first), len(last))
    return 1


def _range(first: int, last: int, step: int) -> range:
    """Return the numbers of a range, and of a long one just more than may be used."""
    step = max(step, 1)
    if first > last:
        return range(first, last - 1, -step)[: MOST_WORDS + 1]
    return range(first, last + 1, step)[: MOST_WORDS + 1]
