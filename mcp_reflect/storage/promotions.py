"""The blocks of lessons that were written into a project's instruction files."""

import json
from dataclasses import asdict

from mcp_reflect.models.common import Scope, from_json
from mcp_reflect.models.promotion import Promotion
from mcp_reflect.storage.repository import Repository, Row, Writing, scoped, transaction


class PromotionRepository(Repository):
    """Promotions by project and file."""

    async def of(self, scope: Scope) -> list[Promotion]:
        """Return the promotions of a project, by file."""
        return [_promotion(row) for row in await self.db.rows("promotions", scoped(scope))]

    @transaction
    def put(self, tx: Writing, scope: Scope, promotion: Promotion) -> None:
        """Keep a promotion in place of the file's earlier one."""
        values = {"file": promotion.file, "body": asdict(promotion), "now": self.clock.now()}
        tx.run("promotion_put", scoped(scope, **values))

    @transaction
    def drop(self, tx: Writing, scope: Scope, file: str) -> None:
        """Forget the promotion of a file."""
        tx.run("promotion_drop", scoped(scope, file=file))


def _promotion(row: Row) -> Promotion:
    return from_json(Promotion, json.loads(row["body"]))
