"""Reflections: stored with all that belongs to them, and given their next version."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mcp_reflect.clock import Clock
from mcp_reflect.errors import NotFoundError
from mcp_reflect.models.common import HOST, RULES, Json, Scope
from mcp_reflect.models.lesson import State, waits
from mcp_reflect.models.reflection import Link, ReflectionDraft, StoredReflection
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage import lessons
from mcp_reflect.storage import warnings as failures
from mcp_reflect.storage.lessons import keep_within
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import Row, lesson_from, scope_values
from mcp_reflect.storage.sqlite.statements import Transaction


class Reflections:
    """Keeps reflections with their strategies, lessons and failures; `size` is `Bank`'s."""

    def __init__(self, db: Database, clock: Clock, size: int | None) -> None:
        self._db = db
        self._clock = clock
        self._size = size

    async def store(self, scope: Scope, draft: ReflectionDraft) -> StoredReflection:
        """Write a reflection, its strategy, lessons, failures and ties in one transaction.

        The same run with the same judgement is the same reflection: then nothing is written.
        """
        async with self._db.write() as tx:
            twin = await tx.row("reflection_by_digest", {"digest": draft.digest, **scope_values(scope)})
            if twin is not None:
                return reflection_from(twin)
            reflection_id = self._clock.new_id("ref")
            body = await _write_parts(tx, scope, draft, reflection_id, self._clock)
            values = {
                "id": reflection_id,
                "task": draft.task,
                "task_type": draft.task_type,
                "outcome": draft.outcome,
                "run_id": draft.run_id,
                "thinker": draft.thinker,
                "trace": draft.trace,
                "body": body,
                "digest": draft.digest,
                "run_digest": draft.run_digest,
                "now": self._clock.now(),
                **scope_values(scope),
            }
            await tx.run("reflection_add", values)
            await _note_failures(tx, scope, draft, reflection_id, self._clock.now())
            await keep_within(tx, scope, self._size, self._clock.now())
            row = await tx.row("reflection_by_id", {"id": reflection_id, **scope_values(scope)})
        assert row is not None  # noqa: S101 - written above, in the same transaction
        return reflection_from(row)

    async def next_version(self, scope: Scope, before: StoredReflection, draft: ReflectionDraft) -> StoredReflection:
        """Put another judgement of the same run in the place of the one that is there, which becomes a version.

        The same one again changes nothing.
        """
        async with self._db.write() as tx:
            current = await _row(tx, scope, before.id)
            if current["digest"] == draft.digest:
                return reflection_from(current)
            await tx.run(
                "version_add",
                {
                    "record_id": before.id,
                    "reason": "analysed",
                    "body": json.loads(current["body"]),
                    "now": self._clock.now(),
                },
            )
            await _replace_faces(tx, scope, before.id, self._clock.now())
            body = await _write_parts(tx, scope, draft, before.id, self._clock)
            await tx.run(
                "reflection_change",
                {
                    "id": before.id,
                    "thinker": draft.thinker,
                    "body": body,
                    "digest": draft.digest,
                    "now": self._clock.now(),
                    **scope_values(scope),
                },
            )
            await keep_within(tx, scope, self._size, self._clock.now())
            return reflection_from(await _row(tx, scope, before.id))

    async def by_id(self, scope: Scope, reflection_id: str) -> StoredReflection:
        """The reflection of this scope with that id, with its redacted trace; NotFoundError names the field."""
        return reflection_from(await _row(self._db, scope, reflection_id))

    async def of_same_run(self, scope: Scope, run_digest: str, *, by_model: bool) -> list[StoredReflection]:
        """What a language model (or rules alone) said of an equal run, the latest first, at most five."""
        thinks = "model" if by_model else RULES
        values = {"run_digest": run_digest, "thinks": thinks, "rules": RULES, "host": HOST, **scope_values(scope)}
        return [reflection_from(row) for row in await self._db.rows("reflection_of_same_run", values)]

    async def latest(self, scope: Scope, *, limit: int = 50, offset: int = 0) -> list[StoredReflection]:
        """Reflections of a scope, newest first."""
        values = {"limit": limit, "offset": offset, **scope_values(scope)}
        return [reflection_from(row) for row in await self._db.rows("reflection_list", values)]

    async def of_run(self, scope: Scope, run_id: str) -> str | None:
        """The id of the latest reflection on a run of this scope, null where there is none."""
        row = await self._db.row("reflection_by_run", {"run_id": run_id, **scope_values(scope)})
        return None if row is None else row["id"]

    async def metrics_before(self, scope: Scope, component: str) -> dict[str, Json]:
        """The metrics of the latest execution of a component that was reflected on; empty where there is none."""
        row = await self._db.row("reflection_of_component", {"component": component.strip(), **scope_values(scope)})
        return json.loads(row["trace"])["execution"]["metrics"] if row else {}

    async def important(
        self, scope: Scope, *, limit: int, min_importance: float, tags: Sequence[str] = ()
    ) -> list[StoredReflection]:
        """Active reflections of at least that importance (0..1) with any of the tags, the most important first.

        Of equal ones the latest comes first.
        """
        values = {"limit": limit, "min_importance": min_importance, "tags": list(tags), **scope_values(scope)}
        rows = await self._db.rows("reflection_by_importance", values)
        return [await self.by_id(scope, row["id"]) for row in rows]


async def _row(reader: Database | Transaction, scope: Scope, reflection_id: str) -> Row:
    row = await reader.row("reflection_by_id", {"id": reflection_id, **scope_values(scope)})
    if row is None:
        raise NotFoundError(
            "reflection_id", f"there is no '{quoted(reflection_id)}' in {scope}", "Send the id that reflect gave."
        )
    return row


async def _write_parts(
    tx: Transaction, scope: Scope, draft: ReflectionDraft, reflection_id: str, clock: Clock
) -> dict[str, Any]:
    """Write what a reflection brings, and return its body with the ids of it."""
    assert isinstance(draft.body, dict)  # noqa: S101 - made by the engine
    body: dict[str, Any] = {"reflection_id": reflection_id, **draft.body}
    face = replace(lessons.made(draft.face, scope, clock, reflection_id), reflection_id=reflection_id)
    if await tx.row("lesson_by_id", {"id": reflection_id, **scope_values(scope)}) is None:
        await lessons.add_lessons(tx, scope, face)
    else:
        await lessons.change(tx, scope, face)
    if face.held:  # what a person has to look at first is not shown by another way
        body |= {"reflection": waits(face.held), "insights": None, "tags": []}
    origin = Link(relation="from", to_kind="reflection", to_id=reflection_id)
    events = _events_of(draft, reflection_id)
    if draft.strategy is not None:
        strategy = replace(lessons.made(draft.strategy, scope, clock), reflection_id=reflection_id)
        await lessons.add_lessons(tx, scope, strategy)
        await lessons.tie_named(tx, strategy)
        await lessons.keep_links(tx, strategy.id, (origin, *events))
        body["strategy_id"] = strategy.id
        if strategy.held:
            body["strategy"] = waits(strategy.held)
    learnt: list[dict[str, str]] = []
    for lesson_draft in draft.lessons:
        lesson = replace(lessons.made(lesson_draft, scope, clock), reflection_id=reflection_id)
        lesson_id, status = await lessons.add_or_merge(tx, scope, lesson)
        tools = tuple(link for link in draft.links if link.to_kind == "tool" and link.to_id in lesson.tags)
        await lessons.keep_links(tx, lesson_id, (origin, *events, *tools))
        learnt.append({"id": lesson_id, "status": status})
    body["lessons"] = learnt
    await lessons.keep_links(tx, reflection_id, draft.links)
    return body


def _events_of(draft: ReflectionDraft, reflection_id: str) -> list[Link]:
    """Ties to the events that a reflection rests on; another run has an `e1` of its own."""
    return [replace(link, to_id=f"{reflection_id}/{link.to_id}") for link in draft.links if link.to_kind == "event"]


async def _replace_faces(tx: Transaction, scope: Scope, reflection_id: str, now: float) -> None:
    """Retire the strategy that the earlier judgement wrote; its lessons stay, for they were seen."""
    for row in await tx.rows("lesson_of_reflection", {"reflection_id": reflection_id, "tenant": scope.tenant}):
        if row["kind"] == "strategy" and row["state"] == "active":
            await lessons.change(tx, scope, replace(lesson_from(row), state=State.RETIRED, updated_at=now))


async def _note_failures(tx: Transaction, scope: Scope, draft: ReflectionDraft, reflection_id: str, now: float) -> None:
    """Note what failed and what worked. Of a session that was watched, both were counted call by call already."""
    session = draft.run_id and draft.run_id.partition("#")[0]  # a transcript's run is a part of its session
    watched = session is not None and await failures.session_row(tx, scope, session) is not None
    for failure in draft.failures:
        await failures.note(tx, scope, failure, now, reflection_id=reflection_id, session=session, again=not watched)
    if not watched:
        await failures.note_worked(tx, scope, draft.worked, now)


def reflection_from(row: Row) -> StoredReflection:
    """A row of `reflections` as the record."""
    return StoredReflection(
        id=row["id"],
        project=row["project"],
        task=row["task"],
        outcome=row["outcome"],
        thinker=row["thinker"],
        trace=json.loads(row["trace"]),
        body=json.loads(row["body"]),
        digest=row["digest"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
