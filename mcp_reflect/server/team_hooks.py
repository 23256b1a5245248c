"""Hooks of hosts on other machines, answered by a service; the end of a session brings its transcript to reflect on.

A large request is read in a turn of its tenant (`FairQueue`), so that one tenant's sessions do not delay another's
calls.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, fields, replace
from typing import Any, Final, cast

from starlette.requests import Request
from starlette.responses import Response

from mcp_reflect import services
from mcp_reflect.dashboard.server import RefusalError, Viewer, json_response, read_body
from mcp_reflect.errors import InputError, McpReflectError
from mcp_reflect.models.access import AccessRole
from mcp_reflect.models.common import from_json
from mcp_reflect.models.warning import HookInput, Moment
from mcp_reflect.server.fair_queue import FairQueue
from mcp_reflect.server.tenants import Team
from mcp_reflect.services.engine import Engine

_FIX: Final = "Send what mcp-reflect hook sends."
_LIGHT_BYTES: Final = 1 << 16
"""Of a request that is answered at once; a larger one waits for a turn."""

_WRITING_MOMENTS: Final = (Moment.AFTER, Moment.STOP, Moment.END)
"""At which a hook stores something of its session."""


class TeamHooks:
    """Answers the hooks of one replica, and reflects on the sessions that ended."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._turns = FairQueue()
        self._reflecting: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Wait for the reflections that are running."""
        await asyncio.gather(*self._reflecting)

    async def answer(self, viewer: Viewer, request: Request) -> Response:
        """Answer a hook, a large one in a turn of its tenant.

        RefusalError (429) if too many bytes of the tenant wait already.
        """
        tenant = viewer.principal.tenant
        size = int(request.scope.get("body_bytes", 0))
        if size <= _LIGHT_BYTES:
            return await self._answer_body(viewer, await read_body(request))
        if not self._turns.hold(tenant, size):
            text = "Sessions of your team wait to be read already. Send this one again in a minute."
            raise RefusalError(429, text)
        try:
            async with self._turns.turn(tenant):
                return await self._answer_body(viewer, await read_body(request), size)
        finally:
            self._turns.let_go(tenant, size)

    async def _answer_body(
        self, viewer: Viewer, body: Mapping[str, Any], size: int = 0
    ) -> Response:
        """Answer a request of `size` bytes with its hook and, at the end of a session, the transcript.

        The runs of the transcript are reflected on afterwards: the host does not wait for that. For a reader, nothing is
        stored.
        """
        hook = _hook_in(body)
        if hook.moment in _WRITING_MOMENTS and not viewer.principal.may(AccessRole.WRITER):
            return json_response({})
        transcript = str(body.get("transcript", ""))
        if hook.moment is Moment.END and transcript:
            task = asyncio.create_task(self._reflect(viewer, hook.session, transcript, size))
            self._reflecting.add(task)
            task.add_done_callback(self._reflecting.discard)
        text, hold = await services.hooks.answer(viewer.engine.context, hook, transcript)
        answered: dict[str, Any] = {"text": text, "hold": hold}
        if hook.moment in (Moment.START, Moment.PROMPT):
            # The machine of the host keeps them, and refuses by them while the service cannot be reached.
            guards = await services.enforced.enforced_guards(viewer.engine.context)
            answered["enforced"] = [asdict(guard) for guard in guards]
        return json_response(answered)

    async def _reflect(self, viewer: Viewer, session: str, transcript: str, size: int) -> None:
        """Reflect on each new run of a finished session in a turn of its tenant.

        Its bytes wait once more. Where that is too many the session is read all the same, since its hook was answered;
        only a part that was counted is let go.
        """
        tenant = viewer.principal.tenant
        is_counted = self._turns.hold(tenant, size)
        try:
            async with self._turns.turn(tenant):
                await self._reflect_on_runs(viewer.engine, session, transcript)
        finally:
            if is_counted:
                self._turns.let_go(tenant, size)

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


def _hook_in(body: Mapping[str, Any]) -> HookInput:
    """Return the hook's input in a request, without the paths in it; InputError names a field that cannot be used.

    No path of a request is opened: what is to be read of a session, the client sends.
    """
    sent: Any = body.get("hook")
    if not isinstance(sent, dict):
        raise InputError("hook", "it is not an object", _FIX)
    given = {
        name: value for name, value in cast("dict[str, Any]", sent).items() if value is not None
    }
    for field in fields(HookInput):
        _check_field(field, given)
    return replace(from_json(HookInput, given), transcript=None, folder=None)


def _check_field(field: Field[Any], given: Mapping[str, Any]) -> None:
    """Raise InputError for a field that has another type than `HookInput` says, or is missing there."""
    path = f"hook.{field.name}"
    if field.name not in given:
        if field.default is MISSING:
            raise InputError(path, "it is missing", _FIX)
        return
    value = given[field.name]
    if field.type is Moment and value not in [*Moment]:
        raise InputError(path, "it is no moment", f"Send one of {', '.join(Moment)}.")
    if field.type is bool and not isinstance(value, bool):
        raise InputError(path, "it is not true or false", "Send true or false.")
    if field.type in (str, str | None) and not isinstance(value, str):
        raise InputError(path, "it is not a text", "Send a text, or leave it out.")
