"""The mechanical plan: diagnose, choose, move, refuse what was tried. Deterministic, and always there."""

from collections.abc import Iterable, Iterator
from itertools import islice

from mcp_reflect.records.search import Diagnosis, Plan, Query, SearchRequest, SearchState, Strategy
from mcp_reflect.replan import catalog, ledger, messages
from mcp_reflect.replan.catalog import Catalog
from mcp_reflect.replan.choose import choose
from mcp_reflect.replan.diagnose import diagnose
from mcp_reflect.replan.moves.pivot import pivoted
from mcp_reflect.replan.moves.relax import mechanical, relaxed
from mcp_reflect.replan.moves.rewrite import rewritten

MOST_QUERIES = 3
"""New queries for an empty table: a person waits for them all."""

_READ = 24  # candidates looked at for a table; the moves list the best first


def plan(request: SearchRequest, state: SearchState) -> Plan:
    """What to search next. Every new query names a table and mode that exist and was never tried here."""
    last, state = state.pending, ledger.observe(state, request)
    places = catalog.of(request)
    failed = tuple(query for query in request.queries if ledger.is_empty(request, query.table))
    kept = tuple(query for query in request.queries if query not in failed)
    if request.queries and not failed:
        return _settled(state, kept)
    diagnosis = diagnose(request, places)
    order = choose(diagnosis, state, last)
    if state.retry_count >= request.max_retries:
        return give_up(state, diagnosis, order[0], kept)
    new = _new_queries(request, state, places, order, failed)
    if not new:
        return give_up(state, diagnosis, order[0], kept)
    empty = frozenset(query.table for query in failed)
    return Plan(
        strategy=order[0],
        reasoning=explain(diagnosis, order[0], new),
        user_message=messages.tell(order[0], diagnosis, new, empty),
        new_queries=new,
        kept=kept,
        retry_count=state.retry_count + 1,
        diagnosis=diagnosis,
    )


def relax_only(request: SearchRequest, state: SearchState) -> Plan:
    """The ladder alone: each empty query once, with lower threshold, higher limit, later the widest mode."""
    state = ledger.observe(state, request)
    places = catalog.of(request)
    failed = tuple(query for query in request.queries if ledger.is_empty(request, query.table))
    kept = tuple(query for query in request.queries if query not in failed)
    if request.queries and not failed:
        return _settled(state, kept)
    diagnosis = diagnose(request, places)
    new: tuple[Query, ...] = ()
    if state.retry_count < request.max_retries:
        for query in failed:
            steps = _ladder(query, places, state.retry_count, request.user_message)
            fresh = (step for step in steps if _can_run(step, places) and ledger.refusal(step, state, new) is None)
            new += tuple(islice(fresh, 1))
    if not new:
        return give_up(state, diagnosis, Strategy.RELAX, kept)
    return Plan(
        strategy=Strategy.RELAX,
        reasoning=explain(diagnosis, Strategy.RELAX, new),
        user_message=messages.tell(Strategy.RELAX, diagnosis, new, frozenset()),
        new_queries=new,
        kept=kept,
        retry_count=state.retry_count + 1,
        diagnosis=diagnosis,
    )


def give_up(state: SearchState, diagnosis: Diagnosis, strategy: Strategy, kept: tuple[Query, ...]) -> Plan:
    """The end of a search: what was tried for developers, what to ask for the person."""
    tried = "; ".join(ledger.describe(entry.query) for entry in state.tried)
    return Plan(
        strategy=strategy,
        reasoning=f"Giving up after {state.retry_count} retries. Likeliest cause: {_cause(diagnosis)}. Tried: {tried}.",
        user_message=messages.gave_up(),
        new_queries=(),
        kept=kept,
        give_up=True,
        retry_count=state.retry_count + 1,
        diagnosis=diagnosis,
    )


def explain(diagnosis: Diagnosis, strategy: Strategy, new: tuple[Query, ...]) -> str:
    """The reasoning in one paragraph, for developers."""
    also = [f"{finding.kind}: {finding.detail}" for finding in diagnosis.findings[1:4]]
    queries = "; ".join(ledger.describe(query) for query in new)
    more = f" Also: {'; '.join(also)}." if also else ""
    return f"Likeliest cause: {_cause(diagnosis)}.{more} Strategy: {strategy}. Next: {queries}."


def _cause(diagnosis: Diagnosis) -> str:
    if not diagnosis.findings:
        return f"{diagnosis.kind}: the call shows no other reason"
    first = diagnosis.findings[0]
    return f"{first.kind} in {first.table}: {first.detail}"


def _settled(state: SearchState, kept: tuple[Query, ...]) -> Plan:
    return Plan(
        strategy=Strategy.RELAX,
        reasoning="Every table returned something; there is nothing to plan.",
        user_message=messages.nothing_to_do(),
        new_queries=(),
        kept=kept,
        retry_count=state.retry_count + 1,
    )


def _new_queries(
    request: SearchRequest,
    state: SearchState,
    places: Catalog,
    order: tuple[Strategy, ...],
    failed: tuple[Query, ...],
) -> tuple[Query, ...]:
    """Up to three for each empty table: the chosen strategy first, the others fill what it leaves."""
    new: tuple[Query, ...] = ()
    for table in dict.fromkeys(query.table for query in failed):
        mine: tuple[Query, ...] = ()
        queries = [query for query in failed if query.table == table]
        for strategy in order:
            candidates = _taking_turns([_moves(strategy, query, request, state, places) for query in queries])
            mine += _fresh(candidates, state, new + mine, MOST_QUERIES - len(mine), places)
        new += mine
    return new


def _moves(
    strategy: Strategy, query: Query, request: SearchRequest, state: SearchState, places: Catalog
) -> Iterator[Query]:
    entry, retry = places.entry(query.table), state.retry_count
    match strategy:
        case Strategy.RELAX:
            return relaxed(query, entry, request.user_message, retry)
        case Strategy.REWRITE:
            return rewritten(query, entry, request.user_message, request.suggestions, retry)
        case Strategy.PIVOT:
            searched = frozenset(entry.query.table for entry in state.tried)
            return pivoted(query, places, request.user_message, searched, retry)


def _fresh(
    candidates: Iterable[Query], state: SearchState, planned: tuple[Query, ...], most: int, places: Catalog
) -> tuple[Query, ...]:
    """The first candidates that can be run, say something, and were not tried."""
    new: tuple[Query, ...] = ()
    for query in islice(candidates, _READ):
        if len(new) >= most:
            break
        if _can_run(query, places) and not ledger.is_hopeless(query, state, planned + new):
            new += (query,)
    return new


def _can_run(query: Query, places: Catalog) -> bool:
    """Whether the table and mode exist and the query asks for something."""
    entry = places.entry(query.table)
    if entry is None or query.search_mode not in (entry.search_modes or ("",)):
        return False
    return bool(query.query_text.strip() or query.filters)


def _ladder(query: Query, places: Catalog, retry: int, message: str) -> Iterator[Query]:
    entry = places.entry(query.table) or places.nearest(query.table)
    base = catalog.in_table(query, entry) if entry else query
    yield mechanical(base, entry, retry)
    yield mechanical(base, entry, retry + 1)
    yield from relaxed(query, entry, message, retry)


def _taking_turns(sources: list[Iterator[Query]]) -> Iterator[Query]:
    """One from each in turn, so that every failed query of a table gets its say."""
    while sources:
        alive: list[Iterator[Query]] = []
        for source in sources:
            query = next(source, None)
            if query is not None:
                yield query
                alive.append(source)
        sources = alive
