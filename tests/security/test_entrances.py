"""Each argument of each tool, listed from the schemas, is redacted: a new one cannot be forgotten."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.schemas.fields import Arguments
from mcp_reflect.schemas.run import ErrorArguments, EventArguments
from mcp_reflect.schemas.search import ProposalArguments, QueryArguments, TableArguments
from mcp_reflect.server.app import build
from mcp_reflect.server.catalog import TOOLS
from mcp_reflect.services.engine import Engine
from tests.secrets import SECRETS, TELLING, found_in

TEXT = f"The log said {SECRETS['github_token']} and {SECRETS['password']}"
OBJECTS: dict[str, tuple[type[Arguments], dict[str, Any]]] = {
    "events": (EventArguments, {"type": "tool_response", "tool": "bash", "content": "Error: refused"}),
    "tool_results": (EventArguments, {"type": "tool_response", "tool": "bash", "content": "ok"}),
    "queries": (QueryArguments, {"table": "t", "query_text": "x"}),
    "catalog": (TableArguments, {"table": "t"}),
    "error": (ErrorArguments, {"message": "refused"}),
}


def values(name: str) -> list[Any]:
    """Values for an argument: the text, in a list and an object, and in each field of its own objects."""
    found: list[Any] = [TEXT, [TEXT], {"text": TEXT}]
    if name in OBJECTS:
        shape, item = OBJECTS[name]
        items = [{**item, field: value} for field in shape.model_fields for value in (TEXT, [TEXT], {"text": TEXT})]
        found += items if name == "error" else [[item] for item in items]
    if name == "analysis":
        fields = (*ProposalArguments.model_fields, "reflection", "mistake", "correction", "symptoms", "quality_score")
        found += [{"reflection": "It failed", field: TEXT} for field in fields]
    return found


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
async def test_no_argument_brings_a_secret_into_the_bank_or_an_answer(
    engine: Engine, bank_path: Path, capfd: pytest.CaptureFixture[str], tool: Any
) -> None:
    stored = await engine.store_lesson(mistake="The gateway timed out", correction="Raise its timeout")
    ids = {
        "record_outcome": {"recall_id": None, "lesson_ids": [stored.lesson_id]},
        "forget_lesson": {"lesson_id": stored.lesson_id},
    }
    base = {**tool.examples[0], **ids.get(tool.name, {})}
    answers: list[str] = []
    accepted = 0
    async with Client(build(engine=engine)) as client:
        for name in tool.shape.model_fields:
            for value in values(name):
                result = await client.call_tool(tool.name, {**base, name: value})
                accepted += not result.is_error
                answers.append(str(result.content) + str(result.structured_content))
    assert accepted
    parts = [part for kind in ("github_token", "password") for part in TELLING[kind]]
    assert [answer for answer in answers if any(part in answer for part in parts)] == []
    assert found_in(bank_path.parent) == {}
    assert not any(part in "".join(capfd.readouterr()) for part in parts)
