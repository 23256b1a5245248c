"""Lessons in bulk: out as JSON objects, in by short transactions that let other writers through."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from mcp_reflect.bank import lessons
from mcp_reflect.bank.capacity import keep_within
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import lesson_from
from mcp_reflect.clock import Clock
from mcp_reflect.records.lesson import LessonDraft, State, Stored
from mcp_reflect.records.scope import Scope

_PAGE: Final = 1000
_BATCH: Final = 250  # lessons a transaction: some tens of milliseconds

# What an exported line says beside the fields of store_lesson; import reads past them.
EXPORT_ONLY: Final = ("id", "state", "trust", "source", "created_at")


async def exported(db: Database, tenant: str, project: str | None) -> AsyncIterator[dict[str, Any]]:
    """Every lesson of a project (null: of all), oldest first, as import reads it; empty fields are left out."""
    after = ""
    while True:
        rows = await db.rows("lesson_page", {"tenant": tenant, "project": project, "after": after, "limit": _PAGE})
        for row in rows:
            if row["kind"] == "lesson":
                lesson = lesson_from(row)
                line: dict[str, Any] = {
                    "id": lesson.id,
                    "mistake": lesson.mistake,
                    "correction": lesson.correction,
                    "why": lesson.why,
                    "task_type": lesson.task_type,
                    "context": lesson.context,
                    "symptoms": list(lesson.symptoms),
                    "keywords": list(lesson.keywords),
                    "tags": list(lesson.tags),
                    "importance": lesson.importance,
                    "confidence": lesson.confidence,
                    "external_id": lesson.external_id,
                    "project": lesson.project,
                    "state": lesson.state.value,
                    "trust": lesson.trust.value,
                    "source": lesson.source.value,
                    "created_at": lesson.created_at,
                }
                yield {name: value for name, value in line.items() if value not in (None, [])}
        if len(rows) < _PAGE:
            return
        after = rows[-1]["id"]


async def imported(
    db: Database, drafts: Sequence[tuple[Scope, LessonDraft]], *, merge: bool, clock: Clock, size: int | None
) -> AsyncIterator[list[Stored]]:
    """Store drafts that are known to be good, and yield what became of each batch, in order."""
    for start in range(0, len(drafts), _BATCH):
        # Made before the lock is taken: whoever waits for it waits for SQLite only.
        batch = [(scope, lessons.made(draft, scope, clock)) for scope, draft in drafts[start : start + _BATCH]]
        done: list[Stored] = []
        async with db.write() as tx:
            if not merge:
                await lessons.add_all(tx, batch)
            for scope, lesson in batch:
                lesson_id, status = lesson.id, "quarantined" if lesson.held else "stored"
                if merge and lesson.state is State.ACTIVE:
                    lesson_id, status = await lessons.add_or_merge(tx, scope, lesson)
                elif merge:
                    await lessons.add(tx, scope, lesson)
                done.append(Stored(lesson_id=lesson_id, status=status, reason=lesson.held, scope=str(scope)))
            for scope in dict.fromkeys(scope for scope, _ in drafts[start : start + _BATCH]):
                await keep_within(tx, scope, size, clock.now())
        yield done
