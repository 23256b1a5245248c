"""The largest calls of each tool are answered, or refused in words, and nothing of them fails."""

from collections.abc import Mapping
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent

from mcp_reflect.config import Settings
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.fuzz.large_calls import TEXTS, shapes


async def is_answered_in_words(client: Client, tool: str, arguments: Mapping[str, Any]) -> bool:
    """True unless the call fails by our own fault."""
    found = await client.call_tool(tool, dict(arguments))
    texts = [part.text for part in found.content if isinstance(part, TextContent)]
    return bool(texts) and not any("failed inside" in text for text in texts)


@pytest.mark.parametrize("tool", ["critique", "replan_search", "store_lesson", "recall_lessons"])
async def test_the_largest_calls_of_blanks_are_answered_in_words(
    settings: Settings, tool: str
) -> None:
    async with Engine(settings) as engine, Client(build(engine=engine)) as client:
        for shape, of_tool, arguments in shapes(TEXTS["blanks"]):
            if of_tool == tool and "unknown" not in shape:
                assert await is_answered_in_words(client, tool, arguments), shape


@pytest.mark.fuzz
@pytest.mark.parametrize("name", TEXTS)
async def test_the_largest_calls_of_each_text_are_answered_in_words(
    settings: Settings, name: str
) -> None:
    async with Engine(settings) as engine, Client(build(engine=engine)) as client:
        for shape, tool, arguments in shapes(TEXTS[name]):
            assert await is_answered_in_words(client, tool, arguments), (tool, shape)
