"""The part of the engine that looks ahead: what is said before a call and at a session's start, and what came of it.

Each method imports what it needs when it is called: the command line recalls without any of it.
"""

from typing import TYPE_CHECKING, Protocol, cast

from mcp_reflect.models.common import Json
from mcp_reflect.security.redact import clean_text

if TYPE_CHECKING:
    from mcp_reflect.context_ import Parts
    from mcp_reflect.models.warning import AfterCall, CallWarning

    class Watching(Parts, Protocol):
        """The parts, and the session that calls belong to where none is named."""

        @property
        def own_session(self) -> str: ...


class LookingAhead:
    """Methods of `Engine`, which brings the parts that they work on."""

    @property
    def _watching(self) -> "Watching":
        return cast("Watching", self)

    async def before_call(
        self,
        tool: str,
        arguments: Json = None,
        *,
        session: str | None = None,
        call_id: str | None = None,
        project: str | None = None,
    ) -> "CallWarning | None":
        """The word that is due before a call which is known to fail, or null; nothing is ever blocked.

        `session` names the agent's session (default: this engine's own), `call_id` the call.
        """
        from mcp_reflect.watching import before_call  # noqa: PLC0415 - see above

        given = clean_text(session or self._watching.own_session)
        return await before_call(self._watching, tool, arguments, session=given, call_id=call_id, project=project)

    async def after_call(
        self,
        tool: str,
        arguments: Json = None,
        result: Json = None,
        *,
        error: str | None = None,
        session: str | None = None,
        project: str | None = None,
    ) -> "AfterCall":
        """Note what came of a call, so that it is known the next time, and that a warning proves itself.

        The call failed where `error` is given, or where `result` (text or JSON) is read as a failure.
        """
        from mcp_reflect.watching import after_call  # noqa: PLC0415 - see above

        given = clean_text(session or self._watching.own_session)
        return await after_call(self._watching, tool, arguments, result, error=error, session=given, project=project)

    async def remind(self, session: str, task: str | None = None, *, anew: bool = False) -> str | None:
        """At most three lessons that the session has not been shown, in a fence; null where there are none.

        With a `task` those that fit it, else the project's best. `anew` forgets what was shown before.
        """
        from mcp_reflect.watching import remind  # noqa: PLC0415 - see above

        return await remind(self._watching, clean_text(session), task, anew=anew)

    async def end_session(self, session: str) -> None:
        """A session is over: calls that were warned of and never made were heeded."""
        await self._watching.bank.watch.end(self._watching.scopes.own, clean_text(session))
