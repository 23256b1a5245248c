"""A store of use in memory."""

from mcp_reflect.clock import Clock


class MemoryUsageStore:
    """A store of this process alone, for use without a bank."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._day = -1
        self._spent = 0

    async def spent_today(self) -> int:
        """Return what was added since midnight, UTC."""
        today = int(self._clock.now() // 86_400)
        if today != self._day:
            self._day, self._spent = today, 0
        return self._spent

    async def add(self, tokens: int) -> int:
        """Count tokens towards today; return the sum."""
        self._spent = await self.spent_today() + tokens
        return self._spent
