"""Moving the records of one project to another one, as where a project gets a new name."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.storage.repository import Reading, Writing
from mcp_reflect.storage.retrieval import index
from mcp_reflect.storage.rows import keeps, lesson_values, lessons_from

# The tables of a bank, by what becomes of their rows when the records of a project move to another one.
_MERGED_TABLES: Final = (
    "search_catalogs",
    "sessions",
    "failures",
    "guards",
    "findings",
    "promotions",
)
"""Both projects may have a row for the same thing: then that of the new one stays, and the old one's is dropped."""

_DROPPED_TABLES: Final = ("steps", "session_calls")
"""State of runs and sessions that go on, which begins anew."""

_MOVED_TABLES: Final = (  # rows that only change their project
    "reflections",
    "recalls",
    "critique_sessions",
    "searches",
    "warnings",
    "dreams",
    "proposals",
    "followed",
    "roots",
    "shown_in",
)


def move_records(tx: Writing, tenant: str, old: str, project: str) -> int:
    """Move every record of the project `old` to another one; return the number of lessons, strategies and reflections.

    They keep their ids, trust, history and outcomes.
    """
    values = {"tenant": tenant, "project": project, "old": old}
    lessons = lessons_from(tx.rows("project_lessons", values), tx.log)
    _move_lessons(tx, Scope(tenant, project), lessons)
    for table in _DROPPED_TABLES:
        tx.run(f"project_drop_{table}", values)
    tx.run("project_add_failures", values)
    for table in _MERGED_TABLES:
        tx.run(f"project_move_{table}", values)
        tx.run(f"project_drop_{table}", values)
    for table in _MOVED_TABLES:
        tx.run(f"project_give_{table}", values)
    return len(lessons)


def has_lesson_of_person(reading: Reading, tenant: str, project: str) -> bool:
    """Return whether a person keeps a lesson of a project."""
    values = {"tenant": tenant, "project": project}
    return any(keeps(row) for row in reading.rows("project_keepers", values))


def _move_lessons(tx: Writing, scope: Scope, lessons: Sequence[Lesson]) -> None:
    """Move lessons to the project of a scope, and index them there."""
    moved_lessons = [replace(lesson, project=scope.project) for lesson in lessons]
    index.remove(tx, *(lesson.id for lesson in moved_lessons))
    for lesson in moved_lessons:
        tx.run("project_vectors_drop", {"id": lesson.id})
        values = lesson_values(scope, lesson)
        changed_values = {name: values[name] for name in ("tenant", "project", "digest", "id")}
        tx.run("project_lesson_move", changed_values)
    entries = (index.entry(scope, lesson) for lesson in moved_lessons)
    index.add(tx, [entry for entry in entries if entry])
