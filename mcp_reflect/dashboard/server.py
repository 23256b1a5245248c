"""Serve the dashboard to one person on this machine."""

import secrets
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mcp_reflect.dashboard.actions import ACTIONS, act, lesson_details
from mcp_reflect.dashboard.data import collect
from mcp_reflect.dashboard.page import render_page, script_json
from mcp_reflect.errors import InputError, McpReflectError, NotAllowedError, NotFoundError
from mcp_reflect.loopback import HOST, listening
from mcp_reflect.models.common import json_of
from mcp_reflect.security.redact import clean_text

if TYPE_CHECKING:
    from mcp_reflect.services.engine import Engine


MAX_BODY_BYTES: Final = 200_000
"""The longest request: ten times the longest edit of a lesson."""

TICKET_PREFIX: Final = "once-"

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Handler = Callable[[Request], Awaitable[Response]]


class Keys:
    """The token of this server, and tickets that are exchanged for it once.

    The browser is started with a ticket: other users of the machine can read its command line, but only after the
    ticket was used.
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.tickets: set[str] = set()

    def issue_ticket(self) -> str:
        """Return a new ticket."""
        ticket = TICKET_PREFIX + secrets.token_urlsafe(32)
        self.tickets.add(ticket)
        return ticket


async def serve(engine: "Engine", port: int, announce: Callable[[str, str], None]) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        engine: The engine whose bank is shown.
        port: The port on 127.0.0.1; 0 takes a free one.
        announce: Is called with the address that opens the dashboard, and with one that works once.

    Raises:
        InputError: If the port cannot be used.
    """
    import uvicorn  # noqa: PLC0415 - a page can be written without a server

    with listening(port, "--port") as listener:
        keys = Keys()
        origin = f"{HOST}:{listener.getsockname()[1]}"
        projects = ProjectEngines(engine)
        config = uvicorn.Config(
            application(projects, keys, origin),
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
        )
        announce(f"http://{origin}/#{keys.token}", f"http://{origin}/#{keys.issue_ticket()}")
        try:
            await uvicorn.Server(config).serve([listener])
        finally:
            await projects.close()


class ProjectEngines:
    """An engine for each project of the bank that the person has looked at."""

    def __init__(self, own: "Engine") -> None:
        self.own = own
        self._others: dict[str, Engine] = {}

    async def counts(self) -> dict[str, int]:
        """Return the number of active lessons of each project; the empty name is global."""
        return await self.own.bank.lessons.projects(self.own.scopes.own.tenant)

    async def chosen(self, request: Request) -> "Engine":
        """Return the engine of the project that a request names, else the page's own. InputError for an unknown one."""
        project = request.query_params.get("project")
        if project is None or project == self.own.scopes.own.project:
            return self.own
        if project not in self._others:
            if project not in await self.counts():
                raise InputError("project", "it has no lessons in the bank", "Choose one from the list.")
            self._others[project] = type(self.own)(replace(self.own.settings, project=project))
        return self._others[project]

    async def close(self) -> None:
        """Close the engines that were made here."""
        for engine in self._others.values():
            await engine.close()


def application(engines: ProjectEngines, keys: Keys, origin: str) -> Starlette:
    """Return the web application; `origin` is the only Host (name and port) that it answers to."""

    async def page(_: Request) -> Response:
        rendered = render_page("served")
        policy = f"{rendered.policy}; frame-ancestors 'none'"
        return Response(rendered.html, media_type="text/html", headers={"Content-Security-Policy": policy})

    async def enter(request: Request) -> Response:
        ticket = str((await read_body(request)).get("ticket"))
        if ticket not in keys.tickets:
            return error_response(403, "This address was used already. Open the one that the terminal shows.")
        keys.tickets.remove(ticket)
        return json_response({"token": keys.token})

    async def board(request: Request) -> Response:
        return json_response(
            {**await collect(await engines.chosen(request)), "projects": await engines.counts(), "acts": [*ACTIONS]}
        )

    async def lesson(request: Request) -> Response:
        return json_response(await lesson_details(await engines.chosen(request), request.path_params["id"]))

    async def action(request: Request) -> Response:
        return json_response(await act(await engines.chosen(request), await read_body(request)))

    def guarded(handler: Handler, *, needs_token: bool = True) -> Handler:
        async def answer(request: Request) -> Response:
            response = _refusal(request, origin)
            sent = request.headers.get("authorization", "").encode()
            if response is None and needs_token and not secrets.compare_digest(sent, f"Bearer {keys.token}".encode()):
                response = error_response(
                    401, "The address is missing its token. Open the one that the terminal shows."
                )
            response = response or await handle(engines.own, handler, request)
            response.headers.update(HEADERS)
            return response

        return answer

    return Starlette(
        routes=[
            Route("/", guarded(page, needs_token=False), methods=["GET"]),
            Route("/api/enter", guarded(enter, needs_token=False), methods=["POST"]),
            Route("/api/board", guarded(board), methods=["GET"]),
            Route("/api/lesson/{id}", guarded(lesson), methods=["GET"]),
            Route("/api/act", guarded(action), methods=["POST"]),
        ]
    )


def _refusal(request: Request, origin: str) -> Response | None:
    """Return the error for a request that does not come from this machine's own page, else None."""
    if request.headers.get("host") != origin:
        return error_response(421, f"This server only answers to http://{origin}.")
    foreign = request.headers.get("origin", f"http://{origin}") != f"http://{origin}"
    if foreign or request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return error_response(403, "Other pages may not use this server.")
    return None


async def handle(engine: "Engine", handler: Handler, request: Request) -> Response:
    """Return the handler's response, or an error: a caller's or the bank's in words; our own goes to the log."""
    try:
        return await handler(request)
    except McpReflectError as error:
        statuses = {NotFoundError: 404, NotAllowedError: 403, InputError: 400}
        status = next((status for kind, status in statuses.items() if isinstance(error, kind)), 503)
        return error_response(status, str(error))
    except Exception as error:  # noqa: BLE001 - the outermost handler: the page gets a sentence
        trace = clean_text(traceback.format_exc())
        engine.log.error("request_failed", path=request.url.path, error=type(error).__name__, trace=trace)
        return error_response(500, "mcp-reflect failed; nothing was stored. See its log for details.")


async def read_body(request: Request, most: int = MAX_BODY_BYTES) -> dict[str, Any]:
    """Return the JSON object of a request. Raises InputError for another type, other JSON or too many bytes."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise InputError("content-type", "it is not application/json", "Send JSON.")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise InputError("body", f"it is longer than {most} bytes", "Send less.")
    value = json_of(body)
    if not isinstance(value, dict):
        raise InputError("body", "it is not an object of JSON", "Send one.")
    return value


def json_response(value: dict[str, Any]) -> Response:
    """Return a JSON answer that a page may hold in a script."""
    return Response(script_json(value), media_type="application/json")


def error_response(status: int, message: str) -> Response:
    """Return an error in words."""
    return Response(script_json({"error": message}), status_code=status, media_type="application/json")
