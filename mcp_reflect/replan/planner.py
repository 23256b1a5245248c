"""The plan for a failed search by rules alone, the same for the same request.

`diagnosis` orders the strategies by what explains the failure, `moves` has the queries of each, and the first few that
are new become the plan.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Final, NamedTuple

from mcp_reflect.models.search import Query, SearchPlan, SearchRequest, SearchState, Strategy, Tried
from mcp_reflect.replan import attempts, diagnosis
from mcp_reflect.replan.catalog import in_table
from mcp_reflect.replan.failed_search import MOST_QUERIES, FailedSearch
from mcp_reflect.replan.moves import ladder, pivoted, relaxed, rewritten

_MOST_IN_ALL: Final = 30
"""New queries of a plan. Where many tables are empty, each has fewer new queries, and at least one."""

_READ_CANDIDATES: Final = 24
"""Candidates looked at for a table and strategy; the moves list the likeliest first."""


class CandidateQuery(NamedTuple):
    """A query that may be run, and the strategy that it comes from."""

    strategy: Strategy
    query: Query


def plan(request: SearchRequest, state: SearchState) -> SearchPlan:
    """Return what to search next, by rules alone.

    Each new query names a table and a mode that exist, and was not tried before in this search. The plan's strategy is
    that of its first query; without a query it is that of the pending plan, else that of the likeliest cause.
    """
    search = FailedSearch(request, state)
    strategies = diagnosis.choose(search.findings)
    candidates = list(_new_queries(search, strategies)) if search.is_open else []
    strategy = strategies[0]
    if candidates:
        strategy = candidates[0].strategy
    elif state.pending and not search.is_found:
        strategy = state.pending.strategy
    return search.plan_of(strategy, tuple(candidate.query for candidate in candidates))


def _new_queries(search: FailedSearch, strategies: Sequence[Strategy]) -> Iterator[CandidateQuery]:
    """Yield up to three queries for each empty table that can run and were not tried.

    The queries of the first strategy come first; where they are fewer, those of the other strategies follow.
    """
    tables = list(dict.fromkeys(query.table for query in search.failed))
    most_queries = max(1, min(MOST_QUERIES, _MOST_IN_ALL // max(1, len(tables))))
    tried = list(search.tried)
    for table in tables:
        queries_left = most_queries
        for candidate in _candidates(search, table, strategies):
            if not search.can_run(candidate.query):
                continue
            if attempts.repeated(candidate.query, tried):
                continue
            tried.append(Tried(query=candidate.query))
            yield candidate
            queries_left -= 1
            if queries_left == 0:
                break


def _candidates(
    search: FailedSearch, table: str, strategies: Sequence[Strategy]
) -> Iterator[CandidateQuery]:
    """Yield the candidates for a table: strategy by strategy, and in each the failed queries take turns."""
    failed = [query for query in search.failed if query.table == table]
    for strategy in strategies:
        moves = [_moves(search, strategy, query) for query in failed]
        for query in islice(_in_turns(moves), _READ_CANDIDATES):
            if query is not None:
                yield CandidateQuery(strategy, query)


def _in_turns(moves: Sequence[Iterator[Query]]) -> Iterator[Query | None]:
    """Yield the first of each, the second of each, and so on; None where one has no more.

    The moves (a1, a2) and (b1) give a1, b1, a2, None.
    """
    for turn in zip_longest(*moves):
        yield from turn


def _moves(search: FailedSearch, strategy: Strategy, query: Query) -> Iterator[Query]:
    """Return the queries that a strategy has for a failed one, the likeliest first."""
    message = search.message_for(query)
    retry = search.state.retry_count
    match strategy:
        case Strategy.RELAX:
            return relaxed(query, search.catalog, retry)
        case Strategy.REWRITE:
            suggestions = search.request.suggestions
            return rewritten(query, search.catalog, message, suggestions, retry)
        case Strategy.PIVOT:
            searched = frozenset(entry.query.table for entry in search.state.tried)
            return pivoted(query, search.catalog, message, searched, retry)


def relax_only(request: SearchRequest, state: SearchState, *, reasoning: str = "") -> SearchPlan:
    """Return the plan by the fixed ladder: each empty query once more, with a lower threshold and a higher limit.

    Later retries search in the widest mode (`ladder`). Of each query the first looser form is taken that can run.
    """
    search = FailedSearch(request, state)
    new: list[Query] = []
    tried = list(search.tried)
    for query in search.failed if search.is_open else ():
        for looser in _looser_forms(search, query):
            if search.can_run(looser) and _may_find_more(query, looser, search, tried):
                new.append(looser)
                tried.append(Tried(query=looser))
                break
    return search.plan_of(Strategy.RELAX, tuple(new), reasoning=reasoning)


def _looser_forms(search: FailedSearch, query: Query) -> Iterator[Query]:
    """Yield the query as the ladder has it at this retry, at the next one, and then with fewer filters."""
    retry = search.state.retry_count
    entry = search.catalog.entry(query.table) or search.catalog.nearest(query.table)
    query_there = in_table(query, entry)
    yield ladder(query_there, entry, retry)
    yield ladder(query_there, entry, retry + 1)
    yield from relaxed(query, search.catalog, retry)


def _may_find_more(
    query: Query, looser: Query, search: FailedSearch, tried: Sequence[Tried]
) -> bool:
    """True if a looser form of a query may find what none of the earlier queries found.

    A caller that `takes_bounds` (a graph) uses a threshold of its own where a query names none: so any threshold that we
    name makes another query.
    """
    if search.request.takes_bounds and query.score_threshold is None:
        return True
    return attempts.repeated(looser, tried, more_rows=True) is None


def needs_plan(request: SearchRequest, state: SearchState) -> bool:
    """Return True if a proposal could be used: something is empty, and a retry is left."""
    return FailedSearch(request, state).is_open
