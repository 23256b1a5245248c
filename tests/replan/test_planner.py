from dataclasses import replace

from mcp_reflect.models.search import CatalogEntry, EmptyCause, Query, Strategy
from mcp_reflect.replan import attempts
from mcp_reflect.replan.planner import plan, relax_only
from tests.replan.samples import FAIR, empty_state, query, request, texts


def test_quantum_computing_is_looked_for_in_wider_words_in_the_same_table() -> None:
    made = plan(request(query(score_threshold=0.3)), empty_state())
    assert made.strategy is Strategy.REWRITE
    assert {new.table for new in made.new_queries} == {"sessions"}
    assert {"quantum", "computing"} & set(texts(made))


def test_who_can_help_is_looked_for_among_the_exhibitors() -> None:
    asked = request(
        query("ML deployment problems", score_threshold=0.3),
        message="Who can help me with my ML deployment problems?",
    )
    made = plan(asked, empty_state())
    assert made.strategy is Strategy.PIVOT
    assert made.new_queries[0].table == "exhibitors"
    assert "exhibitors" in made.user_message


def test_queries_that_found_something_stay() -> None:
    good, bad = query("cloud", "exhibitors"), query()
    made = plan(request(good, bad, results={"exhibitors": 4, "sessions": 0}), empty_state())
    assert made.kept_queries == (good,)
    assert good not in made.new_queries


def test_an_empty_table_can_be_named_without_counts() -> None:
    good, bad = query("cloud", "exhibitors"), query()
    assert plan(request(good, bad, zero_result_tables=("sessions",)), empty_state()).kept_queries == (good,)


def test_without_counts_everything_came_back_empty() -> None:
    assert plan(request(query(), query("cloud", "exhibitors")), empty_state()).kept_queries == ()


def test_nothing_is_planned_where_nothing_is_empty() -> None:
    made = plan(request(results={"sessions": 2}), empty_state())
    assert (made.new_queries, made.give_up) == ((), False)


def test_the_first_relaxation_lowers_the_threshold_and_doubles_the_limit() -> None:
    made = relax_only(request(query(score_threshold=0.4)), empty_state())
    assert made.new_queries == (query(score_threshold=0.15, limit=10),)


def test_the_later_relaxation_takes_the_widest_mode_and_is_never_narrower() -> None:
    before = query(score_threshold=0.15, limit=40)
    made = relax_only(request(before, retry_count=1), empty_state())
    assert made.new_queries == (replace(before, search_mode="master"),)


def test_a_relaxation_of_a_misspelt_table_asks_the_nearest_one() -> None:
    made = relax_only(request(query("qubits", "sesions", score_threshold=0.4)), empty_state())
    assert [new.table for new in made.new_queries] == ["sessions"]


def test_a_search_without_threshold_and_limit_gets_none() -> None:
    bare = query(limit=None)
    made = plan(request(bare), empty_state())
    assert all(new.limit is None and new.score_threshold is None for new in made.new_queries)


def test_the_larger_retry_count_wins_and_one_is_added() -> None:
    state = replace(empty_state(), retry_count=1)
    assert plan(request(retry_count=0), state).retry_count == 2
    assert plan(request(retry_count=1), empty_state()).retry_count == 2


def test_after_the_last_retry_it_gives_up_and_says_what_was_tried() -> None:
    state = attempts.observe(empty_state(), request())
    made = plan(request(query("qubits"), retry_count=2), state)
    assert made.give_up
    assert made.new_queries == ()
    assert "quantum computing" in made.reasoning
    assert made.user_message.endswith("?")


def test_the_first_call_helps_whatever_it_counts_up_to_the_maximum() -> None:
    assert [plan(request(retry_count=count), empty_state()).give_up for count in range(4)] == [
        False,
        False,
        False,
        True,
    ]


def test_a_table_that_does_not_exist_is_replaced_by_one_that_does() -> None:
    made = plan(request(query("cloud", "sesions")), empty_state())
    assert {new.table for new in made.new_queries} <= {"sessions", "exhibitors"}
    assert made.cause is EmptyCause.WRONG_TABLE


def test_a_mode_that_does_not_exist_is_replaced_by_one_that_does() -> None:
    made = plan(request(query(search_mode="regexp")), empty_state())
    assert {new.search_mode for new in made.new_queries} <= {"faceted", "master"}


def test_without_a_catalog_only_seen_tables_and_modes_are_used() -> None:
    state, asked = empty_state(), request(query(search_mode="fuzzy"), catalog=())
    for _ in range(2):
        made = plan(asked, state)
        assert {(new.table, new.search_mode) for new in made.new_queries} <= {("sessions", "fuzzy")}
        state, asked = attempts.record(state, asked, made), replace(asked, queries=made.new_queries)


def test_suggestions_of_the_tool_come_first_and_the_failed_words_do_not_come_again() -> None:
    offered = ("Antic", "Antic (magazine)", "Pero Antic")
    asked = request(query('"Antic"'), message="When was Antic first a magazine?", suggestions=offered)
    assert texts(plan(asked, empty_state()))[0] == "Antic (magazine)"


def test_the_words_of_the_data_replace_the_misspelled_ones() -> None:
    entry = replace(FAIR[0], vocabulary=("quantum", "algorithms"))
    made = plan(request(query("quantm algoritms"), message="quantm algoritms", catalog=(entry,)), empty_state())
    assert texts(made)[0] == "quantum algorithms"
    assert made.cause is EmptyCause.UNKNOWN_WORDS


def test_relaxing_drops_all_filters_at_once() -> None:
    filters = {"level": "beginner", "track": "security", "day": "monday"}
    made = plan(request(query("threats", filters=filters), message="a security talk on threats"), empty_state())
    assert (made.strategy, dict(made.new_queries[0].filters)) == (Strategy.RELAX, {})


def test_two_empty_queries_of_one_table_share_its_three_new_ones() -> None:
    made = plan(request(query("quantum computing"), query("error correction codes")), empty_state())
    assert len(made.new_queries) <= 3
    assert any("error" in text or "correction" in text for text in texts(made))


def test_a_query_with_filters_alone_can_be_relaxed() -> None:
    asked = Query(table="sessions", search_mode="faceted", filters={"day": "monday", "level": "expert"})
    made = plan(request(asked, message="expert talks on monday"), empty_state())
    assert made.new_queries
    assert all(new.query_text or new.filters for new in made.new_queries)


def test_a_table_without_modes_is_searched_without_one() -> None:
    entry = CatalogEntry(table="sessions")
    made = plan(request(query(search_mode=""), catalog=(entry,)), empty_state())
    assert {new.search_mode for new in made.new_queries} == {""}


def test_reasoning_names_the_likeliest_cause_for_developers() -> None:
    assert (
        "the threshold of 0.9 is too high"
        in plan(request(query("quantum", score_threshold=0.9)), empty_state()).reasoning
    )


def test_suggestions_of_the_tool_speak_for_rewriting() -> None:
    filters = {"day": "monday", "level": "expert"}
    made = plan(request(query("qubits", filters=filters), suggestions=("quantum error correction",)), empty_state())
    assert made.strategy is Strategy.REWRITE
    assert "The search tool suggests" in made.reasoning


def test_the_strategy_is_that_of_the_first_new_query() -> None:
    lone = request(query("zzz", limit=None), message="zzz", catalog=FAIR[:1])
    made = plan(lone, empty_state())
    assert made.new_queries[0].table == "sessions"
    assert made.strategy is not Strategy.PIVOT


def test_a_later_try_starts_from_the_first_question_and_looks_elsewhere_too() -> None:
    asked = request(query("zebra crossing"), message="zebra crossing")
    made = plan(asked, empty_state())
    state = attempts.record(empty_state(), asked, made)
    later = plan(replace(asked, queries=made.new_queries), state)
    assert "zebra crossing" in texts(later)
    assert "exhibitors" in {new.table for new in later.new_queries}
