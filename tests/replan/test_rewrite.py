import pytest

from mcp_reflect.models.search import CatalogEntry, Query
from mcp_reflect.replan.planner import plan
from tests.replan.samples import empty_state, query, request, texts

_MODES = ["keyword", "semantic", "vector", "hybrid", "fulltext", "bm25", "faceted", "master", "exact", "boolean", "x"]
_WORDS = ("volcano", "eruption", "iceland", "airport", "closed", "photo")


@pytest.mark.parametrize("vocabulary", [(), _WORDS])
@pytest.mark.parametrize("mode", _MODES)
def test_the_name_of_a_tables_only_mode_changes_no_words(mode: str, vocabulary: tuple[str, ...]) -> None:
    def planned(name: str) -> list[str]:
        place = CatalogEntry(table="articles", search_modes=(name,), vocabulary=vocabulary)
        failed = query("iceland volcanoe", "articles", search_mode=name)
        return texts(plan(request(failed, message="Which airport was closed?", catalog=(place,)), empty_state()))

    assert planned(mode) == planned("search")


def test_a_longer_wording_says_twice_what_the_person_said_too() -> None:
    place = CatalogEntry(table="articles")
    failed = query("eruption iceland", "articles", search_mode="")
    asked = request(failed, message="Which airport was closed by the eruption?", catalog=(place,))
    assert "eruption iceland airport closed eruption" in texts(plan(asked, empty_state()))


def test_a_message_of_the_same_words_gives_no_longer_wording() -> None:
    place = CatalogEntry(table="articles")
    failed = query("eruption iceland airport", "articles", search_mode="")
    asked = request(failed, message="the eruption, iceland airport", catalog=(place,))
    assert all(len(text.split()) <= 3 for text in texts(plan(asked, empty_state())))


def test_our_own_words_come_beside_two_suggestions() -> None:
    asked = request(query("volcano"), message="volcano in Iceland", suggestions=("Etna", "Hekla volcano", "Vesuvius"))
    made = texts(plan(asked, empty_state()))
    assert len(set(made) & set(asked.suggestions)) == 2
    assert "volcano iceland" in made


def test_a_single_word_is_widened_by_the_message_before_its_number_changes() -> None:
    def planned(word: str, message: str) -> list[str]:
        failed, place = Query(table="talks", query_text=word), CatalogEntry(table="talks")
        return texts(plan(request(failed, message=message, catalog=(place,)), empty_state()))

    assert planned("quantum", "Which talks are about quantum computers?")[:2] == ["quantum computers", "computers"]
    assert planned("invoice", "show me the invoices") == ["invoices"]
