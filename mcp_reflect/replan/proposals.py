"""A plan that a model or the host proposes for a failed search, checked by rules and corrected.

Names of tables and modes that do not exist are corrected or refused, and what was tried is not run again.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

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
from mcp_reflect.replan.catalog import Catalog, in_table
from mcp_reflect.replan.failed_search import MOST_QUERIES, FailedSearch
from mcp_reflect.replan.messages import is_friendly
from mcp_reflect.replan.moves import ladder
from mcp_reflect.replan.planner import plan

REPLACED: Final = "replaced by the plan of the rules"
"""The note of a plan in which nothing of a proposal is left."""

_UNFRIENDLY: Final = "user_message replaced: one or two sentences without technical terms"
_LOOSER: Final = 0.6  # share of the failed threshold that a proposal without one gets
_LEAST_LIMIT: Final = 20  # rows that a proposal asks for which relaxes, as the ladder does


def accept(proposal: PlanProposal, request: SearchRequest, state: SearchState) -> SearchPlan:
    """Return the proposed plan, corrected, or the plan of the rules with the reasons where nothing of it is left.

    To replace the pending plan of the same failure, pass `attempts.reopen(state)`.
    """
    search = FailedSearch(request, state)
    if not search.is_open:
        return _by_rules(request, state, (), "nothing is empty, or no retry is left")
    accepted = _accepted_queries(proposal, search)
    notes = accepted.notes
    if not accepted.queries:
        return _by_rules(request, state, notes, "; ".join(notes) or "it has no queries")
    strategy = proposal.strategy or _strategy_of(accepted.queries, request)
    plan_of_proposal = search.plan_of(strategy, accepted.queries, reasoning=proposal.reasoning)
    if is_friendly(proposal.user_message, request.user_message):
        return replace(plan_of_proposal, notes=notes, user_message=proposal.user_message.strip())
    return replace(plan_of_proposal, notes=(*notes, _UNFRIENDLY))


class AcceptedQueries(NamedTuple):
    """The queries of a proposal that are run, and what was corrected or refused ("query 2: refused: …")."""

    queries: tuple[Query, ...]
    notes: tuple[str, ...]


def _accepted_queries(proposal: PlanProposal, search: FailedSearch) -> AcceptedQueries:
    """Return the proposed queries, each corrected, without those that are refused."""
    relaxes = proposal.strategy is Strategy.RELAX and search.request.takes_bounds
    queries: tuple[Query, ...] = ()
    notes: list[str] = []
    for number, proposed in enumerate(proposal.new_queries, 1):
        query, remarks = _corrected(proposed, search, relaxes=relaxes)
        why_refused = _fault_of_table(query, search)
        if why_refused is None:
            why_refused = _refusal(query, search, queries, relaxes=relaxes)
        if why_refused is None:
            queries = (*queries, query)
        else:
            remarks.append(f"refused: {why_refused}")
        notes += [f"query {number}: {remark}" for remark in remarks]
    return AcceptedQueries(queries, tuple(notes))


def _by_rules(
    request: SearchRequest, state: SearchState, notes: tuple[str, ...], why: str
) -> SearchPlan:
    """The plan of the rules, which says why it is not the proposed one."""
    mechanical = plan(request, state)
    replaced = f"The proposed plan was replaced by that of the rules: {why}."
    return replace(
        mechanical, reasoning=f"{replaced} {mechanical.reasoning}", notes=(*notes, REPLACED)
    )


def _fault_of_table(query: Query, search: FailedSearch) -> str | None:
    """Why a table cannot be searched; None where it can be, or where nobody knows.

    | the table                                              | can be searched |
    |--------------------------------------------------------|-----------------|
    | is in the caller's catalog, or there is no catalog     | yes             |
    | was searched by this call                              | yes             |
    | may be named (`open_tables`; an empty list allows any) | yes             |
    | any other                                              | no              |
    """
    catalog = search.catalog
    if not catalog.described or catalog.is_described(query.table):
        return None
    if any(other.table == query.table for other in search.request.queries):
        return None
    open_tables = search.request.open_tables
    is_any_open = open_tables == ()
    if is_any_open or query.table in (open_tables or ()):
        return None
    return f"the catalog has no table {query.table}"


def _refusal(
    query: Query, search: FailedSearch, planned: Sequence[Query], *, relaxes: bool
) -> str | None:
    """Why a query is not run, None where it is: it asks for nothing, is one too many for its table, or was tried."""
    if not query.query_text.strip() and not query.filters:
        return "it asks for nothing"
    if sum(other.table == query.table for other in planned) >= MOST_QUERIES:
        return f"more than {MOST_QUERIES} queries for {query.table}"
    tried = list(search.tried)
    if relaxes:
        # A graph has a threshold of its own where a query names none: relaxing goes below it.
        tried = [entry for entry in tried if entry.query.score_threshold is not None]
    tried += [Tried(query=other) for other in planned]
    if attempts.repeated(query, tried, more_rows=True):
        return f"{attempts.describe([query])[0]} was tried before"
    return None


class CorrectedQuery(NamedTuple):
    """A query for a table and mode that exist, and what was corrected in it ("table docs corrected to doc")."""

    query: Query
    remarks: list[str]


def _corrected(query: Query, search: FailedSearch, *, relaxes: bool) -> CorrectedQuery:
    """Return a proposed query with a table and a mode that exist, and with bounds.

    For the tables `docs` (modes vector, text) of the catalog, a query for `doc` in the mode "fuzzy" becomes one for
    `docs` in "vector". A table that no catalog describes stays as it is, with a remark.
    """
    entry = _entry_for(query, search)
    table = entry.table if entry else _meant_open_table(query, search)
    notes: list[str] = []
    if table != query.table:
        notes.append(f"table {query.table} corrected to {table}")
    if entry is None and table not in (search.request.open_tables or ()):
        notes.append(f"table {table} is unverified: no catalog describes it")
    bounded = _with_bounds(replace(query, table=table), search, relaxes=relaxes)
    corrected = in_table(bounded, _with_modes(table, entry, search))
    if query.search_mode not in ("", corrected.search_mode):
        notes.append(f"mode {query.search_mode} corrected to {corrected.search_mode or 'none'}")
    return CorrectedQuery(corrected, notes)


def _entry_for(query: Query, search: FailedSearch) -> CatalogEntry | None:
    """The table that a proposal names; where a catalog describes tables, one of a similar name is meant."""
    entry = search.catalog.entry(query.table)
    if entry is None and search.catalog.described:
        return search.catalog.nearest(query.table)
    return entry


def _meant_open_table(query: Query, search: FailedSearch) -> str:
    """The open table that was meant, in another case or number: `exhibitor` is `exhibitors`."""
    open_tables = search.request.open_tables or ()
    return Catalog.nearest_name(query.table, open_tables) or query.table


def _with_bounds(query: Query, search: FailedSearch, *, relaxes: bool) -> Query:
    """The query with what it leaves out, as the failed query of its table has it, or else the first failed one.

    | field     | where the proposal leaves it out                            | where the plan `relaxes`             |
    |-----------|-------------------------------------------------------------|--------------------------------------|
    | tool      | that of the failed query                                    | the same                             |
    | mode      | that of the failed query, if it is of the same table        | the same                             |
    | limit     | that of the failed query                                    | the ladder's, and no lower than that |
    | threshold | 0.6 times that of the failed query                          | the ladder's                         |
    """
    queries = search.request.queries
    of_same_table = [other for other in queries if other.table == query.table]
    same_table = of_same_table[0] if of_same_table else None
    failed_query = same_table or next(iter(queries), query)
    threshold = failed_query.score_threshold
    if threshold:
        threshold = round(_LOOSER * threshold, 3)
    limit = query.limit or failed_query.limit
    if relaxes:
        rung = ladder(failed_query, None, search.state.retry_count)
        threshold = rung.score_threshold
        limit = max(query.limit or 0, rung.limit or 0, _LEAST_LIMIT)
    if query.score_threshold is not None:
        threshold = query.score_threshold
    mode = query.search_mode
    if not mode and same_table:
        mode = same_table.search_mode
    return replace(
        query,
        search_mode=mode,
        tool=query.tool or failed_query.tool,
        limit=limit,
        score_threshold=threshold,
    )


def _with_modes(
    table: str, entry: CatalogEntry | None, search: FailedSearch
) -> CatalogEntry | None:
    """The table with the modes that it has, None where nobody can say.

    A table that a plan may name and nobody described has the modes of the others.
    """
    if entry and search.catalog.is_described(table):
        return entry
    if search.request.open_tables is None:
        return None
    modes: dict[str, None] = {}
    for described in search.catalog.described:
        modes |= dict.fromkeys(described.search_modes)
    if not modes:
        return None
    return CatalogEntry(table=table, search_modes=tuple(modes))


def _strategy_of(new: Sequence[Query], request: SearchRequest) -> Strategy:
    """The strategy that the queries show, where the proposal does not name one; the first row that fits decides.

    | the new queries are              | strategy |
    |----------------------------------|----------|
    | for other tables alone           | PIVOT    |
    | for the same texts there         | RELAX    |
    | any other                        | REWRITE  |
    """
    before = list(map(attempts.asked_by, request.queries))
    after = list(map(attempts.asked_by, new))
    if {asked.table for asked in after}.isdisjoint(asked.table for asked in before):
        return Strategy.PIVOT
    texts_before = {(asked.table, asked.text) for asked in before}
    texts_after = {(asked.table, asked.text) for asked in after}
    if texts_after <= texts_before:
        return Strategy.RELAX
    return Strategy.REWRITE
