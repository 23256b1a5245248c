"""The dashboard's server, for one person on this machine."""

import json
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mcp_reflect.dashboard.actions import act, more
from mcp_reflect.dashboard.data import gathered
from mcp_reflect.dashboard.page import embedded, page
from mcp_reflect.errors import InputError, McpReflectError, NotFoundError
from mcp_reflect.loopback import HOST, listening

if TYPE_CHECKING:
    from mcp_reflect.services.engine import Engine


MOST_BYTES: Final = 200_000  # of a request; the longest edit of a lesson is a tenth
ONCE: Final = "once-"

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Handler = Callable[[Request], Awaitable[Response]]


class Keys:
    """The token of this server, and tickets that are worth it once.

    A ticket is what the browser is started with: others on the machine may read that command, and come too late.
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._tickets: set[str] = set()

    def ticket(self) -> str:
        """A new ticket."""
        made = ONCE + secrets.token_urlsafe(32)
        self._tickets.add(made)
        return made

    def opens(self, authorization: str) -> bool:
        """Whether a header carries the token."""
        return secrets.compare_digest(authorization.encode(), f"Bearer {self.token}".encode())

    def taken(self, ticket: object) -> bool:
        """Whether that is a ticket; it is none any more."""
        known = isinstance(ticket, str) and ticket in self._tickets
        self._tickets.discard(str(ticket))
        return known


async def serve(engine: "Engine", port: int, ready: Callable[[str, str], None]) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is told the address that opens it, and one that opens it once.

    InputError where the port cannot be had.
    """
    import uvicorn  # noqa: PLC0415 - a page may be made without a server

    with listening(port, "--port") as door:
        keys = Keys()
        place = f"{HOST}:{door.getsockname()[1]}"
        config = uvicorn.Config(
            application(engine, keys, place), log_level="warning", access_log=False, lifespan="off", server_header=False
        )
        ready(f"http://{place}/#{keys.token}", f"http://{place}/#{keys.ticket()}")
        await uvicorn.Server(config).serve([door])


def application(engine: "Engine", keys: Keys, place: str) -> Starlette:
    """The server's answers; `place` is the one Host that it answers to."""

    async def shown(_: Request) -> Response:
        made = page("served")
        policy = f"{made.policy}; frame-ancestors 'none'"
        return Response(made.html, media_type="text/html", headers={"Content-Security-Policy": policy})

    async def entered(request: Request) -> Response:
        sent = await _body(request)
        if not keys.taken(sent.get("ticket")):
            return _refused(403, "This address was used already. Open the one that the terminal shows.")
        return _json({"token": keys.token})

    async def board(_: Request) -> Response:
        return _json(await gathered(engine))

    async def lesson(request: Request) -> Response:
        return _json(await more(engine, request.path_params["id"]))

    async def acted(request: Request) -> Response:
        return _json(await act(engine, await _body(request)))

    def guarded(handler: Handler, *, keyed: bool = True) -> Handler:
        async def answer(request: Request) -> Response:
            refused = _stranger(request, place)
            if refused is None and keyed and not keys.opens(request.headers.get("authorization", "")):
                refused = _refused(401, "The address is missing its token. Open the one that the terminal shows.")
            response = refused or await _answered(engine, handler, request)
            response.headers.update(_HEADERS)
            return response

        return answer

    return Starlette(
        routes=[
            Route("/", guarded(shown, keyed=False), methods=["GET"]),
            Route("/api/enter", guarded(entered, keyed=False), methods=["POST"]),
            Route("/api/board", guarded(board), methods=["GET"]),
            Route("/api/lesson/{id}", guarded(lesson), methods=["GET"]),
            Route("/api/act", guarded(acted), methods=["POST"]),
        ]
    )


def _stranger(request: Request, place: str) -> Response | None:
    """Why a request is not of this machine's own page, null where it may be."""
    if request.headers.get("host") != place:
        return _refused(421, f"This server answers to http://{place} alone.")
    if request.headers.get("origin", f"http://{place}") != f"http://{place}":
        return _refused(403, "Another page may not ask this server.")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return _refused(403, "Another page may not ask this server.")
    return None


async def _answered(engine: "Engine", handler: Handler, request: Request) -> Response:
    """The handler's answer; a fault of the caller or of the bank in words, one of ours in the log."""
    try:
        return await handler(request)
    except NotFoundError as error:
        return _refused(404, str(error))
    except InputError as error:
        return _refused(400, str(error))
    except McpReflectError as error:
        return _refused(503, str(error))
    except Exception as error:  # noqa: BLE001 - the outermost handler: the page is told a sentence
        import traceback  # noqa: PLC0415 - only a fault needs it

        from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - same

        trace = clean_text(traceback.format_exc())
        engine.log("board_failed", "error", error=type(error).__name__, trace=trace)
        return _refused(500, "mcp-reflect failed inside the board; nothing was stored. Its log has more.")


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object of a request. InputError where it is none, is too long, or is announced as something else."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise InputError("content-type", "it is not application/json", "Send JSON.")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise InputError("body", f"it is longer than {MOST_BYTES} bytes", "Send less.")
    try:
        sent = json.loads(body)
    except ValueError:
        raise InputError("body", "it is not JSON", "Send an object.") from None
    if not isinstance(sent, dict):
        raise InputError("body", "it is no object", "Send an object.")
    return sent  # pyright: ignore[reportUnknownVariableType]


def _json(value: dict[str, Any]) -> Response:
    return Response(embedded(value), media_type="application/json")


def _refused(status: int, error: str) -> Response:
    return Response(embedded({"error": error}), status_code=status, media_type="application/json")
