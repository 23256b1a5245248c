"""Requests for tests, with a small default for what a test does not care about; and a store of use."""

from mcp_reflect.clock import Clock
from mcp_reflect.llm.budget import Account
from mcp_reflect.llm.protocol import LLM, Request, Role
from mcp_reflect.llm.providers import Model, Registry
from mcp_reflect.llm.reply_schemas import schema_of
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
    return Request(
        role=role,
        system="You look back.",
        user=user,
        schema=schema,
        max_tokens=max_tokens,
        timeout=timeout,
    )


def model(
    llm: LLM, name: str = "x:y", store: "MemoryUsageStore | None" = None, **limits: int | None
) -> Model:
    """A model as a role has it, with the limits `per_call` and `per_day`."""
    return Model(llm, name, "the test", Account(store or MemoryUsageStore(), **limits))


def registry(settings: dict[str, str], store: "MemoryUsageStore | None" = None) -> Registry:
    """The models of the roles by these settings."""
    return Registry(settings, store or MemoryUsageStore())


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
