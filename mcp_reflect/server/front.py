"""The front of the service over HTTP: foreign requests are refused before all else, and each request is logged."""

import time
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_reflect.errors import BankError
from mcp_reflect.log import Log
from mcp_reflect.loopback import HOST
from mcp_reflect.server.authentication import principal_of
from mcp_reflect.server.metrics import Metrics

PATH: Final = "/mcp"
"""Of MCP. All other paths are of the dashboard, of hooks and of our command line."""

COOKIE: Final = "mcp_reflect_token"
"""Has the token of a person who logged in at the dashboard."""

_PROBES: Final = ("/healthz", "/readyz")


class Front:
    """An ASGI application around `app`: refuses foreign Hosts and Origins, and logs each request without its body.

    `names` are the Hosts by which the service may be called (`host_names`). If the bank fails before a tool is called
    (to look up a token), it answers 503 and logs the reason.
    """

    def __init__(self, app: ASGIApp, names: list[str], log: Log, metrics: Metrics | None) -> None:
        self._app = app
        self._metrics = metrics
        self._names = {name.encode() for name in names}
        self._origins = {origin.encode() for origin in origins_of(names)}
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a foreign request, or pass it on with the token of its cookie."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        _use_cookie(scope)
        start_time = time.monotonic()
        status = 500

        async def send_and_note_status(message: Message) -> None:
            """Send a message on, and remember the status of the answer for the log."""
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        # An answer of Starlette is an ASGI application, too.
        application = self._refusal(scope) or self._app
        try:
            await application(scope, receive, send_and_note_status)
        except BankError as error:
            self._log.error("bank_failed", path=scope["path"], error=str(error))
            text = "The service's bank does not answer. Nothing was stored. Try again in 5 s."
            answer = PlainTextResponse(text, 503, {"Retry-After": "5"})
            await answer(scope, receive, send_and_note_status)
        finally:
            if self._metrics:
                self._metrics.note_request(status)
            self._log_request(scope, status, time.monotonic() - start_time)

    def _log_request(self, scope: Scope, status: int, seconds: float) -> None:
        """Log a request with the status of its answer and the time that it took."""
        caller = principal_of(scope)
        self._log.info(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=status,
            milliseconds=round(seconds * 1000, 1),
            bytes=scope.get("body_bytes", 0),
            caller=caller and caller.name,
        )

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Return the answer to a request that is not let in, None for one that is; the first row that fits decides.

        | request                                     | answer                                              |
        |---------------------------------------------|-----------------------------------------------------|
        | probes whether the service runs             | none: monitoring calls the service by its address   |
        | names another Host                          | 421: a page may have bent a name to our address     |
        | comes from a page of another Origin         | 403                                                 |
        | opens a stream of MCP (GET)                 | 405: this service has no streams                    |
        | any other                                   | none                                                |
        """
        headers = dict(scope["headers"])
        if scope["path"] in _PROBES:
            return None
        if headers.get(b"host", b"") not in self._names:
            return PlainTextResponse(
                "Host: this service does not have that name (serve --public-url, --allow-host).",
                421,
            )
        if b"origin" in headers and headers[b"origin"] not in self._origins:
            return PlainTextResponse("Origin: other pages may not use this service.", 403)
        if scope["path"] == PATH and scope["method"] == "GET":
            return PlainTextResponse("Send POST.", 405, {"Allow": "POST"})
        return None


def _use_cookie(scope: Scope) -> None:
    """Put the token of the cookie into the header where tokens are read, if a request brings none there itself.

    Not for MCP: a page of another site could then make a person's browser call tools.
    """
    has_authorization = any(name == b"authorization" for name, _ in scope["headers"])
    if scope["path"] == PATH or has_authorization:
        return
    token = Request(scope).cookies.get(COOKIE)
    if token:
        header = (b"authorization", f"Bearer {token}".encode())
        scope["headers"] = [*scope["headers"], header]


def host_names(
    host: str, port: int, *, allowed: Iterable[str] = (), public_url: str | None = None
) -> list[str]:
    """Return the names by which a service may be called, each as it stands in the header Host.

    ("0.0.0.0", 8080, public_url="https://lessons.example.com/mcp") -> 127.0.0.1:8080, localhost:8080, 0.0.0.0:8080 and
    lessons.example.com; `allowed` are other names, by which a proxy calls it.
    """
    names = [*allowed, f"{HOST}:{port}", f"localhost:{port}", f"{bracketed(host)}:{port}"]
    if public_url:
        names.append(urlsplit(public_url).netloc)
    return list(dict.fromkeys(names))


def origins_of(names: Iterable[str]) -> list[str]:
    """Return the origins of our own pages, by the names of the service."""
    return [f"{scheme}://{name}" for name in names for scheme in ("http", "https")]


def bracketed(host: str) -> str:
    """Return a host as it stands in an address: `::1` -> `[::1]`, a name as it is."""
    if ":" in host:
        return f"[{host}]"
    return host
