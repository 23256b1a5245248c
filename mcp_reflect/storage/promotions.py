"""The repository of promotions: which lessons of a project were written into which of its instruction files."""

import json
from dataclasses import asdict

from mcp_reflect.models.common import Scope, from_json
from mcp_reflect.models.finding import Promotion
from mcp_reflect.storage.repository import Repository, Writing, transaction
from mcp_reflect.storage.rows import Row, damage_told, readable
from mcp_reflect.storage.values import scoped


class PromotionRepository(Repository):
    """Promotions, one for each file."""

    async def of_project(self, scope: Scope) -> list[Promotion]:
        """Return the promotions of a project, by file."""
        rows = await self.db.rows("promotions", scoped(scope))
        return readable(rows, _promotion_from, self.context.log)

    @transaction
    def put(self, tx: Writing, scope: Scope, file: str, promotion: Promotion | None) -> None:
        """Store a promotion in place of the file's earlier one; None removes that one."""
        values = scoped(scope, file=file, now=self.clock.now())
        if promotion is None:
            tx.run("promotion_drop", values)
        else:
            tx.run("promotion_put", {**values, "body": asdict(promotion)})


def _promotion_from(row: Row) -> Promotion:
    """Return a row of `promotions` as the record; BankError if it is damaged."""
    with damage_told(row):
        return from_json(Promotion, json.loads(row["body"]))
