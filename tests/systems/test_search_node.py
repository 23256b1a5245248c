"""The search nodes: what their document says of the next queries."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.nodes import reflect_and_replan, relax_and_retry
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted

QUERY: dict[str, Any] = {
    "table": "sessions",
    "search_mode": "faceted",
    "query_text": "ML deployment problems",
    "limit": 10,
}
QUESTION = {"role": "user", "content": "Who can help me with my ML deployment problems?"}


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_relaxing_lowers_the_threshold_and_doubles_the_limit_of_the_same_text(threshold: float | None) -> None:
    query = QUERY if threshold is None else {**QUERY, "score_threshold": threshold}
    state = {"messages": [QUESTION], "planned_queries": [query], "zero_result_tables": ["sessions"], "retry_count": 0}
    gained = relax_and_retry(state)
    assert gained["planned_queries"] == [{**QUERY, "score_threshold": 0.15, "limit": 20}]
    assert (gained["retry_count"], gained["reflection_strategy"]) == (1, "relax")
    assert gained["original_planned_queries"] == [query]
    thought = gained["thinking_updates"][-1]
    assert isinstance(thought["ts"], float)
    assert "threshold" not in thought["message"]


def test_the_edges_of_the_graph_decide_how_often_it_relaxes() -> None:
    state = {"messages": [QUESTION], "planned_queries": [QUERY], "zero_result_tables": ["sessions"], "retry_count": 5}
    (query,) = relax_and_retry(state)["planned_queries"]
    assert query == {**QUERY, "search_mode": "master", "score_threshold": 0.2, "limit": 20}
    assert relax_and_retry({**state, "max_retries": 2})["planned_queries"] == []


def test_a_later_retry_relaxes_to_the_master_search() -> None:
    state = {"messages": [QUESTION], "planned_queries": [QUERY], "zero_result_tables": ["sessions"], "retry_count": 0}
    later = relax_and_retry({**state, **relax_and_retry(state)})
    (query,) = later["planned_queries"]
    assert (query["search_mode"], query["query_text"], query["limit"]) == ("master", QUERY["query_text"], 20)
    assert query["score_threshold"] <= 0.2
    assert later["retry_count"] == 2


STATE: dict[str, Any] = {
    "messages": [QUESTION],
    "planned_queries": [QUERY],
    "query_results": {"sessions": []},
    "zero_result_tables": ["sessions"],
    "retry_count": 0,
}


def _replanned(tmp_path: Path, reply: str | None = None, **more: Any) -> dict[str, Any]:
    settings = Settings(bank=tmp_path / "bank.db")
    if reply is None:
        return reflect_and_replan({**STATE, **more}, make_engine=partial(Engine, settings))
    with Scripted(reply) as llm:
        return reflect_and_replan({**STATE, **more}, make_engine=partial(Engine, settings, llm=llm))


def test_a_catalog_of_names_and_descriptions_leads_to_the_table_that_helps(tmp_path: Path) -> None:
    catalog = [
        {"table": "sessions", "description": "talks"},
        {"table": "exhibitors", "description": "companies that offer services"},
    ]
    gained = _replanned(tmp_path, catalog=catalog)
    assert gained["reflection_strategy"] == "pivot"
    assert {query["table"] for query in gained["planned_queries"]} == {"exhibitors"}
    assert gained["planned_queries"][0]["search_mode"] == "faceted"
    assert "no mode" not in gained["reflection_reasoning"]


def test_a_model_that_relaxes_a_query_without_a_threshold_is_followed(tmp_path: Path) -> None:
    reply = """```json
        {"reasoning": "too strict", "strategy": "relax", "user_message": "Let me widen my search.",
         "new_queries": [{"table": "sessions", "search_mode": "faceted", "query_text": "ML deployment problems",
                          "limit": 10}]}
        ```"""
    gained = _replanned(tmp_path, reply)
    assert gained["planned_queries"] == [{**QUERY, "score_threshold": 0.15, "limit": 20}]
    assert (gained["reflection_strategy"], gained["reflection_reasoning"]) == ("relax", "too strict")
    assert gained["thinking_updates"][-1]["message"] == "Let me widen my search."
