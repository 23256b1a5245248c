"""The node functions in a real LangGraph graph: plan, search, think again, search."""

from typing import Any, TypedDict

import pytest

from mcp_reflect import nodes
from mcp_reflect.schemas.search import read_queries
from tests.replan.written_searches import engine

graph = pytest.importorskip("langgraph.graph", reason="langgraph is not installed: pip install langgraph to run this")


class State(TypedDict, total=False):
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


def _run(node: Any, asked: str, planned: dict[str, Any]) -> State:
    small = engine("conference")

    def search(state: State) -> State:
        found: dict[str, list[str]] = {}
        for item in state.get("planned_queries", []):
            (query,) = read_queries([item])
            found.setdefault(query.table, []).extend(small.search(query))
        return {"query_results": found, "zero_result_tables": [table for table, rows in found.items() if not rows]}

    def route(state: State) -> str:
        if any(state.get("query_results", {}).values()) or state.get("retry_count", 0) > 2:
            return "end"
        return "again"

    builder = graph.StateGraph(State)
    builder.add_node("search", search)
    builder.add_node("replan", node)
    builder.add_edge(graph.START, "search")
    builder.add_conditional_edges("search", route, {"again": "replan", "end": graph.END})
    builder.add_edge("replan", "search")
    try:
        end: State = builder.compile().invoke(
            {
                "messages": [{"role": "user", "content": asked}],
                "planned_queries": [planned],
                "catalog": [{"table": planned["table"], "search_modes": ["faceted", "master"]}],
                "retry_count": 0,
            }
        )
    finally:
        small.close()
    return end


def test_a_graph_thinks_again_and_finds_the_session() -> None:
    planned = {"table": "sessions", "search_mode": "faceted", "query_text": "quantum computing", "limit": 5}
    end = _run(nodes.reflect_and_replan, "Find sessions about quantum computing", planned)
    assert "s5" in end.get("query_results", {})["sessions"]
    assert end.get("reflection_strategy") == "rewrite"
    assert end.get("original_planned_queries") == [planned]
    assert 1 <= len(end.get("thinking_updates", [])) <= 2


def test_a_graph_relaxes_until_it_finds_something() -> None:
    planned = {"table": "sessions", "search_mode": "faceted", "query_text": "quantum computing", "limit": 5}
    end = _run(nodes.relax_and_retry, "Find sessions about quantum computing", {**planned, "score_threshold": 0.6})
    assert "s5" in end.get("query_results", {})["sessions"]
    assert end.get("current_node") == "relax_and_retry"
    assert end.get("retry_count") == 2


def test_a_graph_ends_where_there_is_nothing() -> None:
    planned = {"table": "venues", "search_mode": "faceted", "query_text": "zeppelin", "limit": 5}
    end = _run(nodes.reflect_and_replan, "zeppelin", planned)
    assert end.get("retry_count") == 3
    assert not any(end.get("query_results", {}).values())
