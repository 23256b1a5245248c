"""Import and export of lessons, in short transactions that let other writers through."""

import asyncio
import json
import os
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, LessonDraft, RecordKind, State, Stored
from mcp_reflect.storage import lessons
from mcp_reflect.storage.content_hash import says_nothing_new
from mcp_reflect.storage.lessons import LessonRows, lesson_rows
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import LISTS, lesson_from, lessons_from, scope_values
from mcp_reflect.storage.sqlite.statements import Transaction, Writing

PAGE: Final = 200  # lessons prepared at once
LEAST_SHARED: Final = 5_000  # lessons from which on processes are worth their start of half a second

_NICE: Final = 5  # added to the niceness of these processes
_EXPORT_PAGE: Final = 1000
_FIRST_BATCH: Final = 100  # lessons; the size of the next batches depends on the time that this one takes
_MIN_BATCH: Final = 25  # with fewer, most of the time would be spent waiting for the disk
_MAX_BATCH: Final = 1000
_BATCH_SECONDS: Final = 0.08  # the intended time of a transaction: other writers wait for it

_USE_FIELDS: Final = ("strength", "times_applied", "effectiveness", "wins", "losses", "proof", "held")
_OUTCOME_FIELDS: Final = ("recall_id", "success", "evidence", "weight", "note")

_STORED: Final = tuple(
    field.name
    for field in fields(LessonDraft)
    if field.name not in ("kind", "text", "external_id", "state", "trust", "source")
)
_EXPORTED: Final = ("id", *_STORED, "external_id", "project", "state", "trust", "source", *_USE_FIELDS)


class Transfer:
    """Imports and exports lessons; `size` is as in `LessonRepository`."""

    def __init__(self, db: Database, clock: Clock, size: int | None) -> None:
        self._db = db
        self._clock = clock
        self._size = size

    async def export(self, tenant: str, project: str | None) -> AsyncIterator[dict[str, Any]]:
        """Yield every lesson of a project (None: of all), oldest first, as import reads it, without empty fields."""
        values = {"tenant": tenant, "project": project, "limit": _EXPORT_PAGE}
        after = ""
        while True:
            rows = await self._db.rows("lesson_page", {**values, "after": after})
            ids = [row["id"] for row in rows]
            versions: dict[str, list[dict[str, Any]]] = {}
            for row in await self._db.rows("version_page", {"ids": ids}):
                version = {"reason": row["reason"], "body": json.loads(row["body"])}
                version["created_at"] = exact_time(row["created_at"])
                versions.setdefault(row["record_id"], []).append(version)
            outcomes: dict[str, list[dict[str, Any]]] = {}
            for row in await self._db.rows("outcome_page", {"ids": ids}):
                outcome = {name: row[name] for name in _OUTCOME_FIELDS}
                outcome["created_at"] = exact_time(row["created_at"])
                outcomes.setdefault(row["lesson_id"], []).append(outcome)
            for lesson in lessons_from(rows):
                if lesson.kind is RecordKind.LESSON:
                    line = {name: getattr(lesson, name) for name in _EXPORTED}
                    line |= {name: list(line[name]) for name in LISTS}
                    line |= {name: exact_time(getattr(lesson, name)) for name in ("created_at", "updated_at")}
                    line |= {"versions": versions.get(lesson.id, []), "outcomes": outcomes.get(lesson.id, [])}
                    yield {name: value for name, value in line.items() if value not in (None, [])}
            if len(rows) < _EXPORT_PAGE:
                return
            after = rows[-1]["id"]

    async def import_lessons(
        self, drafts: Sequence[tuple[Scope, LessonDraft]], *, merge: bool, processes: int = 1
    ) -> AsyncIterator[list[Stored]]:
        """Store checked drafts, and yield the results of each batch, in order.

        Args:
            drafts: Each with the scope it belongs to.
            merge: Compare them with the stored lessons: merged with an equal one, linked to a contradicting one.
                Without, a lesson that is there word for word is a `duplicate` and stays as it is, in any state.
            processes: How many processes prepare them, see `ready`.
        """
        waiting: list[Ready] = []
        count = _FIRST_BATCH
        async with aclosing(ready(drafts, self._clock, processes, merge=merge)) as pages:
            async for page in pages:
                waiting += page
                while len(waiting) >= count:
                    batch, waiting = waiting[:count], waiting[count:]
                    results, seconds = await self._store(batch, merge=merge)
                    count = max(_MIN_BATCH, min(round(len(batch) * min(_BATCH_SECONDS / seconds, 2.0)), _MAX_BATCH))
                    yield results
        if waiting:
            yield (await self._store(waiting, merge=merge))[0]

    async def restore(self, records: Sequence["Exported"]) -> list[Stored]:
        """Store records of a person's own export as they were; one whose id is taken is a `duplicate`, and skipped."""
        results: list[Stored] = []
        for start in range(0, len(records), _FIRST_BATCH):
            batch = records[start : start + _FIRST_BATCH]
            async with self._db.write() as tx:
                taken = {
                    row["id"] for row in await tx.rows("lesson_ids_taken", {"ids": [one.lesson.id for one in batch]})
                }
                for record in batch:
                    lesson, status = lessons.redacted(record.lesson), "duplicate"
                    if lesson.id not in taken:
                        taken.add(lesson.id)
                        status = "restored"
                        await lessons.insert(tx, record.scope, lesson)
                        await lessons.link_mentions(tx, lesson)
                        for version in record.versions:
                            await tx.run("version_add", {"record_id": lesson.id, **version})
                        for outcome in record.outcomes:
                            await tx.run("outcome_add", {"lesson_id": lesson.id, **outcome})
                    results.append(Stored(lesson_id=lesson.id, status=status, scope=str(record.scope)))
        return results

    async def _store(self, batch: "Sequence[Ready]", *, merge: bool) -> tuple[list[Stored], float]:
        """Write prepared records in one transaction; return the results, and the seconds that it took."""
        async with self._db.write() as tx:
            began = time.monotonic()
            results = await (_merge(tx, batch) if merge else tx.at_once(lambda writing: _add(writing, batch)))
            for scope in dict.fromkeys(record.scope for record in batch):
                await lessons.archive_excess(tx, scope, self._size, self._clock.now())
        return results, max(time.monotonic() - began, 0.001)  # with the commit


@dataclass(frozen=True, slots=True)
class Exported:
    """A line of a person's own export: `versions` with reason, body and now, `outcomes` with now for their time."""

    scope: Scope
    lesson: Lesson
    versions: Sequence[dict[str, Any]]
    outcomes: Sequence[dict[str, Any]]


def exact_time(seconds: float) -> str:
    """Return seconds since 1970 as ISO 8601 in UTC, to the microsecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


async def _merge(tx: Transaction, batch: "Sequence[Ready]") -> list[Stored]:
    """Store records, or strengthen those that say the same."""
    results: list[Stored] = []
    for record in batch:
        lesson_id, status = record.lesson.id, "quarantined" if record.lesson.held else "stored"
        if record.lesson.state is State.ACTIVE:
            lesson_id, status = await lessons.add_or_merge(tx, record.scope, record.lesson)
        else:
            await lessons.insert(tx, record.scope, record.lesson)
        results.append(_result(record, lesson_id, status))
    return results


def _add(writing: Writing, batch: "Sequence[Ready]") -> list[Stored]:
    """Store the records that are not there yet."""
    by_digest: dict[int, list[Lesson]] = {}
    for scope in dict.fromkeys(record.scope for record in batch):
        digests = [record.rows.row["digest"] for record in batch if record.rows and record.scope == scope]
        for row in writing.rows("lesson_same", {"digests": digests, **scope_values(scope)}):
            by_digest.setdefault(row["digest"], []).append(lesson_from(row))
    results: list[Stored] = []
    new: list[LessonRows] = []
    for record in batch:
        assert record.rows is not None  # noqa: S101 - prepared without merge
        same = by_digest.setdefault(record.rows.row["digest"], [])
        duplicate = next((other for other in same if says_nothing_new(record.lesson, other)), None)
        if duplicate is not None:
            results.append(_result(record, duplicate.id, "duplicate"))
            continue
        same.append(record.lesson)
        new.append(record.rows)
        results.append(_result(record, record.lesson.id, "quarantined" if record.lesson.held else "stored"))
    lessons.insert_rows(writing, new)
    return results


def _result(record: "Ready", lesson_id: str, status: str) -> Stored:
    held = record.lesson.held if status == "quarantined" else None
    return Stored(lesson_id=lesson_id, status=status, reason=held, scope=str(record.scope))


# Lessons of an import are prepared before the bank is locked: redacted, screened, split for the index. That takes
# longer than writing them, so a thread or processes do it ahead, and a server keeps answering.


@dataclass(frozen=True, slots=True)
class Ready:
    """A record to store; `rows` is None if it may be merged into another one."""

    scope: Scope
    lesson: Lesson
    rows: LessonRows | None


def prepare_page(page: Sequence[tuple[Scope, Lesson]], *, merge: bool = False) -> list[Ready]:
    """Return records ready to store."""
    screened = [(scope, lessons.screened(lesson)) for scope, lesson in page]
    return [Ready(scope, lesson, None if merge else lesson_rows(scope, lesson)) for scope, lesson in screened]


async def ready(
    drafts: Sequence[tuple[Scope, LessonDraft]],
    clock: Clock,
    processes: int,
    *,
    merge: bool = False,
    least_shared: int = LEAST_SHARED,
) -> AsyncGenerator[list[Ready]]:
    """Yield the drafts as records, in their order, a page at a time; some pages are prepared ahead.

    With several `processes` and at least `least_shared` drafts, these processes prepare them, else a thread. With
    `merge` they are not split for the index yet.
    """
    shared = processes > 1 and len(drafts) >= least_shared
    executor = _processes(processes) if shared else ThreadPoolExecutor(1)
    loop = asyncio.get_running_loop()
    pending: deque[asyncio.Future[list[Ready]]] = deque()
    try:
        for start in range(0, len(drafts), PAGE):
            page = [(scope, lessons.from_draft(draft, scope, clock)) for scope, draft in drafts[start : start + PAGE]]
            pending.append(loop.run_in_executor(executor, partial(prepare_page, page, merge=merge)))
            if len(pending) > (2 * processes if shared else 1):
                yield await pending.popleft()
        while pending:
            yield await pending.popleft()
    finally:
        for future in pending:
            future.cancel()
            with suppress(asyncio.CancelledError):
                await future
        executor.shutdown(wait=False, cancel_futures=True)


def _processes(count: int) -> Executor:
    # New processes, not forks: this one has threads.
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - only a large import needs them
    from multiprocessing import get_context  # noqa: PLC0415 - the same

    return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    """End this process with its parent, which may be killed; print to stderr, because stdout may carry the protocol.

    The lower priority lets a recall go first.
    """
    from multiprocessing import parent_process  # noqa: PLC0415 - the same
    from threading import Thread  # noqa: PLC0415 - the same

    def watch() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()
    os.dup2(2, 1)
    if sys.platform != "win32":
        os.nice(_NICE)
