"""Lines of stdin that are no message: answered, where the SDK's reader would drop them and let their caller wait."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, cast

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR

from mcp_reflect.server.lines import LOOK, request_id


class Fault(NamedTuple):
    """What is answered: the request's id, null where it cannot be told, a code of JSON-RPC, and words."""

    id: int | str | None
    code: int
    text: str


_NO_JSON: Final = "message: it is no JSON, or has a number out of range. Send one JSON object a line."
_NO_MESSAGE: Final = "message: it is no request of JSON-RPC 2.0. Send jsonrpc, id, method and params (an object)."


def fault_of(error: Exception) -> Fault | None:
    """What to answer to a line that the SDK's reader refused with `error`; none for one that nobody waits for."""
    found: list[dict[str, Any]] = getattr(error, "errors", list)()
    line = next((one["input"] for one in found if one["type"] == "json_invalid"), None)
    if isinstance(line, str):
        if not line.strip():
            return None
        bytes_ = line.encode("utf-8", "replace")
        return Fault(request_id(bytes_[:LOOK], bytes_[-LOOK:]), PARSE_ERROR, _NO_JSON)
    # A message that lacks what makes it an answer: it is named whole there.
    sent = next((one["input"] for one in found if one["type"] in ("missing", "model_type")), None)
    if isinstance(sent, dict):
        message = cast("dict[str, Any]", sent)
        name = message.get("id")
        if "method" not in message or "id" not in message:
            return None  # an answer, or a notification: neither is ever answered
        told = name if isinstance(name, int | str) and not isinstance(name, bool) else None
        return Fault(told, INVALID_REQUEST, _NO_MESSAGE)
    return Fault(None, INVALID_REQUEST, _NO_MESSAGE) if found else None


class Answering:
    """The messages of a transport, without the lines that are none: `answer` is given what to say of those."""

    def __init__(self, reading: Any, answer: Callable[[Fault], Awaitable[None]]) -> None:
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
