"""Who calls the service of a team, and the engine that answers: one for each tenant and choice of projects.

A caller shows a token of the bank, or a JWT of an OAuth 2.1 authorization server.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import anyio
import anyio.to_thread
from mcp import types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import Context
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.log import Log
from mcp_reflect.models import common
from mcp_reflect.models.access import ANY_PROJECT, ROLES, AccessRole, Principal
from mcp_reflect.models.common import GLOBAL
from mcp_reflect.projects import Scopes, stored_name
from mcp_reflect.security.redact import clean_text
from mcp_reflect.server.app import ReflectServer
from mcp_reflect.server.service import Service, failure
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.bank import Bank
from mcp_reflect.storage.tokens import PREFIX, TokenRepository

if TYPE_CHECKING:
    import jwt

SCOPES: Final[tuple[str, ...]] = ("lessons:read", "lessons:write", "lessons:admin")
"""The OAuth scope of each role, in the order of ROLES."""

# Signatures with a public key alone: with a shared secret, or with none, a caller could make a token itself.
ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
_LEEWAY_SECONDS: Final = 30
_KEYS_SECONDS: Final = 600.0  # after which the keys are fetched again
# The least time between two fetches, whoever sends unknown key ids, and however many.
_REFETCH_SECONDS: Final = 30.0
_FETCH_SECONDS: Final = 5.0
_LONGEST_TOKEN: Final = 16_384  # characters


class Access(AccessToken):
    """A verified token of a request, in the SDK's form, without the token's text."""

    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthOptions:
    """The authorization server whose JWTs are accepted, and the names of the claims that tell tenant and projects."""

    issuer: str
    jwks: str
    audience: str
    tenant_claim: str = "tenant"
    projects_claim: str = "projects"


class Authenticator:
    """Verifies the bearer token of each request. It caches nothing, so a revoked token is refused at once."""

    def __init__(self, tokens: TokenRepository, oauth: OAuthOptions | None, log: Log) -> None:
        self._tokens = tokens
        self._jwts = JwtVerifier(oauth, log) if oauth else None

    async def verify_token(self, token: str) -> Access | None:
        """Return the caller that a token names, or None if the token is not accepted."""
        if len(token) > _LONGEST_TOKEN:
            return None
        if token.startswith(PREFIX):
            stored_token = await self._tokens.find(token)
            if stored_token is None:
                return None
            return access(stored_token, client_id=stored_token.id)
        if self._jwts is None:
            return None
        return await self._jwts.verify_token(token)


class JwtVerifier:
    """Verifies JWTs of one authorization server, and reads the tenant, projects and role from their claims.

    PyJWT keeps the server's keys (JWKS), and fetches them again for an unknown id.
    """

    def __init__(self, oauth: OAuthOptions, log: Log) -> None:
        import jwt  # noqa: PLC0415 - only with OAuth

        self._oauth = oauth
        self._log = log
        self._keys = jwt.PyJWKClient(
            oauth.jwks,
            lifespan=_KEYS_SECONDS,
            timeout=_FETCH_SECONDS,
            cooldown_duration=_REFETCH_SECONDS,
        )
        self._failed = float("-inf")
        self._fetching = anyio.Lock()

    async def verify_token(self, token: str) -> Access | None:
        """Return the caller that a JWT names, or None if the JWT is not accepted."""
        import jwt  # noqa: PLC0415 - only with OAuth

        oauth = self._oauth
        try:
            header = jwt.get_unverified_header(token)
            key = await self._key(str(header.get("kid", "")))
            if key is None or key.algorithm_name not in ALGORITHMS:
                return None
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=[key.algorithm_name], issuer=oauth.issuer, audience=oauth.audience,
                 leeway=_LEEWAY_SECONDS, options={"require": ["exp", "iss", "aud"]},
            )  # fmt: skip
        except jwt.PyJWTError as error:  # not one of theirs, expired, or for somebody else
            self._log.warning("jwt_refused", reason=type(error).__name__)
            return None
        granted = {*_words(claims.get("scope")), *_words(claims.get("scp"))}
        roles = [role for role, scope in zip(ROLES, SCOPES, strict=True) if scope in granted]
        tenant, projects = claims.get(oauth.tenant_claim), _words(claims.get(oauth.projects_claim))
        subject = str(claims.get("sub") or "")
        client = str(claims.get("client_id") or claims.get("azp") or subject)
        if not isinstance(tenant, str) or not tenant or not projects or not client:
            return None
        principal = Principal(
            id=f"{client} {subject}", name=stored_name(subject or client), tenant=tenant, projects=projects,
            role=roles[-1] if roles else AccessRole.READER,
        )  # fmt: skip
        known = access(principal, client_id=client, expires_at=int(claims["exp"]) + _LEEWAY_SECONDS)
        issued = {"subject": subject or None, "claims": {"iss": oauth.issuer}}
        return known.model_copy(update=issued if roles else {**issued, "scopes": []})

    async def _key(self, key_id: str) -> "jwt.PyJWK | None":
        """Return the key of that id; None if there is none, or if the server of keys failed in the last 30 s."""
        import jwt  # noqa: PLC0415 - only with OAuth

        async with self._fetching:
            if time.monotonic() - self._failed < _REFETCH_SECONDS:
                return None
            try:
                return await anyio.to_thread.run_sync(self._keys.get_signing_key, key_id)
            except jwt.PyJWKClientConnectionError as error:
                self._failed = time.monotonic()
                self._log.error("jwks_failed", error=type(error).__name__)
                return None


def access(principal: Principal, *, client_id: str, expires_at: int | None = None) -> Access:
    """Return a principal as an access token with the scopes of its role."""
    scopes = [*SCOPES[: ROLES.index(principal.role) + 1]]
    return Access(
        token="", client_id=client_id, scopes=scopes, expires_at=expires_at, principal=principal
    )


def _words(value: Any) -> tuple[str, ...]:
    """Return the words of a claim: of a text, or of a list."""
    if isinstance(value, str):
        return tuple(value.split())
    if not isinstance(value, list):
        return ()
    return tuple(part for part in cast("list[Any]", value) if isinstance(part, str))


PROJECT_HEADER: Final = b"mcp-reflect-project"
"""Names the project of calls that name none; it has to be one of the token's."""

_MINUTE: Final = 60.0  # seconds
_MOST_SERVICES: Final = 200  # engines that are kept; all of them share the bank
_WRITING: Final = {
    "reflect": "reflect on a run",
    "store_lesson": "store a lesson",
    "record_outcome": "record an outcome",
    "forget_lesson": "forget a lesson",
}
"""The tools that change what others recall, and what they do."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes the current request, and the project of calls that name none."""

    principal: Principal
    project: str


CALLER: Final = ContextVar[Caller]("caller")

NoteCall = Callable[[str, str, object, float], None]
"""Takes the tenant, the tool, the result and the seconds of a call."""


class _Minute(NamedTuple):
    """What a tenant sent since its minute began; `began` is a time of the monotonic clock."""

    began: float
    requests: int = 0
    sent_bytes: int = 0


class Team:
    """The services of recent callers, over one bank, and the limits of their tenants."""

    def __init__(
        self,
        settings: Settings,
        bank: Bank,
        log: Log,
        most_lessons: int,
        note_call: NoteCall | None = None,
        *,
        bytes_a_minute: int = 0,
        is_own: bool = False,
    ) -> None:
        self.settings = replace(settings, unknown=())
        self.bank = bank
        self.log = log
        self.note_call = note_call
        self._most_lessons = most_lessons
        self._is_own = is_own  # the server of a person, on their machine
        self._services: OrderedDict[Scopes, Service] = OrderedDict()
        self._most_bytes = bytes_a_minute
        self._used: dict[str, _Minute] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def service(self, caller: Caller) -> Service:
        """Return the service of a caller's tenant and projects."""
        principal = caller.principal
        others = tuple(name for name in principal.projects if name != caller.project)
        own = common.Scope(principal.tenant, caller.project)
        scopes = Scopes(own, others, shares=principal.uses(GLOBAL))
        if scopes not in self._services:
            settings = replace(self.settings, project=caller.project, projects=others)
            service = Service(settings, Engine(settings, store=self.bank, scopes=scopes))
            service.is_of_team = not self._is_own
            self._services[scopes] = service
        self._services.move_to_end(scopes)
        if len(self._services) > _MOST_SERVICES:
            _, oldest = self._services.popitem(last=False)
            closing = asyncio.create_task(oldest.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        return self._services[scopes]

    async def close(self) -> None:
        """Close the services; the bank stays open."""
        while self._services:
            await self._services.popitem()[1].close()
        await asyncio.gather(*self._closing)

    def seconds_to_wait(self, tenant: str, size: int) -> float:
        """Return the seconds until a tenant may send a request of `size` bytes; 0 counts the request.

        One request may pass the limit on bytes: a tenant that sent less than it may is not held.
        """
        most_requests = self.settings.max_calls_per_minute
        now = time.monotonic()
        minute = self._used.get(tenant, _Minute(now))
        if now - minute.began >= _MINUTE:
            minute = _Minute(now)
        has_too_many_requests = 0 < most_requests <= minute.requests
        has_too_many_bytes = 0 < self._most_bytes <= minute.sent_bytes
        if has_too_many_requests or has_too_many_bytes:
            return minute.began + _MINUTE - now
        self._used[tenant] = _Minute(minute.began, minute.requests + 1, minute.sent_bytes + size)
        return 0.0

    async def refuse_more_lessons(self, tenant: str) -> None:
        """Raise InputError if a tenant has as many lessons as it may have (0: any number)."""
        most = self._most_lessons
        if not most:
            return
        lessons_by_project = await self.bank.lessons.projects(tenant)
        kept = sum(lessons_by_project.values())
        if kept >= most:
            fix = "Forget lessons that you do not need, or ask the person who runs the service."
            raise InputError("lessons", f"your team has {kept}, and may have {most}", fix)


class TeamServer(ReflectServer):
    """The server of a team: each call goes to the service of its caller, if the caller's role allows it."""

    def __init__(self, team: Team, **options: Any) -> None:
        super().__init__(Service(team.settings), **options)
        self.team = team

    async def service_of_caller(self) -> Service:
        """Return the service of the present caller."""
        return self.team.service(CALLER.get())

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool of the list, if the caller's role allows it, and count the call."""
        caller, began = CALLER.get(), time.monotonic()
        result = await self._call_tool(caller, name, arguments, context)
        if self.team.note_call:
            self.team.note_call(caller.principal.tenant, name, result, time.monotonic() - began)
        return result

    async def _call_tool(
        self,
        caller: Caller,
        name: str,
        arguments: dict[str, Any],
        context: Context[None, Any] | None,
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool by the caller's service, unless the role or the number of lessons forbids it."""
        try:
            if name in _WRITING:
                caller.principal.refuse_below(AccessRole.WRITER, _WRITING[name])
            if name in ("reflect", "store_lesson"):
                await self.team.refuse_more_lessons(caller.principal.tenant)
        except InputError as error:
            return failure(clean_text(str(error)))
        service = self.team.service(caller)
        result = await service.call(name, arguments, context, caller.principal.name)
        if name == "recall_lessons":
            await self.team.bank.recalls.flush()  # another replica may be told what came of it
        return result

    async def end(self) -> None:
        """Close the services of all callers."""
        await self.team.close()


class Gate:
    """An ASGI application around `app`: sets the caller of a request (CALLER), and enforces the tenant's limits.

    `anyone` is the caller if the service asks for no token. A request without an accepted token has no caller.
    """

    def __init__(self, app: ASGIApp, team: Team, anyone: Principal | None) -> None:
        self._app = app
        self._team = team
        self._anyone = anyone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on with its caller, or answer it here: 403 for a project that the token is not for, 429 over a limit.

        Without a caller it is handed on as well, since what is behind answers it with 401 or needs no token. A refused
        project counts against no limit. The project is the named one, else the first that the token names.
        """
        principal = principal_of(scope) or self._anyone
        if scope["type"] != "http" or principal is None:
            await self._app(scope, receive, send)
            return
        named = _project_named(scope)
        own_projects = [name for name in principal.projects if name != ANY_PROJECT]
        usual_project = own_projects[0] if own_projects else GLOBAL
        if named and not principal.uses(named):
            allowed = ", ".join(name or "(global)" for name in principal.projects)
            text = f"Mcp-Reflect-Project: your token is not for it. Leave it out, or send one of: {allowed}."
            await PlainTextResponse(text, 403)(scope, receive, send)
        elif seconds := self._team.seconds_to_wait(principal.tenant, scope.get("body_bytes", 0)):
            self._team.log.warning("tenant_limited", path=scope["path"], seconds=round(seconds, 1))
            headers = {"Retry-After": str(max(round(seconds + 0.5), 1))}
            text = f"Your team sent too many requests or bytes in a minute. Wait {headers['Retry-After']} s."
            await PlainTextResponse(text, 429, headers)(scope, receive, send)
        else:
            before = CALLER.set(Caller(principal, named or usual_project))
            try:
                await self._app(scope, receive, send)
            finally:
                CALLER.reset(before)


def _project_named(scope: Scope) -> str:
    """Return the project that a request names by its header, empty if it names none."""
    for name, value in scope["headers"]:
        if name == PROJECT_HEADER:
            return value.decode("utf-8", "replace")
    return ""


def principal_of(scope: Scope) -> Principal | None:
    """Return the caller that the token of a request names, None if it has no accepted token.

    A token needs the scope to read at least, which is the first of SCOPES.
    """
    user = scope.get("user")
    if not isinstance(user, AuthenticatedUser):
        return None
    token = user.access_token
    if not isinstance(token, Access) or SCOPES[0] not in token.scopes:
        return None
    return token.principal
