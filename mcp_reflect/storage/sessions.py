"""State that calls share across processes: searches, critiques, budgets of steps, use of language models."""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from mcp_reflect.errors import BankBusyError, NotFoundError
from mcp_reflect.llm.budget import NOTHING, Spend
from mcp_reflect.models.common import Scope
from mcp_reflect.models.search import EmptyCause, Payoff, Strategy
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage.sqlite.database import Database, Repository
from mcp_reflect.storage.sqlite.statements import Row, Writing, scope_values

_DAY: Final = 86_400


class StoredSearch(NamedTuple):
    """The state that the last call of a search left; `version` counts the calls that left one."""

    body: dict[str, Any]
    version: int


class StoredCatalog(NamedTuple):
    """A catalog as JSON text, with the hash that names it."""

    digest: str
    text: str


class SearchRepository(Repository):
    """Searches, the catalogs they use, and how often each search strategy helped.

    They are in the bank, so that any server of the project can continue a search.
    """

    async def load(self, scope: Scope, search_id: str) -> StoredSearch:
        """Return a search; NotFoundError names the argument."""
        row = await _session(self._db, scope, "search_id", "search_by_id", search_id)
        return StoredSearch(json.loads(row["body"]), row["version"])

    async def catalog(self, scope: Scope, digest: str) -> str | None:
        """Return the JSON text of a catalog; None if a hundred newer ones have replaced it."""
        row = await self._db.row("catalog_by_digest", {"digest": digest, **scope_values(scope)})
        return None if row is None else row["body"]

    async def payoffs(self, scope: Scope) -> tuple[Payoff, ...]:
        """Return how often each search strategy helped in this project."""
        return tuple(
            Payoff(kind=EmptyCause(row["kind"]), strategy=Strategy(row["strategy"]), used=row["used"], paid=row["paid"])
            for row in await self._db.rows("payoff_list", scope_values(scope))
        )

    async def save(
        self,
        scope: Scope,
        search_id: str,
        body: dict[str, Any],
        *,
        version: int | None,
        learned: Sequence[Payoff] = (),
        catalog: StoredCatalog | None = None,
    ) -> bool:
        """Save `body` for the next call, and count how often strategies helped: all of it, or nothing.

        A search that a power cut loses can be repeated, so this does not wait for the disk; if another process writes
        for long, it waits as every write does.

        Args:
            scope: Whose search.
            search_id: Its id.
            body: Its state as JSON.
            version: The version that was loaded, None for a new search.
            learned: Counts to add.
            catalog: A catalog to keep.

        Returns:
            False, with nothing saved, if another call has saved something since: load again.
        """
        own, now = scope_values(scope), self._clock.now()

        def save(tx: Writing) -> bool:
            values = {"id": search_id, "body": body, "now": now, **own}
            if version is None:
                tx.run("search_add", values)
                tx.drop_old("search", now, self._bank.keep_days)
            elif tx.run("search_replace", {**values, "version": version}) == 0:
                return False
            if catalog is not None and not tx.rows("catalog_known", {"digest": catalog.digest, **own}):
                # The text is redacted already, and is stored unchanged: its hash names it.
                tx.run("catalog_add", {"digest": catalog.digest, "body": catalog.text, "now": now, **own})
                tx.run("catalog_trim", own)
            for payoff in learned:
                counts = {"used": payoff.used, "paid": payoff.paid, **own}
                tx.run("payoff_add", {"kind": payoff.kind.value, "strategy": payoff.strategy.value, **counts})
            return True

        try:
            return await self._db.write_briefly(save)
        except BankBusyError:
            return await self._db.write(save)


class CritiqueSessions(Repository):
    """The state that a call of critique leaves for the next one; any server of the project can continue."""

    async def load(self, scope: Scope, critique_id: str) -> dict[str, Any]:
        """Return the saved state; NotFoundError names the argument."""
        row = await _session(self._db, scope, "critique_id", "critique_session_by_id", critique_id)
        return json.loads(row["body"])

    async def save(self, scope: Scope, critique_id: str, body: dict[str, Any]) -> None:
        """Save `body` under that id."""
        now = self._clock.now()

        def save(tx: Writing) -> None:
            tx.run("critique_session_keep", {"id": critique_id, "body": body, "now": now, **scope_values(scope)})
            tx.drop_old("critique_session", now, self._bank.keep_days)

        await self._db.write(save)


async def _session(db: Database, scope: Scope, field: str, query: str, name: str) -> Row:
    row = await db.row(query, {"id": name, **scope_values(scope)})
    if row is None:
        raise NotFoundError(field, f"there is no '{quoted(name)}' in {scope}", "Send the id that the first call gave.")
    return row


class StepBudget(Repository):
    """How often each step of a run was reflected on, counted over all processes of the run.

    Steps are whole numbers from 0.
    """

    async def taken(self, scope: Scope, run_id: str, step: int) -> int:
        """Return how many reflections that step has had."""
        row = await self._db.row("step_by_number", {"run_id": run_id, "step": step, **scope_values(scope)})
        return row["taken"] if row else 0

    async def take(self, scope: Scope, run_id: str, step: int, most: int) -> int | None:
        """Take one of the `most` reflections of that step; return how many it has had then, None if none is left."""
        where = {"run_id": run_id, "step": step, **scope_values(scope)}
        now = self._clock.now()

        def take(tx: Writing) -> int | None:
            if most <= 0 or not tx.run("step_take", {**where, "most": most, "now": now}):
                return None
            tx.drop_old("step", now, self._bank.keep_days)
            return tx.rows("step_by_number", where)[0]["taken"]

        return await self._db.write(take)

    async def reset(self, scope: Scope, run_id: str | None = None) -> None:
        """Forget the counts of a run; None forgets those of every run of the project."""
        await self._db.write(lambda tx: tx.run("step_reset", {"run_id": run_id, **scope_values(scope)}))


class UsageStore(Repository):
    """The use of language models by day, over all processes that share the bank. Days begin at midnight, UTC."""

    async def spent_today(self) -> Spend:
        """Return what was spent since midnight."""
        row = await self._db.row("spent_on", self._today())
        return NOTHING if row is None else Spend(row["tokens"], row["cost"])

    async def add(self, spend: Spend) -> None:
        """Add `spend` to today's."""
        values = {**self._today(), "tokens": spend.tokens, "cost": spend.cost}
        await self._db.write(lambda tx: tx.run("spend_add", values))

    def _today(self) -> dict[str, Any]:
        return {"tenant": "local", "day": int(self._clock.now() // _DAY)}
