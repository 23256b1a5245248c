"""Where the day's spending is kept: by the bank across processes, or in memory."""

from typing import Protocol

from mcp_reflect.clock import Clock
from mcp_reflect.llm.limits import NOTHING, Spend


class Ledger(Protocol):
    """Today's (UTC) spending, of all processes that share it. Both may raise `McpReflectError`."""

    async def spent_today(self) -> Spend: ...

    async def add(self, spend: Spend) -> None: ...


class MemoryLedger:
    """A ledger of this process alone, for when there is no bank."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._day = -1
        self._spent = NOTHING

    async def spent_today(self) -> Spend:
        """What was added since midnight, UTC."""
        today = int(self._clock.now() // 86_400)
        if today != self._day:
            self._day, self._spent = today, NOTHING
        return self._spent

    async def add(self, spend: Spend) -> None:
        """Count `spend` towards today."""
        self._spent = await self.spent_today() + spend
