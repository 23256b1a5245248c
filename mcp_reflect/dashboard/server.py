"""Serve the dashboard: what a person looks at and decides, on this machine or at the service of a team."""

import secrets
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import asdict, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from mcp_reflect.dashboard.contents import collect
from mcp_reflect.dashboard.page import render_page, script_json
from mcp_reflect.errors import (
    ChangedError,
    InputError,
    McpReflectError,
    NotAllowedError,
    NotFoundError,
)
from mcp_reflect.log import Log
from mcp_reflect.loopback import HOST, listening
from mcp_reflect.models.access import ANY_PROJECT, AccessRole, Principal
from mcp_reflect.models.common import json_of
from mcp_reflect.projects import Scopes
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.curation import USES
from mcp_reflect.speaker import HEADER as SPEAKER_HEADER
from mcp_reflect.speaker import Speaker, speaker_of_request

if TYPE_CHECKING:
    from mcp_reflect.services.engine import Engine


_TOKEN_BYTES: Final = 32
"""Random bytes in a token or a ticket."""

MAX_BODY_BYTES: Final = 4 << 20
"""The longest request, such as lessons of an import."""

TICKET_PREFIX: Final = "once-"
"""The beginning of a ticket, by which the page knows that it is no token."""

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class RefusalError(McpReflectError):
    """A request is refused before it is looked at; `status` is that of HTTP."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Viewer(NamedTuple):
    """Who asks, and the engine of the project that they look at."""

    engine: "Engine"
    principal: Principal


Enter = Callable[[Request], Awaitable[Viewer]]
"""Returns who makes a request. Raises RefusalError or InputError for one that is not answered."""

Answer = Callable[[Viewer, Request], Awaitable[Response]]


def answering(enter: Enter, answer: Answer, log: Log) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler of requests: `enter` says who asks, and `answer` what they are answered.

    A caller's and the bank's errors are answered in words; those of this package go to the log.
    """

    async def answered(request: Request) -> Response:
        """Answer a request, with its errors in words."""
        try:
            return await answer(await enter(request), request)
        except RefusalError as error:
            return error_response(error.status, str(error))
        except McpReflectError as error:
            return error_response(_status_of(error), str(error))
        except Exception as error:  # noqa: BLE001 - the outermost handler: the page gets a sentence
            trace = clean_text(traceback.format_exc())
            log.error(
                "request_failed", path=request.url.path, error=type(error).__name__, trace=trace
            )
            return error_response(
                500, "mcp-reflect failed; nothing was stored. See its log for details."
            )

    return answered


def _status_of(error: McpReflectError) -> int:
    """Return the status of HTTP for an error of the caller or, for any other, of the bank."""
    if isinstance(error, NotFoundError):
        return 404
    if isinstance(error, NotAllowedError):
        return 403
    if isinstance(error, ChangedError):
        return 409
    if isinstance(error, InputError):
        return 400
    return 503


def board_routes(enter: Enter, log: Log) -> list[Route]:
    """Return the routes from which the page takes its data, and one for each use of a bank by a person."""
    uses = {name: answering(enter, partial(_use, name), log) for name in USES}
    return [
        Route("/api/board", answering(enter, show_board, log), methods=["GET"]),
        *(Route(f"/api/{name}", answer, methods=["POST"]) for name, answer in uses.items()),
    ]


async def show_board(viewer: Viewer, _: Request) -> Response:
    """Answer what the page shows, with the projects that the viewer may see."""
    engine, principal = viewer
    decides = speaker_of_request(principal) is Speaker.PERSON
    counts = await engine.bank.lessons.projects(engine.scopes.own.tenant)
    projects = {name: count for name, count in counts.items() if principal.uses(name)}
    data = await collect(engine, whole=decides)
    return json_response({**data, "projects": projects, "decides": decides})


async def _use(name: str, viewer: Viewer, request: Request) -> Response:
    """Do one of the uses of a bank (`services.curation.USES`), such as keeping a lesson, if the viewer's role allows it."""
    use = USES[name]
    viewer.principal.refuse_below(use.role, f"use `{name}`")
    sent = await read_body(request)
    try:
        speaker = speaker_of_request(viewer.principal, request.headers.get(SPEAKER_HEADER))
        result = await use.work(viewer.engine, sent, speaker=speaker)
    except (AttributeError, LookupError, TypeError, ValueError):
        raise InputError(
            "body", f"it is not what `{name}` takes", "Use the command line of this version."
        ) from None
    if isinstance(result, tuple):
        return json_response([asdict(item) for item in cast("tuple[Any, ...]", result)])
    if is_dataclass(result) and not isinstance(result, type):
        return json_response(asdict(result))
    return json_response(result)


async def read_body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request. Raises InputError for another type, other JSON or too many bytes."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise InputError("content-type", "it is not application/json", "Send JSON.")
    value = json_of(await bounded_body(request))
    if not isinstance(value, dict):
        raise InputError("body", "it is not an object of JSON", "Send one.")
    return value


async def bounded_body(request: Request) -> bytes:
    """Return the bytes of a request. Raises InputError for too many."""
    body = bytearray()  # bytes would be copied whole for each chunk, however small
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise InputError("body", f"it is longer than {MAX_BODY_BYTES} bytes", "Send less.")
    return bytes(body)


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON answer that a page may hold in a script."""
    return Response(script_json(value), status, HEADERS, "application/json")


def error_response(status: int, message: str) -> Response:
    """Return an error in words."""
    return json_response({"error": message}, status)


def page_response() -> Response:
    """Return the page, which asks its server for the data."""
    page = render_page("served")
    return HTMLResponse(
        page.html,
        headers={**HEADERS, "Content-Security-Policy": f"{page.policy}; frame-ancestors 'none'"},
    )


class OwnBoard:
    """The dashboard for one person on this machine. It answers only to the Host `authority` (name and port).

    Its `token` comes with the address. The browser is started with a ticket, which is exchanged for the token once:
    other users of the machine can read its command line, but only after the ticket was used. Where an agent started it
    (`speaker`), the page shows and decides nothing.
    """

    def __init__(self, engine: "Engine", authority: str, speaker: Speaker = Speaker.PERSON) -> None:
        self._role = AccessRole.READER
        if speaker is Speaker.PERSON:
            self._role = AccessRole.ADMIN
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._authority = authority
        self._tickets: set[str] = set()
        self._projects_seen: set[str] = set()
        self._engine = engine

    def issue_ticket(self) -> str:
        """Return a new ticket."""
        ticket = TICKET_PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)
        self._tickets.add(ticket)
        return ticket

    def application(self) -> Starlette:
        """Return the web application."""
        log = self._engine.log
        return Starlette(
            routes=[
                Route("/", answering(self._anyone, self._page, log), methods=["GET"]),
                Route("/api/enter", answering(self._anyone, self._exchange, log), methods=["POST"]),
                *board_routes(self._person, log),
            ]
        )

    async def _anyone(self, request: Request) -> Viewer:
        """Return the viewer of a request; RefusalError for one that does not come from this machine's own page.

        Any page in the browser can send a request here. Browsers say in its headers which page it came from.
        """
        own_origin = f"http://{self._authority}"
        if request.headers.get("host") != self._authority:
            raise RefusalError(421, f"This server only answers to {own_origin}.")
        site = request.headers.get("sec-fetch-site", "same-origin")
        is_own_origin = request.headers.get("origin", own_origin) == own_origin
        if not is_own_origin or site not in ("same-origin", "none"):
            raise RefusalError(403, "Other pages may not use this server.")
        tenant = self._engine.scopes.own.tenant
        principal = Principal(
            id="board", name="", tenant=tenant, projects=(ANY_PROJECT,), role=self._role
        )
        return Viewer(self._engine, principal)

    async def _person(self, request: Request) -> Viewer:
        """Refuse a request without the token; else return its viewer, with the engine of the project that it names."""
        viewer = await self._anyone(request)
        sent = request.headers.get("authorization", "").encode()
        if not secrets.compare_digest(sent, f"Bearer {self.token}".encode()):
            raise RefusalError(
                401, "The address is missing its token. Open the one that the terminal shows."
            )
        engine = self._engine
        project = request.query_params.get("project")
        if project is None or project == engine.scopes.own.project:
            return viewer
        await self._refuse_unknown_project(project)
        settings = replace(engine.settings, project=project)
        scopes = Scopes.of(settings, engine.scopes.own.tenant)
        return viewer._replace(engine=type(engine)(settings, store=engine.bank, scopes=scopes))

    async def _refuse_unknown_project(self, project: str) -> None:
        """Raise InputError for a project without lessons. One whose last lesson was forgotten here is still shown."""
        if project in self._projects_seen:
            return
        tenant = self._engine.scopes.own.tenant
        if project not in await self._engine.bank.lessons.projects(tenant):
            raise InputError(
                "project", "it has no lessons in the bank", "Choose one from the list."
            )
        self._projects_seen.add(project)

    async def _page(self, _: Viewer, __: Request) -> Response:
        """Answer the page, which holds no lessons: anyone on this machine may read it."""
        return page_response()

    async def _exchange(self, _: Viewer, request: Request) -> Response:
        """Answer the token for a ticket, once."""
        ticket = str((await read_body(request)).get("ticket"))
        if ticket not in self._tickets:
            raise RefusalError(
                403, "This address was used already. Open the one that the terminal shows."
            )
        self._tickets.remove(ticket)
        return json_response({"token": self.token})


async def serve(
    engine: "Engine", port: int, announce: Callable[[str, str], None], speaker: Speaker
) -> None:
    """Serve the engine's bank on this machine until SIGINT or SIGTERM.

    Args:
        engine: The engine whose bank is shown.
        port: The port on 127.0.0.1; 0 takes a free one.
        announce: Is called with the address that opens the dashboard, and with one that works once.
        speaker: Who started it; an agent's board decides nothing.

    Raises:
        InputError: If the port cannot be used.
    """
    import uvicorn  # noqa: PLC0415 - a page can be written without a server

    with listening(port, "--port") as listener:
        authority = f"{HOST}:{listener.getsockname()[1]}"
        board = OwnBoard(engine, authority, speaker)
        config = uvicorn.Config(
            board.application(),
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
        )
        page = f"http://{authority}/"
        announce(f"{page}#{board.token}", f"{page}#{board.issue_ticket()}")
        await uvicorn.Server(config).serve([listener])
