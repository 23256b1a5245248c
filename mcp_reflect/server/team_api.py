"""What a team's service answers beside MCP: hooks, the command line, and the dashboard behind a login."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from functools import partial
from typing import Any, Final, cast
from urllib.parse import parse_qs

from mcp.server.auth.provider import TokenVerifier
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from mcp_reflect import __version__, services
from mcp_reflect.dashboard.actions import ACTIONS, act, lesson_details
from mcp_reflect.dashboard.data import collect
from mcp_reflect.dashboard.page import render_page
from mcp_reflect.dashboard.server import HEADERS, MAX_BODY_BYTES, error_response, handle, json_response, read_body
from mcp_reflect.errors import InputError, McpReflectError
from mcp_reflect.models.access import Role
from mcp_reflect.models.common import GLOBAL, from_json
from mcp_reflect.models.hook import HookInput, Moment
from mcp_reflect.server.service import named_agent
from mcp_reflect.server.tenants import CALLER, Caller, Team, refuse_role
from mcp_reflect.services.curation import USES, added, imported
from mcp_reflect.services.engine import Engine

COOKIE: Final = "mcp_reflect_token"
_MOST_BYTES: Final = 4 << 20
_LOGIN: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Lessons · mcp-reflect</title>
<h1>Lessons of your team</h1><form method="post" action="/login"><p><label>Your token
<input type="password" name="token" required autocomplete="off"></label> <button>Show them</button></form><p>{}</p>
"""
_LOGIN_POLICY: Final = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

Answer = Callable[[Engine, Request], Awaitable[Response]]


class TeamApi:
    """The routes. `verifier` reads tokens; None if the service asks for none."""

    def __init__(self, team: Team, verifier: TokenVerifier | None, *, secure: bool) -> None:
        self._team = team
        self._verifier = verifier
        self._secure = secure
        self._reflecting: set[asyncio.Task[None]] = set()

    def routes(self) -> list[Route]:
        """Return the routes; all but the login need a token."""
        return [
            Route("/", self._page, methods=["GET"]),
            Route("/login", self._login, methods=["POST"]),
            Route("/api/board", self._answering(self._board), methods=["GET"]),
            Route("/api/page", self._answering(self._board), methods=["POST"]),
            Route("/api/lesson/{id}", self._answering(self._lesson), methods=["GET"]),
            Route("/api/act", self._answering(self._act), methods=["POST"]),
            Route("/api/hook", self._answering(self._hook), methods=["POST"]),
            Route("/api/whoami", self._answering(self._whoami), methods=["POST"]),
            *(Route(f"/api/{name}", self._answering(partial(self._use, name)), methods=["POST"]) for name in USES),
        ]

    def _answering(self, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that answers with the engine of the caller's project, or with an error in words."""

        async def answered(request: Request) -> Response:
            caller = CALLER.get(None)
            if caller is None:
                return error_response(401, "Send a token: Authorization: Bearer mcpr_…, or log in at /.")
            project = request.query_params.get("project", caller.project)
            if not caller.principal.uses(project):
                return error_response(403, "project: your token is not for it.")
            engine = self._team.service(Caller(caller.principal, project)).engine()

            async def work(request: Request) -> Response:
                with named_agent(caller.principal.name):
                    return await answer(engine, request)

            response = await handle(engine, work, request)
            response.headers.update(HEADERS)
            return response

        return answered

    async def _page(self, _: Request) -> Response:
        if CALLER.get(None) is None:
            return HTMLResponse(_LOGIN.format(""), headers={**HEADERS, "Content-Security-Policy": _LOGIN_POLICY})
        page = render_page("served")
        policy = f"{page.policy}; frame-ancestors 'none'"
        return HTMLResponse(page.html, headers={**HEADERS, "Content-Security-Policy": policy})

    async def _login(self, request: Request) -> Response:
        """Put an accepted token into a cookie that scripts cannot read and other pages cannot send."""
        sent = parse_qs((await request.body())[:MAX_BODY_BYTES].decode("utf-8", "replace"))
        token = sent.get("token", [""])[0].strip()
        if self._verifier is None or await self._verifier.verify_token(token) is None:
            said = _LOGIN.format("This token is not accepted.")
            return HTMLResponse(said, 401, {**HEADERS, "Content-Security-Policy": _LOGIN_POLICY})
        response = RedirectResponse("/", 303, HEADERS)
        response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=self._secure)
        return response

    async def _board(self, engine: Engine, _: Request) -> Response:
        caller = CALLER.get().principal
        decides = caller.may(Role.ADMIN)
        counts = await engine.bank.lessons.projects(caller.tenant)
        projects = {name: count for name, count in counts.items() if caller.uses(name)}
        data = await collect(engine, whole=decides)
        return json_response({**data, "projects": projects, "acts": [*ACTIONS] if decides else []})

    async def _lesson(self, engine: Engine, request: Request) -> Response:
        refuse_role(CALLER.get().principal, Role.ADMIN, "see the history of a lesson")
        return json_response(await lesson_details(engine, request.path_params["id"]))

    async def _act(self, engine: Engine, request: Request) -> Response:
        refuse_role(CALLER.get().principal, Role.ADMIN, "decide about a lesson")
        sent = await read_body(request)
        ids: list[Any] = [sent.get("id"), sent.get("keep"), *(sent.get("gone") or ())]
        for lesson_id in ids if not engine.scopes.shares else ():
            with suppress(InputError):  # another kind of id, or none: the action says so
                if (await engine.bank.lessons.get(engine.scopes.own, str(lesson_id))).project != GLOBAL:
                    continue
                return error_response(403, "id: it is for all projects, and your token is for some.")
        return json_response(await act(engine, sent))

    async def _use(self, name: str, engine: Engine, request: Request) -> Response:
        """Do what a person asks for on the command line, if the caller's role allows it."""
        caller, use = CALLER.get().principal, USES[name]
        refuse_role(caller, use.role, f"use `{name}`")
        if use.work in (added, imported):
            await self._team.refuse_more_lessons(caller.tenant)
        try:
            result = await use.work(engine, await read_body(request, _MOST_BYTES), whole=caller.may(Role.ADMIN))
        except (AttributeError, LookupError, TypeError, ValueError):
            raise InputError(
                "body", f"it is not what `{name}` takes", "Use the command line of this version."
            ) from None
        if isinstance(result, tuple):
            return JSONResponse([asdict(one) for one in cast("tuple[Any, ...]", result)])
        return JSONResponse(asdict(result) if is_dataclass(result) and not isinstance(result, type) else result)

    async def _whoami(self, engine: Engine, _: Request) -> Response:
        caller, opened = CALLER.get(), await engine.bank.open()
        principal = {name: value for name, value in asdict(caller.principal).items() if name != "id"}
        about = {"version": __version__, "schema": opened.schema, "read_only": bool(opened.read_only)}
        return JSONResponse({**principal, "project": caller.project, **about})

    async def _hook(self, engine: Engine, request: Request) -> Response:
        """Answer a hook of a host on another machine; for a reader, nothing is stored."""
        body = await read_body(request, _MOST_BYTES)
        try:
            hook: HookInput = from_json(HookInput, body["hook"])
            transcript = str(body.get("transcript", ""))
        except (AttributeError, LookupError, TypeError, ValueError):
            raise InputError("hook", "it is not the input of a hook", "Send what mcp-reflect hook sends.") from None
        writes = CALLER.get().principal.may(Role.WRITER)
        if not writes and hook.moment in (Moment.AFTER, Moment.STOP, Moment.END):
            return JSONResponse({})
        if hook.moment is Moment.END and transcript:
            task = asyncio.create_task(self._reflect(engine, hook.session, transcript))
            self._reflecting.add(task)
            task.add_done_callback(self._reflecting.discard)
        text, hold = await services.hooks.answer(engine.context, hook, transcript)
        return JSONResponse({"text": text, "hold": hold})

    async def _reflect(self, engine: Engine, session: str, transcript: str) -> None:
        """Reflect on each new run of a finished session, as long as the tenant may store more lessons."""
        from mcp_reflect.runs.transcripts import read_transcript  # noqa: PLC0415 - only the end of a session needs it

        try:
            for _, run in (await asyncio.to_thread(read_transcript, transcript, "partial", session)).runs:
                if await engine.bank.reflections.of_run(engine.scopes.own, str(run.get("run_id", ""))) is None:
                    await self._team.refuse_more_lessons(engine.scopes.own.tenant)
                    await engine.reflect(**run)
        except McpReflectError as error:  # the hook has its answer already
            engine.log.warning("session_not_reflected", error=str(error))

    async def close(self) -> None:
        """Wait for the reflections that are running."""
        await asyncio.gather(*self._reflecting)
