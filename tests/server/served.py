"""What prompts, resources and completions say."""

from collections.abc import Mapping
from typing import Any

from mcp import Client
from mcp.types import PromptReference, ResourceTemplateReference, TextContent, TextResourceContents

from mcp_reflect.services.engine import Engine

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
