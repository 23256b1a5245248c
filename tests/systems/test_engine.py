"""The engine, and Reflection Engine V2: what a reflection says of the payloads in its document."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.models.reflection import Reflection
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
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


FAILURE: dict[str, Any] = {
    "events": [
        {
            "event_id": "e1",
            "event_type": "tool_call",
            "timestamp": "2026-11-23T10:00:00Z",
            "content": "Called database query with complex JOIN",
            "metadata": {"tool": "postgres_query"},
        },
        {
            "event_id": "e2",
            "event_type": "error_event",
            "timestamp": "2026-11-23T10:00:30Z",
            "content": "Query timeout after 30 seconds",
            "metadata": {},
            "error": {"message": "Timeout", "code": "QUERY_TIMEOUT"},
        },
    ],
    "outcome": "timeout",
    "error": {
        "error_category": "timeout_error",
        "error_message": "Query execution exceeded 30s limit",
        "context": {"query": "SELECT * FROM orders JOIN customers..."},
    },
    "task_description": "Fetch customer order history",
    "task_goal": "Retrieve all orders for customer analysis",
}
SUCCESS: dict[str, Any] = {
    "events": [
        {
            "event_id": "e1",
            "event_type": "tool_call",
            "content": "Used cached embeddings for semantic search",
            "metadata": {"cache_hit": True},
        },
        {
            "event_id": "e2",
            "event_type": "tool_response",
            "content": "Retrieved 10 relevant results in 50ms",
            "metadata": {"latency_ms": 50},
        },
    ],
    "outcome": "success",
    "task_description": "Semantic search for user query",
    "task_goal": "Find relevant documents quickly",
}


async def reflected(settings: Settings, **run: Any) -> Reflection:
    async with Engine(settings) as engine:
        return await engine.reflect(**run)


async def test_the_failure_of_the_document_names_tool_limit_and_code(settings: Settings) -> None:
    found = await reflected(settings, **FAILURE)
    for part in ("postgres_query", "Query execution exceeded 30s limit", "QUERY_TIMEOUT", "Query timeout"):
        assert part in found.reflection
    assert {"timeout", "postgres_query"} <= {*found.tags}
    assert found.importance is not None
    assert found.importance > 0
    assert found.source_event_ids


async def test_members_of_its_enums_are_understood_by_their_names(settings: Settings) -> None:
    events = [
        {"event_type": "EventType.TOOL_CALL", "content": "Called the billing service"},
        {"event_type": "EventType.TOOL_RESPONSE", "content": "500 Internal Server Error"},
    ]
    found = await reflected(settings, task="Bill it", outcome="OutcomeType.FAILURE", events=events)
    assert found.reflection.startswith("The run failed")
    assert found.ignored == ()


async def test_the_success_of_the_document_says_what_was_done(settings: Settings) -> None:
    found = await reflected(settings, **SUCCESS)
    assert "Used cached embeddings for semantic search" in found.reflection
    assert "Retrieved 10 relevant results in 50ms" in found.reflection


async def test_calls_that_are_described_in_words_are_told_in_these(settings: Settings) -> None:
    events = [
        {"event_type": "tool_call", "tool_name": "rooms.book", "content": "book A12 for Thursday"},
        {"event_type": "tool_response", "tool_name": "rooms.book", "content": "confirmed"},
    ]
    found = await reflected(settings, task="Book a room", outcome="success", events=events)
    assert 'It did: "book A12 for Thursday" (e1), "confirmed" (e2).' in found.reflection
    assert found.strategy is None, "what it sent belongs to its task"


async def test_both_examples_of_the_document_have_a_strategy_that_is_stored_apart(settings: Settings) -> None:
    failed, worked = await reflected(settings, **FAILURE), await reflected(settings, **SUCCESS)
    said = "Query timeout after 30 seconds: Timeout (QUERY_TIMEOUT)"  # which tells more than the error of the run
    assert failed.strategy == f'Before `postgres_query` is called again, see to this: "{said}".'
    assert worked.strategy == 'Do it so again: "Used cached embeddings for semantic search".'
    for found in (failed, worked):
        assert found.reflection_id
        assert found.strategy_id


async def test_the_numbers_of_a_run_stand_in_its_report(settings: Settings) -> None:
    line = "curl: (28) timed out after 60s; server idle timeout is 55s from 10.2.3.4:8080"
    events = [{"tool": "bash", "arguments": {"command": "curl --max-time 60s http://a"}, "error": line}]
    found = await reflected(settings, task="Pull the list", outcome="failure", events=events)
    assert line in found.reflection
    assert "curl --max-time 60s" in found.reflection


async def test_tenant_and_project_are_named_as_without_effect(settings: Settings) -> None:
    found = await reflected(settings, **FAILURE, tenant_id="tenant-123", project_id="default")
    assert found.reflection_id
    assert [name.partition(":")[0] for name in found.ignored] == ["tenant_id", "project_id"]


async def test_the_cause_that_the_system_names_is_told(settings: Settings) -> None:
    events = [
        {"event_type": "tool_call", "tool_name": "embed", "content": "embed 10"},
        {"event_type": "tool_response", "tool_name": "embed", "content": "ok"},
        {"event_type": "system_event", "content": "Session limit reached before index was created"},
    ]
    found = await reflected(settings, task="Index the documents", outcome="partial", events=events)
    assert "Session limit reached before index was created" in found.reflection


async def test_a_call_without_a_tool_is_named_by_the_words_of_its_event(settings: Settings) -> None:
    events = [
        {"event_type": "tool_call", "content": "Moved the stock to the new table"},
        {"event_type": "error_event", "content": "deadlock detected"},
    ]
    error = {"error_category": "conflict_error", "error_message": "deadlock detected"}
    found = await reflected(settings, task="Move it", outcome="failure", events=events, error=error)
    assert '"Moved the stock to the new table" failed (e2): "deadlock detected".' in found.reflection
    assert "tool" not in found.tags
    assert "`tool`" not in (found.strategy or "")


async def test_an_error_without_a_tool_belongs_to_the_call_before_it(settings: Settings) -> None:
    events = [
        {"event_type": "tool_call", "tool_name": "warehouse.load", "content": "load orders.csv"},
        {"event_type": "error_event", "content": "Column count mismatch"},
    ]
    found = await reflected(settings, task="Load the orders", outcome="failure", events=events)
    assert "1 call failed" in found.reflection
    assert "worked" not in found.reflection
    assert found.assessment is not None
    assert found.assessment.scores["efficiency"].score == 0
    assert "completeness" not in found.assessment.scores
    assert "unknown" not in found.tags


@pytest.mark.parametrize("category", ["tool_error", "external_api_error"])
async def test_categories_of_others_are_taken_and_left_to_the_rules(category: str, settings: Settings) -> None:
    error = {"error_category": category, "error_message": "Query execution exceeded 30s limit"}
    found = await reflected(settings, **{**FAILURE, "error": error})
    assert (found.error_category, found.ignored) == ("timeout_error", ())
