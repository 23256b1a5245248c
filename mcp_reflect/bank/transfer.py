"""Lessons in bulk: out as JSON objects, in by short transactions that let other writers through."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.bank import lessons
from mcp_reflect.bank.capacity import keep_within
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import lesson_from
from mcp_reflect.clock import Clock, iso
from mcp_reflect.records.lesson import LessonDraft, State, Stored
from mcp_reflect.records.scope import Scope

if TYPE_CHECKING:
    from mcp_reflect.bank.preparing import Ready

_PAGE: Final = 1000
_FIRST_BATCH: Final = 100  # lessons; the next ones are as large as what they take allows
_LEAST_BATCH: Final = 25  # fewer would wait for the disk most of the time
_MOST_BATCH: Final = 1000
_HELD_SECONDS: Final = 0.08  # that a transaction may take, or so: other writers wait for it

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
                    "created_at": iso(lesson.created_at),
                }
                yield {name: value for name, value in line.items() if value not in (None, [])}
        if len(rows) < _PAGE:
            return
        after = rows[-1]["id"]


async def imported(
    db: Database,
    drafts: Sequence[tuple[Scope, LessonDraft]],
    *,
    merge: bool,
    clock: Clock,
    size: int | None,
    processes: int = 1,
) -> AsyncIterator[list[Stored]]:
    """Store drafts that are known to be good, and yield what became of each batch, in order.

    Only with `merge` are they compared with what is there: merged where the same is, tied where the opposite is.
    Several `processes` make them ready, see `preparing`.
    """
    from mcp_reflect.bank.preparing import ready  # noqa: PLC0415 - a recall on the command line needs no executors

    waiting: list[Ready] = []
    many = _FIRST_BATCH  # lessons
    async with aclosing(ready(drafts, clock, processes)) as pages:
        async for page in pages:
            waiting += page
            while len(waiting) >= many:
                batch, waiting = waiting[:many], waiting[many:]
                done, held = await _stored(db, batch, clock, size, merge=merge)
                many = max(_LEAST_BATCH, min(round(len(batch) * min(_HELD_SECONDS / held, 2.0)), _MOST_BATCH))
                yield done
    if waiting:
        yield (await _stored(db, waiting, clock, size, merge=merge))[0]


async def _stored(
    db: Database, batch: "Sequence[Ready]", clock: Clock, size: int | None, *, merge: bool
) -> tuple[list[Stored], float]:
    """Write records that were made ready, in one transaction: what became of each, and how long it held others up."""
    done: list[Stored] = []
    async with db.write() as tx:
        began = time.monotonic()
        if not merge:
            written = [(scope, lesson) for scope, lesson, _ in batch]
            await lessons.add_indexed(tx, written, [entry for _, _, made in batch for entry in made])
        for scope, lesson, _ in batch:
            lesson_id, status = lesson.id, "quarantined" if lesson.held else "stored"
            if merge and lesson.state is State.ACTIVE:
                lesson_id, status = await lessons.add_or_merge(tx, scope, lesson)
            elif merge:
                await lessons.add(tx, scope, lesson)
            done.append(Stored(lesson_id=lesson_id, status=status, reason=lesson.held, scope=str(scope)))
        for scope in dict.fromkeys(scope for scope, _, _ in batch):
            await keep_within(tx, scope, size, clock.now())
    return done, max(time.monotonic() - began, 0.001)
