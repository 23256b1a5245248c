"""The search nodes: what their document says of the next queries."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.nodes import reflect_and_replan, relax_and_retry
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted

QUERY: dict[str, Any] = {
    "table": "sessions", "search_mode": "faceted", "query_text": "ML deployment problems", "limit": 10,
}  # fmt: skip
QUESTION = {"role": "user", "content": "Who can help me with my ML deployment problems?"}
STATE: dict[str, Any] = {
    "messages": [QUESTION], "planned_queries": [QUERY], "query_results": {"sessions": []},
    "zero_result_tables": ["sessions"], "retry_count": 0,
}  # fmt: skip
FAIR = [
    {"table": "sessions", "description": "talks"},
    {"table": "exhibitors", "description": "companies that offer services"},
]


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_relaxing_lowers_the_threshold_and_doubles_the_limit_of_the_same_text(
    threshold: float | None,
) -> None:
    query = QUERY if threshold is None else {**QUERY, "score_threshold": threshold}
    gained = relax_and_retry({**STATE, "planned_queries": [query]})
    assert gained["planned_queries"] == [{**QUERY, "score_threshold": 0.15, "limit": 20}]
    assert (gained["retry_count"], gained["reflection_strategy"]) == (1, "relax")
    assert gained["original_planned_queries"] == [query]
    thought = gained["thinking_updates"][-1]
    assert isinstance(thought["ts"], float)
    assert "threshold" not in thought["message"]


def test_the_edges_of_the_graph_decide_how_often_it_relaxes() -> None:
    state = {**STATE, "retry_count": 5}
    (query,) = relax_and_retry(state)["planned_queries"]
    assert query == {**QUERY, "search_mode": "master", "score_threshold": 0.2, "limit": 20}
    assert relax_and_retry({**state, "max_retries": 2})["planned_queries"] == []


def test_a_later_retry_relaxes_to_the_master_search() -> None:
    later = relax_and_retry({**STATE, **relax_and_retry(STATE)})
    (query,) = later["planned_queries"]
    assert (query["search_mode"], query["query_text"], query["limit"]) == (
        "master",
        QUERY["query_text"],
        20,
    )
    assert query["score_threshold"] <= 0.2
    assert later["retry_count"] == 2


def _replanned(tmp_path: Path, reply: str | None = None, **more: Any) -> dict[str, Any]:
    settings = Settings(bank=tmp_path / "bank.db")
    if reply is None:
        return reflect_and_replan({**STATE, **more}, make_engine=partial(Engine, settings))
    with Scripted(reply) as llm:
        return reflect_and_replan({**STATE, **more}, make_engine=partial(Engine, settings, llm=llm))


def test_a_catalog_of_names_and_descriptions_leads_to_the_table_that_helps(tmp_path: Path) -> None:
    gained = _replanned(tmp_path, catalog=FAIR)
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
    assert (gained["reflection_strategy"], gained["reflection_reasoning"]) == (
        "relax",
        "too strict",
    )
    assert gained["thinking_updates"][-1]["message"] == "Let me widen my search."


class StillClock(Clock):
    def now(self) -> float:
        return 1_700_000_000.0


@dataclass
class Message:
    type: str
    content: Any


_FAILED = {
    "table": "sessions",
    "search_mode": "faceted",
    "query_text": "quantum computing",
    "limit": 5,
    "priority": 1,
}
_FOUND = {
    "table": "speakers",
    "search_mode": "faceted",
    "query_text": "physicist",
    "limit": 5,
    "priority": 2,
}


def _state(**more: Any) -> dict[str, Any]:
    return {
        "messages": [
            Message("human", "Find sessions about quantum computing"),
            Message("ai", "Searching."),
        ],
        "planned_queries": [_FAILED, _FOUND],
        "query_results": {"sessions": [], "speakers": [{"id": 1}]},
        "zero_result_tables": ["sessions"],
        "retry_count": 0,
        **more,
    }


def test_replanning_gives_back_what_a_graph_expects_and_leaves_the_state_as_it_is() -> None:
    state = _state(thinking_updates=["earlier"])
    before = repr(state)
    made = reflect_and_replan(state, StillClock())
    kept, *new = made.pop("planned_queries")
    assert kept == _FOUND
    assert {query["table"] for query in new} == {"sessions"}
    assert new[0]["priority"] == 1, "an extra key of the failed query"
    earlier, thought = made.pop("thinking_updates")
    assert earlier == "earlier"
    assert (thought["ts"], thought["strategy"], thought["retry_count"]) == (
        1_700_000_000.0,
        "rewrite",
        1,
    )
    assert "broader" in thought["message"]
    assert made.pop("reflection_reasoning")
    assert made == {
        "retry_count": 1,
        "reflection_strategy": "rewrite",
        "current_node": "reflect_and_replan",
        "original_planned_queries": [_FAILED, _FOUND],
    }
    assert repr(state) == before


def test_original_queries_are_kept_from_the_first_time_and_not_planned_again() -> None:
    first = [_FAILED, {**_FAILED, "query_text": "quantum"}, {**_FAILED, "query_text": "computing"}]
    made = reflect_and_replan(_state(original_planned_queries=first, retry_count=1))
    assert (made["original_planned_queries"], made["retry_count"]) == (first, 2)
    planned = [(query["search_mode"], query["query_text"]) for query in made["planned_queries"]]
    assert ("faceted", "quantum") not in planned


def test_queries_of_earlier_retries_are_not_planned_again() -> None:
    state, planned = (
        _state(planned_queries=[_FAILED], query_results={}, zero_result_tables=["sessions"]),
        list[str](),
    )
    for retry in range(3):
        state |= {"retry_count": retry} | reflect_and_replan({**state, "retry_count": retry})
        planned += [
            f"{query['search_mode']} {query['query_text']}" for query in state["planned_queries"]
        ]
    assert len(planned) > 1
    assert len(set(planned)) == len(planned)


def test_after_the_last_retry_only_what_found_something_is_left() -> None:
    made = reflect_and_replan(_state(retry_count=3, max_retries=2))
    assert made["planned_queries"] == [_FOUND]
    assert made["retry_count"] == 4


@pytest.mark.parametrize(
    "message",
    [
        QUESTION,
        QUESTION["content"],
        Message("human", [{"type": "text", "text": QUESTION["content"]}]),
    ],
)
def test_messages_may_be_mappings_texts_or_parts(message: Any) -> None:
    failed = {**_FAILED, "query_text": "ML deployment problems"}
    made = reflect_and_replan(
        _state(messages=[message], planned_queries=[failed], catalog=FAIR, query_results=None)
    )
    assert made["reflection_strategy"] == "pivot"
    assert made["planned_queries"][0]["table"] == "exhibitors"


def test_a_query_that_is_none_is_named_and_an_empty_state_is_no_error() -> None:
    with pytest.raises(InputError, match=r"planned_queries\[0\]"):
        reflect_and_replan(_state(planned_queries=["quantum computing"]))
    assert reflect_and_replan({})["planned_queries"] == []


def _proposal(strategy: str, **query: Any) -> str:
    return json.dumps(
        {
            "strategy": strategy,
            "reasoning": "r",
            "user_message": "Let me look again.",
            "new_queries": [query],
        }
    )


def test_a_graph_asks_the_model_to_rewrite_relax_and_pivot(tmp_path: Path) -> None:
    query: dict[str, Any] = {
        "table": "sessions",
        "search_mode": "semantic",
        "score_threshold": 0.6,
        "limit": 5,
    }
    state: dict[str, Any] = {
        "messages": [
            {"role": "user", "content": "Who can help me with my ML deployment problems?"}
        ],
        "planned_queries": [{**query, "query_text": "ML deployment problems"}],
    }
    answers = (
        _proposal("rewrite", table="sessions", query_text="machine learning operations"),
        _proposal(
            "relax", table="sessions", query_text="machine learning operations", score_threshold=0.2
        ),
        _proposal("pivot", table="exhibitors", query_text="machine learning services"),
    )
    ran: list[tuple[str, str, float]] = []
    with Scripted(*answers) as llm:
        for retry in range(3):
            state |= {
                "zero_result_tables": ["sessions"],
                "query_results": {"sessions": []},
                "retry_count": retry,
            }
            state |= reflect_and_replan(
                state, make_engine=lambda: Engine(Settings(bank=tmp_path / "bank.db"), llm=llm)
            )
            (planned,) = state["planned_queries"]
            ran.append((state["reflection_strategy"], planned["table"], planned["score_threshold"]))
    assert [strategy for strategy, _, _ in ran] == ["rewrite", "relax", "pivot"]
    assert [table for _, table, _ in ran] == ["sessions", "sessions", "exhibitors"]
    assert all(isinstance(threshold, float) for _, _, threshold in ran)
    assert "ML deployment problems" in llm.asked[2].user


def planned_by_a_model(tmp_path: Path, query: dict[str, Any], **state: Any) -> dict[str, Any]:
    reply = {
        "reasoning": "They need a service.",
        "strategy": "pivot",
        "user_message": "Let me look among the exhibitors.",
        "new_queries": [query],
    }
    with Scripted(json.dumps(reply)) as llm:
        make = partial(Engine, Settings(bank=tmp_path / "bank.db", project="p"), llm=llm)
        return reflect_and_replan({**STATE, **state}, make_engine=make)


async def test_the_node_may_be_awaited_as_in_its_document(tmp_path: Path) -> None:
    make = partial(Engine, Settings(bank=tmp_path / "bank.db", project="p"))
    gained = await reflect_and_replan(STATE, make_engine=make)
    assert gained["planned_queries"]
    assert gained == reflect_and_replan(STATE, make_engine=make) | {
        "thinking_updates": gained["thinking_updates"]
    }
    assert (await relax_and_retry(STATE))["retry_count"] == 1


@pytest.mark.parametrize(
    ("query", "table", "mode"),
    [
        ({"table": "exhibitors", "search_mode": "faceted"}, "exhibitors", "faceted"),
        ({"table": "exhibitor", "search_mode": "Master"}, "exhibitors", "master"),
        ({"table": "Exhibitors", "search_mode": "hybrid"}, "exhibitors", "master"),
    ],
)
@pytest.mark.parametrize("state", [{}, {"catalog": FAIR}])
def test_a_models_table_and_mode_are_those_that_there_are(
    state: dict[str, Any], query: dict[str, Any], table: str, mode: str, tmp_path: Path
) -> None:
    sent = {**query, "query_text": "ML deployment MLOps services", "limit": 10}
    gained = planned_by_a_model(tmp_path, sent, **state)
    (new,) = gained["planned_queries"]
    assert (new["table"], new["search_mode"]) == (table, mode)
    assert (new["query_text"], gained["reflection_strategy"]) == (sent["query_text"], "pivot")


@pytest.mark.parametrize("state", [{}, {"catalog": FAIR}])
def test_a_table_that_is_not_there_is_not_planned_and_that_is_said(
    state: dict[str, Any], tmp_path: Path
) -> None:
    sent = {"table": "vendors_xyz", "search_mode": "faceted", "query_text": "ML services"}
    gained = planned_by_a_model(tmp_path, sent, **state)
    assert {query["table"] for query in gained["planned_queries"]} <= {"sessions", "exhibitors"}
    assert "the catalog has no table vendors_xyz" in gained["reflection_reasoning"]


def test_a_graph_with_tables_of_its_own_and_no_catalog_may_search_others(tmp_path: Path) -> None:
    own = {**QUERY, "table": "invoices"}
    state: dict[str, Any] = {"planned_queries": [own], "zero_result_tables": ["invoices"]}
    sent = {"table": "receipts", "search_mode": "faceted", "query_text": "ML deployment"}
    (new,) = planned_by_a_model(tmp_path, sent, **state)["planned_queries"]
    assert new["table"] == "receipts"


def test_german_is_searched_as_it_is_written_and_without_the_request(tmp_path: Path) -> None:
    make = partial(Engine, Settings(bank=tmp_path / "bank.db", project="p"))
    state = {
        **STATE,
        "messages": [{"role": "user", "content": "Finde Vorträge über Barrierefreiheit"}],
        "planned_queries": [{**QUERY, "query_text": "Vorträge über Barrierefreiheit"}],
    }
    texts = [
        query["query_text"]
        for query in reflect_and_replan(state, make_engine=make)["planned_queries"]
    ]
    assert texts == ["Vorträge Barrierefreiheit", "Barrierefreiheit", "Vorträge"]


def test_two_empty_tables_keep_the_parts_of_the_question_apart(tmp_path: Path) -> None:
    make = partial(Engine, Settings(bank=tmp_path / "bank.db", project="p"))
    talks = {**QUERY, "query_text": "Rust talks"}
    companies = {**QUERY, "table": "exhibitors", "query_text": "Rust companies hiring"}
    state = {
        "messages": [
            {"role": "user", "content": "Find talks about Rust and companies hiring for it"}
        ],
        "planned_queries": [talks, companies],
        "zero_result_tables": ["sessions", "exhibitors"],
    }
    for query in reflect_and_replan(state, make_engine=make)["planned_queries"]:
        other = "companies" if query["table"] == "sessions" else "talks"
        assert other not in query["query_text"]
