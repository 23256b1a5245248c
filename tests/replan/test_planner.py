"""Which queries are planned after a search that found nothing, also in the style of users, and which of a model's."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.models.search import (
    CatalogEntry,
    EmptyCause,
    PlanProposal,
    Query,
    SearchPlan,
    SearchRequest,
    SearchState,
    Strategy,
)
from mcp_reflect.replan import attempts
from mcp_reflect.replan.planner import plan, relax_only
from mcp_reflect.replan.proposals import accept
from mcp_reflect.replan.vocabulary import vocabulary
from mcp_reflect.replan.words import content, tokens
from mcp_reflect.schemas.search import read_catalog, read_queries
from tests.replan.failed_searches import measure
from tests.replan.samples import empty_state, query, request, texts


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


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({"results": {"exhibitors": 4, "sessions": 0}}, (query("cloud", "exhibitors"),)),
        ({"zero_result_tables": ("sessions",)}, (query("cloud", "exhibitors"),)),
        ({}, ()),
    ],
)
def test_queries_that_found_something_stay(told: dict[str, Any], kept: tuple[Query, ...]) -> None:
    made = plan(request(query("cloud", "exhibitors"), query(), **told), empty_state())
    assert made.kept_queries == kept
    assert not any(query in made.new_queries for query in kept)


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
    asked = request(
        query('"Antic"'), message="When was Antic first a magazine?", suggestions=offered
    )
    assert texts(plan(asked, empty_state()))[0] == "Antic (magazine)"


def test_relaxing_drops_all_filters_at_once() -> None:
    filters = {"level": "beginner", "track": "security", "day": "monday"}
    made = plan(
        request(query("threats", filters=filters), message="a security talk on threats"),
        empty_state(),
    )
    assert (made.strategy, dict(made.new_queries[0].filters)) == (Strategy.RELAX, {})


def test_two_empty_queries_of_one_table_share_its_three_new_ones() -> None:
    made = plan(request(query("quantum computing"), query("error correction codes")), empty_state())
    assert len(made.new_queries) <= 3
    assert any("error" in text or "correction" in text for text in texts(made))


def test_a_query_with_filters_alone_can_be_relaxed() -> None:
    asked = Query(
        table="sessions", search_mode="faceted", filters={"day": "monday", "level": "expert"}
    )
    made = plan(request(asked, message="expert talks on monday"), empty_state())
    assert made.new_queries
    assert all(new.query_text or new.filters for new in made.new_queries)


def test_suggestions_of_the_tool_speak_for_rewriting() -> None:
    filters = {"day": "monday", "level": "expert"}
    made = plan(
        request(query("qubits", filters=filters), suggestions=("quantum error correction",)),
        empty_state(),
    )
    assert made.strategy is Strategy.REWRITE
    assert "The search tool suggests" in made.reasoning


def test_a_later_try_starts_from_the_first_question_and_looks_elsewhere_too() -> None:
    asked = request(query("zebra crossing"), message="zebra crossing")
    made = plan(asked, empty_state())
    state = attempts.record(empty_state(), asked, made)
    later = plan(replace(asked, queries=made.new_queries), state)
    assert "zebra crossing" in texts(later)
    assert "exhibitors" in {new.table for new in later.new_queries}


def _accept(*queries: Query, message: str = "Let me look again.", **more: object) -> SearchPlan:
    proposal = replace(PlanProposal(new_queries=queries, user_message=message), **more)  # pyright: ignore[reportArgumentType]
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


def test_a_table_that_the_catalog_does_not_have_is_refused_and_named() -> None:
    made = _accept(query("physics", "warehouse"), query("physics"))
    assert made.new_queries == (query("physics"),)
    assert made.notes[-1] == "query 1: refused: the catalog has no table warehouse"


def test_a_pivot_and_a_relax_are_taken_without_a_catalog() -> None:
    asked = request(query(score_threshold=0.6), catalog=())
    proposal = PlanProposal(
        new_queries=(query(score_threshold=0.2), query("services", "exhibitors", search_mode=""))
    )
    made = accept(proposal, asked, empty_state())
    assert [(new.table, new.score_threshold) for new in made.new_queries] == [
        ("sessions", 0.2),
        ("exhibitors", 0.36),
    ]


@pytest.mark.parametrize("table", ["exhibitors", "sessions", "speakers"])
def test_a_proposal_without_bounds_has_those_of_the_failed_query_of_its_table(table: str) -> None:
    limits = {"speakers": 30, "exhibitors": 10, "sessions": 20}
    failed = [query("physics", name, limit=limit) for name, limit in limits.items()]
    proposed = PlanProposal(new_queries=(query("biology", table, limit=None),))
    made = accept(proposed, request(*failed, catalog=()), empty_state())
    assert [(new.table, new.limit) for new in made.new_queries] == [(table, limits[table])]


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
    made = accept(PlanProposal(new_queries=(query("physics"),)), request(retry_count=2), state)
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
    made = accept(PlanProposal(new_queries=(query("sleep"),)), asked, state)
    assert (made.give_up, made.new_queries) == (False, (query("sleep"),))


def test_a_second_opinion_on_the_same_failure_may_use_the_mechanical_queries() -> None:
    mechanical = plan(request(), empty_state())
    state = attempts.record(empty_state(), request(), mechanical)
    made = accept(
        PlanProposal(new_queries=mechanical.new_queries), request(), attempts.reopen(state)
    )
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
def test_a_strategy_that_is_not_named_is_read_from_the_queries(
    proposed: tuple[Query, ...], strategy: Strategy
) -> None:
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
def test_what_would_find_nothing_new_is_refused_with_the_reason(
    refused: Query, reason: str
) -> None:
    made = _accept(query("physics", search_mode=""), refused)
    assert made.new_queries == (query("physics"),)
    assert reason in made.notes[-1]


def test_more_than_three_queries_for_a_table_are_cut() -> None:
    made = _accept(*(query(text) for text in ("physics", "qubits", "cryptography", "algorithms")))
    assert (len(made.new_queries), "more than 3" in made.notes[0]) == (3, True)


def test_the_original_queries_are_those_of_the_first_call() -> None:
    state = attempts.observe(attempts.observe(empty_state(), request()), request(query("other")))
    assert state.original_queries == (query(),)


def is_new(query: Query, state: SearchState) -> bool:
    return attempts.repeated(query, state.tried, more_rows=True) is None


def test_another_table_mode_text_or_a_filter_less_is_new() -> None:
    state = attempts.observe(empty_state(), request(query(filters={"day": "monday"})))
    for other in (
        query(table="exhibitors"),
        query(search_mode="master"),
        query("quantum"),
        query(),
    ):
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


_CASES = json.loads((Path(__file__).parent / "cases/users/searches.json").read_text("utf-8"))
_SEARCHES: dict[str, dict[str, Any]] = {search["id"]: search for search in _CASES["searches"]}


def _planned(search: dict[str, Any]) -> SearchPlan:
    catalog = read_catalog(_CASES["catalogs"][search["catalog"]]) if search["catalog"] else ()
    queries = read_queries([search["query"]], table="search")
    request = SearchRequest(
        search_id=search["id"], user_message=search["message"], queries=queries, catalog=catalog
    )
    return plan(request, SearchState(search_id=search["id"]))


@pytest.mark.parametrize(
    ("search", "table", "text"),
    [
        ("events0", "exhibitors", "MLOps services"),
        ("events2", "sessions", "Kubernetes autoscaling"),
        ("events3", "venue_info", "car park P1"),
        ("events4", "speakers", "Alexandra Nowak"),
        ("events10", "speakers", "Jürgen Möller"),
        ("events11", "sessions", "PostgreSQL"),
        ("kb28", "articles", "Ratenzahlung"),
        ("kb32", "tickets", "App stürzt ab"),
        ("kb33", "tickets", "doppelt abgebucht"),
        ("kb34", "articles", "Vertrag Kündigung"),
        ("shop42", "products", "hiking boots"),
        ("shop44", "products", "head lamp"),
        ("web97", "web_search", "flights Linz Tirana sunday"),
        ("web102", "web_search", "gluten free Sachertorte recipe without almonds"),
        ("web100", "web_search", "Niederösterreich population"),
        ("fulltext113", "documents", '"Nordwind AG" contract'),
        ("fulltext122", "documents", "Angebot Fenster"),
    ],
)
def test_a_person_would_try_this_next(search: str, table: str, text: str) -> None:
    assert (table, text) in [
        (query.table, query.query_text) for query in _planned(_SEARCHES[search]).new_queries[:2]
    ]


def test_a_statement_has_no_splinters_of_umlauts() -> None:
    first = _planned(_SEARCHES["sql80"]).new_queries[0].query_text
    assert first.endswith("LOWER(name) LIKE '%m_ller%gmbh%'")


def test_words_that_the_vocabulary_lacks_are_left_to_the_caller() -> None:
    made = _planned(_SEARCHES["events8"])
    assert made.reasoning.startswith(
        'The vocabulary of sessions does not have "Barrierefreiheit", "Vorträge"'
    )
    assert "accessibility" in made.open_moves[0].write


@pytest.mark.parametrize(
    ("search", "swapped"), [("events1", {"edge computing", "computing"}), ("kb38", {"Kreditkarte"})]
)
def test_a_subject_is_not_swapped_for_another_or_its_opposite(
    search: str, swapped: set[str]
) -> None:
    made = _planned(_SEARCHES[search])
    assert swapped.isdisjoint(texts(made))
    assert "may not be there" in made.reasoning
    assert [move.move for move in made.open_moves] == ["rewrite", "pivot", "ask"]


@pytest.mark.parametrize(
    ("search", "table", "has"),
    [
        ("events14", "venue_info", "first aid"),
        ("events16", "exhibitors", "recruiting"),
        ("kb36", "tickets", "Rabatt"),
    ],
)
def test_what_other_tables_have_is_told_where_this_one_has_nothing(
    search: str, table: str, has: str
) -> None:
    pivot = next(
        move.write for move in _planned(_SEARCHES[search]).open_moves if move.move == "pivot"
    )
    assert f"{table} (" in pivot
    assert has in pivot


@pytest.mark.parametrize(
    ("search", "told"),
    [
        ("events17", 'not have "Observability for everyone"'),
        ("sql89", "no row meets all conditions"),
        ("fulltext112", "all 5 words"),
    ],
)
def test_the_diagnosis_says_what_the_query_shows(search: str, told: str) -> None:
    assert told in _planned(_SEARCHES[search]).reasoning


@pytest.mark.parametrize(
    ("asked", "written"), [("Moeller", "Möller"), ("Möller", "Moeller"), ("kuenden", "künden")]
)
def test_umlauts_and_their_two_letters_are_one(asked: str, written: str) -> None:
    known = vocabulary((f"Anna {written}",))
    assert known.written(known.matches((asked,))[asked]) == written


def test_a_cause_is_named_only_where_the_call_shows_it() -> None:
    assert _planned(_SEARCHES["events2"]).cause == "unknown_words"
    guessed = _planned(_SEARCHES["vector105"])
    assert guessed.cause == "unknown"
    assert guessed.reasoning.startswith("Not tested: whether the threshold of 0.9 is too high")


@pytest.mark.parametrize("search", _SEARCHES.values(), ids=_SEARCHES)
def test_every_proposal_is_new_and_never_question_and_query_together(
    search: dict[str, Any],
) -> None:
    (failed,) = read_queries([search["query"]], table="search")
    made = _planned(search)
    assert failed not in made.new_queries
    assert made.new_queries or made.open_moves
    if search["id"].startswith(("web", "fulltext", "vector")):
        longest = max(len(tokens(search["query"]["query_text"])), len(content(search["message"])))
        assert all(len(tokens(new.query_text)) <= longest for new in made.new_queries)


def test_three_of_four_failed_searches_are_mended_within_two_calls() -> None:
    halves = [line for line in measure() if line["reason"] == "all"]
    mended, tried = (
        sum(int(str(line[name])) for line in halves) for name in ("two_calls", "searches")
    )
    assert tried >= 100
    assert mended >= 0.75 * tried


def test_a_search_without_a_mode_is_not_proposed_again_in_the_mode_of_its_table() -> None:
    articles = CatalogEntry(
        table="articles", search_modes=("fulltext",), vocabulary=("reset password", "rate limit")
    )
    failed = Query(table="articles", query_text="429 too many requests")
    made = plan(request(failed, message="error 429", catalog=(articles,)), empty_state())
    assert made.new_queries == ()
    assert "rate limit" in made.open_moves[0].write


@pytest.mark.parametrize(
    ("text", "vocabulary", "first", "proposed"),
    [
        ("ML deployment", ("MLOps", "cloud hosting"), "MLOps", "MLOps"),
        ("parking hall 4", ("car park P1", "hall 4"), "park hall 4", "car park P1"),
        ("Urlaub beantragen", ("Urlaubsantrag", "Elternzeit"), "Urlaubsantrag", "Urlaubsantrag"),
        ("card rejected", ("credit card", "payment declined"), "credit card", "credit card"),
    ],
)
def test_words_are_proposed_as_the_data_has_them(
    text: str, vocabulary: tuple[str, ...], first: str, proposed: str
) -> None:
    place = CatalogEntry(table="venue", search_modes=("faceted",), vocabulary=vocabulary)
    failed = Query(table="venue", query_text=text, search_mode="faceted")
    made = texts(plan(request(failed, message=text, catalog=(place,)), empty_state()))
    assert made[0] == first
    assert proposed in made
    assert text.rsplit(maxsplit=1)[-1] not in made


def test_a_name_of_code_is_looked_for_alone_before_it_is_written_otherwise() -> None:
    failed = Query(table="code", query_text="CONN_MAX_AGE setting loader")
    made = texts(plan(request(failed, message="who reads CONN_MAX_AGE", catalog=()), empty_state()))
    assert made[0] == "CONN_MAX_AGE"
