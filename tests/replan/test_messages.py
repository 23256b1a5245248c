from dataclasses import replace

import pytest

from mcp_reflect.models.search import EmptyCause, SearchDiagnosis, SearchFinding, Strategy
from mcp_reflect.replan import messages
from mcp_reflect.replan.planner import plan
from tests.replan.samples import empty_state, query
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
        assert messages.is_friendly(said)
        assert not any(word in said.lower() for word in FORBIDDEN)


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("kind", EmptyCause)
def test_every_strategy_and_cause_has_a_friendly_sentence(strategy: Strategy, kind: EmptyCause) -> None:
    finding = SearchFinding(kind=kind, table="t", strategy=strategy, weight=1.0, detail="")
    for table in ("exhibitors", "tbl_users", "query_log", "help_articles", "X9", "stock"):
        said = messages.tell(strategy, SearchDiagnosis(findings=(finding,)), (query(table=table),), frozenset({"t"}))
        assert messages.is_friendly(said), said


def test_a_table_with_a_technical_name_is_another_place() -> None:
    said = messages.tell(Strategy.PIVOT, SearchDiagnosis(), (query(table="tbl_x2"),), frozenset())
    assert "in another place" in said


def test_giving_up_is_said_kindly_and_asks_back() -> None:
    assert messages.is_friendly(messages.GAVE_UP)
    assert messages.GAVE_UP.endswith("?")


@pytest.mark.parametrize(
    "said",
    ["", "One. Two. Three.", "I changed the score_threshold.", "New QUERY coming up.", "x" * 301, '{"a": 1}'],
)
def test_what_is_long_or_technical_is_not_friendly(said: str) -> None:
    assert not messages.is_friendly(said)


def test_a_word_that_the_person_used_may_be_said_back() -> None:
    assert messages.is_friendly("Let me look for the dark mode again.", "is there a dark mode")
    assert not messages.is_friendly("Let me look for the dark mode again.", "is there a night view")
