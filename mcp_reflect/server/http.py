"""The limits on requests and bodies over HTTP. The SDK refuses JSON that is nested too deep (400)."""

import sys
from typing import Final

import anyio
import uvicorn
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_reflect.config import Limits

PATH: Final = "/mcp"


class RequestLimits:
    """An ASGI application around `app`: counts each request before its body is read, and limits the time for the body.

    `seconds` is the time for a body, None for the setting. A body over 4 MiB is 413, one that does not come 408, and a
    request over the limit 503; the connection is then closed.
    """

    def __init__(self, app: ASGIApp, limits: Limits, seconds: float | None = None) -> None:
        self._app = app
        self._most = limits.max_http_requests
        self._seconds = limits.max_body_seconds if seconds is None else seconds
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on with its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif self._open >= self._most:
            text = f"requests: {self._open} are open already. Close one first."
            await _refusal(503, text)(scope, receive, send)
        else:
            self._open += 1
            try:
                await self._with_body(scope, receive, send)
            finally:
                self._open -= 1

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts: list[Message] = []
        length = dict(scope["headers"]).get(b"content-length", b"0")[:20]
        announced, size = int(length) if length.isdigit() else 0, 0
        with anyio.move_on_after(self._seconds) as waiting:
            while max(size, announced) <= DEFAULT_MAX_REQUEST_BODY_SIZE:
                parts.append(await receive())
                if parts[-1]["type"] == "http.disconnect":
                    return
                size += len(parts[-1].get("body", b""))
                if not parts[-1].get("more_body", False):
                    break
        scope["body_bytes"] = size
        if max(size, announced) > DEFAULT_MAX_REQUEST_BODY_SIZE:
            text = f"body: it is too large. Send at most {DEFAULT_MAX_REQUEST_BODY_SIZE} bytes."
            await _refusal(413, text)(scope, receive, send)
        elif waiting.cancelled_caught:
            text = f"body: it did not come within {self._seconds} s. Send it at once."
            await _refusal(408, text)(scope, receive, send)
        else:
            parts.reverse()

            async def again() -> Message:
                return parts.pop() if parts else await receive()

            await self._app(scope, again, send)


def _refusal(status: int, text: str) -> PlainTextResponse:
    return PlainTextResponse(text, status, {"connection": "close"})  # the rest of the body is never read


def configure(app: ASGIApp, limits: Limits, url: str, finish_seconds: int) -> uvicorn.Config:
    """Return uvicorn's configuration with our limits, and print the address; requests have `finish_seconds` to end."""
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    return uvicorn.Config(
        RequestLimits(app, limits), timeout_keep_alive=limits.max_body_seconds, log_level="warning", access_log=False,
        lifespan="on", server_header=False, timeout_graceful_shutdown=finish_seconds,
    )  # fmt: skip
