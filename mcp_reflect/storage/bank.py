"""The bank: the interface to everything that is stored. The scope is always the first argument."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.log import Log
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import (
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
from mcp_reflect.storage import lessons, outcomes, recalls
from mcp_reflect.storage.effectiveness import Standing
from mcp_reflect.storage.lessons import Keeping, keep_within
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import lesson_from, scope_values
from mcp_reflect.storage.sqlite.schema import Opened

if TYPE_CHECKING:
    from mcp_reflect.llm.embeddings.embedders import Embedder
    from mcp_reflect.models.common import Json
    from mcp_reflect.storage.consolidation import Dreams
    from mcp_reflect.storage.maintenance import Safekeeping
    from mcp_reflect.storage.recalls import Ledger
    from mcp_reflect.storage.reflections import Reflections
    from mcp_reflect.storage.retrieval.vectors import Meaning
    from mcp_reflect.storage.sessions import Searches, Spending, Steps, Workings
    from mcp_reflect.storage.views import Views
    from mcp_reflect.storage.warnings import Watch


class BesideRecall:
    """Methods and parts of `Bank`, which brings the database that they work on."""

    _db: "Database"
    _clock: "Clock"
    _keeping: "Keeping"
    _ledger: "Ledger"
    _size: int | None
    meaning: "Meaning | None"

    @cached_property
    def reflections(self) -> "Reflections":
        """Reflections, with all that belongs to them."""
        from mcp_reflect.storage.reflections import Reflections  # noqa: PLC0415 - see above

        return Reflections(self._db, self._clock, self._size)

    @cached_property
    def views(self) -> "Views":
        """What a person looks at."""
        from mcp_reflect.storage.views import Views  # noqa: PLC0415 - see above

        return Views(self._db, self._clock, self._ledger)

    @cached_property
    def safekeeping(self) -> "Safekeeping":
        """The bank's file as a whole."""
        from mcp_reflect.storage.maintenance import Safekeeping  # noqa: PLC0415 - see above

        return Safekeeping(self._db, self._clock)

    @cached_property
    def spending(self) -> "Spending":
        """What language models took today."""
        from mcp_reflect.storage.sessions import Spending  # noqa: PLC0415 - see above

        return Spending(self._db, self._clock)

    @cached_property
    def workings(self) -> "Workings":
        """What calls of critique left for the next ones."""
        from mcp_reflect.storage.sessions import Workings  # noqa: PLC0415 - see above

        return Workings(self._db, self._clock, self._keeping)

    @cached_property
    def searches(self) -> "Searches":
        """The ledgers of searches."""
        from mcp_reflect.storage.sessions import Searches  # noqa: PLC0415 - see above

        return Searches(self._db, self._clock, self._keeping)

    @cached_property
    def steps(self) -> "Steps":
        """How often each step of a run has been looked back on."""
        from mcp_reflect.storage.sessions import Steps  # noqa: PLC0415 - see above

        return Steps(self._db, self._clock, self._keeping)

    @cached_property
    def dreams(self) -> "Dreams":
        """What dreaming reads and writes."""
        from mcp_reflect.storage.consolidation import Dreams  # noqa: PLC0415 - see above

        return Dreams(self._db, self._clock, self._size)

    @cached_property
    def watch(self) -> "Watch":
        """Sessions that are watched."""
        from mcp_reflect.storage.warnings import Watch  # noqa: PLC0415 - see above

        return Watch(self._db, self._clock, self._keeping)

    async def neighbours(self, scope: Scope, kind: str, name: str) -> "list[dict[str, Json]]":
        """One step of the graph from a record, or from a tool, file, failure or error code by its name."""
        from mcp_reflect.storage.retrieval import graph  # noqa: PLC0415 - see above

        return await graph.neighbours(self._db, scope, kind, name)

    async def proof(self, scope: Scope) -> "dict[str, Json]":
        """Whether warnings keep failures from coming back; see `proof`."""
        from mcp_reflect.storage import warnings as proof  # noqa: PLC0415 - see above

        return await proof.proof(self._db, scope)

    async def stats(self, scope: Scope) -> "dict[str, Json]":
        """What is in the bank, counted, and how far it is known by meaning."""
        from mcp_reflect.storage import views as stats  # noqa: PLC0415 - see above

        embeddings = await self.meaning.state(scope) if self.meaning else "off"
        return {**await stats.stats(self._db, scope), "embeddings": embeddings}

    def exported(self, tenant: str, project: str | None) -> AsyncIterator[dict[str, Any]]:
        """Every lesson of a project (null: of all), as import reads it."""
        from mcp_reflect.storage import transfer  # noqa: PLC0415 - see above

        return transfer.exported(self._db, tenant, project)

    def imported(
        self, drafts: "Sequence[tuple[Scope, LessonDraft]]", *, merge: bool, processes: int = 1
    ) -> "AsyncIterator[list[Stored]]":
        """Store many lessons in short transactions; yields what became of each batch. See `transfer.imported`."""
        from mcp_reflect.storage import transfer  # noqa: PLC0415 - see above

        return transfer.imported(self._db, drafts, merge=merge, clock=self._clock, size=self._size, processes=processes)


# The face of the bank: everything that other rooms may ask of it. The scope always comes first.
#
# A recall on the command line must answer at once: what it does without is in `beside_recall`.


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


class Bank(BesideRecall):
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
        self._keeping = Keeping(keep_days)
        self._ledger = recalls.Ledger(self._db, self._clock, self._keeping)
        self.meaning = self._opened_meaning(meaning) if meaning else None

    def _opened_meaning(self, means: "Means") -> "Meaning":
        from mcp_reflect.storage.retrieval.vectors import Meaning  # noqa: PLC0415 - most have no embedder

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
