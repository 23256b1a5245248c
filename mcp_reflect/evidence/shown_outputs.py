"""An output as it is shown: cut to what tells, each line once, within so many bytes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final, NamedTuple

from mcp_reflect.evidence.line_marks import without_number
from mcp_reflect.evidence.terms import terms_of
from mcp_reflect.models.critique import ShownOutput

APART: Final = "…"
"""Stands between lines that are not beside each other in the output."""

MOST_BYTES: Final = 2_400
"""Of a digest, the line about what is left out included."""

_BYTES_OF_LAST_LINE: Final = 80  # the line about what is left out
_MOST_BESIDE: Final = 2_200  # bytes up to which others stand beside the deciding outputs
_MOST_OTHERS: Final = 5  # outputs beside the deciding ones
_MOST_READ: Final = 20_000  # characters of a line whose words are looked at
_MOST_WORDS: Final = 200  # words of a long line
_LONGEST_LINE: Final = 160  # characters of a line that is shown
_SHORT_START: Final = 30  # characters at the start of a line that are too few to be cut off
_BEHIND_FIRST: Final = (
    2 * _LONGEST_LINE // 3 - 2
)  # characters of a part behind the first of its words
_SHORTEST_DISTINCT: Final = (
    30  # characters of a line that stands once: a shorter one may be the result of two runs
)
_LONGEST_TOOL: Final = 70  # characters of a command
_BYTES_AROUND: Final = 6  # the number and the end of the line of an output
_TERM: Final = re.compile(r"[\w./:-]+")


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
    words = _wanted_words(line, wanted)
    best_value = 0.0
    best_start = 0
    for index, word in enumerate(words):
        end = word.start + _BEHIND_FIRST
        terms = (later.terms for later in words[index:] if later.start < end)
        value = sum(wanted[term] for term in set[str]().union(*terms))
        if value > best_value:
            best_value = value
            best_start = word.start
    return best_start - _LONGEST_LINE // 3


class _WantedWord(NamedTuple):
    """A word of a line: the offset at which it begins, and its terms that are wanted."""

    start: int
    terms: set[str]


def _wanted_words(line: str, wanted: Mapping[str, float]) -> list[_WantedWord]:
    """Return the first words of a line that have a wanted term."""
    words: list[_WantedWord] = []
    for match in _TERM.finditer(line[:_MOST_READ]):
        terms = terms_of(match[0]) & wanted.keys()
        if terms:
            words.append(_WantedWord(match.start(), terms))
            if len(words) == _MOST_WORDS:
                break
    return words


def pieces_of(
    lines: Sequence[str], line_indexes: Iterable[int], wanted: Mapping[str, float]
) -> tuple[str, ...]:
    """Return the lines at some indexes in their order, with a mark between those that are not beside each other.

    >>> pieces_of(["a", "b", "c", "d"], [3, 0, 1], {})
    ('a', 'b', '…', 'd')
    """
    pieces: list[str] = []
    index_before: int | None = None
    for index in sorted(line_indexes):
        if index_before is not None and index > index_before + 1:
            pieces.append(APART)
        pieces.append(cut_around(lines[index], wanted))
        index_before = index
    return tuple(pieces)


def short_tool(name: str) -> str:
    """Return a command or a path as a digest names it.

    `cd web && npm test` -> `npm test`; a long command loses its end, and a long path its beginning.
    """
    name = re.sub(r"^(?:\(?\s*+cd\s[^;&|\n]{1,300}(?:&&|;)\s*+)+(?=\S)", "", " ".join(name.split()))
    if len(name) <= _LONGEST_TOOL:
        return name
    if " " not in name and "/" in name:
        return f"…{name[1 - _LONGEST_TOOL :]}"
    return f"{name[: _LONGEST_TOOL - 1]}…"


def shown_once(shown: Iterable[ShownOutput]) -> list[ShownOutput]:
    """Return the outputs without the long lines that stand in an earlier one; none of which nothing is left.

    A short line may be the result of two runs.
    """
    seen: set[str] = set()
    outputs: list[ShownOutput] = []
    for output in shown:
        lines = tuple(line for line in output.lines if without_number(line) not in seen)
        seen.update(without_number(line) for line in lines if len(line) >= _SHORTEST_DISTINCT)
        if lines or not output.lines:
            outputs.append(replace(output, lines=lines))
    return outputs


def within_bytes(shown: Sequence[ShownOutput], most: int) -> list[ShownOutput]:
    """Return the first of them that fit."""
    fitting: list[ShownOutput] = []
    room = most - _BYTES_OF_LAST_LINE
    for output in shown:
        size = _size_of(output)
        if size > room and fitting:
            break
        fitting.append(output)
        room -= size
    return fitting


def shown_beside(
    deciding: Sequence[ShownOutput], others: Iterable[ShownOutput]
) -> list[ShownOutput]:
    """Return the first few of the other outputs that fit beside the deciding ones, without the lines that are shown already."""
    seen = {without_number(line) for one in deciding for line in one.lines}
    room = _MOST_BESIDE - sum(map(_size_of, deciding))
    chosen: list[ShownOutput] = []
    for one in others:
        lines = _unseen(one.lines, seen)
        shown = replace(one, lines=lines)
        if not lines or _size_of(shown) > room or len(chosen) == _MOST_OTHERS:
            continue
        seen.update(without_number(line) for line in lines if line != APART)
        chosen.append(shown)
        room -= _size_of(shown)
    return chosen


def _unseen(lines: Iterable[str], seen: AbstractSet[str]) -> tuple[str, ...]:
    """Return the lines that are not shown yet; a mark stands where one is missing.

    >>> _unseen(["a", "b", "c", "…", "d"], {"b", "d"})
    ('a', '…', 'c')
    """
    unseen: list[str] = []
    for line in lines:
        if line == APART or without_number(line) in seen:
            if unseen and unseen[-1] != APART:
                unseen.append(APART)
        else:
            unseen.append(line)
    if unseen and unseen[-1] == APART:
        unseen.pop()
    return tuple(unseen)


def _size_of(shown: ShownOutput) -> int:
    """Return the bytes that an output takes up in the digest."""
    return len(shown.text.encode()) + _BYTES_AROUND
