"""The server over HTTP: loopback only, with limits on requests."""

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

import anyio
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE

from mcp_reflect.config import Limits
from mcp_reflect.loopback import HOST, listening
from mcp_reflect.server.app import build

# Requests over HTTP before the SDK sees them: so many at a time, and a body that comes in time.


Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

_TOO_SLOW: Final = 408
_TOO_MANY: Final = 503


class RequestLimits:
    """An ASGI application before another one: who sends slowly takes nobody's place.

    `seconds` is how long a body may take, the setting where it is null. A body that is too large is handed on unread,
    for the SDK to refuse.
    """

    def __init__(self, app: App, limits: Limits, seconds: float | None = None) -> None:
        self._app = app
        self._most = limits.max_http_requests
        self._seconds = limits.max_body_seconds if seconds is None else seconds
        self._open = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on with its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        else:
            await self._with_body(scope, receive, send)

    async def _with_body(self, scope: Message, receive: Receive, send: Send) -> None:
        read: list[Message] = []
        with anyio.move_on_after(self._seconds) as waiting:
            size = _announced(scope)
            while size <= DEFAULT_MAX_REQUEST_BODY_SIZE:
                read.append(await receive())
                if read[-1]["type"] == "http.disconnect":
                    return  # nobody waits for an answer any more
                size += len(read[-1].get("body", b""))
                if not read[-1].get("more_body", False):
                    break
        if waiting.cancelled_caught:
            said = f"body: it did not come within {self._seconds} s. Send it at once."
            await _refuse(send, _TOO_SLOW, said)
            return
        read.reverse()

        async def again() -> Message:
            return read.pop() if read else await receive()

        if self._open >= self._most:
            said = f"requests: {self._open} are open already. Close one first."
            await _refuse(send, _TOO_MANY, said)
            return
        self._open += 1
        try:
            await self._app(scope, again, send)
        finally:
            self._open -= 1


def _announced(scope: Message) -> int:
    """One more than may be where the headers say that the body is too large, else 0."""
    length = dict(scope["headers"]).get(b"content-length", b"0")
    too_large = length.isdigit() and int(length[:20]) > DEFAULT_MAX_REQUEST_BODY_SIZE
    return DEFAULT_MAX_REQUEST_BODY_SIZE + 1 if too_large else 0


async def _refuse(send: Send, status: int, text: str) -> None:
    """A plain answer, after which the connection is closed: the rest of the body is never read."""
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


# The same server over HTTP, for clients on this machine: loopback only, and no way to ask for more.
#
# The SDK refuses a foreign Host (421), a foreign Origin (403) and a body over 4 MiB before we see it.


PATH: Final = "/mcp"
_GRACE_SECONDS: Final = 1  # that answers have to their end; a stream that a client holds open has none


def serve_http(port: int) -> None:
    """Serve `http://127.0.0.1:PORT/mcp` until SIGINT or SIGTERM; port 0 means any free one.

    The address is printed on stdout when it takes connections. InputError where the port cannot be had.
    """
    import uvicorn  # noqa: PLC0415 - over stdio nobody needs it

    with listening(port, "--http") as door:
        made = build()
        app = RequestLimits(made.streamable_http_app(streamable_http_path=PATH, host=HOST), made.service.settings)
        config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=_GRACE_SECONDS)
        server = uvicorn.Server(config)
        sys.stdout.write(f"http://{HOST}:{door.getsockname()[1]}{PATH}\n")
        sys.stdout.flush()
        anyio.run(server.serve, [door])
