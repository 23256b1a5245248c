"""What the SDK's reader would drop without a word, made readable, so that the caller gets an answer.

Half a character (a lone surrogate) and nesting without end are no JSON to its parser: it skips the line,
and the caller waits for ever. Here each is put down to a mark that no text of the world holds, which the
door of the arguments knows, and names with its field.
"""

import re
import sys
from collections.abc import AsyncIterator
from io import TextIOWrapper
from typing import Final

import anyio

from mcp_reflect.errors import HALF_CHARACTER, TOO_DEEP

MOST_DEEP: Final = 150
"""Levels that pass: more than the door allows (64), fewer than the SDK's parser does (200)."""

_ESCAPE: Final = re.compile(
    r"(?P<whole>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    r"|\\."
)
_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]')


class Lines:
    """Lines of stdin for the SDK's transport."""

    def __aiter__(self) -> AsyncIterator[str]:
        return self._read()

    async def _read(self) -> AsyncIterator[str]:
        file = anyio.wrap_file(TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace"))
        async for line in file:
            yield readable(line)


def readable(line: str) -> str:
    """The line, with what no parser takes put down to its mark; nearly always the line as it is."""
    if "\\ud" in line or "\\uD" in line:
        line = _without_halves(line)
    if line.count("[") + line.count("{") > MOST_DEEP:
        line = _without_depth(line)
    return line


def _without_halves(line: str) -> str:
    """Escapes of half a character as the mark; whole pairs, and a backslash that is one, stay."""
    return _ESCAPE.sub(lambda escape: HALF_CHARACTER if escape["half"] else escape[0], line)


def _without_depth(line: str) -> str:
    """What stands deeper than the limit as one mark in its place."""
    depth = 0
    cut_from: int | None = None
    pieces: list[str] = []
    start = 0
    for token in _TOKEN.finditer(line):
        if token[0] in "[{":
            depth += 1
            if depth == MOST_DEEP + 1:
                cut_from = token.start()
        elif token[0] in "]}":
            depth -= 1
            if depth == MOST_DEEP and cut_from is not None:
                pieces += [line[start:cut_from], f'"{TOO_DEEP}"']
                start, cut_from = token.end(), None
    return "".join([*pieces, line[start:]])
