"""The attempts of one search: what was tried, what it found, and whether a new query would only repeat it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from mcp_reflect.models.search import Query, SearchPlan, SearchRequest, SearchState, Tried
from mcp_reflect.replan.words import fold, normalized


def key(query: Query) -> tuple[str, str, str, str]:
    """Return what near-identical queries share: table, mode, normalized text and filters."""
    filters = json.dumps(dict(query.filters), sort_keys=True, default=str) if query.filters else ""
    return fold(query.table), fold(query.search_mode), normalized(query.query_text), filters


def repeated(query: Query, tried: Iterable[Tried], *, more_rows: bool = False) -> Tried | None:
    """Return the earlier query that makes this one useless, or None.

    It has the same table, mode and words, no filter that this one lacks, and as low a threshold. With `more_rows`, a
    higher limit makes a query new unless the earlier one is known to have found nothing.
    """
    place = key(query)[:3]
    for entry in tried:
        ran = entry.query
        looser = (
            ran.score_threshold is not None and (query.score_threshold or 0) < ran.score_threshold
        )
        more = (
            ran.limit is not None
            and (query.limit is None or query.limit > ran.limit)
            and entry.found != 0
        )
        same = all(
            name in query.filters and query.filters[name] == value
            for name, value in ran.filters.items()
        )
        if same and key(ran)[:3] == place and not looser and not (more_rows and more):
            return entry
    return None


def describe(queries: Sequence[Query]) -> list[str]:
    """Return queries in a line of at most some hundred characters each, for developers: text, place, conditions."""
    lines: list[str] = []
    for query in queries:
        conditions = [f"{name}={value}" for name, value in query.filters.items()]
        conditions += (
            [] if query.score_threshold is None else [f"threshold {query.score_threshold:g}"]
        )
        conditions += [] if query.limit is None else [f"limit {query.limit}"]
        place = f"{query.table}/{query.search_mode}" if query.search_mode else query.table
        listed = f" ({', '.join(conditions):.240})" if conditions else ""
        lines.append(f'"{query.query_text:.120}" in {place}{listed}')
    return lines


def is_empty(request: SearchRequest, table: str) -> bool:
    """Return whether a table needs a new plan: it is empty, or the caller names no empty tables and no count for it.

    If no count has the name of a searched table, all counts together decide.
    """
    if request.results and not any(query.table in request.results for query in request.queries):
        return not any(request.results.values())
    count = _found_in(request, table)
    return count == 0 or (count is None and not request.zero_result_tables)


def _found_in(request: SearchRequest, table: str) -> int | None:
    """The rows found in a table, None if the call does not say."""
    return 0 if table in request.zero_result_tables else (request.results or {}).get(table)


def observe(state: SearchState, request: SearchRequest) -> SearchState:
    """Take in what the call reports: queries that ran, those of the pending plan too, and what they found."""
    pending = (
        tuple(Tried(query=query) for query in state.pending.new_queries) if state.pending else ()
    )
    reported = (
        Tried(query=query, found=_found_in(request, query.table)) for query in request.queries
    )
    ran = (*state.tried, *pending, *reported)
    tried = {
        (*key(entry.query), entry.query.limit, entry.query.score_threshold): entry for entry in ran
    }
    return replace(
        state,
        tried=tuple(tried.values()),
        pending=None,
        retry_count=max(state.retry_count, request.retry_count),
        original_queries=state.original_queries or request.queries,
    )


def record(state: SearchState, request: SearchRequest, plan: SearchPlan) -> SearchState:
    """Return the attempts after a plan was handed out. The plan stays pending until its result is known."""
    return replace(observe(state, request), retry_count=plan.retry_count, pending=plan)


def reopen(state: SearchState) -> SearchState:
    """Return the attempts as they were before the pending plan, so that another plan may replace it."""
    if state.pending is None:
        return state
    return replace(state, retry_count=max(0, state.retry_count - 1), pending=None)
