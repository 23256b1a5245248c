"""Calls of replan_search: odd ones, many at once, and the catalogs that they share."""

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.replan.messages import is_friendly
from mcp_reflect.services.engine import Engine
from tests.conftest import one_era
from tests.server.calls import told
from tests.services.replan_calls import CATALOG, HELP, QUANTUM, plan


def empty(table: str, text: str, **more: Any) -> dict[str, Any]:
    return {"user_message": text, "queries": [{"table": table, "query_text": text, **more}]}


async def test_a_table_that_is_described_without_modes_has_those_of_the_queries(
    engine: Engine,
) -> None:
    bare = [{"table": "papers"}, {"table": "authors"}]
    found = await engine.replan(
        **empty("papers", "solar cells", search_mode="faceted"), catalog=bare
    )
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
    assert (found.new_queries[0].query_text, found.new_queries[0].search_mode) == (
        "sandals",
        "master",
    )


async def test_fifty_empty_tables_get_a_query_each_and_fit_on_a_page(client: Client) -> None:
    tables = [
        {"table": f"t{number}", "search_modes": ["faceted", "master"]} for number in range(50)
    ]
    queries = [
        {"table": f"t{number}", "search_mode": "faceted", "query_text": "red shoes"}
        for number in range(50)
    ]
    call = {"user_message": "red shoes", "queries": queries, "catalog": tables}
    found = await told(client, "replan_search", call)
    assert {query["table"] for query in found["new_queries"]} == {
        f"t{number}" for number in range(50)
    }
    assert len(found["new_queries"]) == 50
    assert len(json.dumps(found)) < 16_000


@one_era
async def test_a_result_is_bounded_by_what_was_sent(client: Client) -> None:
    queries = [{"table": f"t{number}", "query_text": "long words " * 175} for number in range(50)]
    call: dict[str, Any] = {"user_message": "long words", "queries": queries}
    found = await told(client, "replan_search", call)
    assert len(json.dumps(found)) < 2.2 * len(json.dumps(call))
    report: dict[str, Any] = {
        "search_id": found["search_id"],
        "zero_result_tables": ["t1"],
        "retry_count": 2,
    }
    over = await told(client, "replan_search", report)
    assert over["give_up"]
    assert len(over["reasoning"]) < 5_000
    assert "and 80 more" in over["reasoning"]


@pytest.mark.parametrize(
    "text", ["魚の本", "Süßwasserfische", "🙂", "", "where is it", "a" * 4_000, "کتاب"]
)
async def test_any_script_gets_a_plan_and_a_friendly_word(client: Client, text: str) -> None:
    call = {**empty("bücher", text, search_mode="фасет"), "user_message": text or "Bücher"}
    catalog = [
        {
            "table": "bücher",
            "search_modes": ["фасет", "всё"],
            "vocabulary": ["魚", "susswasserfisch"],
        }
    ]
    found = await told(client, "replan_search", {**call, "catalog": catalog})
    assert found["give_up"] or {query["table"] for query in found["new_queries"]} == {"bücher"}
    assert is_friendly(found["user_message"])


async def test_nothing_came_back_may_be_said_by_an_empty_list(engine: Engine) -> None:
    assert (await engine.replan(**QUANTUM, results=[])).new_queries


def report(text: str) -> dict[str, Any]:
    return {
        "queries": [{"table": "sessions", "search_mode": "master", "query_text": text}],
        "results": {"sessions": 0},
    }


async def test_no_report_of_many_at_once_is_lost(settings: Settings) -> None:
    texts = [
        f"{word} physics" for word in ("optics", "plasma", "nuclear", "solid", "laser", "particle")
    ]
    generous = replace(settings, max_retries=20)
    async with Engine(generous) as one, Engine(generous) as two:
        first = await one.replan(**QUANTUM)
        engines = [one, two] * 3
        found = await asyncio.gather(
            *(
                engine.replan(search_id=first.search_id, **report(text))
                for engine, text in zip(engines, texts, strict=True)
            )
        )
        again = plan(
            *({"table": "sessions", "search_mode": "master", "query_text": text} for text in texts)
        )
        later = await two.replan(search_id=first.search_id, results={"sessions": 0}, analysis=again)
    assert sorted(result.retry_count for result in found) == [2, 3, 4, 5, 6, 7]
    assert sum("was tried before" in note for note in later.notes) == len(texts)
    planned = [query for result in found for query in result.new_queries]
    assert len({str(query) for query in planned}) == len(planned)


WORDS = [f"word{number}" for number in range(3000)]
LONG: list[dict[str, Any]] = [
    {**CATALOG[0], "vocabulary": [*WORDS, "quanta", "computers"]},
    *CATALOG[1:],
]


def rows(path: Path, table: str) -> list[sqlite3.Row]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return list(connection.execute(f"SELECT * FROM {table}"))  # noqa: S608


async def test_a_catalog_is_kept_once_for_all_searches(engine: Engine, bank_path: Path) -> None:
    for _ in range(3):
        await engine.replan(**{**QUANTUM, "catalog": LONG})
    assert len(rows(bank_path, "search_catalogs")) == 1
    assert [len(row["body"]) < 8_000 for row in rows(bank_path, "searches")] == [True] * 3


async def test_a_server_that_never_saw_the_catalog_goes_on_with_it(settings: Settings) -> None:
    async with Engine(settings) as engine:
        first = await engine.replan(**{**QUANTUM, "catalog": LONG})
    async with Engine(settings) as other:
        second = await other.replan(search_id=first.search_id, results={"sessions": 0})
    assert second.new_queries
    assert "exhibitors" in {query.table for query in second.new_queries}
    assert not second.notes


async def test_a_catalog_that_gave_way_to_newer_ones_is_asked_for_again(engine: Engine) -> None:
    first = await engine.replan(**QUANTUM)
    for number in range(101):
        await engine.replan(
            **{**QUANTUM, "catalog": [{"table": "sessions", "vocabulary": [f"word{number}"]}]}
        )
    second = await engine.replan(search_id=first.search_id, results={"sessions": 0})
    assert second.notes[0] == "the catalog of this search is kept no longer: send it again"


async def test_a_catalog_that_comes_later_replaces_the_plan_and_costs_no_retry(
    engine: Engine,
) -> None:
    first = await engine.replan(**{**HELP, "catalog": []})
    second = await engine.replan(search_id=first.search_id, catalog=CATALOG)
    assert {query.table for query in first.new_queries} == {"sessions"}
    assert (second.strategy, second.new_queries[0].table) == ("pivot", "exhibitors")
    assert second.retry_count == first.retry_count


async def test_suggestions_that_come_later_are_taken_first_and_cost_no_retry(
    engine: Engine,
) -> None:
    first = await engine.replan(**QUANTUM)
    second = await engine.replan(
        search_id=first.search_id, suggestions=["Quantum machine learning"]
    )
    assert second.new_queries[0].query_text == "Quantum machine learning"
    assert second.retry_count == first.retry_count
    assert await engine.replan(search_id=first.search_id) == second


async def test_suggestions_beside_a_report_extend_the_search(engine: Engine) -> None:
    first = await engine.replan(**QUANTUM)
    call: dict[str, Any] = {"results": {"sessions": 0}, "suggestions": ["Quantum machine learning"]}
    second = await engine.replan(search_id=first.search_id, **call)
    assert "Quantum machine learning" in [query.query_text for query in second.new_queries]
    assert second.retry_count == first.retry_count + 1


@pytest.mark.parametrize("word", ["a\0b", "half \ud800 of it"])
async def test_a_bad_word_among_thousands_is_named(engine: Engine, word: str) -> None:
    with pytest.raises(InputError, match=r"catalog\[0\]\.vocabulary\[3000\]: it holds"):
        await engine.replan(
            **{**QUANTUM, "catalog": [{**CATALOG[0], "vocabulary": [*WORDS, word]}]}
        )
