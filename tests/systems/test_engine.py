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
    "error": {
        "category": "timeout_error",
        "message": "no answer in 30 s",
        "context": {"region": "eu-1"},
    },
    "events": [
        {
            "type": "tool_call",
            "tool": "deploy",
            "arguments": {"to": "eu-1"},
            "timestamp": "12:04:31",
        },
        {
            "type": "tool_response",
            "tool": "deploy",
            "error": "timed out",
            "metadata": {"attempt": 3},
        },
    ],
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(bank=tmp_path / "bank.db", project="shop")


def test_a_prompt_shows_category_context_metadata_and_times(settings: Settings) -> None:
    engine = Engine(settings)
    failed = engine.build_reflection_prompt(**_RUN).user
    assert all(
        text in failed
        for text in ("timeout_error", "eu-1", "12:04:31", "attempt: 3", "no answer in 30 s")
    )
    succeeded = engine.build_reflection_prompt(
        task="Deploy the shop", outcome="success", events=_RUN["events"]
    ).user
    assert "Why did this run succeed" in succeeded
    assert "Why did this run succeed" not in failed


async def test_a_store_made_elsewhere_serves_python_and_mcp(settings: Settings) -> None:
    store = MemoryStore()
    async with Engine(settings, store=store) as engine:
        analysis = {
            "mistake": "Deployed to eu-1 at noon",
            "correction": "Deploy at night",
            "strategy": "Deploy to eu-1 at night alone",
            "importance": 0.8,
        }
        found = await engine.reflect(**_RUN, analysis=analysis)
        assert [lesson.id for lesson in found.lessons] == [*store.by_id]
        assert (await engine.query_reflections(k=1))[0].reflection_id == found.reflection_id
        async with Client(build(settings, engine=engine)) as client:
            stored = await told(
                client,
                "store_lesson",
                {"mistake": "Skipped the tests", "correction": "Run make test"},
            )
            recall = await told(client, "recall_lessons", {"task": "Run the tests"})
            assert [hit["id"] for hit in recall["lessons"]] == [stored["lesson_id"]]
            await told(
                client, "record_outcome", {"success": "helped", "recall_id": recall["recall_id"]}
            )
            assert store.by_id[stored["lesson_id"]].effectiveness == 1.0
            await told(client, "forget_lesson", {"lesson_id": stored["lesson_id"]})
            assert not (await told(client, "recall_lessons", {"task": "Run the tests"})).get(
                "lessons"
            )


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
    for part in (
        "postgres_query",
        "Query execution exceeded 30s limit",
        "QUERY_TIMEOUT",
        "Query timeout",
    ):
        assert part in found.reflection
    assert {"timeout", "postgres_query"} <= {*found.tags}
    assert (found.importance, found.confidence) == (0.85, 0.9)
    assert found.source_event_ids


def event(kind: str, content: str, tool: str | None = None) -> dict[str, Any]:
    return {"event_type": kind, "content": content, **({"tool_name": tool} if tool else {})}


BOOKED = [
    event("tool_call", "book A12 for Thursday", "book"),
    event("tool_response", "confirmed", "book"),
]
LIMITED = [
    event("tool_call", "embed 10", "embed"),
    event("system_event", "Session limit reached before the index"),
]
MOVED = [
    event("tool_call", "Moved the stock to the new table"),
    event("error_event", "deadlock detected"),
]
LOADED = [
    event("tool_call", "load orders.csv", "load"),
    event("error_event", "Column count mismatch"),
]
BILLED = [
    event("EventType.TOOL_CALL", "Called the billing service"),
    event("EventType.TOOL_RESPONSE", "500 Error"),
]


@pytest.mark.parametrize(
    ("outcome", "events", "told"),
    [
        ("success", BOOKED, 'It did: "book A12 for Thursday" (e1), "confirmed" (e2).'),
        ("partial", LIMITED, "Session limit reached before the index"),
        ("failure", MOVED, '"Moved the stock to the new table" failed (e2): "deadlock detected".'),
        ("failure", LOADED, "1 call failed"),
        ("OutcomeType.FAILURE", BILLED, "Outcome: failure."),
    ],
)
async def test_events_in_words_are_told_in_these(
    settings: Settings, outcome: str, events: list[dict[str, Any]], told: str
) -> None:
    found = await reflected(settings, task="Do it", outcome=outcome, events=events)
    assert told in found.reflection
    assert found.ignored == ()
    assert not {"tool", "unknown"} & {*found.tags}
    assert "`tool`" not in (found.strategy or "")


async def test_without_a_model_both_examples_of_the_document_have_facts_and_no_strategy(
    settings: Settings,
) -> None:
    failed, worked = await reflected(settings, **FAILURE), await reflected(settings, **SUCCESS)
    assert "Retrieved 10 relevant results in 50ms" in worked.reflection
    for found in (failed, worked):
        assert found.reflection_id
        assert (found.strategy, found.strategy_id) == (None, None)


async def test_tenant_and_project_are_named_as_without_effect(settings: Settings) -> None:
    found = await reflected(settings, **FAILURE, tenant_id="tenant-123", project_id="default")
    assert found.reflection_id
    assert [name.partition(":")[0] for name in found.ignored] == ["tenant_id", "project_id"]


@pytest.mark.parametrize("category", ["tool_error", "external_api_error"])
async def test_categories_of_others_are_taken_and_left_to_the_rules(
    category: str, settings: Settings
) -> None:
    error = {"error_category": category, "error_message": "Query execution exceeded 30s limit"}
    found = await reflected(settings, **{**FAILURE, "error": error})
    assert (found.error_category, found.ignored) == ("timeout_error", ())
