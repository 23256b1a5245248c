"""The reflecting node in a real LangGraph graph: decide, carry out, look back, decide again."""

from pathlib import Path
from typing import Any, TypedDict

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.nodes import reflect_node, reflection_node
from mcp_reflect.services.engine import Engine

graph = pytest.importorskip("langgraph.graph", reason="langgraph is not installed: pip install langgraph to run this")


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


@pytest.mark.parametrize("node", [reflection_node, reflect_node])
def test_a_graph_looks_back_each_round_and_keeps_what_it_said(node: Any, tmp_path: Path) -> None:
    settings = Settings(bank=tmp_path / "bank.db", project="graph")

    def act(state: State) -> State:
        latency = 150 if state.get("rounds", 0) == 0 else 120
        return {
            "rounds": state.get("rounds", 0) + 1,
            "decision": {"action": "keep", "component": "cache"},
            "execution": {"component": "cache", "metrics": {"latency": latency, "accuracy": 0.9}},
        }

    def look_back(state: State) -> Any:
        return node(state, make_engine=lambda: Engine(settings))

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
    assert "Latency 120 is better than before (150)." in reflections[1]
    assert end.get("validation_results", {})["valid"] is True
    assert "error" not in end
