"""What a person was shown of a bank's lessons, as they are now: their acts are bound to it."""

from mcp_reflect.models.shown_digest import seen_lessons
from mcp_reflect.services.engine import Engine


async def seen(engine: Engine, *ids: str) -> dict[str, str]:
    """The digests of lessons that a person looks at now."""
    return seen_lessons(*[await engine.bank.lessons.get(engine.scopes.own, one) for one in ids])
