"""State that calls share across processes: searches, critiques, budgets of steps, use of language models."""

import json
from typing import Any, Final, NamedTuple

from mcp_reflect.clock import DAY
from mcp_reflect.models.common import Scope
from mcp_reflect.storage.repository import Derived, Repository, Writing, brief_transaction, scoped, transaction

_FIX: Final = "Send the id that the first call gave."


class StoredCatalog(NamedTuple):
    """A catalog as JSON text, with the hash that names it."""

    digest: str
    text: str


class SearchRepository(Repository):
    """Searches, and the catalogs they use.

    They are in the bank, so that any server of the project can continue a search.
    """

    async def load(self, scope: Scope, search_id: str) -> tuple[dict[str, Any], int]:
        """Return the state of a search, and its version: how many calls saved one. NotFoundError names the argument."""
        query = ("search_by_id", scope, "search_id", search_id, _FIX)
        row = await self.db.look(scope.tenant, lambda reading: reading.existing(*query))
        return json.loads(row["body"]), row["version"]

    async def catalog(self, scope: Scope, digest: str) -> str | None:
        """Return the JSON text of a catalog; None if a hundred newer ones have replaced it."""
        row = await self.db.row("catalog_by_digest", scoped(scope, digest=digest))
        return None if row is None else row["body"]

    @brief_transaction
    def save(
        self,
        tx: Writing,
        scope: Scope,
        search_id: str,
        body: dict[str, Any],
        *,
        version: int | None,
        catalog: StoredCatalog | None = None,
    ) -> bool:
        """Save `body` for the next call, or nothing of it.

        `version` is the one that was loaded, None for a new search. Returns False, with nothing saved, if another call
        has saved something since: load again.
        """
        now = self.clock.now()
        own = scoped(scope, now=now)
        if version is None:
            tx.run("search_add", {"id": search_id, "body": body, **own})
            tx.drop_old("search", now, self.context.keep_days)
        elif tx.run("search_replace", {"id": search_id, "body": body, "version": version, **own}) == 0:
            return False
        # The text of a catalog is redacted already, and is stored unchanged: its hash names it.
        if catalog is not None:
            values = {"digest": catalog.digest, "text": Derived(catalog.text), **own}
            if tx.run("catalog_add", values):
                tx.run("catalog_trim", own)
        return True


class CritiqueSessions(Repository):
    """The state that a call of critique leaves for the next one; any server of the project can continue."""

    async def load(self, scope: Scope, critique_id: str) -> dict[str, Any]:
        """Return the saved state; NotFoundError names the argument."""
        query = ("critique_session_by_id", scope, "critique_id", critique_id, _FIX)
        row = await self.db.look(scope.tenant, lambda reading: reading.existing(*query))
        return json.loads(row["body"])

    @transaction
    def save(self, tx: Writing, scope: Scope, critique_id: str, body: dict[str, Any]) -> None:
        """Save `body` under that id."""
        now = self.clock.now()
        tx.run("critique_session_keep", scoped(scope, id=critique_id, body=body, now=now))
        tx.drop_old("critique_session", now, self.context.keep_days)


class StepBudget(Repository):
    """Counts the reflections on each step of a run, over all processes of the run.

    Steps are whole numbers from 0.
    """

    async def taken(self, scope: Scope, run_id: str, step: int) -> int:
        """Return how many reflections that step has had."""
        row = await self.db.row("step_by_number", scoped(scope, run_id=run_id, step=step))
        return row["taken"] if row else 0

    @transaction
    def take(self, tx: Writing, scope: Scope, run_id: str, step: int, most: int) -> int | None:
        """Take one of the `most` reflections of that step; return how many it has had then, None if none is left."""
        where = scoped(scope, run_id=run_id, step=step)
        now = self.clock.now()
        if most <= 0 or not tx.run("step_take", {**where, "most": most, "now": now}):
            return None
        tx.drop_old("step", now, self.context.keep_days)
        return tx.rows("step_by_number", where)[0]["taken"]

    @transaction
    def reset(self, tx: Writing, scope: Scope, run_id: str | None = None) -> None:
        """Forget the counts of a run; None forgets those of every run of the project."""
        tx.run("step_reset", scoped(scope, run_id=run_id))


class UsageStore(Repository):
    """The tokens of language models by day, over all processes that share the bank. Days begin at midnight, UTC."""

    tenant = "local"

    def of(self, tenant: str) -> "UsageStore":
        """Return the use by a tenant."""
        usage = UsageStore(self.context)
        usage.tenant = tenant
        return usage

    async def spent_today(self) -> int:
        """Return the tokens that were spent since midnight."""
        row = await self.db.row("spent_on", self._today())
        return 0 if row is None else row["tokens"]

    async def add(self, tokens: int) -> None:
        """Add tokens to today's."""
        values = {**self._today(), "tokens": tokens}
        await self.db.write(str(values["tenant"]), lambda tx: tx.run("spend_add", values))

    def _today(self) -> dict[str, Any]:
        return {"tenant": self.tenant, "day": int(self.clock.now() // DAY)}
