"""The nodes in real LangGraph graphs: search and think again, decide and look back."""

import re
from pathlib import Path
from typing import Any, TypedDict

import pytest

from mcp_reflect import nodes
from mcp_reflect.config import Settings
from mcp_reflect.models.search import Query
from mcp_reflect.nodes import reflect_node
from mcp_reflect.schemas.search import read_queries
from mcp_reflect.services.engine import Engine

graph = pytest.importorskip(
    "langgraph.graph", reason="langgraph is not installed: pip install langgraph to run this"
)


class Search(TypedDict, total=False):
    messages: list[Any]
    planned_queries: list[dict[str, Any]]
    catalog: list[dict[str, Any]]
    query_results: dict[str, list[str]]
    zero_result_tables: list[str]
    retry_count: int
    reflection_reasoning: str
    reflection_strategy: str
    thinking_updates: list[dict[str, Any]]
    original_planned_queries: list[dict[str, Any]]
    current_node: str


_SESSIONS = {"s5": "quantum algorithms explained for programmers", "s6": "zero trust networking"}


def _found(query: Query) -> list[str]:
    """Sessions with any word in the wide mode and with all words else; none at a high threshold."""
    enough = any if query.search_mode == "master" else all
    words = (
        query.query_text.lower().split()
        if query.table == "sessions" and (query.score_threshold or 0) < 0.5
        else []
    )
    return [
        key for key, text in _SESSIONS.items() if words and enough(word in text for word in words)
    ]


def _run(asked: str, planned: dict[str, Any]) -> Search:
    def search(state: Search) -> Search:
        found: dict[str, list[str]] = {}
        for item in state.get("planned_queries", []):
            (query,) = read_queries([item])
            found.setdefault(query.table, []).extend(_found(query))
        return {
            "query_results": found,
            "zero_result_tables": [table for table, rows in found.items() if not rows],
        }

    def route(state: Search) -> str:
        if any(state.get("query_results", {}).values()) or state.get("retry_count", 0) > 2:
            return "end"
        return "again"

    builder = graph.StateGraph(Search)
    builder.add_node("search", search)
    builder.add_node("replan", nodes.reflect_and_replan)
    builder.add_edge(graph.START, "search")
    builder.add_conditional_edges("search", route, {"again": "replan", "end": graph.END})
    builder.add_edge("replan", "search")
    end: Search = builder.compile().invoke(
        {
            "messages": [{"role": "user", "content": asked}],
            "planned_queries": [planned],
            "catalog": [{"table": planned["table"], "search_modes": ["faceted", "master"]}],
            "retry_count": 0,
        }
    )
    return end


def test_a_graph_thinks_again_and_finds_the_session() -> None:
    planned = {
        "table": "sessions",
        "search_mode": "faceted",
        "query_text": "quantum computing",
        "limit": 5,
    }
    end = _run("Find sessions about quantum computing", planned)
    assert "s5" in end.get("query_results", {})["sessions"]
    assert end.get("reflection_strategy") == "rewrite"
    assert end.get("original_planned_queries") == [planned]
    assert 1 <= len(end.get("thinking_updates", [])) <= 2


class State(TypedDict, total=False):
    decision: dict[str, Any]
    execution: dict[str, Any]
    rounds: int
    reflection: str
    reflections: list[str]
    validation_results: dict[str, Any]
    reflection_insights: dict[str, Any]
    reflection_analysis: dict[str, Any]
    error: str


def test_a_graph_looks_back_each_round_and_keeps_what_it_said(tmp_path: Path) -> None:
    settings = Settings(bank=tmp_path / "bank.db", project="graph")

    def act(state: State) -> State:
        latency = 150 if state.get("rounds", 0) == 0 else 120
        return {
            "rounds": state.get("rounds", 0) + 1,
            "decision": {"action": "keep", "component": "cache"},
            "execution": {"component": "cache", "metrics": {"latency": latency, "accuracy": 0.9}},
        }

    def look_back(state: State) -> Any:
        return reflect_node(state, make_engine=lambda: Engine(settings))

    def again(state: State) -> str:
        return "act" if state.get("rounds", 0) < 2 else graph.END

    builder = graph.StateGraph(State)
    builder.add_node("act", act)
    builder.add_node("look_back", look_back)
    builder.add_edge(graph.START, "act")
    builder.add_edge("act", "look_back")
    builder.add_conditional_edges("look_back", again)
    end: State = builder.compile().invoke({"rounds": 0})
    reflections = end.get("reflections", [])
    assert len(reflections) == 2
    assert end.get("reflection") == reflections[1]
    assert "Latency 120 is below last time (150)." in reflections[1]
    assert end.get("validation_results", {})["valid"] is True
    assert "error" not in end


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "systems.md"
    (example,) = re.findall(r"```py\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    exec(example, {"settings": Settings(bank=tmp_path / "bank.db", project="p")})  # noqa: S102 - our own page
