"""The server over HTTP, for a team or for this machine alone: `mcp-reflect serve --http [HOST:]PORT`.

Any replica answers any request.
"""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qs

import anyio
import uvicorn
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.routes import create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import RequestStateSecurity
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from mcp_reflect import __version__
from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.dashboard.server import (
    HEADERS,
    Answer,
    RefusalError,
    Viewer,
    answering,
    board_routes,
    bounded_body,
    json_response,
    page_response,
    show_board,
)
from mcp_reflect.errors import InputError, McpReflectError
from mcp_reflect.log import Log
from mcp_reflect.loopback import is_loopback, listening
from mcp_reflect.models.access import AccessRole, Principal
from mcp_reflect.models.common import GLOBAL
from mcp_reflect.projects import Scopes
from mcp_reflect.server.authentication import SCOPES, Authenticator, OAuthOptions
from mcp_reflect.server.front import COOKIE, PATH, Front, bracketed, host_names, origins_of
from mcp_reflect.server.http import configure
from mcp_reflect.server.metrics import Metrics
from mcp_reflect.server.service import name_agent
from mcp_reflect.server.team_hooks import TeamHooks
from mcp_reflect.server.tenants import CALLER, Caller, Gate, Team, TeamServer
from mcp_reflect.services.context import open_bank
from mcp_reflect.storage.bank import Bank
from mcp_reflect.storage.tokens import PREFIX

_SWITCH_SECONDS: Final = 0.0005
"""For which a thread keeps the interpreter: a light request changes threads twenty times beside one that reads a session."""

_FINISH_SECONDS: Final = 50
"""In which running calls have to end when the service stops: a call that asks a model takes 45."""

_READY_SECONDS: Final = 3.0
"""In which the bank has to answer for the replica to count as ready."""

_ADDING_PATHS: Final = ("/api/add", "/api/import")
"""Of requests that store lessons, of which a tenant may have a limited number."""

_LOGIN: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Lessons · mcp-reflect</title>
<h1>Lessons of your team</h1><form method="post" action="/login"><p><label>Your token
<input type="password" name="token" required autocomplete="off"></label> <button>Show them</button></form><p>{}</p>
"""
_LOGIN_POLICY: Final = (
    "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamOptions:
    """How the service is reached, and whom it answers."""

    host: str
    port: int
    public_url: str | None = None  # the address that clients use, where a proxy stands before it
    allowed_hosts: tuple[str, ...] = ()  # other names that the proxy calls it by
    authenticates: bool = True  # it asks for a token
    own: bool = False  # it is the server of a person, for this machine alone
    oauth: OAuthOptions | None = None
    state_keys: tuple[
        str, ...
    ] = ()  # of all replicas; they seal what a client sends back in a second round
    lessons: int = 0  # that a tenant may have; 0 means any number
    bytes_a_minute: int = 0  # that a tenant may send; 0 means any number
    metrics: tuple[str, int] | None = None  # the host and port at which Prometheus asks
    names_tenants: bool = False  # the figures name them


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
        self._bank = bank
        self.url = options.public_url or f"http://{bracketed(options.host)}:{port}{PATH}"
        self.metrics: Metrics | None = None
        note_call = None
        if options.metrics:
            self.metrics = Metrics(bank, names_tenants=options.names_tenants)
            note_call = self.metrics.note_call
        self._team = Team(
            settings,
            bank,
            log,
            options.lessons,
            note_call,
            bytes_a_minute=options.bytes_a_minute,
            is_own=options.own,
        )
        self._hooks = TeamHooks(self._team)
        self._verifier: TokenVerifier | None = None  # None: it asks for no token
        anyone: Principal | None = None  # the caller of every request, where it asks for no token
        if options.authenticates:
            self._verifier = Authenticator(bank.tokens, options.oauth, log)
        else:
            anyone = _anyone(own or Scopes.of(settings))
        names = host_names(
            options.host, port, allowed=options.allowed_hosts, public_url=options.public_url
        )
        self.app = self._application(options, names)
        self.app.user_middleware.insert(
            0, Middleware(Front, names=names, log=log, metrics=self.metrics)
        )
        self.app.user_middleware.append(Middleware(Gate, team=self._team, anyone=anyone))
        self.app.router.routes[:0] = self._routes(options)

    def _application(self, options: TeamOptions, names: list[str]) -> Starlette:
        """Return the SDK's application, which serves MCP at PATH."""
        keys = None
        if options.state_keys:
            keys = RequestStateSecurity(keys=list(options.state_keys))
        server = TeamServer(
            self._team, request_state_security=keys, **self._token_options(options.oauth)
        )
        return server.streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            json_response=True,  # a stream of events is cut when the service stops
            transport_security=TransportSecuritySettings(
                allowed_hosts=names, allowed_origins=origins_of(names)
            ),
        )

    def _token_options(self, oauth: OAuthOptions | None) -> dict[str, Any]:
        """Return the SDK's options for tokens; the audience of a JWT is checked with its signature, not by the SDK."""
        if self._verifier is None:
            return {}
        addresses: Any = {"issuer_url": self.url, "resource_server_url": None}
        if oauth:
            addresses = {"issuer_url": oauth.issuer, "resource_server_url": self.url}
        settings = AuthSettings(
            **addresses, required_scopes=[SCOPES[0]], validate_token_resource=False
        )
        return {"auth": settings, "token_verifier": self._verifier}

    def _routes(self, options: TeamOptions) -> list[Route]:
        """Return the routes beside MCP; all but the probes, the page and the login need a token."""
        log = self._team.log
        answers: Mapping[str, Answer] = {
            "page": show_board,
            "hook": self._hooks.answer,
            "whoami": self._whoami,
        }
        routes = [
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
            Route("/", self._page, methods=["GET"]),
            Route("/login", self._login, methods=["POST"]),
            *(
                Route(f"/api/{name}", answering(self._enter, answer, log), methods=["POST"])
                for name, answer in answers.items()
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
        await self._hooks.close()

    async def _health(self, _: Request) -> Response:
        """Answer that the process runs."""
        return JSONResponse({"status": "ok"})

    async def _ready(self, _: Request) -> Response:
        """Report whether the replica is ready: the bank can be read and written, and has this release's schema."""
        try:
            with anyio.fail_after(_READY_SECONDS):
                opened = await self._bank.open()
                # Reads something: a bank that was opened earlier may be out of reach now.
                await self._bank.tokens.find(f"{PREFIX}any_token")
        except (McpReflectError, TimeoutError) as error:
            return JSONResponse({"status": "bank", "error": type(error).__name__}, 503)
        if opened.read_only:
            return JSONResponse({"status": "bank", "error": "read-only"}, 503)
        return JSONResponse({"status": "ready", "schema": opened.schema})

    async def _enter(self, request: Request) -> Viewer:
        """Return who makes a request, with the engine of the project that it names.

        RefusalError for a request without an accepted token, or for a project that its token is not for.
        """
        caller = CALLER.get(None)
        if caller is None:
            raise RefusalError(401, "Send a token: Authorization: Bearer mcpr_…, or log in at /.")
        project = request.query_params.get("project", caller.project)
        if not caller.principal.uses(project):
            raise RefusalError(403, "project: your token is not for it.")
        if request.url.path in _ADDING_PATHS:
            await self._team.refuse_more_lessons(caller.principal.tenant)
        name_agent(caller.principal.name)
        return Viewer(
            self._team.service(Caller(caller.principal, project)).engine(), caller.principal
        )

    async def _page(self, _: Request) -> Response:
        """Answer the board to whoever is logged in, else the form to log in."""
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
        principal = asdict(viewer.principal)
        del principal["id"]
        about = {
            "version": __version__,
            "schema": opened.schema,
            "read_only": bool(opened.read_only),
        }
        return json_response({**principal, "project": CALLER.get().project, **about})


def _login_form(said: str, status: int) -> Response:
    """Return the page that asks for a token, with a sentence on what was wrong with the last one."""
    headers = {**HEADERS, "Content-Security-Policy": _LOGIN_POLICY}
    return HTMLResponse(_LOGIN.format(said), status, headers)


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


def _anyone(scopes: Scopes) -> Principal:
    """Return the caller of a service that asks for no token: anyone on this machine, so nobody's word but an agent's."""
    projects = tuple(dict.fromkeys((scopes.own.project, *scopes.others, GLOBAL)))
    return Principal(
        id="", name="", tenant=scopes.own.tenant, projects=projects, role=AccessRole.WRITER
    )
