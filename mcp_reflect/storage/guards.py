"""The repository of guards: what guards do in a project, which of them are enforced or off, and calls to try one on."""

import json
from collections.abc import Iterator
from typing import Final

from mcp_reflect.guards.call import Call
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import GuardMode, Lesson
from mcp_reflect.speaker import Speaker, refuse_agent
from mcp_reflect.storage import lesson_guards
from mcp_reflect.storage.repository import Reading, Repository, Writing, transaction
from mcp_reflect.storage.values import scoped

_MOST_RUNS: Final = 20
"""The latest runs, on whose calls a new guard is tried."""

_MOST_CALLS: Final = 2_000
"""Calls on which a new guard is tried."""


class GuardRepository(Repository):
    """The guards of lessons, apart from the lessons that they belong to (`lessons.py`)."""

    async def mode(self, scope: Scope) -> GuardMode | None:
        """Return the act of all guards in a project, as a person chose it, None where nobody chose."""
        return await self.db.look(
            scope.tenant, lambda reading: lesson_guards.guard_mode(reading, scope)
        )

    @transaction
    def set_mode(
        self,
        tx: Writing,
        scope: Scope,
        mode: GuardMode | None,
        *,
        by: Speaker = Speaker.AGENT,
    ) -> None:
        """Choose what guards do in a project, which only a person may; None forgets the choice.

        The choice is stored as a row of `guards` with an empty key, and with the mode in the column of a lesson's id.
        """
        refuse_agent(by, "mode", "say what guards do in a project")
        tx.run("guards_mode_cut", scoped(scope))
        if mode is not None:
            tx.run("guard_add", scoped(scope, key="", lesson_id=mode.value))

    async def enforced(self, scope: Scope, most: int) -> list[Lesson]:
        """Return at most `most` lessons whose guards a person enforces (a hook stops their calls), the newest first."""
        return await self.lessons("guards_enforced", scope, limit=most)

    async def unarmed(self, scope: Scope, limit: int = 1000) -> list[Lesson]:
        """Return the lessons whose guards are off until a person arms them, newest first."""
        return await self.lessons("guards_unarmed", scope, limit=limit)

    async def recorded_calls(self, scope: Scope) -> list[Call]:
        """Return the latest calls of a project that are in the bank, on which a new guard is tried.

        The calls of runs that were reflected on come first, then those that failed.
        """

        def read_calls(reading: Reading) -> list[Call]:
            calls: list[Call] = []
            for run in reading.rows("latest_runs", scoped(scope, limit=_MOST_RUNS)):
                calls += _calls_of_run(json.loads(run["trace"]))
            for row in reading.rows("failing_calls", scoped(scope, limit=_MOST_CALLS)):
                (arguments,) = json.loads(row["arguments"])  # a list of one, so that any value fits
                calls.append(Call(row["tool"], arguments))
            return calls[:_MOST_CALLS]

        return await self.db.look(scope.tenant, read_calls, long=True)


def _calls_of_run(run: Json) -> Iterator[Call]:
    """Yield the tool calls in the JSON of a run; JSON that does not have the form of a run has none."""
    if not isinstance(run, dict):
        return
    events = run.get("events")
    if not isinstance(events, list):
        return
    for event in events:
        if isinstance(event, dict) and event.get("type") == "tool_call":
            yield Call(str(event.get("tool")), event.get("arguments"))
