"""The guards of lessons that are on, by the programs, files and tools of the calls that they may meet."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import Guard, stored_guard
from mcp_reflect.guards.matching import key_may_be_met, matches, may_be_met
from mcp_reflect.guards.views import EVERYWHERE
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import GuardMode, Lesson
from mcp_reflect.storage import lesson_records
from mcp_reflect.storage.repository import Reading, Writing
from mcp_reflect.storage.values import scoped

MOST_REPEATS: Final = 3
"""Calls against a guard that worked all the same, one after the other, after which the guard waits for a person."""

PASSED: Final = f"its calls were made all the same and worked {MOST_REPEATS} times in a row"
"""The reason why a guard is off after so many such calls."""

_MOST_OTHERS: Final = 50
"""Other projects whose guards one call is compared with."""

_MOST_MET: Final = 300
"""Guards of the same program that one call is compared with."""


_PROGRAM_OR_TOOL: Final = ("$ ", "tool ")
"""Begin the keys of guards that name no file."""


def guards_met(
    reading: Reading, scope: Scope, call: Call, call_in_all_projects: Call | None = None
) -> tuple[Lesson, ...]:
    """Return the lessons whose guards a call goes against, those that a person keeps first.

    `call` may be the part of it that is the project's: then lessons for all projects are asked about the whole of it,
    `call_in_all_projects`. A call that could not be read in full may go against a guard: then each lesson counts whose
    program, file or tool its words have.
    """
    whole = call_in_all_projects or call
    if call.script.is_partial:
        return _met_by(reading, scope, call, call, _keys_in(reading, scope, call), may_be_met)
    keys = whole.keys
    if whole.may_reach_any_file:
        rows = reading.rows("guard_keys_of_project", scoped(scope))
        keys |= {row["key"] for row in rows if not row["key"].startswith(_PROGRAM_OR_TOOL)}
    return _met_by(reading, scope, call, whole, sorted(keys), matches)


def guards_in_doubt(
    reading: Reading, scope: Scope, call: Call, call_in_all_projects: Call | None = None
) -> tuple[Lesson, ...]:
    """Return the lessons whose guards a call goes against if a variable that nobody here knows is empty.

    `terraform $X destroy` goes against a guard of `terraform destroy`. `may_be_met` tells so: `matches` takes no variable
    for empty. `call_in_all_projects` as for `guards_met`.
    """
    whole = call_in_all_projects or call
    if not whole.programs_if_unknown_empty:
        return ()
    keys = sorted(whole.keys_if_unknown_empty)
    return _met_by(reading, scope, call, whole, keys, may_be_met)


def _met_by(
    reading: Reading,
    scope: Scope,
    call: Call,
    whole: Call,
    keys: list[str],
    meets: Callable[[Guard, Call], bool],
) -> tuple[Lesson, ...]:
    """Return the lessons whose guards have one of these keys, and which the call meets as `meets` tells."""
    with_key = reading.lessons("guards_met", scope, keys=keys, limit=_MOST_MET)
    each_once = {lesson.id: lesson for lesson in with_key}
    met: list[Lesson] = []
    for lesson in each_once.values():
        guard = stored_guard(lesson.guard)
        asked_about = call if lesson.project else whole
        if guard is not None and meets(guard, asked_about):
            met.append(lesson)
    return tuple(met)


def guards_of_others(
    reading: Reading,
    scope: Scope,
    views: Mapping[str, Call],
    meets: Callable[[Reading, Scope, Call, Call], tuple[Lesson, ...]],
) -> tuple[Lesson, ...]:
    """Return the lessons of other projects that a person enforces, and which the call goes against in their folders.

    `views` has the part of the call that is each project's, and `meets` is `guards_met` or `guards_in_doubt`. Lessons for
    all projects are asked with those of the project of the scope.
    """
    others = views.keys() - {scope.project, EVERYWHERE}
    if not others:
        return ()
    rows = reading.rows("guard_projects", {"tenant": scope.tenant})
    with_guards = sorted(others & {row["project"] for row in rows})
    met: list[Lesson] = []
    for project in with_guards[:_MOST_OTHERS]:
        call = views[project]
        of_project = replace(scope, project=project)
        mode = guard_mode(reading, of_project)
        for lesson in meets(reading, of_project, call, views[EVERYWHERE]):
            is_enforced = (lesson.guard_mode or mode) is GuardMode.ENFORCE
            if lesson.project and is_enforced and mode is not GuardMode.OFF:
                met.append(replace(lesson, guard_mode=GuardMode.ENFORCE))
    return tuple(met)


def _keys_in(reading: Reading, scope: Scope, call: Call) -> list[str]:
    """Return the keys of a project's guards whose program, file or tool the words of a call have."""
    rows = reading.rows("guard_keys_of_project", scoped(scope))
    return [row["key"] for row in rows if key_may_be_met(row["key"], call)]


def guard_mode(reading: Reading, scope: Scope) -> GuardMode | None:
    """Return what a person chose that guards do in a project, None for nothing."""
    row = reading.row("guards_mode", scoped(scope))
    if not row:
        return None
    return GuardMode(row["mode"])


def is_guarded(reading: Reading, scope: Scope, lesson_id: str, call: Call) -> bool:
    """Return whether a call has the program, file or tool of a lesson's guard."""
    rows = reading.rows("guard_keys", scoped(scope, id=lesson_id))
    return not call.keys.isdisjoint(row["key"] for row in rows)


def note_passed(tx: Writing, scope: Scope, lesson_id: str, *, worked: bool) -> Lesson | None:
    """Record that a call against a guard was made anyway and worked, or that its lesson was right (not `worked`).

    After `MOST_REPEATS` calls in a row that were made and worked, the guard is off. One of a lesson that a person keeps
    stays on: then the lesson is returned, for the person to decide about it. Otherwise None is returned.
    """
    lesson = lesson_records.find(tx, scope, lesson_id)
    if lesson is None or lesson.guard_mode is GuardMode.ENFORCE:
        return None
    repeats = 0
    if worked:
        repeats = lesson.guard_repeats + 1
    is_doubted = repeats >= MOST_REPEATS
    unarmed = lesson.unarmed
    if is_doubted and not lesson.is_kept_by_person:
        unarmed = PASSED
    tx.run(
        "guard_passed",
        {"id": lesson_id, "repeats": repeats, "unarmed": unarmed, "tenant": scope.tenant},
    )
    if unarmed:
        tx.run("guard_cut", {"id": lesson_id, "tenant": scope.tenant})
    if not (is_doubted and lesson.is_kept_by_person):
        return None
    return lesson
