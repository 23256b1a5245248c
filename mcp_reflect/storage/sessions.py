"""State that calls share across processes: searches, critiques, budgets of steps, model usage."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankBusyError, NotFoundError
from mcp_reflect.llm.budget import NOTHING, Spend
from mcp_reflect.models.common import Scope
from mcp_reflect.models.search import Kind, Payoff, Strategy
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage.lessons import Keeping
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import scope_values
from mcp_reflect.storage.sqlite.statements import Transaction, Writing

# The ledgers of searches, the catalogs they were made with, and what search strategies brought.


class KeptSearch(NamedTuple):
    """What the last call of a search left; `version` counts the calls that left something."""

    body: dict[str, Any]
    version: int


class StoredCatalog(NamedTuple):
    """A catalog as JSON text, with the hash that names it."""

    digest: str
    text: str


class Searches:
    """Keeps them in the bank, so that any server of the project can go on with a search."""

    def __init__(self, db: Database, clock: Clock, keeping: Keeping) -> None:
        self._db = db
        self._clock = clock
        self._keeping = keeping

    async def load(self, scope: Scope, search_id: str) -> KeptSearch:
        """What was left under that id; NotFoundError names the argument."""
        row = await self._db.row("ledger_by_id", {"id": search_id, **scope_values(scope)})
        if row is None:
            raise NotFoundError(
                "search_id", f"there is no '{quoted(search_id)}' in {scope}", "Send the id that the first call gave."
            )
        return KeptSearch(json.loads(row["body"]), row["version"])

    async def catalog(self, scope: Scope, digest: str) -> str | None:
        """The JSON text of a catalog; null where it gave way to a hundred newer ones."""
        row = await self._db.row("catalogue_by_digest", {"digest": digest, **scope_values(scope)})
        return None if row is None else row["body"]

    async def payoffs(self, scope: Scope) -> tuple[Payoff, ...]:
        """What each search strategy has brought in this project."""
        return tuple(
            Payoff(kind=Kind(row["kind"]), strategy=Strategy(row["strategy"]), used=row["used"], paid=row["paid"])
            for row in await self._db.rows("payoff_list", scope_values(scope))
        )

    async def keep(
        self,
        scope: Scope,
        search_id: str,
        body: dict[str, Any],
        *,
        version: int | None,
        learned: Sequence[Payoff] = (),
        catalog: StoredCatalog | None = None,
    ) -> bool:
        """Leave `body` for the next call, and count what strategies brought: all of it, or nothing.

        `version` is the one that was loaded, null for a new search. False, and nothing is kept, where another
        call has left something since: load again. A ledger that a power cut loses is no loss, so this does not
        wait for the disk; where another process writes for long, it waits as every write does.
        """
        try:
            async with self._db.count() as tx:
                return await self._keep(tx, scope, search_id, body, version, learned, catalog)
        except BankBusyError:
            async with self._db.write() as tx:
                return await self._keep(tx, scope, search_id, body, version, learned, catalog)

    async def _keep(
        self,
        tx: Transaction,
        scope: Scope,
        search_id: str,
        body: dict[str, Any],
        version: int | None,
        learned: Sequence[Payoff],
        catalog: StoredCatalog | None,
    ) -> bool:
        own, now = scope_values(scope), self._clock.now()
        values = {"id": search_id, "body": body, "now": now, **own}
        if version is None:
            await tx.run("ledger_add", values)
            await tx.at_once(lambda writing: self._keeping.drop_old(writing, now, "search"))
        elif await tx.run("ledger_replace", {**values, "version": version}) == 0:
            return False
        if catalog is not None and await tx.row("catalogue_known", {"digest": catalog.digest, **own}) is None:
            # The text has passed the door already; it comes as it was, or its hash would name another.
            await tx.run("catalogue_add", {"digest": catalog.digest, "body": catalog.text, "now": now, **own})
            await tx.run("catalogue_trim", own)
        for one in learned:
            counted = {"kind": one.kind.value, "strategy": one.strategy.value, "used": one.used, "paid": one.paid}
            await tx.run("payoff_add", {**counted, **own})
        return True


# How often each step of a run has been looked back on, so that all processes of a run share one budget.


class Steps:
    """Counts by project, run and step. Steps are whole numbers from 0; a run's name has passed the door."""

    def __init__(self, db: Database, clock: Clock, keeping: Keeping) -> None:
        self._db = db
        self._clock = clock
        self._keeping = keeping

    async def taken(self, scope: Scope, run_id: str, step: int) -> int:
        """How many reflections that step has had."""
        row = await self._db.row("step_by_number", {"run_id": run_id, "step": step, **scope_values(scope)})
        return row["taken"] if row else 0

    async def take(self, scope: Scope, run_id: str, step: int, most: int) -> int | None:
        """Take one of the `most` reflections of that step; how many it has had then, null where none is left."""
        where = {"run_id": run_id, "step": step, **scope_values(scope)}
        now = self._clock.now()
        async with self._db.write() as tx:
            if most <= 0 or not await tx.run("step_take", {**where, "most": most, "now": now}):
                return None
            await tx.at_once(lambda writing: self._keeping.drop_old(writing, now, "step"))
            row = await tx.row("step_by_number", where)
        assert row is not None  # noqa: S101 - written above, in the same transaction
        return row["taken"]

    async def reset(self, scope: Scope, run_id: str | None = None) -> None:
        """Start a run afresh; null starts every run of the project afresh."""
        async with self._db.write() as tx:
            await tx.run("step_reset", {"run_id": run_id, **scope_values(scope)})


# What language models took today, over all processes that share the bank.


_DAY = 86_400


class Spending:
    """The ledger of the day's budget (see `llm.ledger`). Days begin at midnight, UTC."""

    def __init__(self, db: Database, clock: Clock, tenant: str = "local") -> None:
        self._db = db
        self._clock = clock
        self._tenant = tenant

    async def spent_today(self) -> Spend:
        """What was spent since midnight."""
        row = await self._db.row("spent_on", {"tenant": self._tenant, "day": self._today()})
        return NOTHING if row is None else Spend(row["tokens"], row["cost"])

    async def add(self, spend: Spend) -> None:
        """Count `spend` towards today."""
        values = {"tenant": self._tenant, "day": self._today(), "tokens": spend.tokens, "cost": spend.cost}
        async with self._db.write() as tx:
            await tx.run("spend_add", values)

    def _today(self) -> int:
        return int(self._clock.now() // _DAY)


# What a call of critique leaves for the next one.


class Workings:
    """Keeps it in the bank, so that any server of the project can go on."""

    def __init__(self, db: Database, clock: Clock, keeping: Keeping) -> None:
        self._db = db
        self._clock = clock
        self._keeping = keeping

    async def load(self, scope: Scope, working_id: str) -> dict[str, Any]:
        """What was left under that id; NotFoundError names the argument."""
        row = await self._db.row("working_by_id", {"id": working_id, **scope_values(scope)})
        if row is None:
            raise NotFoundError(
                "critique_id", f"there is no '{quoted(working_id)}' in {scope}", "Send the id that the first call gave."
            )
        return json.loads(row["body"])

    async def keep(self, scope: Scope, working_id: str, body: dict[str, Any]) -> None:
        """Leave `body` under that id."""
        now = self._clock.now()

        def write(writing: Writing) -> None:
            writing.run("working_keep", {"id": working_id, "body": body, "now": now, **scope_values(scope)})
            self._keeping.drop_old(writing, now, "working")

        async with self._db.write() as tx:
            await tx.at_once(write)
