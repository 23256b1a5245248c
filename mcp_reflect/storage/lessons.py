"""The repository of lessons: stored or merged, changed, decided about, retired and erased."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.guards.call import Call
from mcp_reflect.models import lesson as models
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import GuardMode, Lesson, LessonDraft, RecordKind, State, Trust
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import quoted
from mcp_reflect.speaker import Speaker, refuse_agent
from mcp_reflect.storage import lesson_guards, lesson_merging, lesson_records, screening, similarity
from mcp_reflect.storage.repository import Reading, Repository, Writing, transaction
from mcp_reflect.storage.retrieval import index
from mcp_reflect.storage.values import scoped

_MIN_ID_CHARS: Final = 4  # that stand for an id
_MAX_NAMED_IDS: Final = 5
_MOST_RUNS: Final = 20  # with whose calls a guard is tried
_MOST_CALLS: Final = 2_000
_RUNS_COMPARED: Final = 5  # the latest, with whose outputs a lesson that no run taught is compared
_LINES_COMPARED: Final = 200  # of the latest calls that hooks saw
_CHARS_COMPARED: Final = 400_000  # of these outputs
_KEPT_AS_IT_IS: Final = "a person keeps a lesson that says the same; it stays as it is"
_FULL: Final = "archived at once: the bank is full of more important lessons"
# `index_rewrite` last: none of the record's terms stays in the file.
_ERASING: Final = (
    "version_erase",
    "link_erase",
    "failure_erase",
    "proposal_erase",
    "followed_erase",
    "roots_cut",
    "shown_in_erase",
    "guard_cut",
    "lesson_erase",
    "reflection_erase",
    "index_rewrite",
)


class LessonRepository(Repository):
    """The records that recall can show: lessons, strategies, and the summaries of reflections.

    Every method that takes an id raises NotFoundError if the scope has no such record.
    """

    async def store(
        self, scope: Scope, draft: LessonDraft, *, by: Speaker = Speaker.AGENT
    ) -> models.Stored:
        """Store a lesson, or strengthen the one that says the same.

        It is compared with words from outside, and judged, before the bank is locked: that takes longer than writing.
        """
        beside = await self.db.look(scope.tenant, lambda reading: _beside(reading, scope))

        def prepare() -> Lesson:
            record = screening.record_of(draft, scope, self.clock)
            return screening.screened(record, [beside.outputs()], beside.waiting)

        def store(tx: Writing) -> models.Stored:
            added = lesson_merging.add_or_merge(tx, scope, lesson, by=by)
            archived = lesson_records.archive_excess(tx, scope, self.context.size, self.clock.now())
            stored = _stored(tx, scope, lesson, added)
            if added.id in archived and stored.reason is None:
                return replace(stored, reason=_FULL)
            return stored

        lesson = await asyncio.to_thread(prepare)
        return await self.db.write(scope.tenant, store)

    @transaction
    def supersede(
        self,
        tx: Writing,
        scope: Scope,
        old_id: str,
        new_id: str,
        *,
        by: Speaker = Speaker.AGENT,
    ) -> None:
        """Retire a lesson that another one replaces, which keeps its wording and how often it was learned."""
        old, new, now = (
            lesson_records.lesson_by_id(tx, scope, old_id),
            lesson_records.lesson_by_id(tx, scope, new_id),
            self.clock.now(),
        )
        if old.id != new.id and old.state is State.ACTIVE:
            lesson_records.supersede(tx, scope, old, new, now, by=by)

    async def get(self, scope: Scope, lesson_id: str, field: str = "lesson_id") -> Lesson:
        """Return the record with that id; NotFoundError names `field`."""
        return await self.db.look(
            scope.tenant,
            lambda reading: lesson_records.lesson_by_id(reading, scope, lesson_id, field),
        )

    async def resolve_id(self, scope: Scope, part: str, field: str = "id") -> str:
        """Return the one id that is `part`, or begins or ends with it (4 characters or more), else `part`.

        `les_` may stand before the end of an id. InputError if there are several.
        """
        if len(part) < _MIN_ID_CHARS:
            return part
        end = part.removeprefix("les_")
        if len(end) < _MIN_ID_CHARS:
            end = part
        values = scoped(scope, part=part, end=end, limit=_MAX_NAMED_IDS)
        rows = await self.db.rows("lesson_ids_like", values)
        ids = [str(row["id"]) for row in rows]
        if len(ids) < 2 or part in ids:
            if len(ids) == 1:
                return ids[0]
            return part
        raise InputError(
            field,
            f"'{quoted(part)}' is the start or end of {', '.join(ids)}",
            "Give more characters.",
        )

    async def projects(self, tenant: str) -> dict[str, int]:
        """Return the number of active lessons of each project; the empty name is global."""
        return {
            row["project"]: row["count"]
            for row in await self.db.rows("lesson_projects", {"tenant": tenant})
        }

    async def latest(
        self,
        scope: Scope,
        *,
        kind: RecordKind | None = RecordKind.LESSON,
        state: State | None = State.ACTIVE,
        limit: int = 50,
        held: bool = False,
    ) -> list[Lesson]:
        """Return records, newest first; None means any kind or state. `held` selects those in quarantine."""
        name = "lesson_list_held" if held else "lesson_list"
        return await self.lessons(name, scope, kind=kind, state=state, limit=limit)

    async def pinned(self, scope: Scope) -> list[Lesson]:
        """Return the lessons with which every session begins, the first pinned first."""
        return await self.lessons("lessons_pinned", scope, limit=MOST_PINNED)

    @transaction
    def pin(self, tx: Writing, scope: Scope, lesson_id: str, *, pinned: bool) -> Lesson:
        """Let every session begin with a lesson, or no longer, on a person's behalf. InputError where it may not."""
        before = lesson_records.lesson_by_id(tx, scope, lesson_id)
        if (before.pinned_at is not None) is pinned:
            return before
        if pinned:
            _check_pin(tx, scope, before)
        after = replace(before, pinned_at=self.clock.now() if pinned else None)
        lesson_records.change(tx, scope, after, by=Speaker.PERSON)
        return after

    async def for_start(self, scope: Scope, limit: int = 50) -> list[Lesson]:
        """Return the lessons that matter most, first what a person or an agent told."""
        return await self.lessons("lessons_for_start", scope, limit=limit)

    async def task_types(self, scope: Scope) -> list[str]:
        """Return the task types of a scope's lessons, the most frequent first."""
        return [row["task_type"] for row in await self.db.rows("task_types", scoped(scope))]

    async def history(self, scope: Scope, record_id: str) -> list[dict[str, Any]]:
        """Return the earlier and other wordings of a record, oldest first."""
        await self.get(scope, record_id)
        rows = await self.db.rows("version_list", scoped(scope, record_id=record_id))
        names = ("version", "reason", "created_at")
        return [{name: row[name] for name in names} | json.loads(row["body"]) for row in rows]

    async def links(self, scope: Scope, record_id: str) -> list[dict[str, str]]:
        """Return the links of a record."""
        await self.get(scope, record_id)
        return [
            dict(row) for row in await self.db.rows("link_list", scoped(scope, from_id=record_id))
        ]

    @transaction
    def set_state(
        self,
        tx: Writing,
        scope: Scope,
        lesson_id: str,
        state: State,
        reason: str,
        *,
        by: Speaker = Speaker.AGENT,
    ) -> Lesson:
        """Retire, archive or restore a lesson; its former state stays in its history."""
        now = self.clock.now()
        lesson = lesson_records.set_state(tx, scope, lesson_id, state, reason, now, by=by)
        if state is State.ACTIVE:  # another one gives way to what a person restored
            lesson_records.archive_excess(
                tx, Scope(scope.tenant, lesson.project), self.context.size, now, spare=lesson_id
            )
        return lesson

    @transaction
    def decide(
        self, tx: Writing, scope: Scope, lesson_id: str, *, approved: bool, of_agents: bool = False
    ) -> Lesson:
        """Record a person's decision about a lesson in quarantine: trusted, or retired. InputError if it is not.

        A person may vouch for any lesson. With `of_agents` they may reject one that an agent stored, too.
        """
        before = lesson_records.lesson_by_id(tx, scope, lesson_id)
        is_agents_own = before.trust in (Trust.OBSERVED, Trust.CONFIRMED) and (
            of_agents or approved
        )
        waits = before.trust is Trust.QUARANTINED or is_agents_own
        if not waits or before.state is not State.ACTIVE:
            fix = "`mcp-reflect lessons review` lists the lessons that are."
            raise InputError("id", f"'{quoted(lesson_id)}' is not in quarantine", fix)
        if not approved:
            now = self.clock.now()
            return lesson_records.set_state(
                tx, scope, lesson_id, State.RETIRED, "rejected", now, by=Speaker.PERSON
            )
        after = replace(before, trust=Trust.TRUSTED, held=None, updated_at=self.clock.now())
        lesson_records.revise(tx, scope, before, after, "approved", by=Speaker.PERSON)
        return after

    @transaction
    def edit(
        self,
        tx: Writing,
        scope: Scope,
        lesson_id: str,
        changes: dict[str, Any],
        *,
        by: Speaker = Speaker.AGENT,
    ) -> Lesson:
        """Change a lesson's fields; the wording before stays as a version."""
        before = lesson_records.lesson_by_id(tx, scope, lesson_id)
        after = screening.screened(replace(before, **changes, updated_at=self.clock.now()))
        lesson_records.revise(tx, scope, before, after, "edited", by=by)
        return after

    async def erase(self, scope: Scope, lesson_id: str, *, by: Speaker = Speaker.AGENT) -> None:
        """Remove a record with its index entries, history, links and outcomes, and overwrite their bytes."""

        def erase(tx: Writing) -> None:
            lesson = lesson_records.lesson_by_id(tx, scope, lesson_id)
            lesson_records.refuse_change(lesson, None, by)
            values = {"id": lesson.id, "tenant": scope.tenant}
            index.remove(tx, lesson_id)
            for name in _ERASING:
                tx.run(name, values)

        await self.db.write(scope.tenant, erase)
        await self.db.truncate_log()

    async def guard_mode(self, scope: Scope) -> GuardMode | None:
        """Return what a person chose that guards do in a project, None for nothing."""
        return await self.db.look(
            scope.tenant, lambda reading: lesson_guards.guard_mode(reading, scope)
        )

    @transaction
    def set_guard_mode(
        self,
        tx: Writing,
        scope: Scope,
        mode: GuardMode | None,
        *,
        by: Speaker = Speaker.AGENT,
    ) -> None:
        """Choose what guards do in a project, which only a person may; None forgets it."""
        refuse_agent(by, "mode", "say what guards do in a project")
        tx.run("guards_mode_cut", scoped(scope))
        if mode is not None:
            tx.run("guard_add", scoped(scope, key="", lesson_id=mode.value))

    async def enforced(self, scope: Scope, most: int) -> list[Lesson]:
        """Return the lessons of a project that a person enforces, the newest first."""
        return await self.db.look(
            scope.tenant, lambda reading: reading.lessons("guards_enforced", scope, limit=most)
        )

    async def noted_calls(self, scope: Scope) -> list[Call]:
        """Return the latest calls of a project that are in the bank: of reflected runs, and those that failed."""

        def read(reading: Reading) -> list[Call]:
            runs = reading.rows("latest_runs", scoped(scope, limit=_MOST_RUNS))
            calls: list[Call] = []
            for run in runs:
                calls += [Call(tool, made) for tool, made in _calls_of(json.loads(run["trace"]))]
            failed = reading.rows("failing_calls", scoped(scope, limit=_MOST_CALLS))
            calls += [Call(row["tool"], json.loads(row["arguments"])[0]) for row in failed]
            return calls[:_MOST_CALLS]

        return await self.db.look(scope.tenant, read, long=True)

    async def unarmed(self, scope: Scope, limit: int = 1000) -> list[Lesson]:
        """Return the lessons whose guards wait for a person, newest first."""
        return await self.lessons("guards_unarmed", scope, limit=limit)


MOST_PINNED: Final = 3
"""Lessons with which a session begins: more of them would be read by nobody."""


def _check_pin(reading: Reading, scope: Scope, lesson: Lesson) -> None:
    """Refuse to pin a lesson that no session may be shown, or one too many."""
    if lesson.state is not State.ACTIVE or lesson.trust is Trust.QUARANTINED:
        fix = (
            "Restore or approve it first: mcp-reflect lessons restore, mcp-reflect lessons approve."
        )
        raise InputError("id", "that lesson is not in use", fix)
    if reason := screening.suspicion_of(lesson):
        fix = "Write a lesson of your own: mcp-reflect lessons add."
        raise InputError("id", f"hooks do not show that lesson: {reason}", fix)
    pinned = reading.lessons("lessons_pinned", scope, limit=MOST_PINNED)
    if len(pinned) >= MOST_PINNED:
        names = ", ".join(models.short_id(one.id) for one in pinned)
        fix = f"Unpin one of {names} first: mcp-reflect lessons unpin ID."
        raise InputError("id", f"{MOST_PINNED} lessons are pinned already", fix)


@dataclass(frozen=True, slots=True)
class _Beside:
    """What a new lesson is compared with: the latest runs, the calls that hooks saw, and what is in quarantine."""

    runs: Sequence[str]
    calls: Sequence[str]
    waiting: Sequence[Lesson]

    def outputs(self) -> str:
        """Return the words from outside. Of single calls only what reads as an order: a lesson may quote its subject."""
        lines = [str(json.loads(call).get("line", "")) for call in self.calls]
        outputs = [line for line in lines if suspicion([line])]
        for run in self.runs:
            outputs += screening.tool_outputs(json.loads(run))
        return "\n".join(outputs)[:_CHARS_COMPARED]


def _beside(reading: Reading, scope: Scope) -> _Beside:
    query = "latest_runs_of_all"
    if scope.project:
        query = "latest_runs"
    runs = reading.rows(query, scoped(scope, limit=_RUNS_COMPARED))
    seen = reading.rows("lines_seen", scoped(scope, limit=_LINES_COMPARED))
    return _Beside(
        runs=[run["trace"] for run in runs],
        calls=[row["call"] for row in seen],
        waiting=screening.waiting_records(reading, scope),
    )


def _stored(
    tx: Writing, scope: Scope, lesson: Lesson, added: lesson_merging.Added
) -> models.Stored:
    """Return what became of a lesson that was stored, merged into another one, or put into quarantine."""
    stored = models.Stored(lesson_id=added.id, status=added.status, scope=str(scope))
    if added.status == "quarantined":
        return replace(stored, reason=f"{lesson.held}; a person decides")
    if added.status == "merged":
        kept = lesson_records.lesson_by_id(tx, scope, added.id)
        reason: str | None = None
        if kept.is_kept_by_person and not lesson.is_kept_by_person:
            reason = _KEPT_AS_IT_IS
        return replace(stored, reason=reason, text=kept.text)
    near = similarity.near_meaning(lesson, added.near)
    similar: tuple[str, str] | None = None
    if near is not None:
        similar = (near.id, near.text)
    return replace(stored, text=lesson.text, similar=similar)


def _calls_of(run: Json) -> Iterator[tuple[str, Json]]:
    """Yield the calls of a run that was reflected on."""
    events = run.get("events") if isinstance(run, dict) else None
    if not isinstance(events, list):
        return
    for event in events:
        if isinstance(event, dict) and event.get("type") == "tool_call":
            yield str(event.get("tool")), event.get("arguments")
