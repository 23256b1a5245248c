from dataclasses import replace

import pytest

from mcp_reflect.replan.diagnosis import GAVE_UP, is_friendly, place_in_words
from mcp_reflect.replan.planner import plan
from tests.replan.samples import empty_state
from tests.replan.written_searches import Case, cases

FORBIDDEN = (
    "query",
    "table",
    "mode",
    "threshold",
    "filter",
    "limit",
    "catalog",
    "retry",
    "index",
    "null",
    "score",
    "_",
)


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.world}: {case.name}")
def test_no_message_to_a_person_has_a_technical_word(case: Case) -> None:
    for retry in (0, 1, 2):
        said = plan(replace(case.request, retry_count=retry), empty_state()).user_message
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
    assert place_in_words(table) == place


def test_giving_up_is_said_kindly_and_asks_back() -> None:
    assert is_friendly(GAVE_UP)
    assert GAVE_UP.endswith("?")


@pytest.mark.parametrize(
    "said",
    ["", "One. Two. Three.", "I changed the score_threshold.", "New QUERY coming up.", "x" * 301, '{"a": 1}'],
)
def test_what_is_long_or_technical_is_not_friendly(said: str) -> None:
    assert not is_friendly(said)


def test_a_word_that_the_person_used_may_be_said_back() -> None:
    assert is_friendly("Let me look for the dark mode again.", "is there a dark mode")
    assert not is_friendly("Let me look for the dark mode again.", "is there a night view")
