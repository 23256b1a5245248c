"""What a call of critique leaves for the next one."""

import json
from typing import Any

from mcp_reflect.bank.keeping import Keeping
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import scope_values
from mcp_reflect.bank.sqlite.statements import Writing
from mcp_reflect.clock import Clock
from mcp_reflect.errors import NotFoundError
from mcp_reflect.models.common import Scope
from mcp_reflect.security.redact import quoted


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
