"""Import and export of lessons, in short transactions."""

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from mcp_reflect.clock import Clock, iso
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, LessonDraft, State, Stored
from mcp_reflect.storage import lessons
from mcp_reflect.storage.content_hash import says_nothing_new
from mcp_reflect.storage.lessons import Written, keep_within, written
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import lesson_from, scope_values
from mcp_reflect.storage.sqlite.statements import Transaction, Writing

# Lessons of an import made ready before the bank is locked: cleaned, judged, taken apart for the index.
#
# That takes longer than writing them. It is done ahead of the writing, in a thread, so that a server goes on
# answering,
# or in processes of its own where somebody asked for them.


PAGE: Final = 200  # lessons made ready at once
LEAST_SHARED: Final = 5_000  # lessons from which on processes are worth their start, half a second

_NICE: Final = 5  # that the processes take less of a busy processor than a server does


@dataclass(frozen=True, slots=True)
class Ready:
    """A record as it will be stored; `written` is null where it may be merged into another one."""

    scope: Scope
    lesson: Lesson
    written: Written | None


def made_ready(drawn_up: Sequence[tuple[Scope, Lesson]], *, merge: bool = False) -> list[Ready]:
    """Records as they will be stored."""
    checked = [(scope, lessons.quarantined_if_suspicious(lesson)) for scope, lesson in drawn_up]
    return [Ready(scope, lesson, None if merge else written(scope, lesson)) for scope, lesson in checked]


async def ready(
    drafts: Sequence[tuple[Scope, LessonDraft]],
    clock: Clock,
    processes: int,
    *,
    merge: bool = False,
    least_shared: int = LEAST_SHARED,
) -> AsyncGenerator[list[Ready]]:
    """The drafts as records, in their order, a page at a time; some pages are made ahead.

    They are made by so many `processes` where that is more than one and there are `least_shared` of them, else in a
    thread. With `merge` they are not taken apart for the index yet.
    """
    shared = processes > 1 and len(drafts) >= least_shared
    executor = _processes(processes) if shared else ThreadPoolExecutor(1)
    loop = asyncio.get_running_loop()
    ahead: deque[asyncio.Future[list[Ready]]] = deque()
    try:
        for start in range(0, len(drafts), PAGE):
            page = [(scope, lessons.drawn_up(draft, scope, clock)) for scope, draft in drafts[start : start + PAGE]]
            ahead.append(loop.run_in_executor(executor, partial(made_ready, page, merge=merge)))
            if len(ahead) > (2 * processes if shared else 1):
                yield await ahead.popleft()
        while ahead:
            yield await ahead.popleft()
    finally:
        for one in ahead:
            one.cancel()
            with suppress(asyncio.CancelledError):
                await one
        executor.shutdown(wait=False, cancel_futures=True)


def _processes(count: int) -> Executor:
    # Imported here: a recall on the command line imports this module. New processes, not forks: this one has threads.
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415
    from multiprocessing import get_context  # noqa: PLC0415

    return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    """Have this process end when the one that asked for it does, however that ends: it would wait for work for ever.

    What anything here prints goes to stderr, for stdout may carry the protocol; and whoever recalls meanwhile has the
    processor first.
    """
    from multiprocessing import parent_process  # noqa: PLC0415 - see above
    from threading import Thread  # noqa: PLC0415 - same

    def watch() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()
    os.dup2(2, 1)
    if sys.platform != "win32":
        os.nice(_NICE)


# Lessons in bulk: out as JSON objects, in by short transactions that let other writers through.


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
            await lessons.add_lessons(tx, one.scope, one.lesson)
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
    lessons.add_at_once(writing, new)
    return done


def _told(one: "Ready", lesson_id: str, status: str) -> Stored:
    held = one.lesson.held if status == "quarantined" else None
    return Stored(lesson_id=lesson_id, status=status, reason=held, scope=str(one.scope))
