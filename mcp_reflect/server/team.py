"""The server over HTTP, for a team or for this machine alone: `mcp-reflect serve --http [HOST:]PORT`.

Any replica answers any request.
"""

import asyncio
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import anyio
import uvicorn
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.routes import create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import RequestStateSecurity
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_reflect import __version__, services
from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.dashboard.server import (
    HEADERS,
    RefusalError,
    Viewer,
    answering,
    board_routes,
    bounded_body,
    json_response,
    page_response,
    read_body,
    show_board,
)
from mcp_reflect.errors import BankError, InputError, McpReflectError
from mcp_reflect.log import Log
from mcp_reflect.loopback import HOST, is_loopback, listening
from mcp_reflect.models.access import AccessRole, Principal
from mcp_reflect.models.common import GLOBAL, from_json
from mcp_reflect.models.warning import HookInput, Moment
from mcp_reflect.projects import Scopes
from mcp_reflect.server.fair_queue import FairQueue
from mcp_reflect.server.http import configure
from mcp_reflect.server.metrics import Metrics
from mcp_reflect.server.service import name_agent
from mcp_reflect.server.tenants import (
    CALLER,
    SCOPES,
    Authenticator,
    Caller,
    Gate,
    OAuthOptions,
    Team,
    TeamServer,
    principal_of,
)
from mcp_reflect.services.context import open_bank
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.bank import Bank
from mcp_reflect.storage.tokens import PREFIX

PATH: Final = "/mcp"
_SWITCH_SECONDS: Final = 0.0005
"""For which a thread keeps the interpreter: a light request changes threads twenty times beside one that reads a session."""
# How long running calls have to end when the service stops: a call that asks a model takes 45 seconds.
_FINISH_SECONDS: Final = 50
_READY_SECONDS: Final = 3.0  # in which the bank has to answer for the replica to count as ready
_LIGHT_BYTES: Final = 1 << 16  # of a hook that is answered at once
_PROBES: Final = ("/healthz", "/readyz")

COOKIE: Final = "mcp_reflect_token"
_LOGIN: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Lessons · mcp-reflect</title>
<h1>Lessons of your team</h1><form method="post" action="/login"><p><label>Your token
<input type="password" name="token" required autocomplete="off"></label> <button>Show them</button></form><p>{}</p>
"""
_LOGIN_POLICY: Final = (
    "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamOptions:
    """How the service is reached, and whom it answers.

    `public_url` is the address that clients use, where a proxy stands before it; `allowed_hosts` are other names that
    the proxy calls it by. `own`: it is the server of a person, for this machine alone. `state_keys`
    are shared by all replicas: they seal what a client sends back in a second round of a call.
    """

    host: str
    port: int
    public_url: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    authenticates: bool = True
    own: bool = False
    oauth: OAuthOptions | None = None
    state_keys: tuple[str, ...] = ()
    lessons: int = 0
    bytes_a_minute: int = 0
    metrics: tuple[str, int] | None = None
    names_tenants: bool = False


class Replica:
    """A replica: MCP, and the routes for hooks, the command line and the dashboard with its login."""

    def __init__(
        self,
        settings: Settings,
        options: TeamOptions,
        bank: Bank,
        log: Log,
        port: int,
        own: Scopes | None = None,
    ) -> None:
        anyone = None
        if not options.authenticates:
            anyone = _anyone(own or Scopes.of(settings))
        self._bank = bank
        self.metrics = None
        if options.metrics:
            self.metrics = Metrics(bank, names_tenants=options.names_tenants)
        self._team = Team(
            settings, bank, log, options.lessons, self.metrics and self.metrics.note_call,
            bytes_a_minute=options.bytes_a_minute, is_own=options.own,
        )  # fmt: skip
        names = _host_names(options, port)
        origins = [f"{scheme}://{name}" for name in names for scheme in ("http", "https")]
        self.url = options.public_url or f"http://{_bracketed(options.host)}:{port}{PATH}"
        authentication = self._authentication(options, log)
        keys = None
        if options.state_keys:
            keys = RequestStateSecurity(keys=list(options.state_keys))
        server = TeamServer(self._team, request_state_security=keys, **authentication)
        self._verifier: TokenVerifier | None = authentication.get(
            "token_verifier"
        )  # None: it asks for no token
        self._reflecting: set[asyncio.Task[None]] = set()
        self._heavy = FairQueue()
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            json_response=True,  # a stream of events is cut when the service stops
            transport_security=TransportSecuritySettings(
                allowed_hosts=names, allowed_origins=origins
            ),
        )
        app.user_middleware.insert(
            0, Middleware(Front, names=names, origins=origins, log=log, metrics=self.metrics)
        )
        app.user_middleware.append(Middleware(Gate, team=self._team, anyone=anyone))
        app.router.routes[:0] = self._routes(options)
        self.app = app

    def _authentication(self, options: TeamOptions, log: Log) -> dict[str, Any]:
        """Return the SDK's options for tokens; the audience of a JWT is checked with its signature."""
        if not options.authenticates:
            return {}
        values: Any = {"issuer_url": self.url, "resource_server_url": None}
        if options.oauth:
            values = {"issuer_url": options.oauth.issuer, "resource_server_url": self.url}
        return {
            "auth": AuthSettings(
                **values, required_scopes=[SCOPES[0]], validate_token_resource=False
            ),
            "token_verifier": Authenticator(self._bank.tokens, options.oauth, log),
        }

    def _routes(self, options: TeamOptions) -> list[Route]:
        """Return the routes beside MCP; all but the probes, the page and the login need a token."""
        log = self._team.log
        own = {"page": show_board, "hook": self._hook, "whoami": self._whoami}
        routes = [
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
            Route("/", self._page, methods=["GET"]),
            Route("/login", self._login, methods=["POST"]),
            *(
                Route(f"/api/{name}", answering(self._enter, do, log), methods=["POST"])
                for name, do in own.items()
            ),
            *board_routes(self._enter, log),
        ]
        if options.oauth:
            values: Any = {
                "resource_url": self.url,
                "authorization_servers": [options.oauth.issuer],
            }
            routes += create_protected_resource_routes(**values, scopes_supported=list(SCOPES))
        return routes

    async def close(self) -> None:
        """Wait for the reflections that are running."""
        await asyncio.gather(*self._reflecting)

    async def _health(self, _: Request) -> Response:
        """Answer that the process runs."""
        return JSONResponse({"status": "ok"})

    async def _ready(self, _: Request) -> Response:
        """Report whether the replica is ready: the bank can be read and written, and has this release's schema."""
        try:
            with anyio.fail_after(_READY_SECONDS):
                opened = await self._bank.open()
                await self._bank.tokens.find(
                    f"{PREFIX}any_token"
                )  # reads; an open bank may be unreachable
        except (McpReflectError, TimeoutError) as error:
            return JSONResponse({"status": "bank", "error": type(error).__name__}, 503)
        if opened.read_only:
            return JSONResponse({"status": "bank", "error": "read-only"}, 503)
        return JSONResponse({"status": "ready", "schema": opened.schema})

    async def _enter(self, request: Request) -> Viewer:
        """Return who makes a request, with the engine of the project that it names."""
        caller = CALLER.get(None)
        if caller is None:
            raise RefusalError(401, "Send a token: Authorization: Bearer mcpr_…, or log in at /.")
        project = request.query_params.get("project", caller.project)
        if not caller.principal.uses(project):
            raise RefusalError(403, "project: your token is not for it.")
        if request.url.path in ("/api/add", "/api/import"):
            await self._team.refuse_more_lessons(caller.principal.tenant)
        name_agent(caller.principal.name)
        return Viewer(
            self._team.service(Caller(caller.principal, project)).engine(), caller.principal
        )

    async def _page(self, _: Request) -> Response:
        """Answer the board to who is logged in, else the form to log in."""
        if CALLER.get(None):
            return page_response()
        return _login_form("", 200)

    async def _login(self, request: Request) -> Response:
        """Put an accepted token into a cookie that scripts cannot read and other pages cannot send."""
        try:
            sent = (await bounded_body(request)).decode("utf-8", "replace")
        except InputError as error:
            return _login_form(str(error), 413)
        token = parse_qs(sent).get("token", [""])[0].strip()
        if self._verifier is None or await self._verifier.verify_token(token) is None:
            return _login_form("This token is not accepted.", 401)
        response = RedirectResponse("/", 303, HEADERS)
        response.set_cookie(
            COOKIE, token, httponly=True, samesite="strict", secure=self.url.startswith("https://")
        )
        return response

    async def _whoami(self, viewer: Viewer, _: Request) -> Response:
        """Answer who the token of a request names, and which release and schema answer."""
        opened = await viewer.engine.bank.open()
        principal = {
            name: value for name, value in asdict(viewer.principal).items() if name != "id"
        }
        about = {
            "version": __version__,
            "schema": opened.schema,
            "read_only": bool(opened.read_only),
        }
        return json_response({**principal, "project": CALLER.get().project, **about})

    async def _hook(self, viewer: Viewer, request: Request) -> Response:
        """Answer a hook of a host on another machine; for a reader, nothing is stored.

        A large one, which brings its session, waits for a turn of its tenant.
        """
        tenant, size = viewer.principal.tenant, int(request.scope.get("body_bytes", 0))
        if size <= _LIGHT_BYTES:
            return await self._answer_hook(viewer, await read_body(request))
        if not self._heavy.hold(tenant, size):
            text = "Sessions of your team wait to be read already. Send this one again in a minute."
            raise RefusalError(429, text)
        try:
            async with self._heavy.turn(tenant):
                return await self._answer_hook(viewer, await read_body(request), size)
        finally:
            self._heavy.let_go(tenant, size)

    async def _answer_hook(
        self, viewer: Viewer, body: Mapping[str, Any], size: int = 0
    ) -> Response:
        """Answer a hook whose input and, at the end of a session, transcript are in `body`; reflect on its runs afterwards."""
        try:
            sent: HookInput = from_json(HookInput, body["hook"])
            transcript = str(body.get("transcript", ""))
        except (AttributeError, LookupError, TypeError, ValueError):
            raise InputError(
                "hook", "it is not the input of a hook", "Send what mcp-reflect hook sends."
            ) from None
        # No path of a request is opened: what is to be read of a session, the client sends.
        hook = replace(sent, transcript=None, folder=None)
        writes = hook.moment in (Moment.AFTER, Moment.STOP, Moment.END)
        if writes and not viewer.principal.may(AccessRole.WRITER):
            return json_response({})
        if hook.moment is Moment.END and transcript:
            task = asyncio.create_task(self._reflect(viewer, hook.session, transcript, size))
            self._reflecting.add(task)
            task.add_done_callback(self._reflecting.discard)
        text, hold = await services.hooks.answer(viewer.engine.context, hook, transcript)
        answered: dict[str, Any] = {"text": text, "hold": hold}
        if hook.moment in (Moment.START, Moment.PROMPT):  # its machine keeps them
            guards = await services.enforced.enforced_guards(viewer.engine.context)
            answered["enforced"] = [asdict(guard) for guard in guards]
        return json_response(answered)

    async def _reflect(self, viewer: Viewer, session: str, transcript: str, size: int) -> None:
        """Reflect on each new run of a finished session in a turn of its tenant."""
        tenant = viewer.principal.tenant
        is_held = self._heavy.hold(tenant, size)  # else it is the one piece over the limit
        try:
            async with self._heavy.turn(tenant):
                await self._reflect_on_runs(viewer.engine, session, transcript)
        finally:
            if is_held:
                self._heavy.let_go(tenant, size)

    async def _reflect_on_runs(self, engine: Engine, session: str, transcript: str) -> None:
        """Reflect on each new run, as long as the tenant may store more lessons."""
        from mcp_reflect.sessions.transcripts import read_transcript  # noqa: PLC0415 - only the end of a session needs it

        try:
            scope = engine.scopes.own
            read = await asyncio.to_thread(read_transcript, transcript, "partial", session)
            for _, run in read.runs:
                run_id = str(run.get("run_id", ""))
                if await engine.bank.reflections.of_run(scope, run_id) is not None:
                    continue
                await self._team.refuse_more_lessons(scope.tenant)
                await engine.reflect(**run)
        except McpReflectError as error:  # the hook has its answer already
            engine.log.warning("session_not_reflected", error=str(error))


def _login_form(said: str, status: int) -> Response:
    """Return the page that asks for a token, with a sentence on what was wrong with the last one."""
    headers = {**HEADERS, "Content-Security-Policy": _LOGIN_POLICY}
    return HTMLResponse(_LOGIN.format(said), status, headers)


class Front:
    """An ASGI application around `app`: refuses foreign Hosts and Origins, and logs each request without its body.

    If the bank fails before a tool is called (to look up a token), it answers 503 and logs the reason.
    """

    def __init__(
        self, app: ASGIApp, names: list[str], origins: list[str], log: Log, metrics: Metrics | None
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._names = {name.encode() for name in names}
        self._origins = {origin.encode() for origin in origins}
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a foreign request, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"] != PATH and not _has_authorization(scope):
            token = Request(scope).cookies.get(COOKIE)
            if token:
                header = (b"authorization", f"Bearer {token}".encode())
                scope["headers"] = [*scope["headers"], header]
        began = time.monotonic()
        status = 500

        async def note(message: Message) -> None:
            """Send a message on, and keep the status of the answer for the log."""
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await (self._refusal(scope) or self._app)(scope, receive, note)
        except BankError as error:
            self._log.error("bank_failed", path=scope["path"], error=str(error))
            text = "The service's bank does not answer. Nothing was stored. Try again in 5 s."
            await PlainTextResponse(text, 503, {"Retry-After": "5"})(scope, receive, note)
        finally:
            caller = principal_of(scope)
            if self._metrics:
                self._metrics.note_request(status)
            self._log.info(
                "request",
                method=scope["method"],
                path=scope["path"],
                status=status,
                milliseconds=round((time.monotonic() - began) * 1000, 1),
                bytes=scope.get("body_bytes", 0),
                caller=caller and caller.name,
            )

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Return the answer to a request that is not let in, None for one that is."""
        headers = dict(scope["headers"])
        if scope["path"] in _PROBES:
            return None  # monitoring calls the service by its address
        if headers.get(b"host", b"") not in self._names:
            return PlainTextResponse(
                "Host: this service does not have that name (serve --public-url, --allow-host).",
                421,
            )
        if b"origin" in headers and headers[b"origin"] not in self._origins:
            return PlainTextResponse("Origin: other pages may not use this service.", 403)
        if (
            scope["path"] == PATH and scope["method"] == "GET"
        ):  # a stream of a session; this service has none
            return PlainTextResponse("Send POST.", 405, {"Allow": "POST"})
        return None


def _has_authorization(scope: Scope) -> bool:
    """Return whether a request brings a token of its own."""
    return any(name == b"authorization" for name, _ in scope["headers"])


def serve_team(options: TeamOptions) -> None:
    """Serve until SIGINT or SIGTERM; the address is printed on stdout when requests may come.

    InputError if the address cannot be used, or if others could reach it and it would ask for no token.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    with listening(options.port, "--http", options.host) as listener:
        anyio.run(_serve, options, Settings.from_env(), listener)


async def _serve(options: TeamOptions, settings: Settings, listener: Any) -> None:
    """Serve a bank at an open socket until the process is told to stop."""
    log = Log.of(settings)
    bank = open_bank(settings, Scopes.of(settings), clock=Clock(), log=log)
    try:
        await bank.open()
        options = await _checked(options, bank, log)
        own = await bank.projects.resolve(Scopes.of(settings), stores=True)
        replica = Replica(settings, options, bank, log, listener.getsockname()[1], own)
        if replica.metrics and options.metrics:
            log.info("metrics", port=replica.metrics.serve(*options.metrics))
        sys.stdout.write(f"{replica.url}\n")
        sys.stdout.flush()
        config = configure(replica.app, settings, _FINISH_SECONDS)
        await uvicorn.Server(config).serve([listener])
        await replica.close()
    finally:
        await bank.close()


async def _checked(options: TeamOptions, bank: Bank, log: Log) -> TeamOptions:
    """Return the options. Without tokens and OAuth, a service that only this machine can reach asks for no token."""
    if not options.authenticates or options.oauth or await bank.tokens.list_all():
        return options
    if not is_loopback(options.host):
        fault = f"other machines can reach {options.host}, and there is no token"
        fix = "Make one (mcp-reflect tokens add), name an --oauth-issuer, or add --without-authentication."
        raise InputError("--http", fault, fix)
    if not options.own:
        log.warning("serving_without_authentication", fix="make a token and restart")
    return replace(options, authenticates=False)


def _host_names(options: TeamOptions, port: int) -> list[str]:
    """Return the names by which the service may be called, each as it stands in the header Host."""
    names = [
        *options.allowed_hosts,
        f"{HOST}:{port}",
        f"localhost:{port}",
        f"{_bracketed(options.host)}:{port}",
    ]
    if options.public_url:
        names.append(urlsplit(options.public_url).netloc)
    return list(dict.fromkeys(names))


def _bracketed(host: str) -> str:
    """Return a host as it stands in an address."""
    if ":" in host:
        return f"[{host}]"
    return host


def _anyone(scopes: Scopes) -> Principal:
    """Return the caller of a service that asks for no token: anyone on this machine, so nobody's word but an agent's."""
    projects = tuple(dict.fromkeys((scopes.own.project, *scopes.others, GLOBAL)))
    return Principal(
        id="", name="", tenant=scopes.own.tenant, projects=projects, role=AccessRole.WRITER
    )
