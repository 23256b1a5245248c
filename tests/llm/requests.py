"""Requests for tests, with a small default for what a test does not care about."""

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
