"""An output as it is shown: cut to what tells, each line once, within so many bytes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from mcp_reflect.evidence.terms import terms_of
from mcp_reflect.models.critique import ShownOutput

APART: Final = "…"
"""Stands between lines that are not beside each other in the output."""

MOST_BYTES: Final = 2_400
"""Of a digest, the line about what is left out included."""

_OF_LAST_LINE: Final = 80  # bytes, about what is left out
_MOST_BESIDE: Final = 2_200  # bytes up to which others stand beside the deciding outputs
_MOST_OTHERS: Final = 5  # outputs
_MOST_WORDS: Final = 200  # of a long line
_LONGEST_LINE: Final = 160
_SHORT_START: Final = 30  # characters, which are not cut off
_BEHIND_FIRST: Final = 2 * _LONGEST_LINE // 3 - 2
_LONG_ENOUGH: Final = 30
_LONGEST_TOOL: Final = 70
_TERM: Final = re.compile(r"[\w./:-]+")
_LINE_NUMBER: Final = re.compile(r"^\d{1,6}(?:→|:|-)\s{0,200}")


def cut_around(line: str, wanted: Mapping[str, float]) -> str:
    """Return a line, or of a long one the part that has most of the words that the claims share, by what they weigh."""
    if len(line) <= _LONGEST_LINE:
        return line
    start = max(0, min(_best_start(line, wanted), len(line) - _LONGEST_LINE))
    if start < _SHORT_START:
        start = 0
    piece = line[start : start + _LONGEST_LINE]
    if start:
        piece = f"…{piece[1:]}"
    if start + _LONGEST_LINE < len(line):
        piece = f"{piece[:-1]}…"
    return piece


def _best_start(line: str, wanted: Mapping[str, float]) -> int:
    """Return where a part of a line begins: a third of it lies before the first of its words, the rest behind."""
    words = [
        (found.start(), terms)
        for found in _TERM.finditer(line[:20_000])
        if (terms := terms_of(found[0]) & wanted.keys())
    ][:_MOST_WORDS]
    best, best_start = 0.0, 0
    for at, (start, _) in enumerate(words):
        near = (terms for place, terms in words[at:] if place < start + _BEHIND_FIRST)
        value = sum(wanted[term] for term in set[str]().union(*near))
        if value > best:
            best, best_start = value, start
    return best_start - _LONGEST_LINE // 3


def pieces_of(
    lines: Sequence[str], places: Iterable[int], wanted: Mapping[str, float]
) -> tuple[str, ...]:
    """Return the lines at some places in their order, with a mark between those that are not beside each other.

    >>> pieces_of(["a", "b", "c", "d"], [3, 0, 1], {})
    ('a', 'b', '…', 'd')
    """
    found: list[str] = []
    before: int | None = None
    for place in sorted(places):
        if before is not None and place > before + 1:
            found.append(APART)
        found.append(cut_around(lines[place], wanted))
        before = place
    return tuple(found)


def short_tool(name: str) -> str:
    """Return the start of a command without `cd FOLDER &&`, or the end of a path."""
    name = re.sub(r"^(?:\(?\s*+cd\s[^;&|\n]{1,300}(?:&&|;)\s*+)+(?=\S)", "", " ".join(name.split()))
    if len(name) <= _LONGEST_TOOL:
        return name
    if " " not in name and "/" in name:
        return f"…{name[1 - _LONGEST_TOOL :]}"
    return f"{name[: _LONGEST_TOOL - 1]}…"


def shown_once(shown: Iterable[ShownOutput]) -> list[ShownOutput]:
    """Return the outputs without the long lines that stand in one before; none of which nothing is left.

    A short line may be the result of two runs.
    """
    seen: set[str] = set()
    found: list[ShownOutput] = []
    for one in shown:
        lines = tuple(line for line in one.lines if _LINE_NUMBER.sub("", line) not in seen)
        seen.update(_LINE_NUMBER.sub("", line) for line in lines if len(line) >= _LONG_ENOUGH)
        if lines or not one.lines:
            found.append(replace(one, lines=lines))
    return found


def within_bytes(shown: Sequence[ShownOutput], most: int) -> list[ShownOutput]:
    """Return the first of them that fit."""
    found: list[ShownOutput] = []
    left = most - _OF_LAST_LINE
    for one in shown:
        size = _size_of(one)
        if size > left and found:
            break
        found.append(one)
        left -= size
    return found


def shown_beside(
    deciding: Sequence[ShownOutput], others: Iterable[ShownOutput]
) -> list[ShownOutput]:
    """Return the first few of the other outputs that fit beside the deciding ones, without the lines that are shown already."""
    seen = {_LINE_NUMBER.sub("", line) for one in deciding for line in one.lines}
    left = _MOST_BESIDE - sum(map(_size_of, deciding))
    found: list[ShownOutput] = []
    for one in others:
        lines = _unseen(one.lines, seen)
        shown = replace(one, lines=lines)
        if not lines or _size_of(shown) > left or len(found) == _MOST_OTHERS:
            continue
        seen.update(_LINE_NUMBER.sub("", line) for line in lines if line != APART)
        found.append(shown)
        left -= _size_of(shown)
    return found


def _unseen(lines: Iterable[str], seen: AbstractSet[str]) -> tuple[str, ...]:
    """Return the lines that are not shown yet; a mark stands where one is missing.

    >>> _unseen(["a", "b", "c", "…", "d"], {"b", "d"})
    ('a', '…', 'c')
    """
    found: list[str] = []
    for line in lines:
        if line == APART or _LINE_NUMBER.sub("", line) in seen:
            if found and found[-1] != APART:
                found.append(APART)
        else:
            found.append(line)
    if found and found[-1] == APART:
        found.pop()
    return tuple(found)


def _size_of(shown: ShownOutput) -> int:
    return len(shown.text.encode()) + 6
