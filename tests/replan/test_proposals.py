from dataclasses import replace

import pytest

from mcp_reflect.models.search import Proposal, Query, SearchPlan, Strategy
from mcp_reflect.replan import attempts
from mcp_reflect.replan.planner import accept, plan
from tests.replan.samples import empty_state, query, request


def _accept(*queries: Query, message: str = "Let me look again.", **more: object) -> SearchPlan:
    proposal = replace(Proposal(new_queries=queries, user_message=message), **more)  # pyright: ignore[reportArgumentType]
    return accept(proposal, request(), empty_state())


def test_a_good_plan_is_taken_as_it_is() -> None:
    made = _accept(query("physics"), reasoning="wider", strategy=Strategy.REWRITE)
    assert (made.new_queries, made.reasoning, made.strategy, made.notes) == (
        (query("physics"),),
        "wider",
        Strategy.REWRITE,
        (),
    )
    assert made.user_message == "Let me look again."


def test_a_table_in_other_letters_is_corrected_with_a_note() -> None:
    made = _accept(query("physics", "Session"))
    assert made.new_queries[0].table == "sessions"
    assert made.notes == ("query 1: table Session corrected to sessions",)


def test_a_table_that_nobody_described_is_taken_and_marked() -> None:
    made = _accept(query("physics", "warehouse"), query("physics"))
    assert made.new_queries == (query("physics", "warehouse"), query("physics"))
    assert made.notes == ("query 1: table warehouse is unverified: no catalog describes it",)


def test_a_pivot_and_a_relax_are_taken_without_a_catalog() -> None:
    asked = request(query(score_threshold=0.6), catalog=())
    proposal = Proposal(new_queries=(query(score_threshold=0.2), query("services", "exhibitors", search_mode="")))
    made = accept(proposal, asked, empty_state())
    assert [(new.table, new.score_threshold) for new in made.new_queries] == [("sessions", 0.2), ("exhibitors", 0.36)]


def test_a_mode_that_the_table_lacks_is_corrected_with_a_note() -> None:
    made = _accept(query("physics", search_mode="semantic"))
    assert made.new_queries[0].search_mode in {"faceted", "master"}
    assert "mode semantic corrected" in made.notes[0]


def test_a_plan_of_repeats_is_replaced_by_the_mechanical_one_and_says_so() -> None:
    made, mechanical = _accept(query(), query("", "warehouse")), plan(request(), empty_state())
    assert made.new_queries == mechanical.new_queries
    assert made.strategy is mechanical.strategy
    assert made.user_message == mechanical.user_message
    assert made.notes[-1] == "replaced by the plan of the rules"
    assert "was replaced" in made.reasoning


def test_technical_words_do_not_reach_the_person() -> None:
    made = _accept(query("physics"), message="I lowered the score_threshold of the query.")
    assert "threshold" not in made.user_message
    assert "user_message replaced" in made.notes[0]


def test_no_plan_is_taken_after_the_last_retry() -> None:
    state = attempts.observe(empty_state(), request())
    made = accept(Proposal(new_queries=(query("physics"),)), request(retry_count=2), state)
    assert made.give_up
    assert made.new_queries == ()


def test_the_host_may_go_on_where_the_mechanical_plan_has_no_idea_left() -> None:
    asked = request(query("zzz", limit=None), message="zzz", catalog=request().catalog[:1])
    state = empty_state()
    for text in ("zzz", "zzzz"):
        for mode in ("faceted", "master"):
            tried = query(text, limit=None, search_mode=mode)
            state = attempts.observe(state, replace(asked, queries=(tried,)))
    assert plan(asked, state).give_up
    made = accept(Proposal(new_queries=(query("sleep"),)), asked, state)
    assert (made.give_up, made.new_queries) == (False, (query("sleep"),))


def test_a_second_opinion_on_the_same_failure_may_use_the_mechanical_queries() -> None:
    mechanical = plan(request(), empty_state())
    state = attempts.record(empty_state(), request(), mechanical)
    made = accept(Proposal(new_queries=mechanical.new_queries), request(), attempts.reopen(state))
    assert made.new_queries == mechanical.new_queries
    assert made.retry_count == 1
    assert attempts.record(attempts.reopen(state), request(), made).retry_count == 1


@pytest.mark.parametrize(
    ("proposed", "strategy"),
    [
        ((query("quantum"), query("emerging technology")), Strategy.REWRITE),
        ((query("machine learning services", "exhibitors"),), Strategy.PIVOT),
        ((query(limit=50),), Strategy.RELAX),
    ],
)
def test_a_strategy_that_is_not_named_is_read_from_the_queries(proposed: tuple[Query, ...], strategy: Strategy) -> None:
    made = _accept(*proposed)
    assert (made.strategy, made.new_queries) == (strategy, proposed)


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (query("computing quantum"), "was tried before"),
        (query(limit=1), "was tried before"),
        (query("Physics"), "was tried before"),
        (query(" "), "asks for nothing"),
    ],
)
def test_what_would_find_nothing_new_is_refused_with_the_reason(refused: Query, reason: str) -> None:
    made = _accept(query("physics", search_mode=""), refused)
    assert made.new_queries == (query("physics"),)
    assert reason in made.notes[-1]


def test_more_than_three_queries_for_a_table_are_cut() -> None:
    made = _accept(*(query(text) for text in ("physics", "qubits", "cryptography", "algorithms")))
    assert (len(made.new_queries), "more than 3" in made.notes[0]) == (3, True)
