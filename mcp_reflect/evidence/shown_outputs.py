"""An output as it is shown: cut to what tells, each line once, within so many bytes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from mcp_reflect.evidence.terms import terms_of
from mcp_reflect.models.critique import ShownOutput

MOST_BYTES: Final = 2_400
"""Of a digest, the line about what is left out included."""

_OF_LAST_LINE: Final = 80  # bytes, about what is left out
_LONGEST_LINE: Final = 120
_LONG_ENOUGH: Final = 30
_LONGEST_TOOL: Final = 70
_TERM: Final = re.compile(r"[\w./:-]+")
_LINE_NUMBER: Final = re.compile(r"^\d{1,6}(?:→|:|-)\s{0,200}")


def cut_around(line: str, wanted: Iterable[str]) -> str:
    """Return a line, or of a long one the part around the first word that the claims share."""
    if len(line) <= _LONGEST_LINE:
        return line
    terms = set(wanted)
    words = _TERM.finditer(line[:20_000])
    place = next((found.start() for found in words if terms_of(found[0]) & terms), 0)
    start = max(0, min(place - _LONGEST_LINE // 3, len(line) - _LONGEST_LINE))
    piece = line[start : start + _LONGEST_LINE - 2]
    if start:
        piece = f"…{piece}"
    if start + _LONGEST_LINE < len(line):
        piece = f"{piece}…"
    return piece


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


def within_bytes(shown: Sequence[ShownOutput]) -> list[ShownOutput]:
    """Return the first of them that fit."""
    found: list[ShownOutput] = []
    left = MOST_BYTES - _OF_LAST_LINE
    for one in shown:
        size = len(one.text.encode()) + 6
        if size > left and found:
            break
        found.append(one)
        left -= size
    return found
