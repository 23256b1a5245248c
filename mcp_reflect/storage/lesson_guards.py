"""The lookup of guards that a call meets, by the programs, files and tools of the call.

Each guard that is on has keys, such as `$ git` or `tool Bash`, so that a call is compared with few guards.
"""

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

_MOST_OTHER_PROJECTS: Final = 50
"""Other projects whose guards one call is compared with."""

_MOST_GUARDS: Final = 300
"""Guards of the same program that one call is compared with."""

_KEYS_WITHOUT_FILE: Final = ("$ ", "tool ")
"""Begin the keys of guards that name a program or a tool, and no file."""


def guards_met(
    reading: Reading, scope: Scope, call: Call, call_in_all_projects: Call | None = None
) -> tuple[Lesson, ...]:
    """Return the lessons whose guards a call goes against, those that a person keeps first.

    `call` may be the part of a command that works in the folders of this project; `call_in_all_projects` is the whole
    command then, with which guards for all projects are compared.

    | the call                                   | guards it is compared with                     | compared by   |
    |--------------------------------------------|------------------------------------------------|---------------|
    | could not be read in full                  | those whose program, file or tool its words have | `may_be_met` |
    | may reach any file, as `rm -rf *`          | those with its keys, and all that name a file  | `matches`     |
    | is any other                               | those with its keys                            | `matches`     |
    """
    whole_call = call_in_all_projects or call
    if call.script.is_partial:
        keys_in_words = _keys_in_words(reading, scope, call)
        return _lessons_met(reading, scope, call, call, keys_in_words, may_be_met)
    keys = whole_call.keys
    if whole_call.may_reach_any_file:
        rows = reading.rows("guard_keys_of_project", scoped(scope))
        keys |= {row["key"] for row in rows if not row["key"].startswith(_KEYS_WITHOUT_FILE)}
    return _lessons_met(reading, scope, call, whole_call, sorted(keys), matches)


def guards_in_doubt(
    reading: Reading, scope: Scope, call: Call, call_in_all_projects: Call | None = None
) -> tuple[Lesson, ...]:
    """Return the lessons whose guards a call goes against if a variable that nobody here knows is empty.

    `terraform $X destroy` goes against a guard of `terraform destroy`. It is compared by `may_be_met`, since `matches`
    takes no variable for empty. `call_in_all_projects` is as for `guards_met`.
    """
    whole_call = call_in_all_projects or call
    if not whole_call.programs_if_unknown_empty:
        return ()
    keys = sorted(whole_call.keys_if_unknown_empty)
    return _lessons_met(reading, scope, call, whole_call, keys, may_be_met)


def _lessons_met(
    reading: Reading,
    scope: Scope,
    call: Call,
    whole_call: Call,
    keys: list[str],
    is_met: Callable[[Guard, Call], bool],
) -> tuple[Lesson, ...]:
    """Return the lessons whose guards have one of these keys, and which the call meets by `is_met`.

    The guard of a project is compared with its part of the call, one for all projects with the whole call.
    """
    lessons_with_key = reading.lessons("guards_met", scope, keys=keys, limit=_MOST_GUARDS)
    lesson_by_id = {lesson.id: lesson for lesson in lessons_with_key}  # one may have several keys
    lessons_met: list[Lesson] = []
    for lesson in lesson_by_id.values():
        guard = stored_guard(lesson.guard)
        compared_call = call if lesson.project else whole_call
        if guard is not None and is_met(guard, compared_call):
            lessons_met.append(lesson)
    return tuple(lessons_met)


def guards_of_others(
    reading: Reading,
    scope: Scope,
    views: Mapping[str, Call],
    find_lessons: Callable[[Reading, Scope, Call, Call], tuple[Lesson, ...]],
) -> tuple[Lesson, ...]:
    """Return the lessons of other projects that a person enforces, and which the call goes against in their folders.

    A command may work in the folder of another project: `git -C ../shop push --force`. Only enforced guards count there,
    since the agent of this project was never shown that project's advice. `views` has the part of the call that works in
    each project, and `find_lessons` is `guards_met` or `guards_in_doubt`. Lessons for all projects are left out: they
    are found with those of the scope's own project.
    """
    other_projects = views.keys() - {scope.project, EVERYWHERE}
    if not other_projects:
        return ()
    rows = reading.rows("guard_projects", {"tenant": scope.tenant})
    projects_with_guards = sorted(other_projects & {row["project"] for row in rows})
    lessons_met: list[Lesson] = []
    for project in projects_with_guards[:_MOST_OTHER_PROJECTS]:
        other_scope = replace(scope, project=project)
        mode = guard_mode(reading, other_scope)
        for lesson in find_lessons(reading, other_scope, views[project], views[EVERYWHERE]):
            is_enforced = (lesson.guard_mode or mode) is GuardMode.ENFORCE
            if lesson.project and is_enforced and mode is not GuardMode.OFF:
                lessons_met.append(replace(lesson, guard_mode=GuardMode.ENFORCE))
    return tuple(lessons_met)


def _keys_in_words(reading: Reading, scope: Scope, call: Call) -> list[str]:
    """Return the keys of a project's guards whose program, file or tool the words of a call have."""
    rows = reading.rows("guard_keys_of_project", scoped(scope))
    return [row["key"] for row in rows if key_may_be_met(row["key"], call)]


def guard_mode(reading: Reading, scope: Scope) -> GuardMode | None:
    """Return the act of all guards in a project, as a person chose it, None where nobody chose."""
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

    A guard whose calls work is wrong. `MOST_REPEATS` such calls in a row decide:

    | calls in a row that worked | a person keeps the lesson | the guard   | returned                                |
    |----------------------------|---------------------------|-------------|-----------------------------------------|
    | fewer                      | any                       | stays on    | None                                    |
    | MOST_REPEATS               | no                        | is off      | None                                    |
    | MOST_REPEATS               | yes                       | stays on    | the lesson, for the person to decide    |

    An enforced guard is never passed: its calls are refused every time.
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
