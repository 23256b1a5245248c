"""MCP over stdio: lines that the SDK's reader would drop are repaired or answered, so that no caller waits forever.

`session` is the client's side: it starts a server, as a host does; `mcp-reflect demo` uses it.
"""

import json
import re
import sys
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
)
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias, cast

from anyio import to_thread
from anyio.streams.memory import MemoryObjectSendStream
from mcp import Client, StdioServerParameters, stdio_client
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, TextContent

from mcp_reflect import children
from mcp_reflect.dense import MOST_SEPARATORS, is_dense
from mcp_reflect.errors import McpReflectError

ID_SEARCH_BYTES: Final = 4096
"""Bytes at either end of a line in which its id is searched."""

_LONG_LINE_BYTES: Final = 1 << 20  # bytes of a line that is decoded in a thread
_PIECE_BYTES: Final = 1 << 16  # bytes of a line that is skipped, which are read at a time

_ESCAPE: Final = re.compile(
    r"(?P<whole>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # both halves of a pair
    r"|\\[^u]|\\u(?![dD][89a-fA-F]))"  # any other escape
    r"|\\u[dD][0-9a-fA-F]{3}"  # one half alone
)
_ID: Final = rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")'
_FIRST_ID: Final = re.compile(_ID)
_LAST_ID: Final = re.compile(_ID + rb'(?:\s*,\s*"jsonrpc"\s*:\s*"2\.0")?\s*\}\s*$')
_NO_MESSAGE: Final = (
    "message: it is not a JSON-RPC 2.0 request. Send jsonrpc, id, method and params (an object)."
)


Answer: TypeAlias = Callable[[JSONRPCError], Awaitable[None]]


def refusal(request: int | str | None, code: int, text: str) -> JSONRPCError:
    """Return the error answer to a request, by its id; None where it cannot be found."""
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=text))


class Lines:
    """Lines of stdin for the SDK's transport. A line of more than `most` bytes is skipped and refused."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.refuse: Answer | None = None

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield the lines that may be parsed; the others are answered here.

        | a line                                   | is                                                  |
        |------------------------------------------|-----------------------------------------------------|
        | starts with more values than are parsed  | refused: to parse them would take too much memory   |
        | is longer than the most                  | refused, once the rest of it was read               |
        | any other                                | yielded; a long one is decoded in a thread          |
        """
        file = sys.stdin.buffer
        while line := await to_thread.run_sync(file.readline, self._most + 1):
            if is_dense(line):
                text = f"message: it has more than {MOST_SEPARATORS} values. Send fewer at once."
                request = request_id(line[:ID_SEARCH_BYTES], line[-ID_SEARCH_BYTES:])
                await self._answer(refusal(request, INVALID_REQUEST, text))
            elif len(line) > self._most:
                await self._skip(line)
            elif len(line) > _LONG_LINE_BYTES:
                # A line of 20 MB takes some 60 ms: others are answered meanwhile.
                yield await to_thread.run_sync(_decoded, line)
            else:
                yield _decoded(line)

    async def _skip(self, start: bytes) -> None:
        """Read a line that is too long to its end without keeping it, and refuse it; `start` was read already."""
        file = sys.stdin.buffer
        size = len(start)
        tail = start[-ID_SEARCH_BYTES:]
        piece = start
        while piece and not piece.endswith(b"\n"):
            piece = await to_thread.run_sync(file.readline, _PIECE_BYTES)
            tail = (tail + piece)[-ID_SEARCH_BYTES:]
            size += len(piece)
        text = f"message: it has {size} bytes. Send at most {self._most}."
        await self._answer(
            refusal(request_id(start[:ID_SEARCH_BYTES], tail), INVALID_REQUEST, text)
        )

    async def _answer(self, error: JSONRPCError) -> None:
        """Send an error to the client, once there is a transport to send it by."""
        if self.refuse is not None:
            await self.refuse(error)


def request_id(head: bytes, tail: bytes) -> int | str | None:
    """Return the id of a request whose line begins with `head` and ends with `tail`, None if neither shows it.

    {"jsonrpc": "2.0", "id": 7, "method": … and … }, "id": 7} -> 7

    It is looked for before the params and behind them: within them, the id of something else may stand.
    """
    before_params = head.partition(b'"params"')[0]
    match = _FIRST_ID.search(before_params) or _LAST_ID.search(tail)
    if match is None:
        return None
    return json.loads(match[1].decode("utf-8", "replace"))


def _decoded(line: bytes) -> str:
    """Return a line as text; bytes that are no UTF-8 are replaced."""
    return readable(line.decode("utf-8", "replace"))


def readable(line: str) -> str:
    r"""Return a line of JSON that can be parsed: without a byte order mark and without halves of surrogate pairs.

    An escaped half that stands alone becomes U+FFFD: "\ud83d" alone does, in "\ud83d\ude00" it stays.
    """
    line = line.removeprefix("\ufeff")
    if "\\ud" not in line and "\\uD" not in line:
        return line
    return _ESCAPE.sub(lambda escape: escape["whole"] or "\ufffd", line)


def fault_of(error: Exception) -> JSONRPCError | None:
    """Return the answer to a line that the SDK's reader refused; None if no answer is due.

    | the line                         | answer                                     |
    |----------------------------------|--------------------------------------------|
    | is blank                         | none                                       |
    | is no JSON                       | the fault of it, with the id that it shows |
    | is a response or a notification  | none: neither is ever answered             |
    | is any other value               | that it is no request, with its id         |

    `error` is of pydantic, whose `errors()` say what was wrong; any other error says nothing of a line.
    """
    faults: list[dict[str, Any]] = getattr(error, "errors", list)()
    if not faults:
        return None
    for fault in faults:
        if fault["type"] == "json_invalid":
            return _fault_of_no_json(fault)
    inputs = [fault["input"] for fault in faults if fault["type"] in ("missing", "model_type")]
    message = inputs[0] if inputs else None
    if not isinstance(message, dict):
        return refusal(None, INVALID_REQUEST, _NO_MESSAGE)
    values = cast("dict[str, Any]", message)
    if "method" not in values or "id" not in values:
        return None
    sent_id = values["id"]
    is_id = isinstance(sent_id, int | str) and not isinstance(sent_id, bool)
    return refusal(sent_id if is_id else None, INVALID_REQUEST, _NO_MESSAGE)


def _fault_of_no_json(fault: dict[str, Any]) -> JSONRPCError | None:
    """Return the answer to a line that is no JSON, by pydantic's record of its fault; None to a blank line."""
    line = fault["input"].encode("utf-8", "replace")
    if not line.strip():
        return None
    text = f"message: {fault['ctx']['error']}. Send one JSON object a line."
    return refusal(request_id(line[:ID_SEARCH_BYTES], line[-ID_SEARCH_BYTES:]), PARSE_ERROR, text)


async def messages(
    reading: AsyncIterable[SessionMessage | Exception],
    send: MemoryObjectSendStream[SessionMessage],
    answer: Answer,
) -> None:
    """Pass the messages of a transport on, and answer the lines that the SDK could not read."""
    async with send:
        async for item in reading:
            if not isinstance(item, Exception):
                await send.send(item)
                continue
            fault = fault_of(item)
            if fault is not None:
                await answer(fault)


Call: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Calls a tool and returns what it returned; McpReflectError with its words where it refuses."""


@asynccontextmanager
async def session(env: Mapping[str, str]) -> AsyncGenerator[Call]:
    """Start this installation's server over stdio with `env` added, and stop it when the block ends."""
    parameters = StdioServerParameters(**children.server_parameters(env))
    async with Client(stdio_client(parameters)) as client:

        async def call(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
            """Call a tool of the server that was started."""
            result = await client.call_tool(tool, dict(arguments))
            if result.is_error:
                texts = [block.text for block in result.content if isinstance(block, TextContent)]
                raise McpReflectError(f"{tool}: {' '.join(texts)}")
            return cast("dict[str, Any]", result.structured_content)

        yield call
