"""The server over HTTP, for clients on this machine: loopback only, with limits on requests.

The SDK refuses a foreign Host (421) and a foreign Origin (403).
"""

import sys
from typing import Final

import anyio
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_reflect.config import Limits
from mcp_reflect.loopback import HOST, listening
from mcp_reflect.server.app import build

PATH: Final = "/mcp"
MOST_WAITING_BYTES: Final = 64 << 20
"""Bytes of unfinished bodies that are kept, over all requests."""
_GRACE_SECONDS: Final = 1  # for answers when the server stops; a stream that a client holds open has no end


class RequestLimits:
    """An ASGI application around `app`: a request is counted before its body is read, which must come in time.

    `seconds` is the time for a body, None for the setting. A body over 4 MiB is 413, one that does not come 408, and a
    request over the limits 503; the connection is then closed.
    """

    def __init__(self, app: ASGIApp, limits: Limits, seconds: float | None = None) -> None:
        self._app = app
        self._most = limits.max_http_requests
        self._seconds = limits.max_body_seconds if seconds is None else seconds
        self._open = self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on with its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif self._open >= self._most:
            await _refuse(send, 503, f"requests: {self._open} are open already. Close one first.")
        else:
            self._open += 1
            try:
                await self._with_body(scope, receive, send)
            finally:
                self._open -= 1

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts: list[Message] = []
        size = 0
        length = dict(scope["headers"]).get(b"content-length", b"0")[:20]
        announced = int(length) if length.isdigit() else 0
        try:
            with anyio.move_on_after(self._seconds) as waiting:
                while max(size, announced) <= DEFAULT_MAX_REQUEST_BODY_SIZE and self._waiting <= MOST_WAITING_BYTES:
                    parts.append(await receive())
                    if parts[-1]["type"] == "http.disconnect":
                        return
                    size += len(parts[-1].get("body", b""))
                    self._waiting += len(parts[-1].get("body", b""))
                    if not parts[-1].get("more_body", False):
                        break
        finally:
            self._waiting -= size
        if max(size, announced) > DEFAULT_MAX_REQUEST_BODY_SIZE:
            await _refuse(send, 413, f"body: it is too large. Send at most {DEFAULT_MAX_REQUEST_BODY_SIZE} bytes.")
        elif waiting.cancelled_caught:
            await _refuse(send, 408, f"body: it did not come within {self._seconds} s. Send it at once.")
        elif not parts or parts[-1].get("more_body", False):
            await _refuse(send, 503, "requests: too many bodies are unfinished. Send it again later.")
        else:
            parts.reverse()

            async def again() -> Message:
                return parts.pop() if parts else await receive()

            await self._app(scope, again, send)


async def _refuse(send: Send, status: int, text: str) -> None:
    """Answer in plain text, and close the connection: the rest of the body is never read."""
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def serve_http(port: int) -> None:
    """Serve `http://127.0.0.1:PORT/mcp` until SIGINT or SIGTERM; port 0 means any free one.

    The address is printed on stdout when it takes connections. InputError where the port cannot be had.
    """
    import uvicorn  # noqa: PLC0415 - stdio needs no web server

    with listening(port, "--http") as listener:
        server = build()
        app = RequestLimits(server.streamable_http_app(streamable_http_path=PATH, host=HOST), server.service.settings)
        config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=_GRACE_SECONDS)
        sys.stdout.write(f"http://{HOST}:{listener.getsockname()[1]}{PATH}\n")
        sys.stdout.flush()
        anyio.run(uvicorn.Server(config).serve, [listener])
