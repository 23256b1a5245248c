"""Twenty inputs that a user of the search node might send, and what its document says of them."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.nodes import reflect_and_replan, relax_and_retry
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted


def state(
    message: Any, *queries: dict[str, Any], empty: list[str] | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "messages": [message],
        "planned_queries": list(queries),
        "query_results": {},
        "zero_result_tables": [query["table"] for query in queries] if empty is None else empty,
        "retry_count": 0,
        **more,
    }


def query(table: str, text: str, **more: Any) -> dict[str, Any]:
    return {"table": table, "search_mode": "faceted", "query_text": text, "limit": 10, **more}


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(bank=tmp_path / "bank.db", project="p")


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    (
        "English",
        state(
            user("Find sessions about quantum computing"), query("sessions", "quantum computing")
        ),
    ),
    (
        "French",
        state(
            user("Trouve des conférences sur l'accessibilité"),
            query("sessions", "conférences sur l'accessibilité"),
        ),
    ),
    (
        "German",
        state(
            user("Zeige mir Aussteller für Robotik"), query("exhibitors", "Aussteller für Robotik")
        ),
    ),
    ("a name", state(user("When does Dr. Ada Obi speak?"), query("speakers", "Dr. Ada Obi speak"))),
    ("an abbreviation", state(user("Talks on K8s?"), query("sessions", "K8s talks"))),
    (
        "a filter",
        state(user("AI talks on Friday"), query("sessions", "AI talks", filters={"day": "Friday"})),
    ),
    (
        "a message of parts",
        state(
            {"type": "human", "content": [{"type": "text", "text": "Rust talks"}]},
            query("sessions", "Rust talks"),
        ),
    ),
    ("an odd table", state(user("Who sells pumps?"), query("vendors", "pumps"))),
]


@pytest.mark.parametrize("sent", [c[1] for c in QUESTIONS], ids=[c[0] for c in QUESTIONS])
def test_without_a_model_there_is_a_new_plan_in_the_persons_words(
    sent: dict[str, Any], settings: Settings
) -> None:
    gained = reflect_and_replan(sent, make_engine=partial(Engine, settings))
    before = sent["planned_queries"][0]
    for new in gained["planned_queries"]:
        assert {"table", "search_mode", "query_text", "limit"} <= new.keys()
        assert new != before
        words = {word.lower().strip(".?") for word in new["query_text"].split()}
        said = json.dumps([sent["messages"], before], ensure_ascii=False).lower()
        assert all(word.rstrip("s") in said for word in words)
    assert gained["planned_queries"]
    assert gained["retry_count"] == 1
    message = gained["thinking_updates"][-1]["message"]
    for jargon in ("threshold", "faceted", "master", "query"):
        assert jargon not in message


ML = state(
    user("Who can help me with my ML deployment problems?"),
    query("sessions", "ML deployment problems"),
)


def planned(settings: Settings, sent: dict[str, Any], *replies: str) -> dict[str, Any]:
    make = partial(Engine, settings, llm=Scripted(*replies))
    return reflect_and_replan(sent, make_engine=make)


def reply(strategy: str, *queries: dict[str, Any], message: str = "Let me try another way.") -> str:
    told = {"reasoning": "r", "strategy": strategy, "user_message": message}
    return json.dumps({**told, "new_queries": list(queries)})


def test_a_rewrite_of_the_document(settings: Settings) -> None:
    new = query("sessions", "physics computing emerging technology quantum")
    gained = planned(settings, QUESTIONS[0][1], reply("rewrite", new))
    assert gained["planned_queries"] == [new]
    assert gained["reflection_strategy"] == "rewrite"


def test_a_pivot_in_a_code_fence(settings: Settings) -> None:
    new = query("exhibitors", "ML deployment MLOps services")
    gained = planned(settings, ML, f"```json\n{reply('pivot', new)}\n```")
    assert gained["planned_queries"] == [new]


def test_a_relax_lowers_the_threshold_and_widens_the_limit(settings: Settings) -> None:
    gained = planned(settings, ML, reply("relax", query("sessions", "ML deployment problems")))
    (new,) = gained["planned_queries"]
    assert (new["score_threshold"], new["limit"]) == (0.15, 20)


def test_a_second_relax_goes_to_the_widest_mode() -> None:
    (new,) = relax_and_retry({**ML, "retry_count": 1})["planned_queries"]
    assert (new["search_mode"], new["score_threshold"], new["limit"]) == ("master", 0.2, 20)


def test_prose_of_a_model_falls_back_to_relaxing_and_says_so(settings: Settings) -> None:
    prose = "I would look elsewhere."
    gained = planned(settings, ML, prose, prose)
    assert gained["reflection_strategy"] == "relax"
    assert "failed" in gained["reflection_reasoning"]
    assert gained["planned_queries"][0]["score_threshold"] == 0.15


def test_a_plan_without_queries_is_replaced_and_said(settings: Settings) -> None:
    gained = planned(settings, ML, reply("rewrite"), reply("rewrite"))
    assert gained["planned_queries"]
    assert gained["reflection_reasoning"] != "r"


def test_technical_words_do_not_reach_the_person(settings: Settings) -> None:
    said = "Lowering the score threshold of the faceted search."
    new = query("exhibitors", "ML services")
    gained = planned(settings, ML, reply("pivot", new, message=said))
    assert "threshold" not in gained["thinking_updates"][-1]["message"]


@pytest.mark.parametrize("table", ["rooms", "session_s3cret", "companies"])
def test_a_table_that_is_not_there_is_never_planned(table: str, settings: Settings) -> None:
    gained = planned(settings, ML, reply("pivot", query(table, "ML services")))
    assert {new["table"] for new in gained["planned_queries"]} <= {
        "sessions",
        "exhibitors",
        "speakers",
    }
    assert table in gained["reflection_reasoning"]


async def test_results_that_were_found_stay_and_the_plan_may_be_awaited(settings: Settings) -> None:
    found, lost = query("speakers", "Ada"), query("sessions", "Ada's keynote")
    sent = state(user("Ada's keynote?"), found, lost, empty=["sessions"])
    gained = await reflect_and_replan(
        {**sent, "query_results": {"speakers": [1]}}, make_engine=partial(Engine, settings)
    )
    assert gained["planned_queries"][0] == found
    assert gained["original_planned_queries"] == [found, lost]


def test_an_empty_state_is_no_error(settings: Settings) -> None:
    gained = reflect_and_replan({"messages": []}, make_engine=partial(Engine, settings))
    assert gained["planned_queries"] == []
