"""What the bank does beside recalling.

A recall on the command line and a host's hook must answer at once: they import none of this, and each method imports
what it needs when it is called. The names of records stand here for the reader of types alone.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_reflect.bank.sqlite.rows import scope_values
from mcp_reflect.records.scope import Scope

if TYPE_CHECKING:
    from mcp_reflect.bank.dreams import Dreams
    from mcp_reflect.bank.keeping import Keeping
    from mcp_reflect.bank.recalls import Ledger
    from mcp_reflect.bank.rescuing import Rescued
    from mcp_reflect.bank.searches import Searches
    from mcp_reflect.bank.spending import Spending
    from mcp_reflect.bank.sqlite.copies import Health
    from mcp_reflect.bank.sqlite.database import Database
    from mcp_reflect.bank.steps import Steps
    from mcp_reflect.bank.vectors.meaning import Meaning
    from mcp_reflect.bank.watch import Watch
    from mcp_reflect.bank.workings import Workings
    from mcp_reflect.clock import Clock
    from mcp_reflect.records.browse import Filter
    from mcp_reflect.records.json import Json
    from mcp_reflect.records.lesson import Lesson, LessonDraft, Stored
    from mcp_reflect.records.memory import ReflectionDraft, StoredReflection


class BesideRecall:
    """Methods and parts of `Bank`, which brings the database that they work on."""

    _db: "Database"
    _clock: "Clock"
    _keeping: "Keeping"
    _ledger: "Ledger"
    _size: int | None
    meaning: "Meaning | None"

    @cached_property
    def spending(self) -> "Spending":
        """What language models took today."""
        from mcp_reflect.bank.spending import Spending  # noqa: PLC0415 - see above

        return Spending(self._db, self._clock)

    @cached_property
    def workings(self) -> "Workings":
        """What calls of critique left for the next ones."""
        from mcp_reflect.bank.workings import Workings  # noqa: PLC0415 - see above

        return Workings(self._db, self._clock, self._keeping)

    @cached_property
    def searches(self) -> "Searches":
        """The ledgers of searches."""
        from mcp_reflect.bank.searches import Searches  # noqa: PLC0415 - see above

        return Searches(self._db, self._clock, self._keeping)

    @cached_property
    def steps(self) -> "Steps":
        """How often each step of a run has been looked back on."""
        from mcp_reflect.bank.steps import Steps  # noqa: PLC0415 - see above

        return Steps(self._db, self._clock, self._keeping)

    @cached_property
    def dreams(self) -> "Dreams":
        """What dreaming reads and writes."""
        from mcp_reflect.bank.dreams import Dreams  # noqa: PLC0415 - see above

        return Dreams(self._db, self._clock, self._size)

    @cached_property
    def watch(self) -> "Watch":
        """Sessions that are watched."""
        from mcp_reflect.bank.watch import Watch  # noqa: PLC0415 - see above

        return Watch(self._db, self._clock, self._keeping)

    async def backup(self, file: Path) -> int:
        """Copy the bank as it is now to `file`, while servers write; the copy's bytes. BankError where it cannot be."""
        from mcp_reflect.bank.sqlite import copies  # noqa: PLC0415 - see above

        await self._db.opened()
        return await asyncio.to_thread(copies.backup, self._db.path, file)

    async def restore(self, file: Path) -> Path | None:
        """Put what the copy `file` holds in the place of all that is in the bank, for running servers too.

        Returns where a copy of what was there is kept, none where nothing was. BankError where `file` is no
        sound bank, or of a newer release.
        """
        from mcp_reflect.bank.sqlite import copies  # noqa: PLC0415 - see above

        return await asyncio.to_thread(copies.restore, self._db.path, file, self._clock.now(), self._db.busy_seconds)

    async def health(self) -> "Health":
        """Whether every page of the file is sound, and what was set aside. Reads all of the file."""
        from mcp_reflect.bank.sqlite import copies  # noqa: PLC0415 - see above

        return await asyncio.to_thread(copies.health, self._db.path)

    async def rescue(self, file: Path | None = None) -> "list[Rescued]":
        """Bring over what can be read of a damaged file; by default of all that were set aside."""
        from mcp_reflect.bank import rescuing  # noqa: PLC0415 - see above

        return await rescuing.rescue(self._db, file)

    async def browse(self, scope: Scope, wanted: "Filter") -> "list[Lesson]":
        """The records of a scope that pass a filter, newest first."""
        from mcp_reflect.bank import browsing  # noqa: PLC0415 - see above

        return await browsing.browse(self._db, scope, wanted)

    async def story(self, scope: Scope, record_id: str) -> dict[str, list[dict[str, Any]]]:
        """What became of using a record, and the recalls that showed it; NotFoundError for no such record."""
        from mcp_reflect.bank import browsing  # noqa: PLC0415 - see above

        await self._ledger.flush()
        return await browsing.story(self._db, scope, record_id)

    async def neighbours(self, scope: Scope, kind: str, name: str) -> "list[dict[str, Json]]":
        """One step of the graph from a record, or from a tool, file, failure or error code by its name."""
        from mcp_reflect.bank import graph  # noqa: PLC0415 - see above

        return await graph.neighbours(self._db, scope, kind, name)

    async def store_reflection(self, scope: Scope, draft: "ReflectionDraft") -> "StoredReflection":
        """Write a reflection with its strategy, lessons and failures; the same one again writes nothing."""
        from mcp_reflect.bank import reflections  # noqa: PLC0415 - see above

        return await reflections.store(self._db, scope, draft, self._clock, self._size)

    async def next_version(
        self, scope: Scope, before: "StoredReflection", draft: "ReflectionDraft"
    ) -> "StoredReflection":
        """Another judgement of a stored run; the same one again changes nothing."""
        from mcp_reflect.bank import reflections  # noqa: PLC0415 - see above

        return await reflections.next_version(self._db, scope, before, draft, self._clock, self._size)

    async def reflection(self, scope: Scope, reflection_id: str) -> "StoredReflection":
        """A reflection with its redacted trace."""
        from mcp_reflect.bank import reflections  # noqa: PLC0415 - see above

        return await reflections.reflection(self._db, scope, reflection_id)

    async def of_same_run(self, scope: Scope, run_digest: str, *, by_model: bool) -> "list[StoredReflection]":
        """What a language model (or rules alone) said of an equal run, the latest first."""
        from mcp_reflect.bank import reflections  # noqa: PLC0415 - see above

        return await reflections.of_same_run(self._db, scope, run_digest, by_model=by_model)

    async def reflections(self, scope: Scope, *, limit: int = 50, offset: int = 0) -> "list[StoredReflection]":
        """Reflections of a scope, newest first."""
        from mcp_reflect.bank import reflections  # noqa: PLC0415 - see above

        values = {"limit": limit, "offset": offset, **scope_values(scope)}
        return [reflections.reflection_from(row) for row in await self._db.rows("reflection_list", values)]

    async def reflected(self, scope: Scope, run_id: str) -> str | None:
        """The id of the latest reflection on a run of this scope, null where there is none."""
        row = await self._db.row("reflection_by_run", {"run_id": run_id, **scope_values(scope)})
        return None if row is None else row["id"]

    async def proof(self, scope: Scope) -> "dict[str, Json]":
        """Whether warnings keep failures from coming back; see `proof`."""
        from mcp_reflect.bank import proof  # noqa: PLC0415 - see above

        return await proof.proof(self._db, scope)

    async def metrics_before(self, scope: Scope, component: str) -> "dict[str, Json]":
        """The metrics of the latest execution of a component that was reflected on; empty where there is none."""
        from mcp_reflect.bank import reflections  # noqa: PLC0415 - see above

        return await reflections.metrics_before(self._db, scope, component)

    async def important_reflections(
        self, scope: Scope, *, limit: int, min_importance: float, tags: Sequence[str] = ()
    ) -> "list[StoredReflection]":
        """Active reflections of at least that importance (0..1) with any of the tags, the most important first."""
        from mcp_reflect.bank import reflections  # noqa: PLC0415 - see above

        return await reflections.important(self._db, scope, limit, min_importance, tags)

    async def stats(self, scope: Scope) -> "dict[str, Json]":
        """What is in the bank, counted, and how far it is known by meaning."""
        from mcp_reflect.bank import stats  # noqa: PLC0415 - see above

        embeddings = await self.meaning.state(scope) if self.meaning else "off"
        return {**await stats.stats(self._db, scope), "embeddings": embeddings}

    async def board(self, scope: Scope, *, most: int | None = None, whole: bool = True) -> dict[str, Any]:
        """What a person's board is made of, at most `most` records; see `board`."""
        from mcp_reflect.bank import board  # noqa: PLC0415 - see above

        return await board.board(self._db, scope, self._clock, most=most or board.MOST_LESSONS, whole=whole)

    async def board_row(self, scope: Scope, lesson: "Lesson") -> list[Any]:
        """A lesson as a row of the board."""
        from mcp_reflect.bank import board  # noqa: PLC0415 - see above

        return await board.row(self._db, scope, lesson)

    def exported(self, tenant: str, project: str | None) -> AsyncIterator[dict[str, Any]]:
        """Every lesson of a project (null: of all), as import reads it."""
        from mcp_reflect.bank import transfer  # noqa: PLC0415 - see above

        return transfer.exported(self._db, tenant, project)

    def imported(
        self, drafts: "Sequence[tuple[Scope, LessonDraft]]", *, merge: bool, processes: int = 1
    ) -> "AsyncIterator[list[Stored]]":
        """Store many lessons in short transactions; yields what became of each batch. See `transfer.imported`."""
        from mcp_reflect.bank import transfer  # noqa: PLC0415 - see above

        return transfer.imported(self._db, drafts, merge=merge, clock=self._clock, size=self._size, processes=processes)
