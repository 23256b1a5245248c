"""What the bank does beside recalling.

A recall on the command line and a host's hook must answer at once: they import none of this, and each method imports
what it needs when it is called. The names of records stand here for the reader of types alone.
"""

from collections.abc import AsyncIterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mcp_reflect.models.common import Scope

if TYPE_CHECKING:
    from mcp_reflect.bank.dreams import Dreams
    from mcp_reflect.bank.keeping import Keeping
    from mcp_reflect.bank.recalls import Ledger
    from mcp_reflect.bank.reflections import Reflections
    from mcp_reflect.bank.safekeeping import Safekeeping
    from mcp_reflect.bank.searches import Searches
    from mcp_reflect.bank.spending import Spending
    from mcp_reflect.bank.sqlite.database import Database
    from mcp_reflect.bank.steps import Steps
    from mcp_reflect.bank.vectors.meaning import Meaning
    from mcp_reflect.bank.views import Views
    from mcp_reflect.bank.watch import Watch
    from mcp_reflect.bank.workings import Workings
    from mcp_reflect.clock import Clock
    from mcp_reflect.models.common import Json
    from mcp_reflect.models.lesson import LessonDraft, Stored


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
        from mcp_reflect.bank.reflections import Reflections  # noqa: PLC0415 - see above

        return Reflections(self._db, self._clock, self._size)

    @cached_property
    def views(self) -> "Views":
        """What a person looks at."""
        from mcp_reflect.bank.views import Views  # noqa: PLC0415 - see above

        return Views(self._db, self._clock, self._ledger)

    @cached_property
    def safekeeping(self) -> "Safekeeping":
        """The bank's file as a whole."""
        from mcp_reflect.bank.safekeeping import Safekeeping  # noqa: PLC0415 - see above

        return Safekeeping(self._db, self._clock)

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

    async def neighbours(self, scope: Scope, kind: str, name: str) -> "list[dict[str, Json]]":
        """One step of the graph from a record, or from a tool, file, failure or error code by its name."""
        from mcp_reflect.bank import graph  # noqa: PLC0415 - see above

        return await graph.neighbours(self._db, scope, kind, name)

    async def proof(self, scope: Scope) -> "dict[str, Json]":
        """Whether warnings keep failures from coming back; see `proof`."""
        from mcp_reflect.bank import proof  # noqa: PLC0415 - see above

        return await proof.proof(self._db, scope)

    async def stats(self, scope: Scope) -> "dict[str, Json]":
        """What is in the bank, counted, and how far it is known by meaning."""
        from mcp_reflect.bank import stats  # noqa: PLC0415 - see above

        embeddings = await self.meaning.state(scope) if self.meaning else "off"
        return {**await stats.stats(self._db, scope), "embeddings": embeddings}

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
