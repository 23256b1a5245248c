"""The engines of a team's service: one for each tenant and choice of projects, with the limits of each tenant."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from mcp import types
from mcp.server.mcpserver import Context
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.log import Log
from mcp_reflect.models import common
from mcp_reflect.models.access import ANY_PROJECT, AccessRole, Principal
from mcp_reflect.models.common import GLOBAL
from mcp_reflect.projects import Scopes
from mcp_reflect.security.redact import clean_text
from mcp_reflect.server.app import ReflectServer
from mcp_reflect.server.authentication import principal_of
from mcp_reflect.server.service import Service, failure
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.bank import Bank

PROJECT_HEADER: Final = b"mcp-reflect-project"
"""Names the project of calls that name none; it has to be one of the token's."""

_MINUTE: Final = 60.0  # seconds
_MOST_SERVICES: Final = 200  # engines that are kept; all of them share the bank
_ACT_BY_WRITING_TOOL: Final = {
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
    """The requests of a tenant since its minute began."""

    start_time: float  # of the monotonic clock
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
        self._minute_by_tenant: dict[str, _Minute] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def service(self, caller: Caller) -> Service:
        """Return the service of a caller's tenant and projects; beyond the most that are kept, the oldest is closed."""
        principal = caller.principal
        others = tuple(name for name in principal.projects if name != caller.project)
        scope = common.Scope(principal.tenant, caller.project)
        scopes = Scopes(scope, others, shares=principal.uses(GLOBAL))
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
        """Return the seconds until a tenant may send a request of `size` bytes; where that is 0, the request is counted.

        A limit of 0 means none. Only what was sent before is compared with the limits, so that the last request of a
        minute may pass the limit on bytes: else one that is larger than the limit could never be sent.
        """
        most_requests = self.settings.max_calls_per_minute
        now = time.monotonic()
        minute = self._minute_by_tenant.get(tenant, _Minute(now))
        if now - minute.start_time >= _MINUTE:
            minute = _Minute(now)
        has_too_many_requests = 0 < most_requests <= minute.requests
        has_too_many_bytes = 0 < self._most_bytes <= minute.sent_bytes
        if has_too_many_requests or has_too_many_bytes:
            return minute.start_time + _MINUTE - now
        self._minute_by_tenant[tenant] = _Minute(
            minute.start_time, minute.requests + 1, minute.sent_bytes + size
        )
        return 0.0

    async def refuse_more_lessons(self, tenant: str) -> None:
        """Raise InputError if a tenant has as many lessons as it may have (0: any number)."""
        most = self._most_lessons
        if not most:
            return
        count_by_project = await self.bank.lessons.projects(tenant)
        count = sum(count_by_project.values())
        if count >= most:
            fix = "Forget lessons that you do not need, or ask the person who runs the service."
            raise InputError("lessons", f"your team has {count}, and may have {most}", fix)


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
        caller = CALLER.get()
        start_time = time.monotonic()
        result = await self._call_tool(caller, name, arguments, context)
        if self.team.note_call:
            seconds = time.monotonic() - start_time
            self.team.note_call(caller.principal.tenant, name, result, seconds)
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
            if name in _ACT_BY_WRITING_TOOL:
                caller.principal.refuse_below(AccessRole.WRITER, _ACT_BY_WRITING_TOOL[name])
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
        """Pass a request on, or answer it here; the first row that fits decides.

        | request                                  | answer                                                            |
        |------------------------------------------|-------------------------------------------------------------------|
        | without a caller                         | passed on: the application answers 401, or its path needs no token|
        | for a project that the token is not for  | 403, which counts against no limit                                |
        | over a limit of its tenant               | 429                                                               |
        | any other                                | passed on, with CALLER set until it is answered                   |
        """
        principal = principal_of(scope) or self._anyone
        if scope["type"] != "http" or principal is None:
            await self._app(scope, receive, send)
            return
        named_project = _project_named(scope)
        if named_project and not principal.uses(named_project):
            await _refuse_project(principal)(scope, receive, send)
            return
        seconds = self._team.seconds_to_wait(principal.tenant, scope.get("body_bytes", 0))
        if seconds:
            self._team.log.warning("tenant_limited", path=scope["path"], seconds=round(seconds, 1))
            await refuse_for(seconds)(scope, receive, send)
            return
        project = named_project or _usual_project(principal)
        earlier_caller = CALLER.set(Caller(principal, project))
        try:
            await self._app(scope, receive, send)
        finally:
            CALLER.reset(earlier_caller)


def _refuse_project(principal: Principal) -> PlainTextResponse:
    """Return the answer to a request for a project that the caller's token is not for."""
    text = "Mcp-Reflect-Project: your token is not for it. Leave it out"
    names = ", ".join(name for name in principal.projects if name != GLOBAL)  # that has no name
    if names:
        text += f", or send one of: {names}"
    return PlainTextResponse(f"{text}.", 403)


def refuse_for(seconds: float) -> PlainTextResponse:
    """Return the answer to a tenant that sent too much; it may send again after so many seconds, rounded up."""
    whole_seconds = str(max(math.ceil(seconds), 1))
    text = f"Your team sent too many requests or bytes in a minute. Wait {whole_seconds} s."
    return PlainTextResponse(text, 429, {"Retry-After": whole_seconds})


def _usual_project(principal: Principal) -> str:
    """Return the project of calls that name none: the first that the token names, else the global one."""
    for name in principal.projects:
        if name != ANY_PROJECT:
            return name
    return GLOBAL


def _project_named(scope: Scope) -> str:
    """Return the project that a request names by its header, empty if it names none."""
    for name, value in scope["headers"]:
        if name == PROJECT_HEADER:
            return value.decode("utf-8", "replace")
    return ""
