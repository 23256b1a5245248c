"""A search's ledger as JSON values and back, for the bank to keep between two calls."""

from dataclasses import asdict
from typing import Any

from mcp_reflect.records.search import (
    CatalogEntry,
    Diagnosis,
    Finding,
    Kind,
    Payoff,
    Plan,
    Query,
    SearchRequest,
    SearchState,
    Strategy,
    Tried,
)


def kept_state(state: SearchState) -> dict[str, Any]:
    """The ledger as JSON values, without what belongs to the bank as a whole."""
    body = asdict(state)
    del body["payoffs"], body["learned"]
    return body


def state_from(body: dict[str, Any], payoffs: tuple[Payoff, ...]) -> SearchState:
    """The ledger that `kept_state` made JSON of."""
    pending = body["pending"]
    return SearchState(
        search_id=body["search_id"],
        retry_count=body["retry_count"],
        tried=tuple(Tried(query=Query(**one["query"]), found=one["found"]) for one in body["tried"]),
        original_queries=_queries(body["original_queries"]),
        pending=None if pending is None else _plan(pending),
        payoffs=payoffs,
    )


def request_from(body: dict[str, Any]) -> SearchRequest:
    """The call that `asdict` made JSON of."""
    values: dict[str, Any] = {
        **body,
        "queries": _queries(body["queries"]),
        "zero_result_tables": tuple(body["zero_result_tables"]),
        "suggestions": tuple(body["suggestions"]),
        "catalog": tuple(_entry(one) for one in body["catalog"]),
    }
    return SearchRequest(**values)


def _queries(items: list[dict[str, Any]]) -> tuple[Query, ...]:
    return tuple(Query(**item) for item in items)


def _entry(item: dict[str, Any]) -> CatalogEntry:
    return CatalogEntry(
        table=item["table"],
        description=item["description"],
        search_modes=tuple(item["search_modes"]),
        fields={name: tuple(values) for name, values in item["fields"].items()},
        vocabulary=tuple(item["vocabulary"]),
    )


def _plan(item: dict[str, Any]) -> Plan:
    findings = tuple(_finding(one) for one in item["diagnosis"]["findings"])
    values: dict[str, Any] = {
        **item,
        "strategy": Strategy(item["strategy"]),
        "new_queries": _queries(item["new_queries"]),
        "kept": _queries(item["kept"]),
        "notes": tuple(item["notes"]),
        "diagnosis": Diagnosis(findings=findings),
    }
    return Plan(**values)


def _finding(item: dict[str, Any]) -> Finding:
    values: dict[str, Any] = {**item, "kind": Kind(item["kind"]), "strategy": Strategy(item["strategy"])}
    return Finding(**values)
