"""The host's model through the protocol: the same answer with the same number of requests in both eras."""

import json
from typing import Any

import pytest
from mcp import Client
from mcp.types import CreateMessageRequestParams, CreateMessageResult, TextContent

from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.server.calls import told


class HostModel:
    """Answers as a critic that never finds it good, or as a corrector that adds a word; counts what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        del context
        content = params.messages[0].content
        assert isinstance(content, TextContent)
        self.asked.append(content.text)
        if "corrected steps" in content.text:
            words = "draft" + " more" * len(self.asked)
            said: dict[str, Any] = {"corrected_steps": [words]}
        else:
            score = len(self.asked) / 20
            said = {"quality_score": score, "issues": [f"Step 1: issue {len(self.asked)}"]}
        text = TextContent(type="text", text=json.dumps(said))
        return CreateMessageResult(role="assistant", content=text, model="host", stop_reason="endTurn")


async def critiqued(engine: Engine, era: Any, most: int) -> tuple[dict[str, Any], list[str]]:
    model = HostModel()
    async with Client(build(engine=engine), mode=era, sampling_callback=model) as client:
        found = await told(client, "critique", {"goal": "A letter", "steps": ["draft"], "max_iterations": most})
    return {name: found[name] for name in found if name not in ("critique_id", "reflection_time_ms")}, model.asked


async def test_three_rounds_are_the_same_in_both_eras(engine: Engine) -> None:
    old, new = [await critiqued(engine, era, 3) for era in ("legacy", "2026-07-28")]
    assert old == new
    assert len(old[1]) == 7
    assert (old[0]["thinker"], old[0]["iterations"], old[0]["stopped"]) == ("sampling", 3, "budget")


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_call_asks_at_most_eight_times(engine: Engine, era: Any) -> None:
    found, asked = await critiqued(engine, era, 5)
    assert len(asked) == 8
    assert found["stopped"] == "budget"
