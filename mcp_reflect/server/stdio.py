"""Lines of stdin that are no message: answered, so that their caller does not wait."""

import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeAlias, cast

import anyio
from anyio import to_thread
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR

from mcp_reflect.errors import HALF_CHARACTER, TOO_DEEP

# What the SDK's reader would drop without a word, made readable, so that the caller gets an answer.
#
# Half a character (a lone surrogate) and nesting without end are no JSON to its parser: it skips the line,
# and the caller waits for ever. Here each is put down to a mark that no text of the world holds, which the
# door of the arguments knows, and names with its field.


MOST_DEEP: Final = 150
"""Levels that pass: more than the door allows (64), fewer than the SDK's parser does (200)."""

_ESCAPE: Final = re.compile(
    r"(?P<whole>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    r"|\\."
)
_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]')


_ID: Final = rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")'
_FIRST_ID: Final = re.compile(_ID)
_LAST_ID: Final = re.compile(_ID + rb'(?:\s*,\s*"jsonrpc"\s*:\s*"2\.0")?\s*\}\s*$')
LOOK: Final = 4096  # bytes at either end of a line too long, in which its id is looked for

Refuse: TypeAlias = Callable[[int | str | None, int], Awaitable[None]]
"""Answers a line that was too long: the id of its request, null where it cannot be told, and its bytes."""


class Lines:
    """Lines of stdin for the SDK's transport. One of more than `most` bytes is read past, a piece at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.refuse: Refuse | None = None

    def __aiter__(self) -> AsyncIterator[str]:
        return self._read()

    async def _read(self) -> AsyncIterator[str]:
        file = sys.stdin.buffer
        while line := await to_thread.run_sync(file.readline, self._most + 1):
            if len(line) <= self._most:
                yield readable(line.decode("utf-8", "replace"))
                continue
            head, tail, size, piece = line[:LOOK], line[-LOOK:], len(line), line
            while not piece.endswith(b"\n") and (piece := await to_thread.run_sync(file.readline, 1 << 16)):
                tail, size = (tail + piece)[-LOOK:], size + len(piece)
            if self.refuse is not None:
                await self.refuse(request_id(head, tail), size)


def request_id(head: bytes, tail: bytes) -> int | str | None:
    """The id of a request whose line begins with `head` and ends with `tail`: before its params, or after them."""
    found = _FIRST_ID.search(head.partition(b'"params"')[0]) or _LAST_ID.search(tail)
    return None if found is None else json.loads(found[1].decode("utf-8", "replace"))


def readable(line: str) -> str:
    """The line, with what no parser takes put down to its mark; nearly always the line as it is."""
    line = line.removeprefix("\ufeff")  # some shells begin what they write with a byte order mark
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


# Lines of stdin that are no message: answered, where the SDK's reader would drop them and let their caller wait.


class LineError(NamedTuple):
    """What is answered: the request's id, null where it cannot be told, a code of JSON-RPC, and words."""

    id: int | str | None
    code: int
    text: str


_NO_JSON: Final = "message: it is no JSON, or has a number out of range. Send one JSON object a line."
_NO_MESSAGE: Final = "message: it is no request of JSON-RPC 2.0. Send jsonrpc, id, method and params (an object)."


def fault_of(error: Exception) -> LineError | None:
    """What to answer to a line that the SDK's reader refused with `error`; none for one that nobody waits for."""
    found: list[dict[str, Any]] = getattr(error, "errors", list)()
    line = next((one["input"] for one in found if one["type"] == "json_invalid"), None)
    if isinstance(line, str):
        if not line.strip():
            return None
        bytes_ = line.encode("utf-8", "replace")
        return LineError(request_id(bytes_[:LOOK], bytes_[-LOOK:]), PARSE_ERROR, _NO_JSON)
    # A message that lacks what makes it an answer: it is named whole there.
    sent = next((one["input"] for one in found if one["type"] in ("missing", "model_type")), None)
    if isinstance(sent, dict):
        message = cast("dict[str, Any]", sent)
        name = message.get("id")
        if "method" not in message or "id" not in message:
            return None  # an answer, or a notification: neither is ever answered
        told = name if isinstance(name, int | str) and not isinstance(name, bool) else None
        return LineError(told, INVALID_REQUEST, _NO_MESSAGE)
    return LineError(None, INVALID_REQUEST, _NO_MESSAGE) if found else None


class Answering:
    """The messages of a transport, without the lines that are none: `answer` is given what to say of those."""

    def __init__(self, reading: Any, answer: Callable[[LineError], Awaitable[None]]) -> None:
        self._reading = reading
        self._answer = answer

    @property
    def last_context(self) -> Any:
        """Of the sender of the last message, which the SDK asks for."""
        return self._reading.last_context

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        while True:
            item = await self._reading.receive()
            if not isinstance(item, Exception):
                return item
            if (fault := fault_of(item)) is not None:
                await self._answer(fault)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._reading.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        await self.aclose()
        return None
