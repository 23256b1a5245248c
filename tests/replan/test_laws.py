"""Laws that hold for any request, also for a nonsensical one."""

import json
from dataclasses import asdict, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_reflect.models.common import from_json
from mcp_reflect.models.search import (
    CatalogEntry,
    PlanProposal,
    Query,
    SearchPlan,
    SearchRequest,
    SearchState,
    Strategy,
    Tried,
)
from mcp_reflect.replan import attempts
from mcp_reflect.replan.catalog import Catalog, breadth
from mcp_reflect.replan.messages import is_friendly
from mcp_reflect.replan.moves import ladder, relaxed
from mcp_reflect.replan.planner import MOST_QUERIES, plan, relax_only
from mcp_reflect.replan.proposals import accept

_TABLES = st.sampled_from(["sessions", "Sessions", "speakers", "tbl_x", "", "日本"])
_MODES = st.sampled_from(["", "exact", "faceted", "semantic", "master", "regexp"])
_TEXTS = st.text(max_size=30) | st.sampled_from(
    [
        "quantum computing",
        '"zero trust"',
        "ML db UI",
        "how do I wash my down jacket",
        "the",
        "a b c",
        "kuberentes",
    ]
)
_FILTERS = st.dictionaries(
    st.sampled_from(["day", "level"]), st.text(max_size=5) | st.integers() | st.none()
)
_QUERIES = st.builds(
    Query,
    table=_TABLES,
    query_text=_TEXTS,
    search_mode=_MODES,
    limit=st.none() | st.integers(1, 50),
    score_threshold=st.none() | st.floats(0, 1),
    filters=_FILTERS,
)
_ENTRIES = st.builds(
    CatalogEntry,
    table=_TABLES,
    description=_TEXTS,
    search_modes=st.lists(_MODES, max_size=3).map(tuple),
    fields=st.dictionaries(
        st.sampled_from(["day", "level"]), st.lists(st.text(max_size=5), max_size=3).map(tuple)
    ),
    vocabulary=st.lists(_TEXTS, max_size=6).map(tuple),
)
_REQUESTS = st.builds(
    SearchRequest,
    search_id=st.text(max_size=8),
    user_message=_TEXTS,
    queries=st.lists(_QUERIES, max_size=4).map(tuple),
    results=st.none() | st.dictionaries(_TABLES, st.integers(0, 2)),
    zero_result_tables=st.lists(_TABLES, max_size=2).map(tuple),
    retry_count=st.integers(0, 3),
    catalog=st.lists(_ENTRIES, max_size=4, unique_by=lambda entry: entry.table).map(tuple),
    suggestions=st.lists(_TEXTS, max_size=4).map(tuple),
    max_retries=st.integers(0, 5),
)
_NEW = SearchState(search_id="s")
_PROPOSALS = st.builds(
    PlanProposal,
    new_queries=st.lists(_QUERIES, max_size=5).map(tuple),
    reasoning=_TEXTS,
    user_message=_TEXTS,
    strategy=st.none() | st.sampled_from(Strategy),
)


def _check(made: SearchPlan, request: SearchRequest, state: SearchState) -> None:
    observed, places = attempts.observe(state, request), Catalog(request)
    for number, new in enumerate(made.new_queries):
        entry = places.entry(new.table)
        if entry is None:
            assert any(new.table in note and "unverified" in note for note in made.notes)
        elif places.is_described(new.table):
            assert new.search_mode in (entry.search_modes or ("",))
        planned = [Tried(query=other) for other in made.new_queries[:number]]
        assert attempts.repeated(new, [*observed.tried, *planned], more_rows=True) is None
    assert not made.new_queries or not made.give_up
    assert made.retry_count == observed.retry_count + 1
    assert is_friendly(made.user_message)
    assert made.reasoning


@settings(deadline=None)  # the machine may be busy; speed has its own test
@given(_REQUESTS)
def test_plans_name_what_exists_and_never_repeat_through_all_retries(
    request: SearchRequest,
) -> None:
    state = SearchState(search_id=request.search_id)
    for _ in range(3):
        made = plan(request, state)
        _check(made, request, state)
        tables = {query.table for query in request.queries}
        assert len(made.new_queries) <= MOST_QUERIES * len(tables)
        assert plan(request, state) == made
        state = attempts.record(state, request, made)
        request = replace(request, queries=made.new_queries, results=None, zero_result_tables=())


@settings(deadline=None)
@given(_REQUESTS)
def test_the_ladder_keeps_to_the_same_laws(request: SearchRequest) -> None:
    state = SearchState(search_id=request.search_id)
    _check(relax_only(request, state), request, state)


@settings(deadline=None)
@given(_REQUESTS, _PROPOSALS)
def test_whatever_is_proposed_the_floor_holds(
    request: SearchRequest, proposal: PlanProposal
) -> None:
    state = SearchState(search_id=request.search_id)
    made = accept(proposal, request, state)
    _check(made, request, state)
    assert accept(proposal, request, state) == made


@settings(deadline=None)
@given(_QUERIES, _ENTRIES, st.integers(0, 3))
def test_relax_never_narrows(query: Query, entry: CatalogEntry, retry: int) -> None:
    entry = replace(entry, search_modes=(*entry.search_modes, query.search_mode))
    places = Catalog(
        SearchRequest(search_id="", user_message="", queries=(query,), catalog=(entry,))
    )
    for wide in (ladder(query, entry, retry), *relaxed(query, places, retry)):
        assert wide.query_text == query.query_text
        assert wide.filters.items() <= query.filters.items()
        assert query.score_threshold is None or (wide.score_threshold or 0) <= query.score_threshold
        assert (wide.limit or 0) >= (query.limit or 0)
        assert breadth(wide.search_mode) >= breadth(query.search_mode)


@settings(deadline=None)
@given(_REQUESTS)
def test_observing_twice_is_observing_once(request: SearchRequest) -> None:
    once = attempts.observe(SearchState(search_id=""), request)
    assert attempts.observe(once, request) == once


@settings(deadline=None)
@given(_REQUESTS)
def test_what_was_stored_comes_back_as_it_was(request: SearchRequest) -> None:
    state = SearchState(search_id=request.search_id)
    state = attempts.record(state, request, plan(request, state))
    for stored in (state, request):
        assert from_json(type(stored), json.loads(json.dumps(asdict(stored)))) == stored
