"""The ledgers of searches, the catalogues they were made with, and what search strategies brought."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from mcp_reflect.bank.keeping import Keeping
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import scope_values
from mcp_reflect.bank.sqlite.statements import Transaction
from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankBusyError, NotFoundError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.search import Kind, Payoff, Strategy
from mcp_reflect.security.redact import quoted


class KeptSearch(NamedTuple):
    """What the last call of a search left; `version` counts the calls that left something."""

    body: dict[str, Any]
    version: int


class KeptCatalogue(NamedTuple):
    """A catalogue as JSON text, with the hash that names it."""

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

    async def catalogue(self, scope: Scope, digest: str) -> str | None:
        """The JSON text of a catalogue; null where it gave way to a hundred newer ones."""
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
        catalogue: KeptCatalogue | None = None,
    ) -> bool:
        """Leave `body` for the next call, and count what strategies brought: all of it, or nothing.

        `version` is the one that was loaded, null for a new search. False, and nothing is kept, where another
        call has left something since: load again. A ledger that a power cut loses is no loss, so this does not
        wait for the disk; where another process writes for long, it waits as every write does.
        """
        try:
            async with self._db.count() as tx:
                return await self._keep(tx, scope, search_id, body, version, learned, catalogue)
        except BankBusyError:
            async with self._db.write() as tx:
                return await self._keep(tx, scope, search_id, body, version, learned, catalogue)

    async def _keep(
        self,
        tx: Transaction,
        scope: Scope,
        search_id: str,
        body: dict[str, Any],
        version: int | None,
        learned: Sequence[Payoff],
        catalogue: KeptCatalogue | None,
    ) -> bool:
        own, now = scope_values(scope), self._clock.now()
        values = {"id": search_id, "body": body, "now": now, **own}
        if version is None:
            await tx.run("ledger_add", values)
            await tx.at_once(lambda writing: self._keeping.drop_old(writing, now, "search"))
        elif await tx.run("ledger_replace", {**values, "version": version}) == 0:
            return False
        if catalogue is not None and await tx.row("catalogue_known", {"digest": catalogue.digest, **own}) is None:
            # The text has passed the door already; it comes as it was, or its hash would name another.
            await tx.run("catalogue_add", {"digest": catalogue.digest, "body": catalogue.text, "now": now, **own})
            await tx.run("catalogue_trim", own)
        for one in learned:
            counted = {"kind": one.kind.value, "strategy": one.strategy.value, "used": one.used, "paid": one.paid}
            await tx.run("payoff_add", {**counted, **own})
        return True
