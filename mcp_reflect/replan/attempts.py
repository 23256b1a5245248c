"""The attempts of one search: what was tried, what it found, and whether a new query would only repeat it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from mcp_reflect.models.search import Query, SearchPlan, SearchRequest, SearchState, Tried
from mcp_reflect.replan.words import fold, normalized

_MOST_TEXT: Final = 120
"""Characters of a query's text in a line for developers."""

_MOST_CONDITIONS: Final = 240
"""Characters of a query's conditions in such a line."""


class Asked(NamedTuple):
    """What a query asks of which table; names and words are folded, which is lower case without accents."""

    table: str
    mode: str
    text: str


def asked_by(query: Query) -> Asked:
    """Return what near-identical queries share, whatever their conditions.

    `Query(table="Docs", search_mode="vector", query_text="the Proxy timeout")` asks ("docs", "vector",
    "proxy the timeout"), as "timeout, the proxy" does.
    """
    return Asked(fold(query.table), fold(query.search_mode), normalized(query.query_text))


def key(query: Query) -> tuple[Asked, str]:
    """Return the key that near-identical queries with the same filters share: what they ask, and the filters as JSON."""
    filters = ""
    if query.filters:
        filters = json.dumps(dict(query.filters), sort_keys=True, default=str)
    return asked_by(query), filters


def repeated(query: Query, tried: Iterable[Tried], *, more_rows: bool = False) -> Tried | None:
    """Return the earlier query that makes this one useless, None where it is new.

    An earlier query does that asked the same of the same table, with no filter that this one lacks and a threshold that
    is no higher: it has seen all that this one would find. With `more_rows`, a higher limit makes a query new, unless
    the earlier one is known to have found nothing.
    """
    asked = asked_by(query)
    for earlier in tried:
        if asked_by(earlier.query) != asked or not _lets_as_much_through(earlier.query, query):
            continue
        if more_rows and _may_give_more_rows(query, earlier):
            continue
        return earlier
    return None


def _lets_as_much_through(earlier: Query, query: Query) -> bool:
    """True if an earlier query let through all that this one would: `{}` and threshold 0.2 all of `{"year": 2024}` and 0.3."""
    for name, value in earlier.filters.items():
        if name not in query.filters or query.filters[name] != value:
            return False
    if earlier.score_threshold is None:
        return True
    return (query.score_threshold or 0) >= earlier.score_threshold


def _may_give_more_rows(query: Query, earlier: Tried) -> bool:
    """True if the query asks for more rows than the earlier one, which may have had more to give."""
    earlier_limit = earlier.query.limit
    if earlier_limit is None or earlier.found == 0:
        return False
    return query.limit is None or query.limit > earlier_limit


def describe(queries: Sequence[Query]) -> list[str]:
    """Return queries in a line of at most some hundred characters each, for developers.

    For example `"proxy timeout" in docs/vector (year=2024, threshold 0.3, limit 10)`.
    """
    return [_describe(query) for query in queries]


def _describe(query: Query) -> str:
    """Return a query in a line: text, table with mode, and its conditions in parentheses."""
    table_and_mode = query.table
    if query.search_mode:
        table_and_mode = f"{query.table}/{query.search_mode}"
    line = f'"{query.query_text[:_MOST_TEXT]}" in {table_and_mode}'
    conditions = [f"{name}={value}" for name, value in query.filters.items()]
    if query.score_threshold is not None:
        conditions.append(f"threshold {query.score_threshold:g}")
    if query.limit is not None:
        conditions.append(f"limit {query.limit}")
    if not conditions:
        return line
    return f"{line} ({', '.join(conditions)[:_MOST_CONDITIONS]})"


def is_empty(request: SearchRequest, table: str) -> bool:
    """Return whether a table gave nothing, so that it needs a new plan.

    | the caller gives                                         | the table is empty                    |
    |----------------------------------------------------------|---------------------------------------|
    | the table among the empty ones, or a count for it        | by that                               |
    | neither empty tables nor a count for it                  | yes                                   |
    | no count for it, but other tables as empty               | no                                    |
    | counts, of which none has the name of a searched table   | if all counts are 0: their names differ |
    """
    results = request.results
    if results and not any(query.table in results for query in request.queries):
        return not any(results.values())
    count = _count_of(request, table)
    if count is None:
        return not request.zero_result_tables
    return count == 0


def _count_of(request: SearchRequest, table: str) -> int | None:
    """The number of rows that were found in a table, None if the call does not say."""
    if table in request.zero_result_tables:
        return 0
    return (request.results or {}).get(table)


def observe(state: SearchState, request: SearchRequest) -> SearchState:
    """Return the attempts with what a call reports: the queries that ran, and how many rows each found.

    The queries of the pending plan count as run: the caller comes back after it. Of the same query with the same bounds
    the newest report counts.
    """
    ran = list(state.tried)
    if state.pending:
        ran += [Tried(query=query) for query in state.pending.new_queries]
    for query in request.queries:
        ran.append(Tried(query=query, found=_count_of(request, query.table)))
    newest = {
        (key(entry.query), entry.query.limit, entry.query.score_threshold): entry for entry in ran
    }
    return replace(
        state,
        tried=tuple(newest.values()),
        pending=None,
        retry_count=max(state.retry_count, request.retry_count),
        original_queries=state.original_queries or request.queries,
    )


def record(state: SearchState, request: SearchRequest, plan: SearchPlan) -> SearchState:
    """Return the attempts after a plan was handed out. The plan stays pending until its result is known."""
    return replace(observe(state, request), retry_count=plan.retry_count, pending=plan)


def reopen(state: SearchState) -> SearchState:
    """Return the attempts as they were before the pending plan, so that another plan may replace it.

    The pending plan was counted as a retry; the one in its place must not count as a second one.
    """
    if state.pending is None:
        return state
    return replace(state, retry_count=max(0, state.retry_count - 1), pending=None)
