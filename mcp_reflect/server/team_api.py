"""What a team's service answers beside MCP: hooks and recalls of the command line, and the dashboard behind a login."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final
from urllib.parse import parse_qs

from mcp.server.auth.provider import TokenVerifier
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from mcp_reflect import services
from mcp_reflect.dashboard.actions import ACTIONS, act, lesson_details
from mcp_reflect.dashboard.data import collect
from mcp_reflect.dashboard.page import render_page
from mcp_reflect.dashboard.server import HEADERS, MAX_BODY_BYTES, error_response, handle, json_response, read_body
from mcp_reflect.errors import InputError, McpReflectError
from mcp_reflect.models.access import Role
from mcp_reflect.models.common import GLOBAL, from_json
from mcp_reflect.models.hook import HookInput, Moment
from mcp_reflect.models.lesson import Recall
from mcp_reflect.server.auth import refuse_role
from mcp_reflect.server.service import named_agent
from mcp_reflect.server.tenants import CALLER, Caller, Team
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
    """The routes. `verifier` reads tokens; None where nobody is asked for one."""

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
            Route("/api/lesson/{id}", self._answering(self._lesson), methods=["GET"]),
            Route("/api/act", self._answering(self._act), methods=["POST"]),
            Route("/api/hook", self._answering(self._hook), methods=["POST"]),
            Route("/api/recall", self._answering(self._recall), methods=["POST"]),
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
        """Keep an accepted token in a cookie that no script can read and no other page can send."""
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

    async def _recall(self, engine: Engine, request: Request) -> Response:
        sent = await read_body(request, _MOST_BYTES)
        found: Recall = await services.lessons.recall(engine.context, sent, applied=False)
        return JSONResponse(asdict(found))

    async def _hook(self, engine: Engine, request: Request) -> Response:
        """Answer a hook of a host on another machine; a reader's is told something, and nothing is noted."""
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
        """Reflect on each run of a finished session that is not known yet, while the tenant may keep more lessons."""
        from mcp_reflect.analysis.transcripts import read_transcript  # noqa: PLC0415 - only the end of a session needs it

        try:
            for _, run in (await asyncio.to_thread(read_transcript, transcript, "partial", session)).runs:
                if await engine.bank.reflections.of_run(engine.scopes.own, str(run.get("run_id", ""))) is None:
                    await self._team.refuse_more_lessons(engine.scopes.own.tenant)
                    await engine.reflect(**run)
        except McpReflectError as error:  # nobody waits for it
            engine.log("session_not_reflected", "warning", error=str(error))

    async def close(self) -> None:
        """Wait for the sessions that are reflected on."""
        await asyncio.gather(*self._reflecting)
