import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect import nodes
from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted


class StillClock(Clock):
    def now(self) -> float:
        return 1_700_000_000.0


@dataclass
class Message:
    type: str
    content: Any


_FAILED = {"table": "sessions", "search_mode": "faceted", "query_text": "quantum computing", "limit": 5, "priority": 1}
_FOUND = {"table": "speakers", "search_mode": "faceted", "query_text": "physicist", "limit": 5, "priority": 2}


def _state(**more: Any) -> dict[str, Any]:
    return {
        "messages": [Message("human", "Find sessions about quantum computing"), Message("ai", "Searching.")],
        "planned_queries": [_FAILED, _FOUND],
        "query_results": {"sessions": [], "speakers": [{"id": 1}]},
        "zero_result_tables": ["sessions"],
        "retry_count": 0,
        **more,
    }


def test_replanning_gives_back_what_a_graph_expects() -> None:
    made = nodes.reflect_and_replan(_state(), StillClock())
    assert set(made) == {
        "planned_queries",
        "retry_count",
        "reflection_reasoning",
        "reflection_strategy",
        "thinking_updates",
        "original_planned_queries",
        "current_node",
    }
    assert made["retry_count"] == 1
    assert made["reflection_strategy"] == "rewrite"
    assert made["current_node"] == "reflect_and_replan"
    assert made["original_planned_queries"] == [_FAILED, _FOUND]


def test_queries_that_found_something_stay_as_they_are_and_come_first() -> None:
    made = nodes.reflect_and_replan(_state())["planned_queries"]
    assert made[0] == _FOUND
    assert {query["table"] for query in made[1:]} == {"sessions"}


def test_new_queries_keep_the_extra_keys_of_the_failed_one() -> None:
    assert nodes.reflect_and_replan(_state())["planned_queries"][1]["priority"] == 1


def test_thoughts_are_appended_with_time_and_strategy() -> None:
    made = nodes.reflect_and_replan(_state(thinking_updates=["earlier"]), StillClock())["thinking_updates"]
    assert made[0] == "earlier"
    assert made[1]["ts"] == 1_700_000_000.0
    assert (made[1]["strategy"], made[1]["retry_count"]) == ("rewrite", 1)
    assert "broader" in made[1]["message"]


def test_the_state_that_came_in_is_left_as_it_is() -> None:
    state = _state(thinking_updates=[])
    before = repr(state)
    nodes.reflect_and_replan(state)
    assert repr(state) == before


def test_the_original_queries_are_kept_from_the_first_time() -> None:
    first = [{"table": "sessions", "query_text": "earlier"}]
    made = nodes.reflect_and_replan(_state(original_planned_queries=first, retry_count=1))
    assert made["original_planned_queries"] == first
    assert made["retry_count"] == 2


def test_original_queries_are_not_planned_again() -> None:
    first = [_FAILED, {**_FAILED, "query_text": "quantum"}, {**_FAILED, "query_text": "computing"}]
    made = nodes.reflect_and_replan(_state(original_planned_queries=first))["planned_queries"]
    again = [query for query in made if (query["search_mode"], query["query_text"]) == ("faceted", "quantum")]
    assert again == []


def test_queries_of_earlier_retries_are_not_planned_again() -> None:
    state, planned = _state(planned_queries=[_FAILED], query_results={}, zero_result_tables=["sessions"]), list[str]()
    for retry in range(3):
        state |= {"retry_count": retry} | nodes.reflect_and_replan({**state, "retry_count": retry})
        planned += [f"{query['search_mode']} {query['query_text']}" for query in state["planned_queries"]]
    assert len(planned) > 1
    assert len(set(planned)) == len(planned)


def test_after_the_last_retry_only_what_found_something_is_left() -> None:
    made = nodes.reflect_and_replan(_state(retry_count=3, max_retries=2))
    assert made["planned_queries"] == [_FOUND]
    assert made["retry_count"] == 4


def test_relaxing_lowers_the_threshold_and_doubles_the_limit() -> None:
    failed = {**_FAILED, "score_threshold": 0.4}
    made = nodes.relax_and_retry(_state(planned_queries=[failed]))
    assert [(q["score_threshold"], q["limit"]) for q in made["planned_queries"]] == [(0.15, 10)]
    assert (made["reflection_strategy"], made["current_node"]) == ("relax", "relax_and_retry")


def test_relaxing_again_takes_the_wide_mode() -> None:
    failed = {**_FAILED, "score_threshold": 0.4}
    catalog = [{"table": "sessions", "search_modes": ["faceted", "master"]}]
    made = nodes.relax_and_retry(_state(planned_queries=[failed], retry_count=1, catalog=catalog))["planned_queries"][0]
    assert (made["search_mode"], made["score_threshold"], made["limit"]) == ("master", 0.2, 20)


@pytest.mark.parametrize(
    "results",
    [
        {"sessions": 0, "speakers": 1},
        [{"table": "sessions", "results": []}, {"table": "speakers", "results": [1]}],
        [{"table": "speakers", "count": 4}],
    ],
)
def test_results_may_be_counts_rows_or_a_list(results: Any) -> None:
    made = nodes.reflect_and_replan(_state(query_results=results, zero_result_tables=[]))
    assert made["planned_queries"][0] == _FOUND


def test_messages_may_be_mappings_texts_or_parts() -> None:
    for messages in (
        [{"role": "user", "content": "Who can help me with my ML deployment problems?"}],
        ["Who can help me with my ML deployment problems?"],
        [Message("human", [{"type": "text", "text": "Who can help me with my ML deployment problems?"}])],
    ):
        catalog = [
            {"table": "sessions", "description": "Talks", "search_modes": ["faceted"]},
            {"table": "exhibitors", "description": "Companies that offer services", "search_modes": ["faceted"]},
        ]
        failed = {**_FAILED, "query_text": "ML deployment problems"}
        made = nodes.reflect_and_replan(
            _state(messages=messages, planned_queries=[failed], catalog=catalog, query_results=None)
        )
        assert made["reflection_strategy"] == "pivot"
        assert made["planned_queries"][0]["table"] == "exhibitors"


def test_queries_may_be_models_or_data_classes() -> None:
    @dataclass
    class Planned:
        table: str
        query_text: str

    class Model:
        def model_dump(self) -> dict[str, str]:
            return {"table": "sessions", "query_text": "quantum computing"}

    made = nodes.reflect_and_replan(
        _state(planned_queries=[Planned("sessions", "quantum computing"), Model()], query_results=None)
    )
    assert all(isinstance(query, dict) for query in made["planned_queries"])


def test_a_query_that_is_none_is_named() -> None:
    with pytest.raises(InputError, match=r"planned_queries\[0\]"):
        nodes.reflect_and_replan(_state(planned_queries=["quantum computing"]))


def test_an_empty_state_is_no_error() -> None:
    assert nodes.reflect_and_replan({})["planned_queries"] == []


def _proposal(strategy: str, **query: Any) -> str:
    return json.dumps(
        {"strategy": strategy, "reasoning": "r", "user_message": "Let me look again.", "new_queries": [query]}
    )


def test_a_graph_asks_the_model_to_rewrite_relax_and_pivot(bank_path: Path) -> None:
    query: dict[str, Any] = {"table": "sessions", "search_mode": "semantic", "score_threshold": 0.6, "limit": 5}
    state: dict[str, Any] = {
        "messages": [{"role": "user", "content": "Who can help me with my ML deployment problems?"}],
        "planned_queries": [{**query, "query_text": "ML deployment problems"}],
    }
    answers = (
        _proposal("rewrite", table="sessions", query_text="machine learning operations"),
        _proposal("relax", table="sessions", query_text="machine learning operations", score_threshold=0.2),
        _proposal("pivot", table="exhibitors", query_text="machine learning services"),
    )
    ran: list[tuple[str, str, float]] = []
    with Scripted(*answers) as llm:
        for retry in range(3):
            state |= {"zero_result_tables": ["sessions"], "query_results": {"sessions": []}, "retry_count": retry}
            state |= nodes.reflect_and_replan(state, make_engine=lambda: Engine(Settings(bank=bank_path), llm=llm))
            (planned,) = state["planned_queries"]
            ran.append((state["reflection_strategy"], planned["table"], planned["score_threshold"]))
    assert [strategy for strategy, _, _ in ran] == ["rewrite", "relax", "pivot"]
    assert [table for _, table, _ in ran] == ["sessions", "sessions", "exhibitors"]
    assert all(isinstance(threshold, float) for _, _, threshold in ran)
    assert "ML deployment problems" in llm.asked[2].user


def test_a_query_of_the_documents_own_form_is_relaxed_by_the_documents_numbers() -> None:
    query: dict[str, Any] = {
        "table": "sessions",
        "search_mode": "faceted",
        "query_text": "quantum computing",
        "limit": 10,
    }
    state: dict[str, Any] = {
        "messages": [{"role": "user", "content": "Find sessions about quantum computing"}],
        "planned_queries": [query],
        "query_results": {"sessions": []},
        "zero_result_tables": ["sessions"],
        "retry_count": 0,
        "catalog": [{"table": "sessions", "search_modes": ["faceted", "master"]}],
    }
    first = nodes.relax_and_retry(state)
    assert first["planned_queries"] == [{**query, "score_threshold": 0.15, "limit": 20}]
    later = nodes.relax_and_retry({**state, **first})
    assert later["planned_queries"][0]["search_mode"] == "master"
