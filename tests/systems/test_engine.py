"""The engine: prompts that show the whole run, an evaluator, queries, token figures, and a store made elsewhere."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import Role
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted
from tests.server.calls import told
from tests.systems.memory_store import MemoryStore

_RUN: dict[str, Any] = {
    "task": "Deploy the shop",
    "outcome": "failure",
    "error": {"category": "timeout_error", "message": "no answer in 30 s", "context": {"region": "eu-1"}},
    "events": [
        {"type": "tool_call", "tool": "deploy", "arguments": {"to": "eu-1"}, "timestamp": "12:04:31"},
        {"type": "tool_response", "tool": "deploy", "error": "timed out", "metadata": {"attempt": 3}},
    ],
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(bank=tmp_path / "bank.db", project="shop")


def test_a_prompt_shows_category_context_metadata_and_times(settings: Settings) -> None:
    engine = Engine(settings)
    failed = engine.build_reflection_prompt(**_RUN).user
    assert all(text in failed for text in ("timeout_error", "eu-1", "12:04:31", "attempt: 3", "no answer in 30 s"))
    succeeded = engine.build_reflection_prompt(task="Deploy the shop", outcome="success", events=_RUN["events"]).user
    assert "Why did this run succeed" in succeeded
    assert "Why did this run succeed" not in failed


async def test_the_evaluators_scores_and_verdict_are_kept(settings: Settings) -> None:
    decision = {"action": "keep", "component": "cache"}
    reply = (
        '{"scores": [{"criterion": "tone", "score": 0.8, "reason": "polite [e1]"}], "decision_appropriate": false,'
        ' "execution_effective": null, "confidence": 0.9, "reasoning": "It was slow."}'
    )
    with Scripted("", reply, roles=[Role.REFLECTOR, Role.EVALUATOR]) as llm:
        async with Engine(settings, llm=llm) as engine:
            execution = {"component": "cache", "result": "ran"}
            sent = {"task": "Keep it?", "outcome": "success", "decision": decision, "execution": execution}
            found = await engine.reflect(**sent, criteria=["tone"])
    assert found.assessment is not None
    assert (found.assessment.scores["tone"].score, found.assessment.decision_appropriate) == (0.8, False)
    schema: Any = llm.asked[1].schema
    assert set(schema["properties"]["scores"]["items"]["properties"]) == {"criterion", "score", "reason"}


async def test_a_store_made_elsewhere_serves_python_and_mcp(settings: Settings) -> None:
    store = MemoryStore()
    async with Engine(settings, store=store) as engine:
        analysis = {"mistake": "Deployed to eu-1 at noon", "correction": "Deploy at night"}
        found = await engine.reflect(**_RUN, analysis=analysis)
        assert [lesson.id for lesson in found.lessons] == [*store.by_id]
        assert (await engine.query_reflections(k=1))[0].reflection_id == found.reflection_id
        async with Client(build(settings, engine=engine)) as client:
            stored = await told(client, "store_lesson", {"mistake": "Skipped the tests", "correction": "Run make test"})
            recall = await told(client, "recall_lessons", {"task": "Run the tests"})
            assert [hit["id"] for hit in recall["lessons"]] == [stored["lesson_id"]]
            await told(client, "record_outcome", {"success": "helped", "recall_id": recall["recall_id"]})
            assert store.by_id[stored["lesson_id"]].effectiveness == 1.0
            await told(client, "forget_lesson", {"lesson_id": stored["lesson_id"]})
            assert not (await told(client, "recall_lessons", {"task": "Run the tests"})).get("lessons")
