"""The search node: what its document says of the next queries, without a model."""

from typing import Any

import pytest

from mcp_reflect.nodes import relax_and_retry

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


def test_a_later_retry_relaxes_to_the_master_search() -> None:
    state = {"messages": [QUESTION], "planned_queries": [QUERY], "zero_result_tables": ["sessions"], "retry_count": 0}
    later = relax_and_retry({**state, **relax_and_retry(state)})
    (query,) = later["planned_queries"]
    assert (query["search_mode"], query["query_text"], query["limit"]) == ("master", QUERY["query_text"], 20)
    assert query["score_threshold"] <= 0.2
    assert later["retry_count"] == 2
