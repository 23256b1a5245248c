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


def test_a_message_of_the_same_words_gives_no_longer_wording() -> None:
    place = CatalogEntry(table="articles")
    failed = query("eruption iceland airport", "articles", search_mode="")
    asked = request(failed, message="the eruption, iceland airport", catalog=(place,))
    assert all(len(text.split()) <= 3 for text in texts(plan(asked, empty_state())))


def test_the_message_and_the_text_are_never_glued_together() -> None:
    failed = query("eruption iceland", "articles", search_mode="")
    asked = request(
        failed, message="Which airport was closed by the eruption?", catalog=(CatalogEntry(table="articles"),)
    )
    assert all(len(text.split()) == len(set(text.split())) <= 4 for text in texts(plan(asked, empty_state())))


def test_a_single_common_word_is_not_proposed() -> None:
    failed = Query(table="talks", query_text="open new day")
    made = plan(request(failed, message="open new day", catalog=(CatalogEntry(table="talks"),)), empty_state())
    assert all(len(text.split()) > 1 for text in texts(made))
