"""Brace expansion: `--{force,tags}` is `--force --tags`."""

import re
from itertools import pairwise
from typing import Final

MOST_WORDS: Final = 64
"""Words that one word may become; one that would become more stays as it is."""

_MOST_CHARS: Final = 1_000
_RANGE: Final = re.compile(
    r"(-?\d{1,6})\.\.(-?\d{1,6})(?:\.\.-?(\d{1,6}))?|([A-Za-z])\.\.([A-Za-z])"
)


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
    if commas:
        edges = [-1, *commas, len(inner)]
        return [inner[start + 1 : end] for start, end in pairwise(edges)]
    if (match := _RANGE.fullmatch(inner)) is None:
        return None
    if match[4]:
        first, last = ord(match[4]), ord(match[5])
        return [chr(code) for code in _steps(first, last, 1)]
    return [str(number) for number in _steps(int(match[1]), int(match[2]), int(match[3] or 1))]


def _steps(first: int, last: int, step: int) -> range:
    """Return the numbers of a range, and of a long one just more than may be used."""
    step = max(step, 1)
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return numbers[: MOST_WORDS + 1]
