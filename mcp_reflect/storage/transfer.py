"""Import and export of lessons, in short transactions that let other writers through."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from mcp_reflect.clock import Clock, iso
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, LessonDraft, RecordKind, Stored, Trust
from mcp_reflect.models.lesson_words import exported_words
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage import lesson_records, screening
from mcp_reflect.storage.lesson_records import LessonRows, lesson_rows
from mcp_reflect.storage.queries import LESSON_FIELDS
from mcp_reflect.storage.repository import Repository, Writing
from mcp_reflect.storage.rows import LISTS, Row, lesson_from, lessons_from, says_nothing_new
from mcp_reflect.storage.values import Written, scoped

_EXPORT_PAGE: Final = 1000
"""Lessons that an export reads at once."""

_BATCH_SIZE: Final = 100
"""Lessons in a transaction, which takes about 0.1 s: other writers wait for it."""

_PAUSE_SECONDS: Final = 0.015
"""The pause after a transaction, in which other writers begin theirs."""


class _PastTable(NamedTuple):
    """A table with the past of records, which an export has beside them."""

    name: str
    id_column: str  # the id of the record
    columns: tuple[str, ...]  # those that are exported


_PAST_TABLES: Final = (
    _PastTable("version", "record_id", ("reason", "body")),
    _PastTable("outcome", "lesson_id", ("recall_id", "success", "evidence", "weight", "note")),
)

_FIELDS_NOT_EXPORTED: Final = (
    *("kind", "text", "context_hash", "suspicion", "rules_version"),  # made of the other fields
    *("reflection_id", "guard_repeats"),  # of this bank alone
    *("created_at", "updated_at"),  # written in another form
)
_EXPORTED_FIELDS: Final = (
    "id",
    *(name for name in LESSON_FIELDS if name not in ("id", *_FIELDS_NOT_EXPORTED)),
)


class Exported(NamedTuple):
    """A line of a person's own export, with the values of the rows to write.

    `versions` have reason, body and now (their time); `outcomes` have their columns and now.
    """

    scope: Scope
    lesson: Lesson
    versions: Sequence[dict[str, Any]]
    outcomes: Sequence[dict[str, Any]]


class Transfer(Repository):
    """Imports and exports lessons."""

    async def export(self, tenant: str, project: str | None) -> AsyncIterator[dict[str, Any]]:
        """Yield every lesson of a project (None: of all), oldest first, as import reads it, without empty fields.

        Lessons are read in pages, with the earlier wordings and outcomes of each page.
        """
        values = {"tenant": tenant, "project": project, "limit": _EXPORT_PAGE}
        last_id = ""
        while rows := await self.db.rows("lesson_page", {**values, "after": last_id}):
            ids = [row["id"] for row in rows]
            past = await self._past(tenant, ids)
            for lesson in lessons_from(rows, self.context.log):
                if lesson.kind is RecordKind.LESSON:
                    yield _line_of(lesson, past)
            last_id = ids[-1]

    async def _past(self, tenant: str, ids: Sequence[str]) -> "_Past":
        """Return the earlier wordings and the outcomes of some records."""
        past: _Past = defaultdict(list)
        for table in _PAST_TABLES:
            rows = await self.db.rows(f"{table.name}_page", {"ids": ids, "tenant": tenant})
            for row in rows:
                key = (f"{table.name}s", row[table.id_column])
                past[key].append(_past_entry(row, table.columns))
        return past

    async def import_lessons(
        self, drafts: Sequence[tuple[Scope, LessonDraft]], waits_since: str = ""
    ) -> AsyncIterator[list[Stored]]:
        """Store checked drafts, each with its scope, and yield the results of each batch, in order.

        A lesson that the bank has word for word, in any state, is a `duplicate` and stays as it is. Records are redacted,
        screened and split for the index before the bank is locked, by a thread: that takes longer than writing them.
        `waits_since` is the reason for which those in quarantine wait, where it is not that they waited before.
        """
        for start in range(0, len(drafts), _BATCH_SIZE):
            batch = drafts[start : start + _BATCH_SIZE]

            records = await asyncio.to_thread(self._prepared, batch, waits_since)
            yield await self.db.write(records[0].scope.tenant, partial(self._store, records))
            await asyncio.sleep(_PAUSE_SECONDS)

    def _prepared(
        self, batch: Sequence[tuple[Scope, LessonDraft]], waits_since: str
    ) -> list["_Record"]:
        """Return drafts as screened records, with all rows that are stored of them."""
        prepared: list[_Record] = []
        for scope, draft in batch:
            record = screening.record_of(draft, scope, self.clock)
            if draft.trust is Trust.QUARANTINED and waits_since:
                record = replace(record, held=waits_since)
            lesson = screening.screened(record)
            prepared.append(_Record(scope, lesson, lesson_rows(scope, lesson)))
        return prepared

    def _store(self, records: Sequence["_Record"], tx: Writing) -> list[Stored]:
        """Add the new records, then archive the excess records of their projects; return the results in order."""
        results = _add(tx, records)
        for scope in dict.fromkeys(record.scope for record in records):
            lesson_records.archive_excess(tx, scope, self.context.size, self.clock.now())
        return results

    async def restore(self, records: Sequence[Exported]) -> list[Stored]:
        """Store records of a person's own export as they were.

        | the id of a record         | the record                                 |
        |----------------------------|--------------------------------------------|
        | is in use by this tenant   | is a `duplicate`, and skipped              |
        | is in use by another one   | is stored under a new id                   |
        | is unused                  | is stored under its id                     |
        """
        results: list[Stored] = []
        for start in range(0, len(records), _BATCH_SIZE):
            batch = records[start : start + _BATCH_SIZE]
            results += await self.db.write(
                batch[0].scope.tenant, lambda tx, batch=batch: _restore(tx, batch, self.clock)
            )
        return results


_Past = defaultdict[tuple[str, str], list[dict[str, Any]]]
"""Earlier wordings and outcomes of records: `past["versions", "les_4f2a"]`, `past["outcomes", "les_4f2a"]`."""


def _past_entry(row: Row, names: Sequence[str]) -> dict[str, Any]:
    """Return an earlier wording or an outcome as an export has it."""
    values: dict[str, Any] = {name: row[name] for name in names}
    if "body" in values:
        values["body"] = json.loads(values["body"])
    return {**values, "created_at": iso(row["created_at"], exact=True)}


def _line_of(lesson: Lesson, past: _Past) -> dict[str, Any]:
    """Return the line of a lesson in an export, without empty fields."""
    line: dict[str, Any] = {name: getattr(lesson, name) for name in _EXPORTED_FIELDS}
    line |= exported_words(lesson.text, lesson.mistake, lesson.correction)
    line |= {name: list(line[name]) for name in LISTS}
    for name in ("created_at", "updated_at"):
        line[name] = iso(getattr(lesson, name), exact=True)
    for name in ("versions", "outcomes"):
        line[name] = past[name, lesson.id]
    return {name: value for name, value in line.items() if value not in (None, [])}


class _Record(NamedTuple):
    """A lesson to store in a scope, with all rows that are stored of it."""

    scope: Scope
    lesson: Lesson
    rows: LessonRows


def _add(tx: Writing, batch: Sequence[_Record]) -> list[Stored]:
    """Store the records that the bank does not have word for word, and return a result for each.

    Equal records have equal digests, in the bank as well as in the batch itself.
    """
    lessons_by_digest = _stored_by_digest(tx, batch)
    results: list[Stored] = []
    new_rows: list[LessonRows] = []
    for scope, lesson, rows in batch:
        same_digest = lessons_by_digest.setdefault(rows.row["digest"], [])
        duplicates = [other for other in same_digest if says_nothing_new(lesson, other)]
        if duplicates:
            results.append(Stored(lesson_id=duplicates[0].id, status="duplicate", scope=str(scope)))
            continue
        same_digest.append(lesson)
        new_rows.append(rows)
        status = "quarantined" if lesson.held else "stored"
        results.append(
            Stored(lesson_id=lesson.id, status=status, reason=lesson.held, scope=str(scope))
        )
    lesson_records.insert_rows(tx, new_rows)
    return results


def _stored_by_digest(tx: Writing, batch: Sequence[_Record]) -> dict[Written, list[Lesson]]:
    """Return the stored lessons that have the digest of one of the batch, by digest."""
    lessons_by_digest: dict[Written, list[Lesson]] = {}
    for scope in dict.fromkeys(record.scope for record in batch):
        digests = [record.rows.row["digest"] for record in batch if record.scope == scope]
        for row in tx.rows("lesson_same", scoped(scope, digests=digests)):
            lessons_by_digest.setdefault(row["digest"], []).append(lesson_from(row))
    return lessons_by_digest


def _restore(tx: Writing, batch: Sequence[Exported], clock: Clock) -> list[Stored]:
    """Store exported records under their own ids with their past; see `Transfer.restore`."""
    ids = {"ids": [record.lesson.id for record in batch]}
    tenant_by_id = {row["id"]: row["tenant"] for row in tx.rows("lesson_ids_taken", ids)}
    results: list[Stored] = []
    for scope, exported, versions, outcomes in batch:
        lesson = exported
        if tenant_by_id.get(exported.id, scope.tenant) != scope.tenant:
            lesson = replace(exported, id=clock.new_id("les"))
        if lesson.id in tenant_by_id:
            results.append(Stored(lesson_id=lesson.id, status="duplicate", scope=str(scope)))
            continue
        tenant_by_id[lesson.id] = scope.tenant
        lesson_records.insert(tx, scope, screening.redacted(lesson), by=Speaker.PERSON)
        tx.run_many("version_add", [{"record_id": lesson.id, **version} for version in versions])
        tx.run_many("outcome_add", [{"lesson_id": lesson.id, **outcome} for outcome in outcomes])
        results.append(Stored(lesson_id=lesson.id, status="restored", scope=str(scope)))
    return results
