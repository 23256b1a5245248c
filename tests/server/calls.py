"""Short ways to call a tool in a test, and to see whether anything in the bank moved."""

import json
from typing import Any

from mcp import Client
from mcp.types import TextContent

from mcp_reflect.services.engine import Engine

FAILED_RUN: dict[str, Any] = {
    "task": "Read the settings of the orders service",
    "outcome": "failure",
    "events": [
        {"type": "tool_call", "tool": "read_file", "arguments": {"path": "orders/setings.toml"}},
        {"type": "tool_response", "tool": "read_file", "error": "No such file: orders/setings.toml"},
        {"type": "tool_call", "tool": "read_file", "arguments": {"path": "orders/settings.toml"}},
        {"type": "tool_response", "tool": "read_file", "content": "page_size = 50"},
    ],
}
LESSON: dict[str, Any] = {
    "mistake": "Called get_orders with the customer's name",
    "correction": "Look the customer's id up first and pass that",
    "task_type": "orders",
}


async def told(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The whole result of a call that must work; text and structure say the same."""
    detail = {} if tool == "should_reflect" else {"detail": True}
    return await answered(client, tool, {**arguments, **detail})


async def answered(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The answer as an agent gets it to a call that must work."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    assert json.loads(content.text) == result.structured_content
    return json.loads(content.text)


async def refused(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    """What a call that must be refused says."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert result.is_error, content.text
    return content.text


async def contents(engine: Engine) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What is in the bank: its export, and its counts but for those of the calls themselves."""
    counters = ("critiques", "searches", "retries_triggered", "improvements_made")
    counts = {name: value for name, value in (await engine.get_stats()).items() if name not in counters}
    return [line async for line in engine.bank.transfer.export("local", None)], counts
