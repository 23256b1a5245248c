"""The guards of lessons that are on, by the programs, files and tools of the calls that they may meet."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.guards.guard import Call, Guard, matches, parse_guard
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import GuardMode, Lesson, State, Trust
from mcp_reflect.storage.repository import (
    Reading,
    Repository,
    Writing,
    scoped,
    transaction,
)

MOST_REPEATS: Final = 3
"""Calls against a guard that worked all the same, one after the other, after which it waits for a person."""

_PASSED: Final = f"its calls were made all the same and worked {MOST_REPEATS} times in a row"
_MOST_MET: Final = 300  # guards of the same program that one call is compared with
_MOST_RUNS: Final = 20
_MOST_CALLS: Final = 2_000


def values_of(scope: Scope, lesson: Lesson) -> list[dict[str, Any]]:
    """Return the rows under which a lesson's guard is looked up; none for one that is off."""
    guard = guard_of(lesson)
    used = lesson.state is State.ACTIVE and lesson.trust is not Trust.QUARANTINED
    if guard is None or not used or lesson.unarmed or lesson.guard_mode is GuardMode.OFF:
        return []
    own = {"tenant": scope.tenant, "project": lesson.project, "lesson_id": lesson.id}
    return [{**own, "key": key} for key in guard.keys]


def guard_of(lesson: Lesson) -> Guard | None:
    """Return a lesson's guard; None for one that cannot be read, of another release."""
    try:
        return parse_guard(lesson.guard) if lesson.guard else None
    except InputError:
        return None


def renew(tx: Writing, scope: Scope, lesson: Lesson) -> None:
    """Store under which keys a changed lesson's guard is looked up now."""
    tx.run("guard_cut", {"id": lesson.id, "tenant": scope.tenant})
    if values := values_of(scope, lesson):
        tx.run_many("guard_add", values)


def met(reading: Reading, scope: Scope, call: Call) -> tuple[Lesson, ...]:
    """Return the lessons whose guards a call goes against, a person's first."""
    rows = reading.lessons("guards_met", scope, keys=sorted(call.keys), limit=_MOST_MET)
    lessons = {lesson.id: lesson for lesson in rows}
    found = ((lesson, guard_of(lesson)) for lesson in lessons.values())
    return tuple(lesson for lesson, guard in found if guard is not None and matches(guard, call))


def mode_of(reading: Reading, scope: Scope) -> GuardMode | None:
    """Return what a person chose that guards do in a project, None for nothing."""
    row = reading.row("guards_mode", scoped(scope))
    return GuardMode(row["mode"]) if row else None


class GuardRepository(Repository):
    """Guards of lessons."""

    async def mode(self, scope: Scope) -> GuardMode | None:
        """Return what a person chose that guards do in a project, None for nothing."""
        return await self.db.look(scope.tenant, lambda reading: mode_of(reading, scope))

    @transaction
    def set_mode(self, tx: Writing, scope: Scope, mode: GuardMode | None) -> None:
        """Choose what guards do in a project; None forgets it."""
        tx.run("guards_mode_cut", scoped(scope))
        if mode is not None:
            tx.run("guard_add", scoped(scope, key="", lesson_id=mode.value))

    async def noted_calls(self, scope: Scope) -> list[Call]:
        """Return the latest calls of a project that are in the bank: of reflected runs, and those that failed."""

        def read(reading: Reading) -> list[Call]:
            runs = reading.rows("latest_runs", scoped(scope, limit=_MOST_RUNS))
            calls = [Call(tool, arguments) for run in runs for tool, arguments in _calls_of(json.loads(run["trace"]))]
            failed = reading.rows("failing_calls", scoped(scope, limit=_MOST_CALLS))
            calls += [Call(row["tool"], json.loads(row["arguments"])[0]) for row in failed]
            return calls[:_MOST_CALLS]

        return await self.db.look(scope.tenant, read, long=True)

    async def unarmed(self, scope: Scope, limit: int = 1000) -> list[Lesson]:
        """Return the lessons whose guards wait for a person, newest first."""
        return await self.lessons("guards_unarmed", scope, limit=limit)


def is_of(reading: Reading, scope: Scope, lesson_id: str, call: Call) -> bool:
    """Return whether a call has the program, file or tool of a lesson's guard."""
    rows = reading.rows("guard_keys", scoped(scope, id=lesson_id))
    return not call.keys.isdisjoint(row["key"] for row in rows)


def note_passed(tx: Writing, scope: Scope, lesson_id: str, *, worked: bool) -> None:
    """Note that a call against a guard was made all the same and worked, or that its lesson was right.

    After `MOST_REPEATS` calls in a row that were made and worked, the guard is off.
    """
    lesson = next(iter(tx.lessons("lesson_by_id", scope, id=lesson_id)), None)
    if lesson is None or lesson.guard_mode is GuardMode.ENFORCE:
        return
    repeats = lesson.guard_repeats + 1 if worked else 0
    unarmed = _PASSED if repeats >= MOST_REPEATS else lesson.unarmed
    tx.run("guard_passed", {"id": lesson_id, "repeats": repeats, "unarmed": unarmed, "tenant": scope.tenant})
    if unarmed:
        tx.run("guard_cut", {"id": lesson_id, "tenant": scope.tenant})


def _calls_of(run: Json) -> Iterator[tuple[str, Json]]:
    events: Sequence[Json] = run["events"] if isinstance(run, dict) and isinstance(run.get("events"), list) else ()  # type: ignore[assignment]
    for event in events:
        if isinstance(event, dict) and event.get("type") == "tool_call":
            yield str(event.get("tool")), event.get("arguments")
