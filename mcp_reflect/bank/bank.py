"""The face of the bank: everything that other rooms may ask of it. The scope always comes first."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.bank import graph, lessons, outcomes, proof, recalls, reflections, stats, transfer
from mcp_reflect.bank.capacity import keep_within
from mcp_reflect.bank.dreams import Dreams
from mcp_reflect.bank.keeping import Keeping
from mcp_reflect.bank.searches import Searches
from mcp_reflect.bank.spending import Spending
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import lesson_from, scope_values
from mcp_reflect.bank.sqlite.schema import Opened
from mcp_reflect.bank.standing import Standing
from mcp_reflect.bank.steps import Steps
from mcp_reflect.bank.watch import Watch
from mcp_reflect.bank.workings import Workings
from mcp_reflect.clock import Clock
from mcp_reflect.records.browse import Filter
from mcp_reflect.records.json import Json
from mcp_reflect.records.lesson import (
    Ask,
    Kind,
    Lesson,
    LessonDraft,
    OutcomeDraft,
    Recall,
    State,
    Stored,
    Trust,
    Updated,
)
from mcp_reflect.records.memory import ReflectionDraft, StoredReflection
from mcp_reflect.records.scope import Scope
from mcp_reflect.telemetry import Log

if TYPE_CHECKING:
    from mcp_reflect.bank.rescuing import Rescued
    from mcp_reflect.bank.sqlite.copies import Health

# What copies and mends a bank is imported when it is asked for: recall must answer at once.

if TYPE_CHECKING:
    from mcp_reflect.bank.vectors.meaning import Meaning
    from mcp_reflect.embedding.protocol import Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """How lessons are found by what they mean: who embeds, whose lessons, and how long a recall waits for it (s).

    The first of `scopes` is the server's own; global lessons always belong to them.
    """

    open_embedder: "Callable[[], Embedder]"
    scopes: Sequence[Scope]
    seconds: float = 1.0


_NEW_WORDS: Final = frozenset({"lesson_add", "lesson_change"})
"""The statements after which a lesson may want a vector."""


class Bank:
    """What was learned, in one SQLite file that many processes share. Opened when it is first used.

    Every method raises BankError where the file cannot be used, NotFoundError for an id that the scope
    does not have, and has stored nothing then.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock | None = None,
        busy_seconds: float = 30.0,
        size: int | None = None,
        keep_days: float = 0.0,
        log: Log | None = None,
        sets_aside: bool = True,
        meaning: "Means | None" = None,
    ) -> None:
        """`size` is how many records of a kind a project keeps active, null for any number.

        `keep_days` is how long after its last use what only helps to go on is kept (see `keeping`), 0 for ever.
        `meaning` is how lessons are found by what they mean; null finds them by words alone.
        """
        self._size = size
        self._clock = clock or Clock()
        self._db = Database(path, busy_seconds=busy_seconds, log=log, sets_aside=sets_aside)
        keeping = Keeping(keep_days)
        self._ledger = recalls.Ledger(self._db, self._clock, keeping)
        self.spending = Spending(self._db, self._clock)
        self.workings = Workings(self._db, self._clock, keeping)
        self.searches = Searches(self._db, self._clock, keeping)
        self.steps = Steps(self._db, self._clock, keeping)
        self.dreams = Dreams(self._db, self._clock, size)
        self.meaning = self._opened_meaning(meaning) if meaning else None
        self.watch = Watch(self._db, self._clock, keeping)

    def _opened_meaning(self, means: "Means") -> "Meaning":
        from mcp_reflect.bank.vectors.meaning import Meaning  # noqa: PLC0415 - most have no embedder

        meaning = Meaning(self._db, self._clock, means.open_embedder, means.scopes, means.seconds)
        self._db.watch(_NEW_WORDS, meaning.written)
        return meaning

    @property
    def path(self) -> Path:
        """The bank's file."""
        return self._db.path

    async def opened(self) -> Opened:
        """Open the file now; says its schema version, journal mode and whether it can be written."""
        return await self._db.opened()

    async def backup(self, file: Path) -> int:
        """Copy the bank as it is now to `file`, while servers write; the copy's bytes. BankError where it cannot be."""
        from mcp_reflect.bank.sqlite import copies  # noqa: PLC0415 - see above

        await self._db.opened()
        return await asyncio.to_thread(copies.backup, self.path, file)

    async def restore(self, file: Path) -> Path | None:
        """Put what the copy `file` holds in the place of all that is in the bank, for running servers too.

        Returns where a copy of what was there is kept, none where nothing was. BankError where `file` is no
        sound bank, or of a newer release.
        """
        from mcp_reflect.bank.sqlite import copies  # noqa: PLC0415 - see above

        return await asyncio.to_thread(copies.restore, self.path, file, self._clock.now(), self._db.busy_seconds)

    async def health(self) -> "Health":
        """Whether every page of the file is sound, and what was set aside. Reads all of the file."""
        from mcp_reflect.bank.sqlite import copies  # noqa: PLC0415 - see above

        return await asyncio.to_thread(copies.health, self.path)

    async def rescue(self, file: Path | None = None) -> "list[Rescued]":
        """Bring over what can be read of a damaged file; by default of all that were set aside."""
        from mcp_reflect.bank import rescuing  # noqa: PLC0415 - see above

        return await rescuing.rescue(self._db, file)

    async def close(self) -> None:
        """Count the recalls that are still queued, as far as the bank lets us, and close the file."""
        try:
            if self.meaning:
                await self.meaning.close()
            await self._ledger.settle()
        finally:
            await self._db.close()

    async def store_lesson(self, scope: Scope, draft: LessonDraft) -> Stored:
        """Store a lesson, or strengthen the one that says the same."""
        async with self._db.write() as tx:
            made = lessons.made(draft, scope, self._clock)
            lesson_id, status = await lessons.add_or_merge(tx, scope, made)
            gone = await keep_within(tx, scope, self._size, self._clock.now())
        reason = "archived at once: the bank is full of what is worth more" if lesson_id in gone else None
        reason = f"{made.held}; a person decides" if made.held else reason
        return Stored(lesson_id=lesson_id, status=status, reason=reason, scope=str(scope))

    async def recall(self, scope: Scope, ask: Ask, *, applied: bool = True, holdout: float = 0.0) -> Recall:
        """The lessons that fit a task, and a note in the ledger that they were shown (and, so, `applied`).

        In `holdout` (a share, 0..1) of the tasks they are held out.
        """
        return await recalls.recall(
            self._db,
            self._ledger,
            scope,
            ask,
            self._clock,
            applied=applied,
            holdout=holdout,
            meaning=self.meaning,
        )

    async def standing(self, scope: Scope, lesson: Lesson) -> Standing:
        """What a lesson is worth by its evidence, against the base rate of its task type."""
        return (await self._db.look(lambda reading: recalls.rates(reading, scope))).standing(lesson)

    async def record_outcome(self, scope: Scope, draft: OutcomeDraft) -> tuple[Updated, ...]:
        """Note what became of using lessons."""
        await self._ledger.flush()
        return await outcomes.record(self._db, scope, draft, self._clock)

    async def check_recall(self, scope: Scope, recall_id: str) -> None:
        """NotFoundError where this scope had no such recall."""
        await self._ledger.flush()
        await outcomes.recalled(self._db, scope, recall_id)

    async def recalled(self, scope: Scope, recall_id: str) -> list[Lesson]:
        """The lessons that a recall showed, those that are still active; NotFoundError for no such recall."""
        await self._ledger.flush()
        ids = await outcomes.recalled(self._db, scope, recall_id)
        rows = [await self._db.row("lesson_by_id", {"id": name, **scope_values(scope)}) for name in ids]
        found = [lesson_from(row) for row in rows if row is not None]
        return [one for one in found if one.state is State.ACTIVE and one.trust is not Trust.QUARANTINED]

    async def lesson(self, scope: Scope, lesson_id: str, field: str = "lesson_id") -> Lesson:
        """A lesson, strategy or reflection's face by its id; NotFoundError names `field`."""
        return await lessons.lesson(self._db, scope, lesson_id, field)

    async def lessons(
        self,
        scope: Scope,
        *,
        kind: Kind | None = Kind.LESSON,
        state: State | None = State.ACTIVE,
        limit: int = 50,
        offset: int = 0,
        held: bool = False,
    ) -> list[Lesson]:
        """Records of a scope, newest first; null means any kind or state. `held` asks for what is in quarantine."""
        values = {
            "held": int(held),
            "kind": kind and kind.value,
            "state": state and state.value,
            "limit": limit,
            "offset": offset,
            **scope_values(scope),
        }
        return [lesson_from(row) for row in await self._db.rows("lesson_list", values)]

    async def browse(self, scope: Scope, wanted: Filter) -> list[Lesson]:
        """The records of a scope that pass a filter, newest first."""
        from mcp_reflect.bank import browsing  # noqa: PLC0415 - a person's commands alone need it

        return await browsing.browse(self._db, scope, wanted)

    async def story(self, scope: Scope, record_id: str) -> dict[str, list[dict[str, Any]]]:
        """What became of using a record, and the recalls that showed it; NotFoundError for no such record."""
        from mcp_reflect.bank import browsing  # noqa: PLC0415 - see above

        await self._ledger.flush()
        return await browsing.story(self._db, scope, record_id)

    async def task_types(self, scope: Scope) -> list[str]:
        """The task types of a scope's lessons, the most frequent first."""
        return [row["task_type"] for row in await self._db.rows("task_types", scope_values(scope))]

    async def history(self, scope: Scope, record_id: str) -> list[dict[str, Any]]:
        """Earlier and other wordings of a record, oldest first."""
        await lessons.lesson(self._db, scope, record_id)
        rows = await self._db.rows("version_list", {"record_id": record_id})
        return [
            {
                "version": row["version"],
                "reason": row["reason"],
                "created_at": row["created_at"],
                **json.loads(row["body"]),
            }
            for row in rows
        ]

    async def links(self, scope: Scope, record_id: str) -> list[dict[str, str]]:
        """What a record is tied to."""
        await lessons.lesson(self._db, scope, record_id)
        return [dict(row) for row in await self._db.rows("link_list", {"from_id": record_id})]

    async def neighbours(self, scope: Scope, kind: str, name: str) -> list[dict[str, Json]]:
        """One step of the graph from a record, or from a tool, file, failure or error code by its name."""
        return await graph.neighbours(self._db, scope, kind, name)

    async def set_state(self, scope: Scope, lesson_id: str, state: State, reason: str) -> Lesson:
        """Retire, archive or restore a lesson; what it was stays in its history."""
        async with self._db.write() as tx:
            found = await lessons.set_state(tx, scope, lesson_id, state, reason, self._clock.now())
            if state is State.ACTIVE:  # another one makes room for what a person restored
                whose = Scope(scope.tenant, found.project)
                await keep_within(tx, whose, self._size, self._clock.now(), spare=lesson_id)
        return found

    async def decide(self, scope: Scope, lesson_id: str, *, approved: bool) -> Lesson:
        """A person's word on a lesson in quarantine: trusted from now on, or retired."""
        return await lessons.decide(self._db, scope, lesson_id, self._clock.now(), approved=approved)

    async def edit(self, scope: Scope, lesson_id: str, changes: dict[str, Any]) -> Lesson:
        """Change a lesson's fields; the wording before stays as a version."""
        return await lessons.edit(self._db, scope, lesson_id, changes, self._clock.now())

    async def erase(self, scope: Scope, lesson_id: str) -> None:
        """Remove a record and its history for good."""
        await lessons.erase(self._db, scope, lesson_id)

    async def store_reflection(self, scope: Scope, draft: ReflectionDraft) -> StoredReflection:
        """Write a reflection with its strategy, lessons and failures; the same one again writes nothing."""
        return await reflections.store(self._db, scope, draft, self._clock, self._size)

    async def next_version(self, scope: Scope, before: StoredReflection, draft: ReflectionDraft) -> StoredReflection:
        """Another judgement of a stored run; the same one again changes nothing."""
        return await reflections.next_version(self._db, scope, before, draft, self._clock, self._size)

    async def reflection(self, scope: Scope, reflection_id: str) -> StoredReflection:
        """A reflection with its redacted trace."""
        return await reflections.reflection(self._db, scope, reflection_id)

    async def of_same_run(self, scope: Scope, run_digest: str, *, by_model: bool) -> list[StoredReflection]:
        """What a language model (or rules alone) said of an equal run, the latest first."""
        return await reflections.of_same_run(self._db, scope, run_digest, by_model=by_model)

    async def reflections(self, scope: Scope, *, limit: int = 50, offset: int = 0) -> list[StoredReflection]:
        """Reflections of a scope, newest first."""
        values = {"limit": limit, "offset": offset, **scope_values(scope)}
        return [reflections.reflection_from(row) for row in await self._db.rows("reflection_list", values)]

    async def reflected(self, scope: Scope, run_id: str) -> str | None:
        """The id of the latest reflection on a run of this scope, null where there is none."""
        row = await self._db.row("reflection_by_run", {"run_id": run_id, **scope_values(scope)})
        return None if row is None else row["id"]

    async def proof(self, scope: Scope) -> dict[str, Json]:
        """Whether warnings keep failures from coming back; see `proof`."""
        return await proof.proof(self._db, scope)

    async def metrics_before(self, scope: Scope, component: str) -> dict[str, Json]:
        """The metrics of the latest execution of a component that was reflected on; empty where there is none."""
        return await reflections.metrics_before(self._db, scope, component)

    async def important_reflections(
        self, scope: Scope, *, limit: int, min_importance: float, tags: Sequence[str] = ()
    ) -> list[StoredReflection]:
        """Active reflections of at least that importance (0..1) with any of the tags, the most important first."""
        return await reflections.important(self._db, scope, limit, min_importance, tags)

    async def stats(self, scope: Scope) -> dict[str, Json]:
        """What is in the bank, counted, and how far it is known by meaning."""
        embeddings = await self.meaning.state(scope) if self.meaning else "off"
        return {**await stats.stats(self._db, scope), "embeddings": embeddings}

    async def board(self, scope: Scope, *, most: int | None = None, whole: bool = True) -> dict[str, Any]:
        """What a person's board is made of, at most `most` records; see `board`."""
        from mcp_reflect.bank import board  # noqa: PLC0415 - recall does not need it

        return await board.board(self._db, scope, self._clock, most=most or board.MOST_LESSONS, whole=whole)

    async def board_row(self, scope: Scope, lesson: Lesson) -> list[Any]:
        """A lesson as a row of the board."""
        from mcp_reflect.bank import board  # noqa: PLC0415 - see above

        return await board.row(self._db, scope, lesson)

    def exported(self, tenant: str, project: str | None) -> AsyncIterator[dict[str, Any]]:
        """Every lesson of a project (null: of all), as import reads it."""
        return transfer.exported(self._db, tenant, project)

    def imported(
        self, drafts: Sequence[tuple[Scope, LessonDraft]], *, merge: bool, processes: int = 1
    ) -> AsyncIterator[list[Stored]]:
        """Store many lessons in short transactions; yields what became of each batch. See `transfer.imported`."""
        return transfer.imported(self._db, drafts, merge=merge, clock=self._clock, size=self._size, processes=processes)
