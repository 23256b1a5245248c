"""Reflection Engine V2 by the names of its document: its Python runs after a change of import and constructor."""

from dataclasses import replace
from datetime import UTC, datetime, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mcp_reflect.compat import (
    EngineV2Result,
    ErrorCategory,
    ErrorInfo,
    Event,
    EventType,
    OutcomeType,
    ReflectionContext,
    ReflectionEngineV2,
)
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted

REPLY = (
    '{"reflection": "The query timed out due to a complex JOIN operation on large tables.", '
    '"strategy": "For large table JOINs, add indexes on join columns or use pagination.", '
    '"importance": 0.85, "confidence": 0.9, "tags": ["sql", "timeout", "performance", "database"]}'
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(bank=tmp_path / "bank.db", project="shop")


def failed() -> ReflectionContext:
    """The failure of the document, as it is written there."""
    return ReflectionContext(
        events=[
            Event(
                event_id="e1",
                event_type=EventType.TOOL_CALL,
                timestamp=datetime.now(timezone.utc),  # noqa: UP017 - as the document has it
                content="Called database query with complex JOIN",
                metadata={"tool": "postgres_query"},
            ),
            Event(
                event_id="e2",
                event_type=EventType.ERROR_EVENT,
                timestamp=datetime.now(timezone.utc),  # noqa: UP017
                content="Query timeout after 30 seconds",
                metadata={},
                error={"message": "Timeout", "code": "QUERY_TIMEOUT"},
            ),
        ],
        outcome=OutcomeType.TIMEOUT,
        error=ErrorInfo(
            error_category=ErrorCategory.TIMEOUT_ERROR,
            error_message="Query execution exceeded 30s limit",
            context={"query": "SELECT * FROM orders JOIN customers..."},
        ),
        task_description="Fetch customer order history",
        task_goal="Retrieve all orders for customer analysis",
        tenant_id="tenant-123",
        project_id="default",
    )


def worked() -> ReflectionContext:
    """The success of the document."""
    return ReflectionContext(
        events=[
            Event(
                event_id="e1",
                event_type=EventType.TOOL_CALL,
                timestamp=datetime.now(UTC),
                content="Used cached embeddings for semantic search",
                metadata={"cache_hit": True},
            ),
            Event(
                event_id="e2",
                event_type=EventType.TOOL_RESPONSE,
                timestamp=datetime.now(UTC),
                content="Retrieved 10 relevant results in 50ms",
                metadata={"latency_ms": 50},
            ),
        ],
        outcome=OutcomeType.SUCCESS,
        task_description="Semantic search for user query",
        task_goal="Find relevant documents quickly",
        tenant_id="tenant-123",
        project_id="default",
    )


async def test_the_documents_failure_is_reflected_on_stored_and_found(settings: Settings) -> None:
    engine = ReflectionEngineV2(settings)
    result = await engine.generate_reflection(failed())
    for part in ("postgres_query", "Query timeout after 30 seconds", "QUERY_TIMEOUT"):
        assert part in result.reflection_text
    assert "ignored" not in result.metadata
    assert result.metadata["event_count"] == 2
    assert (result.importance, result.confidence) == (0.85, 0.9)
    assert "timeout" in result.tags
    assert result.error_category is ErrorCategory.TIMEOUT_ERROR
    assert result.strategy_text is None  # nobody wrote one
    assert {"e1", "e2"} & {*result.source_event_ids}
    assert isinstance(result.generated_at, datetime)

    stored = await engine.store_reflection(
        result=result, tenant_id="tenant-123", project_id="default"
    )
    assert stored["reflection_id"]
    reflections = await engine.query_reflections(
        tenant_id="tenant-123",
        project_id="default",
        query_text="database optimization",
        k=5,
        min_importance=0.7,
        tags=["performance", "timeout"],
    )
    assert [item["id"] for item in reflections] == [stored["reflection_id"]]
    assert (reflections[0]["source"], reflections[0]["layer"]) == ("reflection_engine_v2", "rm")
    assert await engine.query_reflections("another-tenant", "default", min_importance=0) == []
    assert await engine.query_reflections("tenant-123", "another", min_importance=0) == []


async def test_the_documents_success_has_its_values(settings: Settings) -> None:
    result = await ReflectionEngineV2(settings).generate_reflection(worked())
    assert "Retrieved 10 relevant results in 50ms" in result.reflection_text
    assert (result.importance, result.confidence) == (0.7, 0.85)


async def test_a_models_strategy_is_a_record_of_its_own_and_ten_percent_more_important(
    settings: Settings,
) -> None:
    with Scripted(REPLY) as llm:
        engine = ReflectionEngineV2(settings, llm=llm)
        result = await engine.generate_reflection(failed())
        shown = str(llm.asked[0])
    assert "Called database query with complex JOIN" in shown
    assert "(none given)" not in shown.partition("The events, in order:")[2][:40]
    assert result.strategy_text is not None
    assert result.strategy_text.startswith("For large table JOINs")
    assert (result.importance, result.confidence) == (0.85, 0.9)
    stored = await engine.store_reflection(result, "tenant-123", "default")
    assert stored["strategy_id"]
    (strategy,) = [
        item
        for item in await engine.query_reflections("tenant-123", "default")
        if "strategy" in item["tags"]
    ]
    assert (strategy["id"], strategy["importance"]) == (stored["strategy_id"], 0.935)
    assert {"sql", "timeout", "performance", "database"} <= {*strategy["tags"]}


async def test_ids_of_uuids_are_taken_and_unknown_memories_are_kept(settings: Settings) -> None:
    memory, session = uuid4(), uuid4()
    context = replace(failed(), session_id=session, related_memory_ids=[memory])
    engine = ReflectionEngineV2(settings)
    result = await engine.generate_reflection(context)
    assert result.related_memory_ids == [str(memory)]
    assert result.metadata["session_id"] == str(session)
    stored = await engine.store_reflection(result, "t", "p", session_id=uuid4())
    assert stored["reflection_id"]
    async with Engine(settings) as plain:
        found = await plain.reflect(task="Ship", outcome="partial", session_id=uuid4(), error="x")
        assert found.reflection_id


async def test_what_a_caller_changes_or_writes_itself_is_stored_as_it_is(
    settings: Settings,
) -> None:
    engine = ReflectionEngineV2(settings)
    result = await engine.generate_reflection(failed())
    result.importance, result.strategy_text = 0.95, "Add an index on orders.customer_id."
    stored = await engine.store_reflection(result, "tenant-123", "default")
    own = EngineV2Result(reflection_text="Deploys fail on Fridays.", importance=0.6, tags=["ops"])
    other = await engine.store_reflection(own, "tenant-123", "default")
    found = {
        item["id"]: item for item in await engine.query_reflections("tenant-123", "default", k=9)
    }
    assert found[stored["reflection_id"]]["importance"] == 0.95
    assert found[stored["strategy_id"]]["content"] == "Add an index on orders.customer_id."
    assert found[other["reflection_id"]]["content"] == "Deploys fail on Fridays."


@pytest.mark.parametrize(
    ("error", "said", "category"),
    [
        ({"message": "Timeout", "code": "T1"}, "Timeout (T1)", "timeout_error"),
        (
            {"error_message": "No such bucket", "error_category": "not_found_error"},
            "No such bucket",
            "not_found_error",
        ),
        (
            {"error_message": "deadlock", "error_category": ErrorCategory.DATABASE_ERROR},
            "deadlock",
            "database_error",
        ),
    ],
)
async def test_both_forms_of_an_error_object_are_read(
    error: dict[str, Any], said: str, category: str, settings: Settings
) -> None:
    context = replace(failed(), outcome=OutcomeType.FAILURE, error=None)
    context.events[1] = Event(
        "e2", EventType.ERROR_EVENT, content="", tool_name="s3.put", error=error
    )
    result = await ReflectionEngineV2(settings).generate_reflection(context)
    assert said in result.reflection_text
    assert "{" not in result.reflection_text
    assert result.error_category == category


async def test_an_event_that_says_nothing_is_named_and_the_others_stay(settings: Settings) -> None:
    empty = Event("e0", EventType.TOOL_CALL)
    odd = Event(
        "e9", EventType.TOOL_RESPONSE, content="done", metadata={"ids": {1, 2}, "at": Path("x")}
    )
    context = replace(worked(), events=[empty, *worked().events, empty, odd])
    result = await ReflectionEngineV2(settings).generate_reflection(context)
    assert result.metadata["ignored"] == [
        "events[0], events[3]: they have neither content, tool nor error"
    ]
    assert "3 events" in result.reflection_text


async def test_the_payload_of_the_endpoint_is_taken_as_an_object(settings: Settings) -> None:
    payload = {
        "tenant_id": "tenant-123",
        "project_id": "default",
        "events": [
            {"event_type": "tool_call", "content": "SELECT 1"},
            {"event_type": "error_event", "content": "Query timeout"},
        ],
        "outcome": "failure",
        "error": {"error_category": "timeout_error", "error_message": "Query timeout"},
        "task_description": "Database query",
    }
    result = await ReflectionEngineV2(settings).generate_reflection(payload)
    assert "timeout" in result.tags
    assert result.importance > 0.0
