"""Requests for tests, with a small default for what a test does not care about; and a store of use."""

from mcp_reflect.clock import Clock
from mcp_reflect.llm.json_replies import schema_of
from mcp_reflect.llm.protocol import Request, Role
from mcp_reflect.models.common import Json

SCHEMA = schema_of({"reflection": "string", "importance": "number 0..1"})


def asking(
    user: str = "What went wrong?",
    *,
    role: Role = Role.REFLECTOR,
    schema: dict[str, Json] | None = None,
    max_tokens: int = 300,
    timeout: float = 5.0,
) -> Request:
    """A request of the reflector."""
    return Request(role=role, system="You look back.", user=user, schema=schema, max_tokens=max_tokens, timeout=timeout)


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
