from mcp_reflect.models.search import Query, SearchState, Tried
from mcp_reflect.replan import attempts
from mcp_reflect.replan.planner import plan
from tests.replan.samples import empty_state, query, request


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


def test_a_plan_that_was_not_followed_is_not_proposed_again() -> None:
    made = plan(request(), empty_state())
    state = attempts.record(empty_state(), request(), made)
    state = attempts.observe(state, request(query("something else")))
    assert not any(is_new(new, state) for new in made.new_queries)


def test_reopening_gives_back_the_attempts_before_the_plan() -> None:
    before = attempts.observe(empty_state(), request())
    after = attempts.record(before, request(), plan(request(), before))
    assert attempts.reopen(after) == before
