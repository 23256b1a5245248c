"""The ledger and the request as JSON, for a store that knows nothing of them.

Law held by a test: loading what was dumped gives it back.

Payoffs are left out: they belong to the bank as a whole, not to one search.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from mcp_reflect.models.search import (
    CatalogEntry,
    Diagnosis,
    Finding,
    Kind,
    Plan,
    Query,
    SearchRequest,
    SearchState,
    Strategy,
    Tried,
)


def dump_state(state: SearchState) -> str:
    """The ledger of one search. What it has learned goes to the bank, and is not kept here again."""
    return _dump(replace(state, payoffs=(), learned=()))


def load_state(text: str) -> SearchState:
    """The ledger back; the caller puts the bank's payoffs in."""
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

    Without its catalogue, which is long: that is kept by its hash, once for all searches.
    """
    return _dump(replace(request, catalog=()))


def load_request(text: str, catalog: tuple[CatalogEntry, ...] = ()) -> SearchRequest:
    """The request back, with the catalogue that was kept apart."""
    data: dict[str, Any] = json.loads(text)
    data |= {
        "queries": _queries(data["queries"]),
        "zero_result_tables": tuple(data["zero_result_tables"]),
        "catalog": catalog,
        "suggestions": tuple(data["suggestions"]),
    }
    return SearchRequest(**data)


def dump_catalog(entries: tuple[CatalogEntry, ...]) -> str:
    """A catalogue as text that its hash is taken of."""
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
        "diagnosis": Diagnosis(findings=findings),
    }
    return Plan(**given)


def _finding(data: dict[str, Any]) -> Finding:
    given: dict[str, Any] = data | {"kind": Kind(data["kind"]), "strategy": Strategy(data["strategy"])}
    return Finding(**given)


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
