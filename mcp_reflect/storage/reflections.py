"""The repository of reflections: each is stored in one transaction with its strategy, its lessons and its failures."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mcp_reflect.clock import DAY, Clock
from mcp_reflect.models.common import HOST, RULES, Json, Link, Scope
from mcp_reflect.models.lesson import Lesson, LessonDraft, RecordKind, State, Trust
from mcp_reflect.models.lesson_words import quarantine_notice
from mcp_reflect.models.reflection import ReflectionDraft, StoredReflection
from mcp_reflect.storage import (
    failures,
    lesson_merging,
    lesson_records,
    screening,
    similarity,
    warnings,
)
from mcp_reflect.storage.repository import Reading, Repository, Writing, transaction
from mcp_reflect.storage.rows import Row, lesson_from, readable, record_from
from mcp_reflect.storage.values import scoped

_HOOK_SECONDS: Final = DAY
"""Hooks watch a project if they noted a call of it in the last of these seconds."""

_RUN_FIELDS: Final = ("task", "task_type", "outcome", "run_id")


class ReflectionRepository(Repository):
    """Reflections with their strategies, lessons and failures."""

    @transaction
    def store(self, tx: Writing, scope: Scope, draft: ReflectionDraft) -> StoredReflection:
        """Write a reflection, its strategy, lessons, failures and links in one transaction.

        If the same run with the same judgment is there, nothing is written and that reflection is returned.
        """
        now = self.clock.now()
        same = tx.row("reflection_by_digest", scoped(scope, digest=draft.digest))
        if same is not None:
            return _reflection_from(same)
        reflection_id = self.clock.new_id("ref")
        run = {name: draft.run.get(name) for name in _RUN_FIELDS}
        parts = self._write_parts(tx, scope, draft, reflection_id, now)
        tx.run(
            "reflection_add", {"trace": draft.run, "run_digest": draft.run_digest, **run, **parts}
        )
        _note_calls(tx, scope, draft, reflection_id, now)
        return self._written(tx, scope, draft, reflection_id)

    @transaction
    def next_version(
        self, tx: Writing, scope: Scope, before: StoredReflection, draft: ReflectionDraft
    ) -> StoredReflection:
        """Replace a reflection by another judgment of the same run; the former one becomes a version.

        The same judgment again changes nothing.
        """
        now = self.clock.now()
        current = _by_id(tx, scope, before.id)
        if current.digest == draft.digest:
            return current
        version = {"record_id": before.id, "reason": "analysed", "body": current.body, "now": now}
        tx.run("version_add", version)
        rows = tx.rows("lesson_of_reflection", {"reflection_id": before.id, "tenant": scope.tenant})
        all_records = [lesson_from(row) for row in rows]
        earlier_records = [record for record in all_records if record.state is State.ACTIVE]
        _retire_strategies(tx, scope, earlier_records, now)
        values = self._write_parts(tx, scope, draft, before.id, now)
        tx.run("reflection_change", values)
        earlier_lessons = [record for record in earlier_records if record.kind is RecordKind.LESSON]
        for written_lesson in values["body"]["lessons"]:
            if written_lesson["status"] != "quarantined":
                newer = lesson_records.lesson_by_id(tx, scope, written_lesson["id"])
                _replace_earlier(tx, scope, newer, earlier_lessons, now)
        return self._written(tx, scope, draft, before.id)

    async def by_id(self, scope: Scope, reflection_id: str) -> StoredReflection:
        """Return the reflection with that id and its redacted trace; NotFoundError names the field."""
        return await self.db.look(
            scope.tenant, lambda reading: _by_id(reading, scope, reflection_id)
        )

    async def of_same_run(
        self, scope: Scope, run_digest: str, *, by_model: bool
    ) -> list[StoredReflection]:
        """Return the reflections by a language model (or by rules alone) on an equal run, the latest first, at most five."""
        author = "model" if by_model else RULES
        values = {"run_digest": run_digest, "thinks": author, "rules": RULES, "host": HOST}
        rows = await self.db.rows("reflection_of_same_run", scoped(scope, **values))
        return [_reflection_from(row) for row in rows]

    async def latest(self, scope: Scope, *, limit: int = 50) -> list[StoredReflection]:
        """Return reflections of a scope, newest first."""
        rows = await self.db.rows("reflection_list", scoped(scope, limit=limit))
        return readable(rows, _reflection_from, self.context.log)

    async def findings(self, scope: Scope, *, limit: int = 200) -> dict[str, list[str]]:
        """Return the texts of findings of which no lesson was made, the latest first, by the id of their reflection."""
        texts_by_id: dict[str, list[str]] = {}
        for row in await self.db.rows("reflection_findings", scoped(scope, limit=limit)):
            texts_by_id.setdefault(row["id"], []).append(row["text"])
        return texts_by_id

    async def of_run(self, scope: Scope, run_id: str) -> str | None:
        """Return the id of the latest reflection on a run of this scope, None if there is none."""
        row = await self.db.row("reflection_by_run", scoped(scope, run_id=run_id))
        if row is None:
            return None
        return row["id"]

    async def metrics_before(self, scope: Scope, component: str) -> dict[str, Json]:
        """Return the metrics of the latest execution of a component that was reflected on; empty if there is none."""
        values = scoped(scope, component=component.strip())
        row = await self.db.row("reflection_of_component", values)
        if row is None:
            return {}
        return json.loads(row["trace"])["execution"]["metrics"]

    async def important(
        self, scope: Scope, *, limit: int, min_importance: float, tags: Sequence[str] = ()
    ) -> list[StoredReflection]:
        """Return active reflections of at least that importance (0..1) with any of the tags.

        The most important come first, of equal ones the latest.
        """
        values = scoped(scope, limit=limit, min_importance=min_importance, tags=list(tags))
        rows = await self.db.rows("reflection_by_importance", values)
        return [await self.by_id(scope, row["id"]) for row in rows]

    def _written(
        self, tx: Writing, scope: Scope, draft: ReflectionDraft, reflection_id: str
    ) -> StoredReflection:
        """Archive the records that a full bank has no room for; return the reflection for its author.

        The author sees all texts as written, also those that are in quarantine and shown to nobody else.
        """
        lesson_records.archive_excess(tx, scope, self.context.size, self.clock.now())
        stored = _by_id(tx, scope, reflection_id)
        as_written: dict[str, Any] = {}
        for name in ("reflection", "insights", "tags", "strategy"):
            if name in draft.body:
                as_written[name] = draft.body[name]
        return replace(stored, body={**stored.body, **as_written})

    def _write_parts(
        self, tx: Writing, scope: Scope, draft: ReflectionDraft, reflection_id: str, now: float
    ) -> dict[str, Any]:
        """Write the records of a reflection, and return the values of its row that depend on the judgment."""
        parts = _Parts(
            tx=tx,
            scope=scope,
            draft=draft,
            reflection_id=reflection_id,
            clock=self.clock,
            outputs=screening.tool_outputs(draft.run),
            waiting=screening.waiting_records(tx, scope),
        )
        body: dict[str, Any] = {"reflection_id": reflection_id, **draft.body}
        body |= parts.write_summary()
        body |= parts.write_strategy()
        body["lessons"] = parts.write_lessons()
        lesson_records.add_links(tx, reflection_id, draft.links)
        return scoped(
            scope,
            id=reflection_id,
            thinker=draft.reflection.thinker,
            body=body,
            digest=draft.digest,
            now=now,
        )


def _note_calls(
    tx: Writing, scope: Scope, draft: ReflectionDraft, reflection_id: str, now: float
) -> None:
    """Note the calls of a run that failed, each with its reflection, and clear those that worked.

    A call that hooks saw as well must not count twice.

    | the run                                                   | its calls count | its failures are of  |
    |-----------------------------------------------------------|-----------------|----------------------|
    | is of a session that hooks watched: they counted its calls| no              | that session         |
    | was told by an agent, in a project that hooks watch       | no              | no session           |
    | is any other, with a session                              | yes             | its session          |
    | is any other, without a session                           | yes             | its reflection alone |

    A part of a transcript (`SESSION#PART`) is read from a file, and not told by an agent.
    """
    run_id = draft.run.get("run_id")
    session = lesson_merging.session_of(run_id)
    is_watched = session is not None and warnings.session_state(tx, scope, session) is not None
    has_hooks = tx.row("sessions_since", scoped(scope, since=now - _HOOK_SECONDS)) is not None
    is_part_of_transcript = run_id != session
    is_told_by_agent = has_hooks and not is_watched and not is_part_of_transcript
    is_counted_now = not is_watched and not is_told_by_agent
    counted_session: str | None = None
    if not is_told_by_agent:
        counted_session = session or reflection_id
    for failure in draft.failures:
        failures.note_failure(
            tx,
            scope,
            failure,
            now,
            reflection_id=reflection_id,
            session=counted_session,
            again=is_counted_now,
        )
    if is_counted_now:
        failures.note_worked(tx, scope, draft.worked, now)


def _retire_strategies(tx: Writing, scope: Scope, earlier: Sequence[Lesson], now: float) -> None:
    """Retire the strategies of an earlier judgment: a reflection has one, that of its latest judgment."""
    for record in earlier:
        if record.kind is RecordKind.STRATEGY and not record.is_kept_by_person:
            retired = replace(record, state=State.RETIRED, updated_at=now)
            lesson_records.change(tx, scope, retired)


def _replace_earlier(
    tx: Writing, scope: Scope, newer: Lesson, earlier: Sequence[Lesson], now: float
) -> None:
    """Let a lesson replace the earlier lessons of its reflection that correct the same mistake in another way."""
    for older in earlier:
        if _may_be_replaced(older, newer) and _is_about_same_mistake(older, newer):
            # As the transaction has it now: the step before may have given it the strength of another lesson.
            current = lesson_records.lesson_by_id(tx, scope, newer.id)
            lesson_records.supersede(tx, scope, older, current, now)


def _may_be_replaced(older: Lesson, newer: Lesson) -> bool:
    """Return whether a judgment alone may replace a lesson: not one that a person keeps, or that outcomes confirmed."""
    is_proven = older.is_kept_by_person or older.trust is Trust.CONFIRMED
    return not is_proven and older.id != newer.id and older.created_at <= newer.created_at


def _is_about_same_mistake(older: Lesson, newer: Lesson) -> bool:
    """Return whether the mistakes of two lessons are near in meaning; a lesson without one is compared as a whole."""
    return similarity.one_subject(older.mistake or older.text, newer.mistake or newer.text)


def _by_id(reading: Reading, scope: Scope, reflection_id: str) -> StoredReflection:
    """Return the reflection of this scope with that id; NotFoundError names the field."""
    fix = "Send the id that reflect gave."
    return _reflection_from(
        reading.existing("reflection_by_id", scope, "reflection_id", reflection_id, fix)
    )


def _reflection_from(row: Row) -> StoredReflection:
    """Return a row of `reflections` as the record; BankError if the row is damaged."""
    return record_from(row, StoredReflection, {"trace": json.loads, "body": json.loads})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """Writes the records of one reflection in its transaction, each compared with words from outside."""

    tx: Writing
    scope: Scope
    draft: ReflectionDraft
    reflection_id: str
    clock: Clock
    outputs: Sequence[str]  # of the run's tools
    waiting: Sequence[Lesson]  # records in quarantine

    def write_summary(self) -> dict[str, Any]:
        """Write the record that recall finds in place of the reflection; return new values for the reflection's row.

        The row stays as it is, `{}`, unless the record is in quarantine: then the row shows the reason, and no text, to
        any other call before a person has decided. A record that a person keeps stays as it is.
        """
        summary = self._record_of(self.draft.face, self.reflection_id)
        stored_summary = lesson_records.find(self.tx, self.scope, self.reflection_id)
        if stored_summary is None:
            lesson_records.insert(self.tx, self.scope, summary)
        elif not stored_summary.is_kept_by_person:
            lesson_records.change(self.tx, self.scope, summary)
        if not summary.held:
            return {}
        return {"reflection": quarantine_notice(summary.held), "insights": None, "tags": []}

    def write_strategy(self) -> dict[str, Any]:
        """Write the strategy, if there is one; return its id for the reflection's row.

        A strategy in quarantine is not shown: the reason stands in its place in the row.
        """
        if self.draft.strategy is None:
            return {}
        strategy = self._record_of(self.draft.strategy)
        lesson_records.insert(self.tx, self.scope, strategy)
        lesson_records.add_links(self.tx, strategy.id, self._origin())
        if not strategy.held:
            return {"strategy_id": strategy.id}
        return {"strategy_id": strategy.id, "strategy": quarantine_notice(strategy.held)}

    def write_lessons(self) -> list[dict[str, str]]:
        """Write the lessons; return the id of each, with its status: stored, merged into another one, or quarantined."""
        written_lessons: list[dict[str, str]] = []
        session = lesson_merging.session_of(self.draft.run.get("run_id"))
        for draft in self.draft.lessons:
            lesson = self._record_of(draft)
            added = lesson_merging.add_or_merge(self.tx, self.scope, lesson, session)
            lesson_records.add_links(self.tx, added.id, (*self._origin(), *self._tools_of(lesson)))
            written_lessons.append({"id": added.id, "status": added.status})
        return written_lessons

    def _record_of(self, draft: LessonDraft, record_id: str | None = None) -> Lesson:
        """Return a part of the reflection as a screened record; None gives it a new id."""
        record = screening.record_of(draft, self.scope, self.clock, record_id)
        screened_record = screening.screened(record, self.outputs, self.waiting)
        return replace(screened_record, reflection_id=self.reflection_id)

    def _origin(self) -> list[Link]:
        """Return the links to the reflection and to the events of the run that it rests on.

        The ids of events are unique in a run alone, so that the reflection's id stands before them: `ref_4f2a/e1`.
        """
        origin = Link(relation="from", to_kind="reflection", to_id=self.reflection_id)
        events = [
            replace(link, to_id=f"{self.reflection_id}/{link.to_id}")
            for link in self.draft.links
            if link.to_kind == "event"
        ]
        return [origin, *events]

    def _tools_of(self, lesson: Lesson) -> list[Link]:
        """Return the links to the tools of the run that a lesson is tagged with."""
        return [
            link
            for link in self.draft.links
            if link.to_kind == "tool" and link.to_id in lesson.tags
        ]
