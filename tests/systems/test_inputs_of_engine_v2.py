"""Twenty inputs that a user of Reflection Engine V2 might send, and what its document says of them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mcp_reflect.compat import (
    ErrorCategory,
    ErrorInfo,
    Event,
    EventType,
    OutcomeType,
    ReflectionContext,
    ReflectionEngineV2,
)
from mcp_reflect.config import Settings


def call(tool: str, arguments: Any = None, content: str = "") -> dict[str, Any]:
    return {
        "event_type": "tool_call",
        "tool_name": tool,
        "content": content,
        "arguments": arguments,
    }


def answer(tool: str, content: str = "", **more: Any) -> dict[str, Any]:
    return {"event_type": "tool_response", "tool_name": tool, "content": content, **more}


def run(outcome: str, *events: Any, **more: Any) -> dict[str, Any]:
    told = {"tenant_id": "t", "project_id": "p", "task_description": "Do the work"}
    return {**told, "outcome": outcome, "events": list(events), **more}


@dataclass
class Row:
    """An object of the caller's own."""

    id: int
    cents: Decimal


CASES: list[tuple[str, dict[str, Any], list[str], dict[str, Any]]] = [
    (
        "a limit of a page",
        run(
            "success",
            call("api", {"page": 1, "limit": 1000}),
            answer("api", error={"message": "limit must be at most 250"}),
            call("api", {"page": 1, "limit": 250}),
            answer("api", "[…]"),
        ),
        ["limit 1000", "limit must be at most 250", "limit 250 worked"],
        {"importance": 0.7, "confidence": 0.85},
    ),
    (
        "two forms of an id",
        run(
            "success",
            call("crm.get", {"id": "42"}),
            answer(
                "crm.get",
                error={
                    "error_message": "id must be an integer",
                    "error_category": "validation_error",
                },
            ),
            call("crm.get", {"id": 42}),
            answer("crm.get", "Jane"),
        ),
        ['id "42"', "id must be an integer", "id 42 worked"],
        {"error_category": "validation_error"},
    ),
    (
        "an error with a code of a database",
        run(
            "failure",
            call("sql", {"q": "INSERT"}),
            {
                "event_type": "error_event",
                "content": "",
                "error": {"message": "null value in column", "code": "23502"},
            },
        ),
        ["null value in column (23502)"],
        {"importance": 0.85, "confidence": 0.9},
    ),
    (
        "a category of the caller",
        run(
            "error",
            call("db"),
            answer("db", error="lost"),
            error={
                "error_category": ErrorCategory.DATABASE_ERROR,
                "error_message": "connection lost",
            },
        ),
        ["connection lost"],
        {"error_category": "database_error"},
    ),
    (
        "a category of one's own",
        run("failure", error={"error_category": "billing_error", "error_message": "card declined"}),
        ["card declined"],
        {"error_category": "billing_error"},
    ),
    (
        "a timeout without an error",
        run("timeout", call("crawl", {"url": "https://a.example"})),
        ["was never answered"],
        {"error_category": "timeout_error"},
    ),
    (
        "objects of the caller in metadata",
        run(
            "success",
            {**call("pay"), "metadata": {"row": Row(1, Decimal("9.50")), "ids": {3}}},
            answer("pay", "paid", timestamp=datetime(2026, 1, 2, tzinfo=UTC)),
        ),
        ["paid"],
        {},
    ),
    (
        "an event as text",
        run("partial", "Opened the file", "Wrote half of it"),
        ["2 events"],
        {"importance": 0.7},
    ),
    (
        "searches that find after the third try",
        run(
            "success",
            call("search", {"query": "retry policy"}),
            answer("search", "No results found"),
            call("search", {"query": "retries"}),
            answer("search", "No results found"),
            call("search", {"query": "backoff"}),
            answer("search", "docs/backoff.md: exponential"),
        ),
        ['"retry policy"', '"retries"', "docs/backoff.md: exponential"],
        {},
    ),
    (
        "an error in German",
        run(
            "success",
            call("ftp.put", {"path": "/in"}),
            answer("ftp.put", error="Zugriff verweigert"),
            call("ftp.put", {"path": "/out"}),
            answer("ftp.put", "ok"),
        ),
        ["Zugriff verweigert", '"/out" worked'],
        {"error_category": "permission_error"},
    ),
    (
        "a model that hit its window",
        run(
            "success",
            {
                "event_type": "llm_call",
                "content": "Read all 300 pages",
                "error": {"message": "maximum context length is 8192 tokens"},
            },
            {"event_type": "llm_call", "content": "Read pages 1 to 40"},
        ),
        ["maximum context length is 8192 tokens", 'Later "Read pages 1 to 40" worked'],
        {"error_category": "resource_exhaustion_error"},
    ),
    (
        "feedback of the user",
        run(
            "failure",
            {"event_type": "user_feedback", "content": "Please use the metric system"},
            call("convert"),
            answer("convert", error="unknown unit"),
        ),
        ["Please use the metric system", "unknown unit"],
        {},
    ),
    (
        "the outcome as a member's name",
        run("OutcomeType.PARTIAL", call("copy"), answer("copy", "3 of 5 copied")),
        ["partial"],
        {},
    ),
    (
        "a stack trace",
        run(
            "error",
            call("python"),
            answer(
                "python",
                error="Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'sku'",
            ),
        ),
        ["KeyError: 'sku'"],
        {"error_category": "validation_error"},
    ),
    (
        "the same call in circles",
        run(
            "failure",
            *[
                event
                for _ in range(4)
                for event in (call("status", {"job": 7}), answer("status", "pending, 0 % done"))
            ],
        ),
        ["four times in a row"],
        {"error_category": "loop_error"},
    ),
    (
        "nothing but an outcome and an error",
        {
            "tenant_id": "t",
            "project_id": "p",
            "events": [],
            "outcome": "failure",
            "error": {"error_message": "quota exceeded"},
            "task_description": "Sync",
        },
        ["quota exceeded"],
        {"importance": 0.85},
    ),
]


MORE: list[tuple[str, dict[str, Any], list[str], dict[str, Any]]] = [
    (
        "calls in words",
        run(
            "success",
            {"event_type": "tool_call", "content": "GET /items?limit=1000"},
            {"event_type": "error_event", "content": "limit must not exceed 500"},
            {"event_type": "tool_call", "content": "GET /items?limit=500"},
            {"event_type": "tool_response", "content": "500 items"},
        ),
        ["limit must not exceed 500", 'Later "GET /items?limit=500" worked'],
        {"error_category": "validation_error"},
    ),
    (
        "parameters in the metadata",
        run(
            "success",
            {
                "event_type": "tool_call",
                "content": "List",
                "metadata": {"tool": "users", "params": {"size": 500}},
            },
            {"event_type": "error_event", "content": "size may be at most 200"},
            {
                "event_type": "tool_call",
                "content": "List",
                "metadata": {"tool": "users", "params": {"size": 200}},
            },
            {"event_type": "tool_response", "content": "200 users"},
        ),
        ["users with size 500 failed", "Later users with size 200 worked"],
        {},
    ),
    (
        "an error in an error",
        run(
            "failure",
            call("api"),
            answer("api", error={"error": {"message": "bad token", "type": "auth_error"}}),
        ),
        ['"bad token"'],
        {"error_category": "auth_error"},
    ),
    (
        "several errors",
        run(
            "failure",
            call("api"),
            answer("api", error=[{"message": "a is missing"}, {"message": "b is missing"}]),
        ),
        ["a is missing; b is missing"],
        {},
    ),
    (
        "an error event and no outcome",
        {
            name: value
            for name, value in run("", {"event_type": "error_event", "content": "boom"}).items()
            if name != "outcome"
        },
        ["Outcome: failure.", "boom"],
        {"importance": 0.85},
    ),
    (
        "memories as observations",
        run("partial", {"event_type": "observation", "content": "Orders of week 3 were late"}),
        ['It noted: "Orders of week 3 were late"'],
        {},
    ),
]


@pytest.fixture
def engine(tmp_path: Path) -> ReflectionEngineV2:
    return ReflectionEngineV2(Settings(bank=tmp_path / "bank.db"))


@pytest.mark.parametrize(
    ("context", "parts", "values"), [c[1:] for c in CASES + MORE], ids=[c[0] for c in CASES + MORE]
)
async def test_a_run_is_told_with_its_values(
    context: dict[str, Any], parts: list[str], values: dict[str, Any], engine: ReflectionEngineV2
) -> None:
    result = await engine.generate_reflection(context)
    for part in parts:
        assert part in result.reflection_text
    for name, value in values.items():
        assert getattr(result, name) == value
    assert "ignored" not in result.metadata
    assert result.strategy_text is None


async def test_the_document_s_own_test_holds(engine: ReflectionEngineV2) -> None:
    context = ReflectionContext(
        events=[Event(event_id="e1", event_type=EventType.ERROR_EVENT, content="Timeout")],
        outcome=OutcomeType.FAILURE,
        error=ErrorInfo(error_category=ErrorCategory.TIMEOUT_ERROR, error_message="Timeout"),
        tenant_id="test-tenant",
        project_id="test-project",
    )
    result = await engine.generate_reflection(context)
    assert result.reflection_text
    assert result.importance > 0.0
    assert "timeout" in result.tags


async def test_the_dreaming_worker_s_memories_are_events(engine: ReflectionEngineV2) -> None:
    memories = [
        Event(f"m{n}", EventType.OBSERVATION, content=f"Orders of week {n} were late")
        for n in range(3)
    ]
    context = ReflectionContext(
        memories,
        OutcomeType.PARTIAL,
        "t",
        "p",
        task_description="Analyzing patterns in recent memories",
    )
    result = await engine.generate_reflection(context)
    assert "3 events" in result.reflection_text
    stored = await engine.store_reflection(result, "t", "p", uuid4())
    assert stored["reflection_id"]


async def test_positional_arguments_store_as_in_the_agents_example(
    engine: ReflectionEngineV2,
) -> None:
    result = await engine.generate_reflection(run("success", call("a"), answer("a", "fine")))
    first = await engine.store_reflection(result, "t", "p")
    assert await engine.store_reflection(result, "t", "p") == first


async def test_queries_filter_by_importance_and_tags(engine: ReflectionEngineV2) -> None:
    for outcome in ("success", "failure"):
        made = await engine.generate_reflection(
            run(outcome, call("sql"), answer("sql", error="deadlock detected"), tags=[outcome])
        )
        await engine.store_reflection(made, "t", "p")
    important = await engine.query_reflections("t", "p", min_importance=0.8)
    assert [item["importance"] for item in important] == [0.85]
    assert len(await engine.query_reflections("t", "p", tags=["success"])) == 1
    assert len(await engine.query_reflections("t", "p", "deadlock", k=1)) == 1
