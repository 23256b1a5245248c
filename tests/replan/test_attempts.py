from dataclasses import replace

from mcp_reflect.models.search import Payoff, Query, SearchState, Tried
from mcp_reflect.replan import attempts
from mcp_reflect.replan.planner import plan
from tests.replan.samples import empty_state, query, request


def test_observing_twice_is_observing_once() -> None:
    once = attempts.observe(empty_state(), request())
    assert attempts.observe(once, request()) == once


def test_the_original_queries_are_those_of_the_first_call() -> None:
    state = attempts.observe(attempts.observe(empty_state(), request()), request(query("other")))
    assert state.original_queries == (query(),)


def is_new(query: Query, state: SearchState) -> bool:
    return attempts.repeated(query, state.tried, more_rows=True) is None


def test_the_same_words_in_another_order_are_a_repetition() -> None:
    state = attempts.observe(empty_state(), request())
    assert attempts.repeated(query("Computing, quantum"), state.tried) == Tried(query=query())


def test_another_table_mode_text_or_a_filter_less_is_new() -> None:
    state = attempts.observe(empty_state(), request(query(filters={"day": "monday"})))
    for other in (query(table="exhibitors"), query(search_mode="master"), query("quantum"), query()):
        assert is_new(other, state)
    assert not is_new(query(filters={"day": "monday", "room": "a"}), state)
    assert is_new(query(filters={"day": "tuesday", "room": "a"}), state)


def test_a_looser_bound_is_new_only_where_there_was_one() -> None:
    bounded = attempts.observe(empty_state(), request(query(score_threshold=0.4)))
    assert is_new(query(score_threshold=0.2), bounded)
    assert is_new(query(score_threshold=0.4, limit=50), bounded)
    assert not is_new(query(score_threshold=0.5, limit=3), bounded)
    bare = attempts.observe(empty_state(), request(query(limit=None)))
    assert not is_new(query(score_threshold=0.1, limit=50), bare)


def test_a_higher_limit_brings_nothing_where_nothing_was_found() -> None:
    state = attempts.observe(empty_state(), request(results={"sessions": 0}))
    assert not is_new(query(limit=50), state)


def test_a_plan_that_brought_rows_pays_off() -> None:
    made = plan(request(), empty_state())
    state = attempts.record(empty_state(), request(), made)
    later = request(*made.new_queries, results={"sessions": 3})
    assert attempts.observe(state, later).learned == (Payoff(kind=made.cause, strategy=made.strategy, used=1, paid=1),)


def test_a_plan_that_brought_nothing_does_not() -> None:
    made = plan(request(), empty_state())
    state = attempts.record(empty_state(), request(), made)
    learned = attempts.observe(state, request(*made.new_queries)).learned
    assert [(payoff.used, payoff.paid) for payoff in learned] == [(1, 0)]


def test_counts_alone_settle_the_plan_too() -> None:
    made = plan(request(), empty_state())
    state = attempts.record(empty_state(), request(), made)
    learned = attempts.observe(state, replace(request(), queries=(), results={"sessions": 1})).learned
    assert [(payoff.used, payoff.paid) for payoff in learned] == [(1, 1)]


def test_a_plan_that_was_not_followed_teaches_nothing_and_is_not_proposed_again() -> None:
    made = plan(request(), empty_state())
    state = attempts.record(empty_state(), request(), made)
    state = attempts.observe(state, request(query("something else")))
    assert state.learned == ()
    assert not any(is_new(new, state) for new in made.new_queries)


def test_an_outcome_settles_the_pending_plan() -> None:
    state = attempts.record(empty_state(), request(), plan(request(), empty_state()))
    settled = attempts.settle(state, paid=True)
    assert settled.pending is None
    assert settled.learned[0].paid == 1
    assert attempts.settle(settled, paid=True) == settled


def test_reopening_gives_back_the_attempts_before_the_plan() -> None:
    before = attempts.observe(empty_state(), request())
    after = attempts.record(before, request(), plan(request(), before))
    assert attempts.reopen(after) == before


def test_a_description_of_many_or_long_queries_is_short() -> None:
    many = [query(f"text {number} " * 500, filters={f"f{n}": "x" * 1000 for n in range(100)}) for number in range(60)]
    line = attempts.describe_all(many)
    assert line.endswith("; and 40 more")
    assert len(line) < 25_000
