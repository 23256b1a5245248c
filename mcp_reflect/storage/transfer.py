"""Import and export of lessons, in short transactions that let other writers through."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from mcp_reflect.clock import Clock, iso
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, LessonDraft, RecordKind, Stored, Trust
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage import lesson_records, screening
from mcp_reflect.storage.lesson_records import LessonRows, lesson_rows
from mcp_reflect.storage.queries import LESSON_FIELDS
from mcp_reflect.storage.repository import Repository, Writing
from mcp_reflect.storage.rows import LISTS, Row, lesson_from, lessons_from, says_nothing_new
from mcp_reflect.storage.values import Written, scoped

_EXPORT_PAGE: Final = 1000
_BATCH: Final = 100  # lessons in a transaction, which takes about 0.1 s: other writers wait for it
_PAUSE_SECONDS: Final = 0.015  # after a transaction, in which others begin theirs

_PAST: Final = (
    ("version", "record_id", ("reason", "body")),
    ("outcome", "lesson_id", ("recall_id", "success", "evidence", "weight", "note")),
)
# What is made of the other fields, or holds in this bank alone; times are written in another form.
_OWN: Final = "kind text context_hash suspicion rules_version reflection_id guard_repeats created_at updated_at".split()
_EXPORTED: Final = ("id", *(name for name in LESSON_FIELDS if name not in ("id", *_OWN)))


class Exported(NamedTuple):
    """A line of a person's own export: `versions` with reason, body and now, `outcomes` with now for their time."""

    scope: Scope
    lesson: Lesson
    versions: Sequence[dict[str, Any]]
    outcomes: Sequence[dict[str, Any]]


class Transfer(Repository):
    """Imports and exports lessons."""

    async def export(self, tenant: str, project: str | None) -> AsyncIterator[dict[str, Any]]:
        """Yield every lesson of a project (None: of all), oldest first, as import reads it, without empty fields."""
        values = {"tenant": tenant, "project": project, "limit": _EXPORT_PAGE}
        after = ""
        while rows := await self.db.rows("lesson_page", {**values, "after": after}):
            ids = [row["id"] for row in rows]
            past: _Past = defaultdict(list)
            for kind, record, names in _PAST:
                for row in await self.db.rows(f"{kind}_page", {"ids": ids, "tenant": tenant}):
                    past[f"{kind}s", row[record]].append(_past_of(row, names))
            for lesson in lessons_from(rows, self.context.log):
                if lesson.kind is RecordKind.LESSON:
                    yield _line_of(lesson, past)
            after = ids[-1]

    async def import_lessons(
        self, drafts: Sequence[tuple[Scope, LessonDraft]], waits_since: str = ""
    ) -> AsyncIterator[list[Stored]]:
        """Store checked drafts, each with its scope, and yield the results of each batch, in order.

        `waits_since` is the reason for which those in quarantine wait, where it is not that they waited before.

        A lesson that is there word for word is a `duplicate` and stays as it is, in any state. Records are redacted,
        screened and split for the index before the bank is locked, by a thread: that takes longer than writing them.
        """
        for start in range(0, len(drafts), _BATCH):
            batch = drafts[start : start + _BATCH]

            def prepare(batch: Sequence[tuple[Scope, LessonDraft]] = batch) -> list[_Record]:
                prepared: list[_Record] = []
                for scope, draft in batch:
                    record = screening.record_of(draft, scope, self.clock)
                    if draft.trust is Trust.QUARANTINED and waits_since:
                        record = replace(record, held=waits_since)
                    lesson = screening.screened(record)
                    prepared.append((scope, lesson, lesson_rows(scope, lesson)))
                return prepared

            def store(tx: Writing, records: Sequence[_Record]) -> list[Stored]:
                results = _add(tx, records)
                for scope in dict.fromkeys(scope for scope, _, _ in records):
                    lesson_records.archive_excess(tx, scope, self.context.size, self.clock.now())
                return results

            records = await asyncio.to_thread(prepare)
            yield await self.db.write(
                batch[0][0].tenant, lambda tx, records=records: store(tx, records)
            )
            await asyncio.sleep(_PAUSE_SECONDS)

    async def restore(self, records: Sequence[Exported]) -> list[Stored]:
        """Store records of a person's own export as they were; one that the tenant has is a `duplicate`, and skipped.

        An id that another tenant has says nothing: the record gets a new one.
        """
        results: list[Stored] = []
        for start in range(0, len(records), _BATCH):
            batch = records[start : start + _BATCH]
            results += await self.db.write(
                batch[0].scope.tenant, lambda tx, batch=batch: _restore(tx, batch, self.clock)
            )
        return results


_Past = defaultdict[tuple[str, str], list[dict[str, Any]]]
"""Earlier wordings (`versions`) and `outcomes`, by their kind and the id of their record."""


def _past_of(row: Row, names: Sequence[str]) -> dict[str, Any]:
    """Return an earlier wording or an outcome as an export has it."""
    values: dict[str, Any] = {name: row[name] for name in names}
    if "body" in values:
        values["body"] = json.loads(values["body"])
    return {**values, "created_at": iso(row["created_at"], exact=True)}


def _line_of(lesson: Lesson, past: _Past) -> dict[str, Any]:
    """Return the line of a lesson in an export, without empty fields."""
    line: dict[str, Any] = {name: getattr(lesson, name) for name in _EXPORTED}
    line |= {name: list(line[name]) for name in LISTS}
    for name in ("created_at", "updated_at"):
        line[name] = iso(getattr(lesson, name), exact=True)
    for name in ("versions", "outcomes"):
        line[name] = past[name, lesson.id]
    return {name: value for name, value in line.items() if value not in (None, [])}


_Record = tuple[Scope, Lesson, LessonRows]


def _add(tx: Writing, batch: Sequence[_Record]) -> list[Stored]:
    by_digest: dict[Written, list[Lesson]] = {}
    for scope in dict.fromkeys(scope for scope, _, _ in batch):
        digests = [rows.row["digest"] for own, _, rows in batch if own == scope]
        for row in tx.rows("lesson_same", scoped(scope, digests=digests)):
            by_digest.setdefault(row["digest"], []).append(lesson_from(row))
    results: list[Stored] = []
    new: list[LessonRows] = []
    for scope, lesson, rows in batch:
        same = by_digest.setdefault(rows.row["digest"], [])
        if duplicate := next((other for other in same if says_nothing_new(lesson, other)), None):
            results.append(Stored(lesson_id=duplicate.id, status="duplicate", scope=str(scope)))
            continue
        same.append(lesson)
        new.append(rows)
        status = "quarantined" if lesson.held else "stored"
        results.append(
            Stored(lesson_id=lesson.id, status=status, reason=lesson.held, scope=str(scope))
        )
    lesson_records.insert_rows(tx, new)
    return results


def _restore(tx: Writing, batch: Sequence[Exported], clock: Clock) -> list[Stored]:
    ids = {"ids": [record.lesson.id for record in batch]}
    taken = {row["id"]: row["tenant"] for row in tx.rows("lesson_ids_taken", ids)}
    results: list[Stored] = []
    for scope, exported, versions, outcomes in batch:
        sent, status = exported, "restored"
        if taken.get(exported.id, scope.tenant) != scope.tenant:
            sent = replace(exported, id=clock.new_id("les"))
        if sent.id in taken:
            status = "duplicate"
        else:
            taken[sent.id] = scope.tenant
            lesson_records.insert(tx, scope, screening.redacted(sent), by=Speaker.PERSON)
            tx.run_many("version_add", [{"record_id": sent.id, **one} for one in versions])
            tx.run_many("outcome_add", [{"lesson_id": sent.id, **one} for one in outcomes])
        results.append(Stored(lesson_id=sent.id, status=status, scope=str(scope)))
    return results
