"""State that the calls of a run share across processes; bank.py composes these repositories."""

import json
from typing import Any, Final, NamedTuple

from mcp_reflect.clock import DAY
from mcp_reflect.models.common import Scope
from mcp_reflect.storage.repository import Repository, Writing, brief_transaction, transaction
from mcp_reflect.storage.values import Derived, scoped

_FIX: Final = "Send the id that the first call gave."
"""What to do where the bank has no state with an id."""


class SavedSearch(NamedTuple):
    """The state of a search as JSON has it, and its version: how many calls have saved one."""

    body: dict[str, Any]
    version: int


class StoredCatalog(NamedTuple):
    """A catalog as JSON text, with the hash that names it."""

    digest: str
    text: str


class SearchRepository(Repository):
    """Searches, and the catalogs they use.

    They are in the bank, so that any server of the project can continue a search.
    """

    async def load(self, scope: Scope, search_id: str) -> SavedSearch:
        """Return the state of a search. NotFoundError names the argument `search_id`."""
        row = await self.db.look(
            scope.tenant,
            lambda reading: reading.existing("search_by_id", scope, "search_id", search_id, _FIX),
        )
        return SavedSearch(json.loads(row["body"]), row["version"])

    async def catalog(self, scope: Scope, digest: str) -> str | None:
        """Return the JSON text of a catalog; None if a hundred newer ones have replaced it."""
        row = await self.db.row("catalog_by_digest", scoped(scope, digest=digest))
        if row is None:
            return None
        return row["body"]

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
        """Save `body` for the next call, and the catalog of a search that has a new one.

        `version` is the one that was loaded, None for a new search. Returns False, with nothing saved, if another call
        has saved something since: load again.
        """
        now = self.clock.now()
        of_scope = scoped(scope, now=now)
        if version is None:
            tx.run("search_add", {"id": search_id, "body": body, **of_scope})
            tx.drop_old("search", now, self.context.keep_days)
        else:
            # The statement changes only the row with this version.
            values = {"id": search_id, "body": body, "version": version, **of_scope}
            changed_rows = tx.run("search_replace", values)
            if changed_rows == 0:
                return False
        if catalog is not None:
            # Its text is redacted already, and is stored unchanged: its hash names it.
            values = {"digest": catalog.digest, "text": Derived(catalog.text), **of_scope}
            is_new = tx.run("catalog_add", values) > 0
            if is_new:
                tx.run("catalog_trim", of_scope)
        return True


class CritiqueSessions(Repository):
    """The state that a call of critique leaves for the next one; any server of the project can continue."""

    async def load(self, scope: Scope, critique_id: str) -> dict[str, Any]:
        """Return the saved state; NotFoundError names the argument `critique_id`."""
        query = "critique_session_by_id"
        row = await self.db.look(
            scope.tenant,
            lambda reading: reading.existing(query, scope, "critique_id", critique_id, _FIX),
        )
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
        if row is None:
            return 0
        return row["taken"]

    @transaction
    def take(self, tx: Writing, scope: Scope, run_id: str, step: int, most: int) -> int | None:
        """Take one of the `most` reflections of that step; return how many it has had then, None if none is left."""
        if most <= 0:
            return None
        where = scoped(scope, run_id=run_id, step=step)
        now = self.clock.now()
        # The statement counts one more only while there are fewer than `most`, so that no two processes take the last.
        changed_rows = tx.run("step_take", {**where, "most": most, "now": now})
        if changed_rows == 0:
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
        """Return the repository of another tenant's use; this one counts for the user of this machine ("local")."""
        usage = UsageStore(self.context)
        usage.tenant = tenant
        return usage

    async def add(self, tokens: int) -> int:
        """Add tokens to those of today, a negative number to give some back; return the sum of the day."""
        days_since_1970 = int(self.clock.now() // DAY)
        today = {"tenant": self.tenant, "day": days_since_1970}

        def add_tokens(tx: Writing) -> int:
            tx.run("spend_add", {**today, "tokens": tokens})
            return tx.rows("spent_on", today)[0]["tokens"]

        return await self.db.write(self.tenant, add_tokens)
