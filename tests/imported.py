"""Lessons that came from a file of others: their words are judged, an agent's own are not."""

from collections.abc import Mapping
from typing import Any

from mcp_reflect.models.lesson import Stored
from mcp_reflect.services.engine import Engine


async def imported(engine: Engine, *lines: Mapping[str, Any]) -> list[Stored]:
    """What became of each line."""
    return [
        one async for batch in engine.import_lessons(enumerate(lines, start=1)) for one in batch
    ]
