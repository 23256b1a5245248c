"""How a search is read, which tables it may go to, and what is told about it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mcp_reflect.errors import InputError
from mcp_reflect.models.search import CatalogEntry, PlanProposal, Query, Strategy
from mcp_reflect.replan import catalog
from mcp_reflect.replan.messages import is_friendly, table_in_words
from mcp_reflect.replan.planner import plan
from mcp_reflect.schemas.search import read_catalog, read_proposal, read_queries, read_results
from tests.replan.failed_searches import request_of, searches
from tests.replan.samples import FAIR, empty_state, query, request


def test_a_whole_proposal_is_read() -> None:
    queries = [
        {"table": "t", "search_mode": "m", "query_text": "x", "limit": 3, "score_threshold": 0.2}
    ]
    given = {
        "reasoning": "r",
        "strategy": "pivot",
        "user_message": "u",
        "new_queries": queries,
        "mood": "fine",
    }
    assert read_proposal(given) == PlanProposal(
        reasoning="r",
        strategy=Strategy.PIVOT,
        user_message="u",
        new_queries=(
            Query(table="t", search_mode="m", query_text="x", limit=3, score_threshold=0.2),
        ),
    )


def test_other_names_and_numbers_in_quotes_are_understood() -> None:
    given = {
        "strategy": "Broaden",
        "new_queries": [{"table": "t", "query": "x", "mode": "m", "k": "7"}],
    }
    assert read_proposal(given) == PlanProposal(
        strategy=Strategy.RELAX,
        new_queries=(Query(table="t", query_text="x", search_mode="m", limit=7),),
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
    (
        {"new_queries": [{"table": "t", "score_threshold": 1.5}]},
        "analysis.new_queries[0].score_threshold",
    ),
    (
        {"new_queries": [{"table": "t", "score_threshold": "nan"}]},
        "analysis.new_queries[0].score_threshold",
    ),
    ({"new_queries": [{"table": "t", "filters": ["a"]}]}, "analysis.new_queries[0].filters"),
    ({"new_queries": [], "strategy": "give up"}, "analysis.strategy"),
    ({"new_queries": [], "reasoning": ["because"]}, "analysis.reasoning"),
]


@pytest.mark.parametrize(("given", "field"), _UNREADABLE)
def test_what_cannot_be_read_is_named(given: Any, field: str) -> None:
    with pytest.raises(InputError) as caught:
        read_proposal(given)
    assert caught.value.field == field


def test_fields_may_be_names_or_names_with_values() -> None:
    listed, valued = read_catalog(
        [{"table": "a", "fields": ["x"]}, {"table": "b", "fields": {"x": ["1", 2]}}]
    )
    assert (listed.fields, valued.fields) == ({"x": ()}, {"x": ("1", "2")})


def test_results_may_be_counts_or_rows() -> None:
    assert read_results({"a": 3, "b": [1, 2], "c": None, "d": []}) == {
        "a": 3,
        "b": 2,
        "c": 0,
        "d": 0,
    }


@pytest.mark.parametrize(
    ("read", "given", "told"),
    [
        (read_queries, {"table": "t"}, "queries: is not a list"),
        (read_catalog, [{"description": "rows"}], r"catalog\[0\].table: it is missing"),
        (read_results, {"a": "three"}, r"results\.a"),
    ],
)
def test_what_is_of_another_kind_is_named(
    read: Callable[[Any], object], given: Any, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        read(given)


_PLACES = catalog.Catalog(request())


@pytest.mark.parametrize("said", ["Sessions", "session", "sesions", "SESSIONS ", "Session_s"])
def test_a_table_is_known_by_a_near_name(said: str) -> None:
    near = _PLACES.nearest(said)
    assert near is not None
    assert near.table == "sessions"


@pytest.mark.parametrize("said", ["speakers", "s", "", "日本"])
def test_a_far_name_is_no_table(said: str) -> None:
    assert _PLACES.nearest(said) is None


def test_an_unknown_mode_becomes_the_nearest_in_breadth() -> None:
    entry = CatalogEntry(table="t", search_modes=("exact", "keyword", "hybrid"))
    assert catalog.in_table(query(search_mode="master"), entry).search_mode == "hybrid"
    assert catalog.in_table(query(search_mode="boolean"), entry).search_mode == "keyword"
    assert catalog.in_table(query(search_mode="EXACT"), entry).search_mode == "exact"


def test_the_widest_mode_is_known_by_its_name() -> None:
    assert (
        catalog.widest(CatalogEntry(table="t", search_modes=("faceted", "vector_search", "exact")))
        == "vector_search"
    )
    assert catalog.widest(CatalogEntry(table="t")) == ""


def test_a_need_fits_the_table_whose_description_answers_it() -> None:
    sessions, exhibitors = FAIR
    need = "Who can help me with my ML deployment problems?"
    assert _PLACES.relevance(exhibitors, need) > _PLACES.relevance(sessions, need)
    assert _PLACES.relevance(sessions, "Find sessions about quantum computing") > 0


def test_a_vocabulary_that_has_the_words_speaks_for_its_table() -> None:
    with_words = replace(FAIR[0], vocabulary=("kubernetes", "cost"))
    places = catalog.Catalog(replace(request(), catalog=(with_words,)))
    assert places.relevance(with_words, "kubernetes costs") > _PLACES.relevance(
        FAIR[0], "kubernetes costs"
    )


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("Machine-Learning", "machine learning"),
        ("secruity", "security"),
        ("clouds", "cloud"),
        ("robotics", None),
    ],
)
def test_a_filter_value_is_known_by_a_near_spelling(value: str, meant: str | None) -> None:
    entry = replace(FAIR[0], fields={"track": ("machine learning", "security", "cloud")})
    assert catalog.impossible_filters(query(filters={"track": value}), entry).get("track") == meant


FORBIDDEN = "query table mode threshold filter limit catalog retry index null score _".split()


def test_no_message_to_a_person_has_a_technical_word() -> None:
    for search in searches():
        for retry in (0, 1, 2):
            said = plan(replace(request_of(search), retry_count=retry), empty_state()).user_message
            assert is_friendly(said)
            assert not any(word in said.lower() for word in FORBIDDEN)


@pytest.mark.parametrize(
    ("table", "place"),
    [
        ("exhibitors", "among the exhibitors"),
        ("help_articles", "among the help articles"),
        ("stock", "in the stock section"),
        ("tbl_users", "in another place"),
        ("query_log", "in another place"),
        ("X9", "in another place"),
    ],
)
def test_a_table_is_named_as_a_place_unless_its_name_is_technical(table: str, place: str) -> None:
    assert table_in_words(table) == place


@pytest.mark.parametrize(
    "said",
    [
        "",
        "One. Two. Three.",
        "I changed the score_threshold.",
        "New QUERY coming up.",
        "x" * 301,
        '{"a": 1}',
    ],
)
def test_what_is_long_or_technical_is_not_friendly(said: str) -> None:
    assert not is_friendly(said)


def test_a_word_that_the_person_used_may_be_said_back() -> None:
    assert is_friendly("Let me look for the dark mode again.", "is there a dark mode")
    assert not is_friendly("Let me look for the dark mode again.", "is there a night view")
