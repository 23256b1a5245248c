from typing import Any

import pytest

from mcp_reflect.errors import InputError
from mcp_reflect.models.search import Proposal, Query, Strategy
from mcp_reflect.schemas.search import read_catalog, read_proposal, read_queries, read_results


def test_a_whole_proposal_is_read() -> None:
    queries = [{"table": "t", "search_mode": "m", "query_text": "x", "limit": 3, "score_threshold": 0.2}]
    given = {"reasoning": "r", "strategy": "pivot", "user_message": "u", "new_queries": queries, "mood": "fine"}
    assert read_proposal(given) == Proposal(
        reasoning="r",
        strategy=Strategy.PIVOT,
        user_message="u",
        new_queries=(Query(table="t", search_mode="m", query_text="x", limit=3, score_threshold=0.2),),
    )


def test_other_names_and_numbers_in_quotes_are_understood() -> None:
    given = {"strategy": "Broaden", "new_queries": [{"table": "t", "query": "x", "mode": "m", "k": "7"}]}
    assert read_proposal(given) == Proposal(
        strategy=Strategy.RELAX, new_queries=(Query(table="t", query_text="x", search_mode="m", limit=7),)
    )


_UNREADABLE: list[tuple[Any, str]] = [
    ("relax", "analysis"),
    ({"strategy": "relax"}, "analysis.new_queries"),
    ({"new_queries": "cloud"}, "analysis.new_queries"),
    ({"new_queries": ["cloud"]}, "analysis.new_queries[0]"),
    ({"new_queries": [{"query_text": "cloud"}]}, "analysis.new_queries[0].table"),
    ({"new_queries": [{"table": "t", "query_text": {}}]}, "analysis.new_queries[0].query_text"),
    ({"new_queries": [{"table": "t", "limit": 0}]}, "analysis.new_queries[0].limit"),
    ({"new_queries": [{"table": "t", "limit": 2.5}]}, "analysis.new_queries[0].limit"),
    ({"new_queries": [{"table": "t", "score_threshold": 1.5}]}, "analysis.new_queries[0].score_threshold"),
    ({"new_queries": [{"table": "t", "score_threshold": "nan"}]}, "analysis.new_queries[0].score_threshold"),
    ({"new_queries": [{"table": "t", "filters": ["a"]}]}, "analysis.new_queries[0].filters"),
    ({"new_queries": [], "strategy": "give up"}, "analysis.strategy"),
    ({"new_queries": [], "reasoning": ["because"]}, "analysis.reasoning"),
]


@pytest.mark.parametrize(("given", "field"), _UNREADABLE)
def test_what_cannot_be_read_is_named(given: Any, field: str) -> None:
    with pytest.raises(InputError) as caught:
        read_proposal(given)
    assert caught.value.field == field


def test_queries_that_are_no_list_are_named() -> None:
    with pytest.raises(InputError, match="queries: is not a list"):
        read_queries({"table": "t"})


def test_fields_may_be_names_or_names_with_values() -> None:
    (listed, valued), _ = read_catalog([{"table": "a", "fields": ["x"]}, {"table": "b", "fields": {"x": ["1", 2]}}])
    assert (listed.fields, valued.fields) == ({"x": ()}, {"x": ("1", "2")})


def test_a_catalog_entry_needs_a_table() -> None:
    with pytest.raises(InputError, match=r"catalog\[0\].table: it is missing"):
        read_catalog([{"description": "rows"}])


def test_results_may_be_counts_or_rows() -> None:
    assert read_results({"a": 3, "b": [1, 2], "c": None, "d": []}) == {"a": 3, "b": 2, "c": 0, "d": 0}


def test_results_of_another_kind_are_named() -> None:
    with pytest.raises(InputError, match=r"results\.a"):
        read_results({"a": "three"})
