"""A store of use in memory."""

from mcp_reflect.clock import Clock
from mcp_reflect.llm.budget import NOTHING, Spend


class MemoryUsageStore:
    """A store of this process alone, for use without a bank."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._day = -1
        self._spent = NOTHING

    async def spent_today(self) -> Spend:
        """Return what was added since midnight, UTC."""
        today = int(self._clock.now() // 86_400)
        if today != self._day:
            self._day, self._spent = today, NOTHING
        return self._spent

    async def add(self, spend: Spend) -> None:
        """Count `spend` towards today."""
        self._spent = await self.spent_today() + spend
