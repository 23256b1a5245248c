"""The limits on connections, requests and bodies over HTTP. The SDK refuses JSON that is nested too deep (400)."""

import asyncio
import logging
from typing import Any, ClassVar, Final, NamedTuple

import anyio
import uvicorn
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcp_reflect.dense import MOST_SEPARATORS, is_dense
from mcp_reflect.limits import Limits

MOST_UNFINISHED_BYTES: Final = 64 << 20
"""Bytes of bodies that have not come in full, over all requests."""

_MOST_BYTES_BY_PATH: Final = {"/login": 8 << 10}
"""Bytes of a body by path, where fewer do: anybody may try to log in, and a token is short."""

_BACKLOG: Final = 100  # connections that are accepted at once
_OTHER_FILES: Final = 60  # of the bank, of threads, of the log
_MOST_CONNECTIONS: Final = 2_000
_LEAST_CONNECTIONS: Final = 16  # below it nothing would be served
_FILES_IF_UNKNOWN: Final = 512  # that a process may open, as on Windows
_MAX_LENGTH_DIGITS: Final = 20  # of the header that announces the size of a body


class _Fault(NamedTuple):
    """Why a request is refused: the status of HTTP, and what the client reads."""

    status: int
    text: str


class RequestLimits:
    """An ASGI application around `app`, which gets a request once its body has come; `body_bytes` is its size.

    A slow client, or many at once, must not fill the memory:

    | request                                                              | answer |
    |----------------------------------------------------------------------|--------|
    | a body over 4 MiB (8 KiB to log in), or with too many values         | 413    |
    | a body that does not come within `seconds` (None: the setting)       | 408    |
    | the body awaited longest, while all together hold more than MOST_UNFINISHED_BYTES | 408    |
    | more requests at once than the setting allows                        | 503    |

    The connection of a refused one is closed.
    """

    def __init__(self, app: ASGIApp, limits: Limits, seconds: float | None = None) -> None:
        self._app = app
        self._most = limits.max_http_requests
        self._seconds = limits.max_body_seconds if seconds is None else seconds
        self._open = 0  # requests that the application answers now
        # The bytes of each unfinished body, the longest awaited first.
        self._awaited: dict[anyio.CancelScope, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request that is over a limit, or pass it on with its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body_or_fault = await self._body_of(scope, receive)
        if body_or_fault is None:
            return
        if isinstance(body_or_fault, bytearray):
            fault = self._fault_of(body_or_fault)
            if fault is None:
                await self._pass_on(scope, bytes(body_or_fault), receive, send)
                return
        else:
            fault = body_or_fault
        del body_or_fault  # its memory is free while the answer is sent
        answer = PlainTextResponse(fault.text, fault.status, {"connection": "close"})
        await answer(scope, receive, send)

    async def _body_of(self, scope: Scope, receive: Receive) -> bytearray | _Fault | None:
        """Read the body of a request; a fault if it is too large or too late, None if the client is gone."""
        announced_bytes = _announced_bytes(scope)
        most_bytes = _MOST_BYTES_BY_PATH.get(scope["path"], DEFAULT_MAX_REQUEST_BODY_SIZE)
        body = bytearray()
        with anyio.move_on_after(self._seconds) as time_limit:
            try:
                while max(len(body), announced_bytes) <= most_bytes:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if not message.get("more_body", False):
                        break
                    self._count_awaited(time_limit, len(body))
            finally:
                self._awaited.pop(time_limit, None)
        if max(len(body), announced_bytes) > most_bytes:
            return _Fault(413, f"body: it is too large. Send at most {most_bytes} bytes.")
        if time_limit.cancelled_caught:
            text = f"body: it did not come within {self._seconds} s, or too many are awaited. Send it at once."
            return _Fault(408, text)
        return body

    def _fault_of(self, body: bytearray) -> _Fault | None:
        """Return why a request is refused though its body has come, None where it is not."""
        if is_dense(body):
            text = f"body: it has more than {MOST_SEPARATORS} values. Send fewer at once, or a value as text."
            return _Fault(413, text)
        if self._open >= self._most:
            return _Fault(503, f"requests: {self._open} are open already. Close one first.")
        return None

    def _count_awaited(self, time_limit: anyio.CancelScope, size: int) -> None:
        """Count the bytes of a body that is awaited; if all are too many, give up the one that is awaited longest.

        A body is known by its time limit, whose cancellation ends the wait.
        """
        self._awaited[time_limit] = size
        if sum(self._awaited.values()) > MOST_UNFINISHED_BYTES:
            longest_awaited = next(iter(self._awaited))  # the first that was put in
            del self._awaited[longest_awaited]
            longest_awaited.cancel()

    async def _pass_on(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Pass a request with its whole body on to the application."""
        scope["body_bytes"] = len(body)
        unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_body() -> Message:
            """Return the body once, then the messages of the connection."""
            if unread:
                return unread.pop()
            return await receive()

        self._open += 1
        try:
            await self._app(scope, receive_body, send)
        finally:
            self._open -= 1


def _announced_bytes(scope: Scope) -> int:
    """Return the size of a body that the header of its request announces, 0 where none is announced."""
    content_length = dict(scope["headers"]).get(b"content-length", b"0")[:_MAX_LENGTH_DIGITS]
    return int(content_length) if content_length.isdigit() else 0


class Connection(H11Protocol):
    """A connection. It is closed if no request comes on it for as long as one may be kept alive.

    If there are more than `most`, the oldest on which no request is answered makes way.
    """

    most: ClassVar[int] = _MOST_CONNECTIONS
    _all: ClassVar[dict["Connection", None]] = {}  # the oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch the connection; if there are too many now, close the oldest on which no request is answered."""
        super().connection_made(transport)
        self._watch(None)
        self._all[self] = None
        if len(self._all) > self.most:
            idle_connections = (connection for connection in self._all if connection.is_idle())
            oldest = next(idle_connections, self)
            oldest.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the watch."""
        self._watched.cancel()
        self._all.pop(self, None)
        super().connection_lost(exc)

    def is_idle(self) -> bool:
        """Return whether no request is answered on it; `cycle` is uvicorn's object of the latest request."""
        return not self.cycle or self.cycle.response_complete

    def _watch(self, latest_request: Any) -> None:
        """Close the connection if it is unused after the time that one may be kept alive.

        `latest_request` is the latest one now, as uvicorn has it in `cycle`; None before the first.
        """
        self._watched = self.loop.call_later(
            self.timeout_keep_alive, self._close_if_unused, latest_request
        )

    def _close_if_unused(self, latest_request: Any) -> None:
        """Close the connection if no request came on it after `latest_request` and none is answered; else watch on."""
        if self.cycle is latest_request and self.is_idle():
            self.transport.close()
        else:
            self._watch(self.cycle)


class _OutOfFilesOnce(logging.Filter):
    """Of asyncio's lines that no more files can be opened, lets the first through alone: it tries again each second."""

    _was_logged = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is logged."""
        if "out of system resource" not in record.getMessage():
            return True
        if self._was_logged:
            return False
        self._was_logged = True
        return True


def configure(app: ASGIApp, limits: Limits, finish_seconds: int) -> uvicorn.Config:
    """Return uvicorn's configuration with our limits; requests have `finish_seconds` to end when the server stops."""
    try:
        import resource  # noqa: PLC0415 - not on Windows

        open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except ImportError:
        open_files = _FILES_IF_UNKNOWN
    Connection.most = _most_connections(open_files)
    logging.getLogger("asyncio").addFilter(_OutOfFilesOnce())
    return uvicorn.Config(
        RequestLimits(app, limits),
        http=Connection,
        backlog=_BACKLOG,
        timeout_keep_alive=limits.max_body_seconds,
        timeout_graceful_shutdown=finish_seconds,
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
    )


def _most_connections(open_files: int) -> int:
    """Return how many connections there may be where the process may open so many files; -1 means any number.

    Each connection is an open file, and the server needs others: 512 -> 352.
    """
    if open_files < 0:
        return _MOST_CONNECTIONS
    files_for_connections = open_files - _BACKLOG - _OTHER_FILES
    return min(max(files_for_connections, _LEAST_CONNECTIONS), _MOST_CONNECTIONS)
