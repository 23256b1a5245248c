"""A catalog that is sent once, or late, or again, or with what no store should hold."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.services.engine import Engine
from tests.services.replan_calls import CATALOG, HELP, QUANTUM

WORDS = [f"word{number}" for number in range(3000)]
LONG: list[dict[str, Any]] = [{**CATALOG[0], "vocabulary": [*WORDS, "quanta", "computers"]}, *CATALOG[1:]]


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
        await engine.replan(**{**QUANTUM, "catalog": [{"table": "sessions", "vocabulary": [f"word{number}"]}]})
    second = await engine.replan(search_id=first.search_id, results={"sessions": 0})
    assert second.notes[0] == "the catalog of this search is kept no longer: send it again"


async def test_a_catalog_that_comes_later_replaces_the_plan_and_costs_no_retry(engine: Engine) -> None:
    first = await engine.replan(**{**HELP, "catalog": []})
    second = await engine.replan(search_id=first.search_id, catalog=CATALOG)
    assert {query.table for query in first.new_queries} == {"sessions"}
    assert (second.strategy, second.new_queries[0].table) == ("pivot", "exhibitors")
    assert second.retry_count == first.retry_count


async def test_suggestions_that_come_later_are_taken_first_and_cost_no_retry(engine: Engine) -> None:
    first = await engine.replan(**QUANTUM)
    second = await engine.replan(search_id=first.search_id, suggestions=["Quantum machine learning"])
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
        await engine.replan(**{**QUANTUM, "catalog": [{**CATALOG[0], "vocabulary": [*WORDS, word]}]})
