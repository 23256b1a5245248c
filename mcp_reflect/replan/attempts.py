"""The attempts of one search, their results, and their form in storage."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import islice
from typing import Any, Final, TypeAlias

from mcp_reflect.models.common import Json
from mcp_reflect.models.search import (
    CatalogEntry,
    EmptyCause,
    Payoff,
    Plan,
    Query,
    SearchDiagnosis,
    SearchFinding,
    SearchRequest,
    SearchState,
    Strategy,
    Tried,
)
from mcp_reflect.replan.words import fold, normalized

Key: TypeAlias = tuple[str, str, str, str]

_LONGEST: Final = 120  # characters of a text that are shown to developers
_SHOWN: Final = 6  # filters of a query
_MOST: Final = 20  # queries in one line


def key(query: Query) -> Key:
    """What near-identical queries share: table, mode, normalized text and filters."""
    filters = json.dumps(dict(query.filters), sort_keys=True, ensure_ascii=True, default=str) if query.filters else ""
    return fold(query.table), fold(query.search_mode), normalized(query.query_text), filters


def is_looser(query: Query, tried: Query) -> bool:
    """Whether the threshold is lower or the limit higher, where the tried query had one."""
    return is_lower(query, tried) or (tried.limit is not None and (query.limit is None or query.limit > tried.limit))


def is_lower(query: Query, tried: Query) -> bool:
    """Whether the threshold alone is lower: where nothing was found, a higher limit brings nothing."""
    return tried.score_threshold is not None and (
        query.score_threshold is None or query.score_threshold < tried.score_threshold
    )


def refusal(query: Query, state: SearchState, planned: Iterable[Query] = ()) -> str | None:
    """Why the query must not be run again, or null where it is new."""
    for tried in (*state.tried, *(Tried(query=other) for other in planned)):
        if key(tried.query) == key(query) and not is_looser(query, tried.query):
            came = "" if tried.found is None else f" and found {tried.found}"
            return f"{describe(query)} was tried before{came}"
    return None


def is_hopeless(query: Query, state: SearchState, planned: Iterable[Query] = ()) -> bool:
    """Whether a search that ran would have found all that this one can find.

    That is its like with the same filters or some of them, and with as low a threshold.
    """
    ran = (*(entry.query for entry in state.tried), *planned)
    return any(
        key(other)[:3] == key(query)[:3] and _has(query, other.filters) and not is_lower(query, other) for other in ran
    )


def _has(query: Query, filters: Mapping[str, Json]) -> bool:
    return all(name in query.filters and query.filters[name] == value for name, value in filters.items())


def describe(query: Query) -> str:
    """A query in one line of some hundred characters, for developers: text, place, conditions."""
    conditions = [_cut(f"{name}={value}") for name, value in islice(query.filters.items(), _SHOWN)]
    conditions += ["…"] if len(query.filters) > _SHOWN else []
    conditions += [] if query.score_threshold is None else [f"threshold {query.score_threshold:g}"]
    conditions += [] if query.limit is None else [f"limit {query.limit}"]
    place = f"{query.table}/{query.search_mode}" if query.search_mode else query.table
    return f'"{_cut(query.query_text)}" in {place}' + (f" ({', '.join(conditions)})" if conditions else "")


def describe_all(queries: Sequence[Query]) -> str:
    """The queries in one line, the first ones and how many more there are."""
    more = f"; and {len(queries) - _MOST} more" if len(queries) > _MOST else ""
    return "; ".join(describe(query) for query in queries[:_MOST]) + more


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def found_in(request: SearchRequest, table: str) -> int | None:
    """Rows found in a table, null where the call does not say."""
    if table in request.zero_result_tables:
        return 0
    if request.results is not None and table in request.results:
        return request.results[table]
    return None if request.results is not None or request.zero_result_tables else 0


def is_empty(request: SearchRequest, table: str) -> bool:
    """Whether a table has to be planned for. Counts missing beside other counts mean that nothing came."""
    if request.results and not any(query.table in request.results for query in request.queries):
        return not any(request.results.values())  # rows of other names than the queries have: something was found
    count = found_in(request, table)
    return count == 0 or (count is None and request.results is not None and not request.zero_result_tables)


def observe(state: SearchState, request: SearchRequest) -> SearchState:
    """Take in what the call reports: queries that ran, what they found, and whether the last plan paid off."""
    state = _settle(state, request)
    tried = {key(entry.query) + _bounds(entry.query): entry for entry in state.tried}
    for query in request.queries:
        tried[key(query) + _bounds(query)] = Tried(query=query, found=found_in(request, query.table))
    return replace(
        state,
        tried=tuple(tried.values()),
        retry_count=max(state.retry_count, request.retry_count),
        original_queries=state.original_queries or request.queries,
    )


def record(state: SearchState, request: SearchRequest, plan: Plan) -> SearchState:
    """The attempts after a plan was handed out. The plan stays pending until somebody says what came of it."""
    state = observe(state, request)
    return replace(state, retry_count=plan.retry_count, pending=plan)


def reopen(state: SearchState) -> SearchState:
    """The attempts as they were before the pending plan: another plan for the same failure may replace it."""
    if state.pending is None:
        return state
    return replace(state, retry_count=max(0, state.retry_count - 1), pending=None)


def settle(state: SearchState, *, paid: float) -> SearchState:
    """Close the pending plan and learn from it; nothing to learn where nothing was proposed.

    `paid` is in 0..1: 1 where the plan found what was wanted, .5 a part of it.
    """
    plan = state.pending
    if plan is None:
        return state
    ran = tuple(Tried(query=query) for query in plan.new_queries)
    learned = state.learned
    if ran or (plan.give_up and paid):  # a success after giving up is that of the strategy that was tried last
        lesson = Payoff(kind=plan.diagnosis.kind, strategy=plan.strategy, used=1, paid=paid)
        learned = add_payoffs(learned, (lesson,))
    return replace(state, tried=state.tried + ran, pending=None, learned=learned)


def add_payoffs(one: Iterable[Payoff], other: Iterable[Payoff]) -> tuple[Payoff, ...]:
    """The sum of two tallies; the order of the two does not matter."""
    total: dict[tuple[EmptyCause, Strategy], Payoff] = {}
    for payoff in (*one, *other):
        at = (payoff.kind, payoff.strategy)
        seen = total.get(at, Payoff(kind=payoff.kind, strategy=payoff.strategy))
        total[at] = replace(seen, used=seen.used + payoff.used, paid=seen.paid + payoff.paid)
    return tuple(total[at] for at in sorted(total))


def _settle(state: SearchState, request: SearchRequest) -> SearchState:
    """A later call closes the pending plan, and teaches something where it reports what came of it."""
    plan = state.pending
    if plan is None:
        return state
    if plan.give_up:
        return settle(state, paid=float(any((request.results or {}).values())))
    proposed = {key(query): query.table for query in plan.new_queries}
    if request.queries:
        tables = {query.table for query in request.queries if key(query) in proposed}
    else:
        tables = set(proposed.values()) if request.results is not None else set[str]()
    if tables:
        return settle(state, paid=float(any((found_in(request, table) or 0) > 0 for table in tables)))
    return replace(settle(state, paid=0), learned=state.learned)


def _bounds(query: Query) -> tuple[str, str]:
    return str(query.limit), str(query.score_threshold)


# The attempts and the request as JSON
#
# Law held by a test: loading what was dumped gives it back.
#
# Payoffs are left out: they belong to the bank as a whole, not to one search.


def dump_state(state: SearchState) -> str:
    """the attempts of one search. What it has learned goes to the bank, and is not kept here again."""
    return _dump(replace(state, payoffs=(), learned=()))


def load_state(text: str) -> SearchState:
    """The attempts back; the caller puts the bank's payoffs in."""
    data: dict[str, Any] = json.loads(text)
    pending = data["pending"]
    return SearchState(
        search_id=data["search_id"],
        retry_count=data["retry_count"],
        tried=tuple(Tried(query=Query(**tried["query"]), found=tried["found"]) for tried in data["tried"]),
        original_queries=_queries(data["original_queries"]),
        pending=None if pending is None else _plan(pending),
    )


def dump_request(request: SearchRequest) -> str:
    """The request, so that a later call with the same search may leave its arguments out.

    Without its catalog, which is long: that is kept by its hash, once for all searches.
    """
    return _dump(replace(request, catalog=()))


def load_request(text: str, catalog: tuple[CatalogEntry, ...] = ()) -> SearchRequest:
    """The request back, with the catalog that was kept apart."""
    data: dict[str, Any] = json.loads(text)
    data |= {
        "queries": _queries(data["queries"]),
        "zero_result_tables": tuple(data["zero_result_tables"]),
        "catalog": catalog,
        "suggestions": tuple(data["suggestions"]),
    }
    return SearchRequest(**data)


def dump_catalog(entries: tuple[CatalogEntry, ...]) -> str:
    """A catalog as text that its hash is taken of."""
    return _dump(entries)


def load_catalog(text: str) -> tuple[CatalogEntry, ...]:
    return tuple(_entry(entry) for entry in json.loads(text))


def _plan(data: dict[str, Any]) -> Plan:
    findings = tuple(_finding(finding) for finding in data["diagnosis"]["findings"])
    given: dict[str, Any] = data | {
        "strategy": Strategy(data["strategy"]),
        "new_queries": _queries(data["new_queries"]),
        "kept": _queries(data["kept"]),
        "notes": tuple(data["notes"]),
        "diagnosis": SearchDiagnosis(findings=findings),
    }
    return Plan(**given)


def _finding(data: dict[str, Any]) -> SearchFinding:
    given: dict[str, Any] = data | {"kind": EmptyCause(data["kind"]), "strategy": Strategy(data["strategy"])}
    return SearchFinding(**given)


def _entry(data: Mapping[str, Any]) -> CatalogEntry:
    return CatalogEntry(
        table=data["table"],
        description=data["description"],
        search_modes=tuple(data["search_modes"]),
        fields={name: tuple(values) for name, values in data["fields"].items()},
        vocabulary=tuple(data["vocabulary"]),
    )


def _dump(value: object) -> str:
    """JSON of values and records. `asdict` would copy each of thousands of words first."""
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _queries(data: list[dict[str, Any]]) -> tuple[Query, ...]:
    return tuple(Query(**query) for query in data)
