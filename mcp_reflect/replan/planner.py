"""The plan by rules: diagnose, choose a move, refuse what was tried. Deterministic."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, TypeAlias, TypeVar

from mcp_reflect.models.search import (
    EmptyCause,
    Payoff,
    Plan,
    Query,
    SearchDiagnosis,
    SearchRequest,
    SearchState,
    Strategy,
)
from mcp_reflect.replan import attempts, catalog
from mcp_reflect.replan.catalog import Catalog
from mcp_reflect.replan.diagnosis import diagnose
from mcp_reflect.replan.messages import FOUND, GAVE_UP, tell
from mcp_reflect.replan.moves import loosest, mechanical, pivoted, relaxed, rewritten

# The choice of a strategy


EXPLORE: Final = 0.1
"""Share of choices that take the second best, so that a strategy that had bad luck gets another chance."""

_PRIOR: Final = 4.0
"""How many observed plans weigh as much as our own expectation; below it, luck decides too much."""

_FAILED: Final = 0.5
"""A strategy that just failed in this search counts half."""


def choose(diagnosis: SearchDiagnosis, state: SearchState, last: Plan | None = None) -> tuple[Strategy, ...]:
    """All three strategies, the best first. The same search and retry always give the same order."""
    weights = {strategy: _weight(strategy, diagnosis) for strategy in Strategy}
    values = {
        strategy: weights[strategy]
        * _learned(diagnosis.kind, strategy, state.payoffs)
        * (_FAILED if last is not None and last.strategy is strategy else 1.0)
        for strategy in Strategy
    }
    order = sorted(Strategy, key=lambda strategy: (-values[strategy], strategy))
    if _chance(state) < EXPLORE and values[order[1]] > 0 and _is_learned(diagnosis.kind, state.payoffs):
        order[0], order[1] = order[1], order[0]
    return tuple(order)


def _weight(strategy: Strategy, diagnosis: SearchDiagnosis) -> float:
    """The heaviest finding for a strategy in 0..1; the others add a tenth, so that two hints beat one."""
    found = sorted((finding.weight for finding in diagnosis.findings if finding.strategy is strategy), reverse=True)
    return min(1.0, found[0] + 0.1 * sum(found[1:3])) if found else 0.05


def _learned(kind: EmptyCause, strategy: Strategy, payoffs: tuple[Payoff, ...]) -> float:
    """1 without experience; up to 2 where a strategy always paid off for this kind, towards 0 where it never did."""
    used = sum(payoff.used for payoff in payoffs if (payoff.kind, payoff.strategy) == (kind, strategy))
    paid = sum(payoff.paid for payoff in payoffs if (payoff.kind, payoff.strategy) == (kind, strategy))
    return 2.0 * (min(paid, used) + _PRIOR / 2) / (max(used, 0) + _PRIOR)


def _is_learned(kind: EmptyCause, payoffs: tuple[Payoff, ...]) -> bool:
    return any(payoff.kind is kind and payoff.used > 0 for payoff in payoffs)


def _chance(state: SearchState) -> float:
    """A number in 0..1 that belongs to this search and retry."""
    digest = hashlib.sha256(f"{state.search_id}/{state.retry_count}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


# New queries for empty tables


MOST_QUERIES: Final = 3
"""New queries for an empty table: a person waits for them all."""

_MOST_IN_ALL: Final = 30  # where more tables are empty than that allows, each has fewer, and at least one

_FEW_TABLES: Final = 3
_READ_CANDIDATES = 24  # candidates looked at for a table and strategy; the moves list the best first
_T = TypeVar("_T")

Move: TypeAlias = tuple[Strategy, Query]


def possible_moves(
    request: SearchRequest, state: SearchState, places: Catalog, order: tuple[Strategy, ...], failed: tuple[Query, ...]
) -> tuple[Move, ...]:
    """Up to three for each empty table, each with the strategy that it comes from.

    On the first try the chosen strategy has them all, and the others fill what it leaves; later the
    strategies take turns, since one idea has failed already, and start from what was asked at first.
    """
    new: tuple[Move, ...] = ()
    tables = dict.fromkeys(query.table for query in failed)
    most = max(1, min(MOST_QUERIES, _MOST_IN_ALL // max(1, len(tables))))
    for table in tables:
        starts = _starts(table, failed, state)
        sources = {strategy: _fresh(strategy, starts, request, state, places) for strategy in order}
        if state.retry_count == 0:
            candidates = chain(*sources.values())
        else:
            # Where one table of many was the wrong one, the right one is among many: they have two turns.
            turns = 2 if len(places.described) > _FEW_TABLES else 1
            candidates = _taking_turns(
                [source for key, source in sources.items() for _ in range(turns if key is Strategy.PIVOT else 1)]
            )
        new += _different(candidates, state, new, most)
    return new


def ladder(request: SearchRequest, state: SearchState, places: Catalog, failed: tuple[Query, ...]) -> tuple[Query, ...]:
    """One relaxed query for each failed one, as far as the ladder goes."""
    new: tuple[Query, ...] = ()
    for query in failed:
        steps = _steps(query, places, state.retry_count, request.user_message)
        fresh = (step for step in steps if _can_run(step, places) and attempts.refusal(step, state, new) is None)
        new += tuple(islice(fresh, 1))
    return new


def _starts(table: str, failed: tuple[Query, ...], state: SearchState) -> tuple[list[Query], list[Query]]:
    """The queries to start from: on a later try the original ones, with bounds as wide as they have become."""
    now = [query for query in failed if query.table == table]
    originals = [query for query in state.original_queries if query.table == table and query not in now]
    return ([loosest(query, now) for query in originals], now) if state.retry_count else ([], now)


def _fresh(
    strategy: Strategy,
    starts: tuple[list[Query], list[Query]],
    request: SearchRequest,
    state: SearchState,
    places: Catalog,
) -> Iterator[Move]:
    """The strategy's candidates that can be run and were not tried; the queries of one group take turns."""
    candidates = chain(
        *(_taking_turns([_moved(strategy, query, request, state, places) for query in group]) for group in starts)
    )
    for query in islice(candidates, _READ_CANDIDATES):
        if _can_run(query, places) and not attempts.is_hopeless(query, state):
            yield strategy, query


def _moved(
    strategy: Strategy, query: Query, request: SearchRequest, state: SearchState, places: Catalog
) -> Iterator[Query]:
    entry, retry = places.entry(query.table), state.retry_count
    match strategy:
        case Strategy.RELAX:
            return relaxed(query, entry, request.user_message, retry)
        case Strategy.REWRITE:
            return rewritten(query, places, request.user_message, request.suggestions, retry)
        case Strategy.PIVOT:
            searched = frozenset(tried.query.table for tried in state.tried)
            return pivoted(query, places, request.user_message, searched, retry)


def _different(
    candidates: Iterator[Move], state: SearchState, planned: tuple[Move, ...], most: int
) -> tuple[Move, ...]:
    """The first `most` that differ from each other and from what is planned already."""
    new: tuple[Move, ...] = ()
    for strategy, query in candidates:
        if not attempts.is_hopeless(query, state, [other for _, other in planned + new]):
            new += ((strategy, query),)
        if len(new) == most:
            break
    return new


def _can_run(query: Query, places: Catalog) -> bool:
    """Whether the table and mode exist and the query asks for something."""
    entry = places.entry(query.table)
    if entry is None or query.search_mode not in (entry.search_modes or ("",)):
        return False
    return bool(query.query_text.strip() or query.filters)


def _steps(query: Query, places: Catalog, retry: int, message: str) -> Iterator[Query]:
    entry = places.entry(query.table) or places.nearest(query.table)
    base = catalog.in_table(query, entry) if entry else query
    yield mechanical(base, entry, retry)
    yield mechanical(base, entry, retry + 1)
    yield from relaxed(query, entry, message, retry)


def _taking_turns(sources: list[Iterator[_T]]) -> Iterator[_T]:
    """One from each in turn, until all have given what they have."""
    while sources:
        alive: list[Iterator[_T]] = []
        for source in sources:
            for item in islice(source, 1):
                yield item
                alive.append(source)
        sources = alive


# The plan of the rules


@dataclass(frozen=True, slots=True)
class _Case:
    """One failed search with all that is known of it."""

    request: SearchRequest
    state: SearchState
    places: Catalog
    failed: tuple[Query, ...]
    kept: tuple[Query, ...]
    diagnosis: SearchDiagnosis

    is_first: bool

    @property
    def is_over(self) -> bool:
        """The first call helps as long as its count is not above the maximum: callers count from 0 or from 1."""
        count, most = self.state.retry_count, self.request.max_retries
        return count > most if self.is_first else count >= most


def plan(request: SearchRequest, state: SearchState) -> Plan:
    """What to search next. Every new query names a table and mode that exist and was never tried here."""
    case = _case(request, state)
    is_late_success = state.pending is not None and state.pending.give_up and any((request.results or {}).values())
    if is_late_success or (request.queries and not case.failed):
        return _nothing_to_do(case)
    order = choose(case.diagnosis, case.state, state.pending)
    moves = () if case.is_over else possible_moves(request, case.state, case.places, order, case.failed)
    if not moves:
        return _give_up(case, state.pending.strategy if state.pending else order[0])
    return _plan(case, moves[0][0], tuple(query for _, query in moves))


def relax_only(request: SearchRequest, state: SearchState) -> Plan:
    """The ladder alone: each empty query once, with lower threshold, higher limit, later the widest mode."""
    case = _case(request, state)
    if request.queries and not case.failed:
        return _nothing_to_do(case)
    new = () if case.is_over else ladder(request, case.state, case.places, case.failed)
    return _plan(case, Strategy.RELAX, new) if new else _give_up(case, Strategy.RELAX)


def explain(diagnosis: SearchDiagnosis, strategy: Strategy, new: tuple[Query, ...]) -> str:
    """The reasoning in one paragraph, for developers."""
    also = [f"{finding.kind}: {finding.detail}" for finding in diagnosis.findings[1:4]]
    queries = attempts.describe_all(new)
    more = f" Also: {'; '.join(also)}." if also else ""
    return f"Likeliest cause: {_cause(diagnosis)}.{more} Strategy: {strategy}. Next: {queries}."


def _case(request: SearchRequest, state: SearchState) -> _Case:
    places = catalog.of(request)
    failed = tuple(query for query in request.queries if attempts.is_empty(request, query.table))
    return _Case(
        request=request,
        state=attempts.observe(state, request),
        places=places,
        failed=failed,
        kept=tuple(query for query in request.queries if query not in failed),
        diagnosis=diagnose(request, places),
        is_first=not state.tried,
    )


def _plan(case: _Case, strategy: Strategy, new: tuple[Query, ...]) -> Plan:
    empty = frozenset(query.table for query in case.failed)
    return Plan(
        strategy=strategy,
        reasoning=explain(case.diagnosis, strategy, new),
        user_message=tell(strategy, case.diagnosis, new, empty),
        new_queries=new,
        kept=case.kept,
        retry_count=case.state.retry_count + 1,
        notes=_corrections(case),
        diagnosis=case.diagnosis,
    )


def _corrections(case: _Case) -> tuple[str, ...]:
    """What the failed queries named and the caller's catalog does not have."""
    notes: dict[str, None] = {}
    for query in case.failed if case.places.described else ():
        entry, near = case.places.entry(query.table), case.places.nearest(query.table)
        if entry is None:
            instead = f"corrected to {near.table}" if near else "left: it is not in the catalog"
            notes[f"table {query.table} {instead}"] = None
        elif query.search_mode and query.search_mode not in entry.search_modes:
            mode = catalog.in_table(query, entry).search_mode or "none"
            notes[f"mode {query.search_mode} of {query.table} corrected to {mode}"] = None
    return tuple(notes)


def _give_up(case: _Case, strategy: Strategy) -> Plan:
    """The end of a search: what was tried for developers, what to ask for the person."""
    tried = attempts.describe_all([entry.query for entry in case.state.tried])
    why = "no retries are left" if case.is_over else "nothing new is left to try"
    settle = "; ".join(_next_looks(case))
    return Plan(
        strategy=strategy,
        reasoning=f"Giving up: {why}. Tried: {tried}. What would settle it: {settle}.",
        user_message=GAVE_UP,
        new_queries=(),
        kept=case.kept,
        give_up=True,
        retry_count=case.state.retry_count + 1,
        diagnosis=case.diagnosis,
    )


def _next_looks(case: _Case) -> tuple[str, ...]:
    """What a look at the data would show that words cannot: its tables, its fields, some rows."""
    tables = dict.fromkeys(query.table for query in case.failed)
    unknown = [table for table in tables if not case.places.is_described(table)]
    fields = [entry.table for entry in case.places.described if entry.table in tables and not entry.fields]
    return (
        *(("a list of the tables, sent as the catalog",) if unknown else ()),
        *((f"the fields of {', '.join(fields[:3])} and their values",) if fields else ()),
        f"a sample of rows of {', '.join(list(tables)[:3])} without any condition",
    )


def _nothing_to_do(case: _Case) -> Plan:
    return Plan(
        strategy=Strategy.RELAX,
        reasoning="The search returned something; there is nothing to plan.",
        user_message=FOUND,
        new_queries=(),
        kept=case.kept,
        retry_count=case.state.retry_count + 1,
    )


def _cause(diagnosis: SearchDiagnosis) -> str:
    if not diagnosis.findings:
        return f"{diagnosis.kind}: the call shows no other reason"
    first = diagnosis.findings[0]
    return f"{first.kind} in {first.table}: {first.detail}"
