"""Short ways to call a tool, a prompt or a resource in a test, and to see whether anything in the bank moved."""

import json
from collections.abc import Mapping
from typing import Any

from mcp import Client
from mcp.types import PromptReference, ResourceTemplateReference, TextContent, TextResourceContents

from mcp_reflect.services.engine import Engine

FAILED_RUN: dict[str, Any] = {
    "task": "Read the settings of the orders service",
    "outcome": "failure",
    "events": [
        {"type": "tool_call", "tool": "read_file", "arguments": {"path": "orders/setings.toml"}},
        {
            "type": "tool_response",
            "tool": "read_file",
            "error": "No such file: orders/setings.toml",
        },
        {"type": "tool_call", "tool": "read_file", "arguments": {"path": "orders/settings.toml"}},
        {"type": "tool_response", "tool": "read_file", "content": "page_size = 50"},
    ],
}
ANALYSIS: dict[str, Any] = {
    "mistake": "Misspelled the settings' file",
    "correction": "List orders/ first, and read the name that stands there",
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
    counts = {
        name: value for name, value in (await engine.get_stats()).items() if name not in counters
    }
    return [line async for line in engine.bank.transfer.export("local", None)], counts


MISTAKE = "Ran pytest without PYTHONPATH in the billing service"
CORRECTION = "Run PYTHONPATH=src pytest in the billing service"
TASK = "Run pytest for the billing service"


async def prompt_text(client: Client, name: str, arguments: Mapping[str, str] | None = None) -> str:
    """The one message that a prompt makes."""
    (message,) = (await client.get_prompt(name, dict(arguments or {}))).messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    return message.content.text


async def completed(client: Client, prompt: str, argument: str, start: str = "") -> list[str]:
    """The values that are offered for an argument of a prompt."""
    ref = PromptReference(type="ref/prompt", name=prompt)
    return list((await client.complete(ref, {"name": argument, "value": start})).completion.values)


async def completed_uri(client: Client, uri: str, start: str = "") -> list[str]:
    """The values that are offered for the place in an address."""
    ref = ResourceTemplateReference(type="ref/resource", uri=uri)
    place = uri.split("{")[1].rstrip("}")
    return list((await client.complete(ref, {"name": place, "value": start})).completion.values)


async def resource_text(client: Client, uri: str) -> str:
    """What a resource holds."""
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


async def a_lesson(engine: Engine) -> str:
    """A stored lesson's id."""
    stored = await engine.store_lesson(mistake=MISTAKE, correction=CORRECTION, task_type="testing")
    return stored.lesson_id


async def a_reflection(engine: Engine, **more: Any) -> str:
    """A stored reflection's id."""
    events = [{"type": "tool_response", "tool": "bash", "content": "No module named 'billing'"}]
    sent = {"task": TASK, "outcome": "failure", "events": events, "task_type": "testing", **more}
    return (await engine.reflect(**sent)).reflection_id
