"""What a call leaves for the next one of the same critique or search, and what search strategies brought."""

import json
from collections.abc import Sequence
from typing import Any, Literal

from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import scope_values
from mcp_reflect.clock import Clock
from mcp_reflect.errors import NotFoundError
from mcp_reflect.records.scope import Scope
from mcp_reflect.records.search import Kind, Payoff, Strategy

WorkingKind = Literal["critique", "search"]


class Workings:
    """Keeps them in the bank, so that any server of the project can go on."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def load(self, scope: Scope, kind: WorkingKind, working_id: str) -> dict[str, Any]:
        """What was left under that id; NotFoundError names the argument."""
        row = await self._db.row("working_by_id", {"id": working_id, "kind": kind, **scope_values(scope)})
        if row is None:
            raise NotFoundError(
                f"{kind}_id", f"there is no '{working_id[:80]}' in {scope}", "Send the id that the first call gave."
            )
        return json.loads(row["body"])

    async def keep(
        self,
        scope: Scope,
        kind: WorkingKind,
        working_id: str,
        body: dict[str, Any],
        learned: Sequence[Payoff] = (),
    ) -> None:
        """Leave `body` under that id, and count what search strategies brought."""
        now = self._clock.now()
        async with self._db.write() as tx:
            await tx.run(
                "working_keep", {"id": working_id, "kind": kind, "body": body, "now": now, **scope_values(scope)}
            )
            for one in learned:
                counted = {"kind": one.kind.value, "strategy": one.strategy.value, "used": one.used, "paid": one.paid}
                await tx.run("payoff_add", {**counted, **scope_values(scope)})

    async def payoffs(self, scope: Scope) -> tuple[Payoff, ...]:
        """What each search strategy has brought in this project."""
        return tuple(
            Payoff(kind=Kind(row["kind"]), strategy=Strategy(row["strategy"]), used=row["used"], paid=row["paid"])
            for row in await self._db.rows("payoff_list", scope_values(scope))
        )
