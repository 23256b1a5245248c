"""Lessons in bulk: out as JSON objects, in by short transactions that let other writers through."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.bank import lessons, written
from mcp_reflect.bank.capacity import keep_within
from mcp_reflect.bank.sameness import says_nothing_new
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import lesson_from, scope_values
from mcp_reflect.bank.sqlite.statements import Transaction, Writing
from mcp_reflect.bank.written import Written
from mcp_reflect.clock import Clock, iso
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, LessonDraft, State, Stored

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

    With `merge` they are compared with what is there: merged where the same is, tied where the opposite is. Without,
    a lesson that is there word for word is a `duplicate`, and stays as it is, whatever state it is in.
    Several `processes` make them ready, see `preparing`.
    """
    from mcp_reflect.bank.preparing import ready  # noqa: PLC0415 - a recall on the command line needs no executors

    waiting: list[Ready] = []
    many = _FIRST_BATCH  # lessons
    async with aclosing(ready(drafts, clock, processes, merge=merge)) as pages:
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
    async with db.write() as tx:
        began = time.monotonic()
        done = await (_merged(tx, batch) if merge else tx.at_once(lambda writing: _added(writing, batch)))
        for scope in dict.fromkeys(one.scope for one in batch):
            await keep_within(tx, scope, size, clock.now())
    return done, max(time.monotonic() - began, 0.001)  # with the commit


async def _merged(tx: Transaction, batch: "Sequence[Ready]") -> list[Stored]:
    """Store records, or strengthen those that say the same."""
    done: list[Stored] = []
    for one in batch:
        lesson_id, status = one.lesson.id, "quarantined" if one.lesson.held else "stored"
        if one.lesson.state is State.ACTIVE:
            lesson_id, status = await lessons.add_or_merge(tx, one.scope, one.lesson)
        else:
            await lessons.add(tx, one.scope, one.lesson)
        done.append(_told(one, lesson_id, status))
    return done


def _added(writing: Writing, batch: "Sequence[Ready]") -> list[Stored]:
    """Store those records that are not there yet."""
    there: dict[int, list[Lesson]] = {}
    for scope in dict.fromkeys(one.scope for one in batch):
        digests = [one.written.row["digest"] for one in batch if one.written and one.scope == scope]
        for row in writing.rows("lesson_same", {"digests": digests, **scope_values(scope)}):
            there.setdefault(row["digest"], []).append(lesson_from(row))
    done: list[Stored] = []
    new: list[Written] = []
    for one in batch:
        assert one.written is not None  # noqa: S101 - made for this
        same = there.setdefault(one.written.row["digest"], [])
        found = next((other for other in same if says_nothing_new(one.lesson, other)), None)
        if found is not None:
            done.append(_told(one, found.id, "duplicate"))
            continue
        same.append(one.lesson)
        new.append(one.written)
        done.append(_told(one, one.lesson.id, "quarantined" if one.lesson.held else "stored"))
    written.add_at_once(writing, new)
    return done


def _told(one: "Ready", lesson_id: str, status: str) -> Stored:
    held = one.lesson.held if status == "quarantined" else None
    return Stored(lesson_id=lesson_id, status=status, reason=held, scope=str(one.scope))
