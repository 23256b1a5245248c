"""Catalogues and queries as callers really send them: without modes, twice, in any script, far too long."""

import json
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.replan.diagnosis import is_friendly
from mcp_reflect.services.engine import Engine
from tests.conftest import one_era
from tests.server.calls import told
from tests.services.replan_calls import QUANTUM


def empty(table: str, text: str, **more: Any) -> dict[str, Any]:
    return {"user_message": text, "queries": [{"table": table, "query_text": text, **more}]}


async def test_a_table_that_is_described_without_modes_has_those_of_the_queries(engine: Engine) -> None:
    bare = [{"table": "papers"}, {"table": "authors"}]
    found = await engine.replan(**empty("papers", "solar cells", search_mode="faceted"), catalog=bare)
    assert {query.search_mode for query in found.new_queries} == {"faceted"}
    assert "no mode" not in found.reasoning


async def test_a_query_without_a_mode_never_gets_one_that_nobody_named(engine: Engine) -> None:
    first = await engine.replan(**empty("papers", "perovskite solar cells"))
    second = await engine.replan(search_id=first.search_id, results={"papers": 0})
    assert {query.search_mode for query in (*first.new_queries, *second.new_queries)} == {""}


async def test_a_table_that_is_called_otherwise_is_corrected_with_a_reason(engine: Engine) -> None:
    found = await engine.replan(
        **empty("sesions", "quantum computing", search_mode="fuzzy"), catalog=QUANTUM["catalog"]
    )
    assert "The catalog has no table sesions; the nearest name is sessions" in found.reasoning
    assert {query.table for query in found.new_queries} <= {"sessions", "exhibitors"}


async def test_entries_of_one_table_are_one_table(engine: Engine) -> None:
    twice = [
        {"table": "shoes", "search_modes": ["exact"], "vocabulary": ["boots"]},
        {"table": "shoes", "search_modes": "master", "vocabulary": "sandals"},
    ]
    found = await engine.replan(**empty("shoes", "sandels", search_mode="exact"), catalog=twice)
    assert (found.new_queries[0].query_text, found.new_queries[0].search_mode) == ("sandals", "master")


async def test_fifty_empty_tables_get_a_query_each_and_fit_on_a_page(client: Client) -> None:
    tables = [{"table": f"t{number}", "search_modes": ["faceted", "master"]} for number in range(50)]
    queries = [{"table": f"t{number}", "search_mode": "faceted", "query_text": "red shoes"} for number in range(50)]
    call = {"user_message": "red shoes", "queries": queries, "catalog": tables}
    found = await told(client, "replan_search", call)
    assert {query["table"] for query in found["new_queries"]} == {f"t{number}" for number in range(50)}
    assert len(found["new_queries"]) == 50
    assert len(json.dumps(found)) < 16_000


@one_era
async def test_a_result_is_bounded_by_what_was_sent(client: Client) -> None:
    queries = [{"table": f"t{number}", "query_text": "long words " * 360} for number in range(50)]
    call: dict[str, Any] = {"user_message": "long words", "queries": queries}
    found = await told(client, "replan_search", call)
    assert len(json.dumps(found)) < 2.2 * len(json.dumps(call))
    report: dict[str, Any] = {"search_id": found["search_id"], "zero_result_tables": ["t1"], "retry_count": 2}
    over = await told(client, "replan_search", report)
    assert over["give_up"]
    assert len(over["reasoning"]) < 5_000
    assert "and 80 more" in over["reasoning"]


@pytest.mark.parametrize("text", ["魚の本", "Süßwasserfische", "🙂", "", "where is it", "a" * 4_000, "کتاب"])
async def test_any_script_gets_a_plan_and_a_friendly_word(client: Client, text: str) -> None:
    call = {**empty("bücher", text, search_mode="фасет"), "user_message": text or "Bücher"}
    catalog = [{"table": "bücher", "search_modes": ["фасет", "всё"], "vocabulary": ["魚", "susswasserfisch"]}]
    found = await told(client, "replan_search", {**call, "catalog": catalog})
    assert found["give_up"] or {query["table"] for query in found["new_queries"]} == {"bücher"}
    assert is_friendly(found["user_message"])


async def test_nothing_came_back_may_be_said_by_an_empty_list(engine: Engine) -> None:
    assert (await engine.replan(**QUANTUM, results=[])).new_queries
