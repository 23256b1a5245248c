"""Reflections: stored with all that belongs to them, and given their next version."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.errors import NotFoundError
from mcp_reflect.models.common import HOST, RULES, Json, Scope
from mcp_reflect.models.lesson import State, waits
from mcp_reflect.models.reflection import Link, ReflectionDraft, StoredReflection
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage import lessons, warnings
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import Row, lesson_from, readable, scope_values
from mcp_reflect.storage.sqlite.statements import Reader, Transaction, damaged_record

_OUTPUTS: Final = ("tool_response", "tool_call", "observation", "error_event")  # a call may hold its own output


class ReflectionRepository:
    """Reflections with their strategies, lessons and failures; `size` is as in `LessonRepository`."""

    def __init__(self, db: Database, clock: Clock, size: int | None) -> None:
        self._db = db
        self._clock = clock
        self._size = size

    async def store(self, scope: Scope, draft: ReflectionDraft) -> StoredReflection:
        """Write a reflection, its strategy, lessons, failures and links in one transaction.

        If the same run with the same judgement is there, nothing is written and that reflection is returned.
        """
        now = self._clock.now()
        async with self._db.write() as tx:
            same = await tx.row("reflection_by_digest", {"digest": draft.digest, **scope_values(scope)})
            if same is not None:
                return reflection_from(same)
            reflection_id = self._clock.new_id("ref")
            values = {
                "id": reflection_id,
                "task": draft.task,
                "task_type": draft.task_type,
                "outcome": draft.outcome,
                "run_id": draft.run_id,
                "thinker": draft.thinker,
                "trace": draft.trace,
                "body": await self._write_parts(tx, scope, draft, reflection_id),
                "digest": draft.digest,
                "run_digest": draft.run_digest,
                "now": now,
                **scope_values(scope),
            }
            await tx.run("reflection_add", values)
            await _note_calls(tx, scope, draft, reflection_id, now)
            await lessons.archive_excess(tx, scope, self._size, now)
            return _as_written(reflection_from(await _row(tx, scope, reflection_id)), draft)

    async def next_version(self, scope: Scope, before: StoredReflection, draft: ReflectionDraft) -> StoredReflection:
        """Replace a reflection by another judgement of the same run; the former one becomes a version.

        The same judgement again changes nothing.
        """
        now = self._clock.now()
        async with self._db.write() as tx:
            current = await _row(tx, scope, before.id)
            if current["digest"] == draft.digest:
                return reflection_from(current)
            version = {"record_id": before.id, "reason": "analysed", "body": json.loads(current["body"]), "now": now}
            await tx.run("version_add", version)
            # The strategy of the earlier judgement is retired, and the lessons of rules where the new one has its own;
            # other lessons stay, because they were shown.
            for row in await tx.rows("lesson_of_reflection", {"reflection_id": before.id, "tenant": scope.tenant}):
                by_rules = row["source"] == "rules" and row["kind"] == "lesson" and row["strength"] == 1
                if (row["kind"] == "strategy" or (by_rules and draft.lessons)) and row["state"] == "active":
                    retired = replace(lesson_from(row), state=State.RETIRED, updated_at=now)
                    await lessons.change(tx, scope, retired)
            values = {
                "id": before.id,
                "thinker": draft.thinker,
                "body": await self._write_parts(tx, scope, draft, before.id),
                "digest": draft.digest,
                "now": now,
                **scope_values(scope),
            }
            await tx.run("reflection_change", values)
            await lessons.archive_excess(tx, scope, self._size, now)
            return _as_written(reflection_from(await _row(tx, scope, before.id)), draft)

    async def by_id(self, scope: Scope, reflection_id: str) -> StoredReflection:
        """Return the reflection with that id and its redacted trace; NotFoundError names the field."""
        return reflection_from(await _row(self._db, scope, reflection_id))

    async def of_same_run(self, scope: Scope, run_digest: str, *, by_model: bool) -> list[StoredReflection]:
        """Return what a language model (or rules alone) wrote about an equal run, the latest first, at most five."""
        values = {"run_digest": run_digest, "thinks": "model" if by_model else RULES, "rules": RULES, "host": HOST}
        return [
            reflection_from(row)
            for row in await self._db.rows("reflection_of_same_run", {**values, **scope_values(scope)})
        ]

    async def latest(self, scope: Scope, *, limit: int = 50, offset: int = 0) -> list[StoredReflection]:
        """Return reflections of a scope, newest first."""
        values = {"limit": limit, "offset": offset, **scope_values(scope)}
        return readable(await self._db.rows("reflection_list", values), reflection_from)

    async def of_run(self, scope: Scope, run_id: str) -> str | None:
        """Return the id of the latest reflection on a run of this scope, None if there is none."""
        row = await self._db.row("reflection_by_run", {"run_id": run_id, **scope_values(scope)})
        return None if row is None else row["id"]

    async def metrics_before(self, scope: Scope, component: str) -> dict[str, Json]:
        """Return the metrics of the latest execution of a component that was reflected on; empty if there is none."""
        row = await self._db.row("reflection_of_component", {"component": component.strip(), **scope_values(scope)})
        return json.loads(row["trace"])["execution"]["metrics"] if row else {}

    async def important(
        self, scope: Scope, *, limit: int, min_importance: float, tags: Sequence[str] = ()
    ) -> list[StoredReflection]:
        """Return active reflections of at least that importance (0..1) with any of the tags.

        The most important come first, of equal ones the latest.
        """
        values = {"limit": limit, "min_importance": min_importance, "tags": list(tags), **scope_values(scope)}
        rows = await self._db.rows("reflection_by_importance", values)
        return [await self.by_id(scope, row["id"]) for row in rows]

    async def _write_parts(
        self, tx: Transaction, scope: Scope, draft: ReflectionDraft, reflection_id: str
    ) -> dict[str, Any]:
        """Write the records of a reflection, and return its body with their ids."""
        assert isinstance(draft.body, dict)  # noqa: S101 - made by the reflect service
        body: dict[str, Any] = {"reflection_id": reflection_id, **draft.body}
        outside = _tool_outputs(draft.trace)
        summary = lessons.prepared(draft.face, scope, self._clock, reflection_id, outside)
        summary = replace(summary, reflection_id=reflection_id)
        if await tx.row("lesson_by_id", {"id": reflection_id, **scope_values(scope)}) is None:
            await lessons.insert(tx, scope, summary)
        else:
            await lessons.change(tx, scope, summary)
        if summary.held:  # a text in quarantine is shown to no other call before a person has decided
            body |= {"reflection": waits(summary.held), "insights": None, "tags": []}
        origin = Link(relation="from", to_kind="reflection", to_id=reflection_id)
        # The events that the reflection rests on; another run has an `e1` of its own.
        events = [
            replace(link, to_id=f"{reflection_id}/{link.to_id}") for link in draft.links if link.to_kind == "event"
        ]
        if draft.strategy is not None:
            strategy = lessons.prepared(draft.strategy, scope, self._clock, outside=outside)
            strategy = replace(strategy, reflection_id=reflection_id)
            await lessons.insert(tx, scope, strategy)
            await lessons.link_mentions(tx, strategy)
            await lessons.add_links(tx, strategy.id, (origin, *events))
            body["strategy_id"] = strategy.id
            if strategy.held:
                body["strategy"] = waits(strategy.held)
        learned: list[dict[str, str]] = []
        for lesson_draft in draft.lessons:
            lesson = lessons.prepared(lesson_draft, scope, self._clock, outside=outside)
            lesson = replace(lesson, reflection_id=reflection_id)
            lesson_id, status = await lessons.add_or_merge(tx, scope, lesson)
            tools = [link for link in draft.links if link.to_kind == "tool" and link.to_id in lesson.tags]
            await lessons.add_links(tx, lesson_id, (origin, *events, *tools))
            learned.append({"id": lesson_id, "status": status})
        body["lessons"] = learned
        await lessons.add_links(tx, reflection_id, draft.links)
        return body


def _as_written(stored: StoredReflection, draft: ReflectionDraft) -> StoredReflection:
    """Return a reflection with the author's own words for the author: those that wait too."""
    assert isinstance(stored.body, dict)  # noqa: S101 - written by this module
    assert isinstance(draft.body, dict)  # noqa: S101 - made by the reflect service
    own = {name: draft.body[name] for name in ("reflection", "insights", "tags", "strategy") if name in draft.body}
    return replace(stored, body={**stored.body, **own})


def _tool_outputs(run: Json) -> list[str]:
    """Return the outputs of the tools of a run: words that came from outside, and were not the agent's."""
    events = run.get("events") if isinstance(run, dict) else None
    return [
        content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        for event in (events if isinstance(events, list) else ())
        if isinstance(event, dict) and event.get("type") in _OUTPUTS and (content := event.get("content"))
    ]


async def _row(reader: Reader, scope: Scope, reflection_id: str) -> Row:
    rows = await reader.rows("reflection_by_id", {"id": reflection_id, **scope_values(scope)})
    if not rows:
        raise NotFoundError(
            "reflection_id", f"there is no '{quoted(reflection_id)}' in {scope}", "Send the id that reflect gave."
        )
    return rows[0]


async def _note_calls(tx: Transaction, scope: Scope, draft: ReflectionDraft, reflection_id: str, now: float) -> None:
    """Note the calls that failed and that worked. Those of a watched session were counted when they were made."""
    session = draft.run_id and draft.run_id.partition("#")[0]  # a transcript's run is a part of its session
    watched = session is not None and await warnings.session_row(tx, scope, session) is not None
    for failure in draft.failures:
        await warnings.note_failure(
            tx, scope, failure, now, reflection_id=reflection_id, session=session, again=not watched
        )
    if not watched:
        await warnings.note_worked(tx, scope, draft.worked, now)


def reflection_from(row: Row) -> StoredReflection:
    """Return a row of `reflections` as the record; BankError if it is damaged."""
    try:
        trace, body = json.loads(row["trace"]), json.loads(row["body"])
    except ValueError as error:
        raise damaged_record(row) from error
    return StoredReflection(
        id=row["id"],
        project=row["project"],
        task=row["task"],
        outcome=row["outcome"],
        thinker=row["thinker"],
        trace=trace,
        body=body,
        digest=row["digest"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
