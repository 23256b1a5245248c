"""What language models took today, over all processes that share the bank."""

from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.clock import Clock
from mcp_reflect.llm.budget import NOTHING, Spend

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
