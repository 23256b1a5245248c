"""How often each step of a run has been looked back on, so that all processes of a run share one budget."""

from mcp_reflect.bank.keeping import Keeping
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import scope_values
from mcp_reflect.clock import Clock
from mcp_reflect.models.common import Scope


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
