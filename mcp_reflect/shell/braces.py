"""Brace expansion: `--{force,tags}` is `--force --tags`."""

import re
from itertools import pairwise
from typing import Final

MOST_WORDS: Final = 64
"""Words that one word may become; one that would become more stays as it is."""

_MOST_CHARS: Final = 1_000
_NUMBERS: Final = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})(?:\.\.-?(\d{1,6}))?")
_LETTERS: Final = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.-?(\d{1,6}))?")
_PADDED: Final = re.compile(r"-?0\d+")


def expand_braces(word: str) -> list[str] | None:
    """Return the words that a word becomes, itself if it has no braces, and None where these would be too many."""
    if "{" not in word or "}" not in word:
        return [word]
    if len(word) > _MOST_CHARS:
        return None
    done: list[str] = []
    waiting = [("", word)]  # what has been read, and the rest
    while waiting:
        head, rest = waiting.pop()
        found = _first_braces(rest)
        if found is None:
            done.append(head + rest)
        else:
            start, end, choices = found
            if len(done) + len(waiting) + len(choices) > MOST_WORDS:
                return None
            head += rest[:start]
            waiting += [(head, choice + rest[end:]) for choice in reversed(choices)]
    return done


def _first_braces(text: str) -> tuple[int, int, list[str]] | None:
    """Return where the first braces that expand begin and end, and what stands between them."""
    commas: list[list[int]] = []
    starts: list[int] = []
    found: tuple[int, int, list[str]] | None = None
    for at, sign in enumerate(text):
        if sign == "{":
            starts.append(at)
            commas.append([])
        elif sign == "," and starts:
            commas[-1].append(at)
        elif sign == "}" and starts:
            start, between = starts.pop(), commas.pop()
            choices = _choices(text[start + 1 : at], [comma - start - 1 for comma in between])
            if choices is not None:
                found = (start, at + 1, choices)  # an outer one comes later
        if found is not None and not any(start < found[0] for start in starts):
            return found
    return found


def _choices(inner: str, commas: list[int]) -> list[str] | None:
    """Return what stands between commas or in a range; None for braces that are plain text."""
    if commas:
        edges = [-1, *commas, len(inner)]
        return [inner[start + 1 : end] for start, end in pairwise(edges)]
    if (letters := _LETTERS.fullmatch(inner)) is not None:
        first, last, step = letters.groups("1")
        return [chr(code) for code in _range(ord(first), ord(last), int(step))]
    if (numbers := _NUMBERS.fullmatch(inner)) is not None:
        first, last, step = numbers.groups("1")
        width = _width(first, last)
        return [f"{number:0{width}d}" for number in _range(int(first), int(last), int(step))]
    return None


def _width(first: str, last: str) -> int:
    """Return how many signs each number of a range has: where one begins with 0, as many as the longer one."""
    if _PADDED.fullmatch(first) or _PADDED.fullmatch(last):
        return max(len(first), len(last))
    return 1


def _range(first: int, last: int, step: int) -> range:
    """Return the numbers of a range, and of a long one just more than may be used."""
    step = max(step, 1)
    if first > last:
        return range(first, last - 1, -step)[: MOST_WORDS + 1]
    return range(first, last + 1, step)[: MOST_WORDS + 1]
