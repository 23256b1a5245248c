from dataclasses import replace

import pytest

from mcp_reflect.models.search import CatalogEntry
from mcp_reflect.replan import catalog
from tests.replan.samples import FAIR, query, request

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
        catalog.widest(CatalogEntry(table="t", search_modes=("faceted", "vector_search", "exact"))) == "vector_search"
    )
    assert catalog.widest(CatalogEntry(table="t")) == ""


def test_a_need_fits_the_table_whose_description_answers_it() -> None:
    sessions, exhibitors = FAIR
    need = "Who can help me with my ML deployment problems?"
    assert _PLACES.fit(exhibitors, need) > _PLACES.fit(sessions, need)
    assert _PLACES.fit(sessions, "Find sessions about quantum computing") > 0


def test_a_vocabulary_that_has_the_words_speaks_for_its_table() -> None:
    with_words = replace(FAIR[0], vocabulary=("kubernetes", "cost"))
    places = catalog.Catalog(replace(request(), catalog=(with_words,)))
    assert places.fit(with_words, "kubernetes costs") > _PLACES.fit(FAIR[0], "kubernetes costs")


@pytest.mark.parametrize(
    ("value", "meant"),
    [("Machine-Learning", "machine learning"), ("secruity", "security"), ("clouds", "cloud"), ("robotics", None)],
)
def test_a_filter_value_is_known_by_a_near_spelling(value: str, meant: str | None) -> None:
    entry = replace(FAIR[0], fields={"track": ("machine learning", "security", "cloud")})
    assert catalog.closing_filters(query(filters={"track": value}), entry).get("track") == meant
