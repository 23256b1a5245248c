"""The mechanical plan: diagnose, choose, move, refuse what was tried. Deterministic, and always there."""

from dataclasses import dataclass

from mcp_reflect.models.search import Diagnosis, Plan, Query, SearchRequest, SearchState, Strategy
from mcp_reflect.replan import candidates, catalog, ledger, messages
from mcp_reflect.replan.catalog import Catalog
from mcp_reflect.replan.choose import choose
from mcp_reflect.replan.diagnose import diagnose


@dataclass(frozen=True, slots=True)
class _Case:
    """One failed search with all that is known of it."""

    request: SearchRequest
    state: SearchState
    places: Catalog
    failed: tuple[Query, ...]
    kept: tuple[Query, ...]
    diagnosis: Diagnosis

    @property
    def is_over(self) -> bool:
        return self.state.retry_count >= self.request.max_retries


def plan(request: SearchRequest, state: SearchState) -> Plan:
    """What to search next. Every new query names a table and mode that exist and was never tried here."""
    case = _case(request, state)
    if request.queries and not case.failed:
        return _nothing_to_do(case)
    order = choose(case.diagnosis, case.state, state.pending)
    moves = () if case.is_over else candidates.moves(request, case.state, case.places, order, case.failed)
    if not moves:
        return _give_up(case, order[0])
    return _plan(case, moves[0][0], tuple(query for _, query in moves))


def relax_only(request: SearchRequest, state: SearchState) -> Plan:
    """The ladder alone: each empty query once, with lower threshold, higher limit, later the widest mode."""
    case = _case(request, state)
    if request.queries and not case.failed:
        return _nothing_to_do(case)
    new = () if case.is_over else candidates.ladder(request, case.state, case.places, case.failed)
    return _plan(case, Strategy.RELAX, new) if new else _give_up(case, Strategy.RELAX)


def explain(diagnosis: Diagnosis, strategy: Strategy, new: tuple[Query, ...]) -> str:
    """The reasoning in one paragraph, for developers."""
    also = [f"{finding.kind}: {finding.detail}" for finding in diagnosis.findings[1:4]]
    queries = ledger.describe_all(new)
    more = f" Also: {'; '.join(also)}." if also else ""
    return f"Likeliest cause: {_cause(diagnosis)}.{more} Strategy: {strategy}. Next: {queries}."


def _case(request: SearchRequest, state: SearchState) -> _Case:
    places = catalog.of(request)
    failed = tuple(query for query in request.queries if ledger.is_empty(request, query.table))
    return _Case(
        request=request,
        state=ledger.observe(state, request),
        places=places,
        failed=failed,
        kept=tuple(query for query in request.queries if query not in failed),
        diagnosis=diagnose(request, places),
    )


def _plan(case: _Case, strategy: Strategy, new: tuple[Query, ...]) -> Plan:
    empty = frozenset(query.table for query in case.failed)
    return Plan(
        strategy=strategy,
        reasoning=explain(case.diagnosis, strategy, new),
        user_message=messages.tell(strategy, case.diagnosis, new, empty),
        new_queries=new,
        kept=case.kept,
        retry_count=case.state.retry_count + 1,
        notes=_corrections(case),
        diagnosis=case.diagnosis,
    )


def _corrections(case: _Case) -> tuple[str, ...]:
    """What the failed queries named and the caller's catalogue does not have."""
    notes: dict[str, None] = {}
    for query in case.failed if case.places.given else ():
        entry, near = case.places.entry(query.table), case.places.nearest(query.table)
        if entry is None:
            instead = f"corrected to {near.table}" if near else "left: it is not in the catalogue"
            notes[f"table {query.table} {instead}"] = None
        elif query.search_mode and query.search_mode not in entry.search_modes:
            mode = catalog.in_table(query, entry).search_mode or "none"
            notes[f"mode {query.search_mode} of {query.table} corrected to {mode}"] = None
    return tuple(notes)


def _give_up(case: _Case, strategy: Strategy) -> Plan:
    """The end of a search: what was tried for developers, what to ask for the person."""
    tried = ledger.describe_all([entry.query for entry in case.state.tried])
    why = "no retries are left" if case.is_over else "nothing new is left to try"
    return Plan(
        strategy=strategy,
        reasoning=f"Giving up: {why}. Likeliest cause: {_cause(case.diagnosis)}. Tried: {tried}.",
        user_message=messages.gave_up(),
        new_queries=(),
        kept=case.kept,
        give_up=True,
        retry_count=case.state.retry_count + 1,
        diagnosis=case.diagnosis,
    )


def _nothing_to_do(case: _Case) -> Plan:
    return Plan(
        strategy=Strategy.RELAX,
        reasoning="Every table returned something; there is nothing to plan.",
        user_message=messages.nothing_to_do(),
        new_queries=(),
        kept=case.kept,
        retry_count=case.state.retry_count + 1,
    )


def _cause(diagnosis: Diagnosis) -> str:
    if not diagnosis.findings:
        return f"{diagnosis.kind}: the call shows no other reason"
    first = diagnosis.findings[0]
    return f"{first.kind} in {first.table}: {first.detail}"
