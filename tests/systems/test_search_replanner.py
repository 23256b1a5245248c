"""The state graph of a search that thinks again: plan, search, replan, search."""

import json
from pathlib import Path
from typing import Any, TypedDict

import pytest

from mcp_reflect import nodes
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted

graph = pytest.importorskip("langgraph.graph", reason="langgraph is not installed: pip install langgraph to run this")

_ASKED = "Who can help me with my ML deployment problems?"
_PLANNED: dict[str, Any] = {
    "table": "sessions",
    "search_mode": "semantic",
    "query_text": "ML deployment problems",
    "score_threshold": 0.6,
    "limit": 5,
    "priority": 1,
}


class State(TypedDict, total=False):
    messages: list[Any]
    planned_queries: list[dict[str, Any]]
    query_results: dict[str, list[str]]
    zero_result_tables: list[str]
    retry_count: int
    reflection_reasoning: str
    reflection_strategy: str
    thinking_updates: list[dict[str, Any]]
    original_planned_queries: list[dict[str, Any]]
    current_node: str
    ran: list[dict[str, Any]]


def _proposal(strategy: str, **query: Any) -> str:
    message = "Let me look again."
    return json.dumps({"strategy": strategy, "reasoning": strategy, "user_message": message, "new_queries": [query]})


def _search(state: State) -> State:
    """Only the exhibitors have something."""
    planned = state.get("planned_queries", [])
    rows = {query["table"]: ["Acme ML services"] if query["table"] == "exhibitors" else [] for query in planned}
    empty = [table for table, found in rows.items() if not found]
    return {"query_results": rows, "zero_result_tables": empty, "ran": [*state.get("ran", []), *planned]}


def _route(state: State) -> str:
    found = any(state.get("query_results", {}).values())
    return "end" if found or state.get("retry_count", 0) > 2 else "again"


def _run(bank: Path, llm: Scripted) -> State:
    def replan(state: State) -> dict[str, Any]:
        return nodes.reflect_and_replan(state, make_engine=lambda: Engine(Settings(bank=bank), llm=llm))

    builder = graph.StateGraph(State)
    builder.add_node("search", _search)
    builder.add_node("replan", replan)
    builder.add_edge(graph.START, "search")
    builder.add_conditional_edges("search", _route, {"again": "replan", "end": graph.END})
    builder.add_edge("replan", "search")
    start = {"messages": [{"role": "user", "content": _ASKED}], "planned_queries": [_PLANNED], "retry_count": 0}
    end: State = builder.compile().invoke(start)
    return end


def test_the_model_rewrites_then_relaxes_then_pivots_to_the_exhibitors_and_finds_them(tmp_path: Path) -> None:
    with Scripted(
        _proposal("rewrite", table="sessions", query_text="machine learning operations"),
        _proposal("relax", table="sessions", query_text="machine learning operations", score_threshold=0.2),
        _proposal("pivot", table="exhibitors", query_text="machine learning services"),
    ) as llm:
        end = _run(tmp_path / "bank.db", llm)
    thoughts = end.get("thinking_updates", [])
    assert [thought["strategy"] for thought in thoughts] == ["rewrite", "relax", "pivot"]
    assert [query["table"] for query in end.get("ran", [])] == ["sessions"] * 3 + ["exhibitors"]
    assert end.get("query_results", {})["exhibitors"] == ["Acme ML services"]
    assert end.get("original_planned_queries") == [_PLANNED]
    assert all(isinstance(query["score_threshold"], float) and query["priority"] for query in end.get("ran", []))


def test_the_model_is_told_what_every_retry_tried(tmp_path: Path) -> None:
    texts = ("machine learning operations", "model serving", "rollout")
    with Scripted(*(_proposal("rewrite", table="sessions", query_text=text) for text in texts)) as llm:
        _run(tmp_path / "bank.db", llm)
    assert all(text in llm.asked[2].user for text in ("ML deployment problems", *texts[:2]))


def test_a_proposal_that_repeats_an_earlier_retry_gives_way_to_the_rules(tmp_path: Path) -> None:
    again = _proposal("rewrite", table="sessions", query_text="model serving")
    with Scripted(again, again, again) as llm:
        end = _run(tmp_path / "bank.db", llm)
    ran = [(query["query_text"], query["score_threshold"]) for query in end.get("ran", [])]
    assert len(set(ran)) == len(ran) > 3
