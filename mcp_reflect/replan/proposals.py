"""Checks of a plan that a model or the host proposes."""

from dataclasses import replace
from typing import Final

from mcp_reflect.models.search import Plan, Proposal, Query, SearchRequest, SearchState, Strategy
from mcp_reflect.replan import attempts, catalog, planner
from mcp_reflect.replan.catalog import Catalog
from mcp_reflect.replan.messages import is_friendly, tell
from mcp_reflect.replan.moves import loosened
from mcp_reflect.replan.words import fold, normalized

_NO_RETRIES: Final = "the proposal was not used: no retries are left"
_NOT_EMPTY: Final = "the proposal was not used: nothing came back empty"
_REPLACED: Final = "replaced by the plan of the rules"
UNUSED: Final = frozenset({_NO_RETRIES, _NOT_EMPTY, _REPLACED})
"""Notes of a plan in which nothing of the proposal is left."""


def is_closed(mechanical: Plan, request: SearchRequest, state: SearchState) -> bool:
    """True if no proposal could be used, so that nobody need be asked for one."""
    count = max(state.retry_count, request.retry_count)
    over = mechanical.give_up and (count > request.max_retries or (bool(state.tried) and count >= request.max_retries))
    empty = any(attempts.is_empty(request, query.table) for query in request.queries)
    return over or (bool(request.queries) and not empty)


def accept(proposal: Proposal, request: SearchRequest, state: SearchState) -> Plan:
    """Return the proposed plan, corrected, or the plan of the rules with the reasons where nothing of it is left.

    To replace the pending plan of the same failure, pass `attempts.reopen(state)`.
    """
    mechanical = planner.plan(request, state)
    if is_closed(mechanical, request, state):
        return replace(mechanical, notes=(_NO_RETRIES if mechanical.give_up else _NOT_EMPTY,))
    state = attempts.observe(state, request)
    new, notes = _checked(proposal, request, state)
    if not new:
        why = "; ".join(notes) or "it has no queries"
        reasoning = f"The proposed plan was replaced by that of the rules: {why}. {mechanical.reasoning}"
        return replace(mechanical, reasoning=reasoning, notes=(*notes, _REPLACED))
    strategy = proposal.strategy or _kind_of(new, request)
    message, remark = _message(proposal, strategy, mechanical, request, new)
    return replace(
        mechanical,
        strategy=strategy,
        reasoning=proposal.reasoning or planner.explain(mechanical.diagnosis, strategy, new),
        user_message=message,
        new_queries=new,
        give_up=False,
        notes=notes + remark,
    )


def _checked(
    proposal: Proposal, request: SearchRequest, state: SearchState
) -> tuple[tuple[Query, ...], tuple[str, ...]]:
    """The proposed queries that can be run, and what was done to all of them."""
    places = catalog.of(request)
    new: tuple[Query, ...] = ()
    notes: tuple[str, ...] = ()
    for number, proposed in enumerate(proposal.new_queries, 1):
        query, remarks = _corrected(proposed, places, request)
        refused = _refusal(query, state, new)
        remarks += (refused,) if refused else ()
        new += () if refused else (query,)
        notes += tuple(f"query {number}: {remark}" for remark in remarks)
    return new, notes


def _refusal(query: Query, state: SearchState, planned: tuple[Query, ...]) -> str | None:
    if not query.query_text.strip() and not query.filters:
        return "refused: it asks for nothing"
    if sum(other.table == query.table for other in planned) >= planner.MOST_QUERIES:
        return f"refused: more than {planner.MOST_QUERIES} queries for {query.table}"
    refused = attempts.refusal(query, state, planned)
    return f"refused: {refused}" if refused else None


def _corrected(query: Query, places: Catalog, request: SearchRequest) -> tuple[Query, tuple[str, ...]]:
    """The query for a table and mode that exist, never narrower than the same text was before."""
    entry = places.entry(query.table) or (places.nearest(query.table) if places.described else None)
    if entry is None:
        filled = _filled(query, request)
        return filled, (f"table {query.table} is unverified: no catalog describes it",)
    notes: tuple[str, ...] = ()
    if entry.table != query.table:
        notes += (f"table {query.table} corrected to {entry.table}",)
    failed = next((other for other in request.queries if other.table == entry.table), None)
    query = replace(query, table=entry.table)
    mode = query.search_mode or (failed.search_mode if failed else "")
    query = replace(query, search_mode=mode)
    placed = _filled(catalog.in_table(query, entry) if places.is_described(entry.table) else query, request)
    if query.search_mode and placed.search_mode != query.search_mode:
        notes += (f"mode {query.search_mode} corrected to {placed.search_mode or 'none'}",)
    widened = _never_narrower(placed, request.queries)
    if widened != placed:
        notes += ("limit and threshold widened to what the same search had before",)
    return widened, notes


def _filled(query: Query, request: SearchRequest) -> Query:
    """The query with the tool, the limit and a looser threshold of the failed one where the proposal left them out."""
    failed = next((other for other in request.queries if other.table == query.table), None)
    failed = failed or next(iter(request.queries), query)
    looser = loosened(failed, None, 1)
    return replace(
        query,
        tool=query.tool or failed.tool,
        limit=failed.limit if query.limit is None else query.limit,
        score_threshold=looser.score_threshold if query.score_threshold is None else query.score_threshold,
    )


def _never_narrower(query: Query, before: tuple[Query, ...]) -> Query:
    """Limit and threshold at least as wide as those of the same text in the same table."""
    for other in before:
        if fold(other.table) != fold(query.table) or normalized(other.query_text) != normalized(query.query_text):
            continue
        if query.limit is not None:
            query = replace(query, limit=None if other.limit is None else max(query.limit, other.limit))
        if query.score_threshold is not None:
            least = None if other.score_threshold is None else min(query.score_threshold, other.score_threshold)
            query = replace(query, score_threshold=least)
    return query


def _message(
    proposal: Proposal, strategy: Strategy, mechanical: Plan, request: SearchRequest, new: tuple[Query, ...]
) -> tuple[str, tuple[str, ...]]:
    """The proposed words to the person if they are friendly and plain, else ours."""
    if is_friendly(proposal.user_message, request.user_message):
        return proposal.user_message.strip(), ()
    empty = frozenset(query.table for query in request.queries)
    ours = tell(strategy, mechanical.diagnosis, new, empty)
    return ours, ("user_message replaced: one or two sentences without technical terms",)


def _kind_of(new: tuple[Query, ...], request: SearchRequest) -> Strategy:
    """The strategy that the queries show, where the proposal does not name one."""
    before = {(fold(query.table), normalized(query.query_text)) for query in request.queries}
    if not {fold(query.table) for query in new} & {table for table, _ in before}:
        return Strategy.PIVOT
    same = all((fold(query.table), normalized(query.query_text)) in before for query in new)
    return Strategy.RELAX if same else Strategy.REWRITE
