"""From JSON to values: queries, catalog, results, and plans that a model or the host proposes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import accumulate, takewhile
from typing import Any, Final, TypeGuard, cast

from mcp_reflect.config import DEFAULT, Limits
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json
from mcp_reflect.models.search import CatalogEntry, Proposal, Query, SearchRequest, SearchState, Strategy
from mcp_reflect.replan import attempts

# What of a search is read and kept, and what of it a language model is shown.


_SHOWN: Final = 6_000  # characters of queries, catalog and results that a language model is shown each
_SHOWN_WORDS: Final = 50  # words of a vocabulary that it is shown: every table's description must fit as well


def bounded(
    entries: tuple[CatalogEntry, ...], limits: Limits = DEFAULT
) -> tuple[tuple[CatalogEntry, ...], tuple[str, ...]]:
    """The catalog with vocabularies cut to what is read, and a note for each cut."""
    words, characters = limits.max_catalog_words, limits.max_catalog_chars
    catalog: list[CatalogEntry] = []
    notes: tuple[str, ...] = ()
    for entry in entries:
        kept = _fitting(entry.vocabulary[:words], characters)
        words -= len(kept)
        characters -= sum(map(len, kept))
        if len(kept) < len(entry.vocabulary):
            notes += (f"vocabulary of {entry.table} cut to {len(kept)} of {len(entry.vocabulary)} words",)
        catalog.append(replace(entry, vocabulary=kept))
    return tuple(catalog), notes


def _fitting(words: tuple[str, ...], characters: int) -> tuple[str, ...]:
    """The first words that have no more characters together."""
    if sum(map(len, words)) <= characters:
        return words
    ends = accumulate(map(len, words))
    return words[: sum(1 for _ in takewhile(lambda end: end <= characters, ends))]


def inputs(request: SearchRequest, state: SearchState) -> dict[str, Any]:
    """The places of the prompt template, each of a bounded size."""
    entries = [replace(entry, vocabulary=entry.vocabulary[:_SHOWN_WORDS]) for entry in request.catalog]
    return {
        "user_message": request.user_message,
        "queries": _json([asdict(query) for query in request.queries]),
        "results": _json({"counts": request.results, "empty": request.zero_result_tables}),
        "catalog": _json([asdict(entry) for entry in entries]),
        "tried": "\n".join(attempts.describe(tried.query) for tried in state.tried)[:_SHOWN],
        "suggestions": "\n".join(request.suggestions)[:_SHOWN],
        "retry_count": max(state.retry_count, request.retry_count),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:_SHOWN]


# From JSON to values: queries, catalog, results, and the plan that a model or the host proposes.
#
# Lenient where the meaning is plain (other names of a field, a number in quotes), and an InputError that
# names the field where it is not. Fields that nobody asked for are left aside.


_QUERY_NAMES = {
    "table": ("table", "collection"),
    "query_text": ("query_text", "query", "text", "q"),
    "search_mode": ("search_mode", "mode"),
    "limit": ("limit", "k", "top_k"),
    "score_threshold": ("score_threshold", "threshold", "min_score"),
    "filters": ("filters", "filter"),
    "tool": ("tool", "engine"),
}
MOST_ROWS: Final = 1_000_000
"""The highest limit that is believed."""

_STRATEGIES = {"broaden": Strategy.RELAX, "rephrase": Strategy.REWRITE, "reformulate": Strategy.REWRITE}
_QUERY_FIX = "Send {table, search_mode, query_text, limit, score_threshold, filters}"


def read_proposal(value: object, field: str = "analysis", limits: Limits = DEFAULT) -> Proposal:
    """`{reasoning, strategy, user_message, new_queries}`; only `new_queries` must be there, and may be empty."""
    if not is_object(value):
        raise InputError(field, "is not an object", "Send {reasoning, strategy, user_message, new_queries}")
    if value.get("new_queries") is None:
        raise InputError(f"{field}.new_queries", "is missing", "Send a list of queries, at most three for a table")
    for name in ("reasoning", "user_message", "strategy"):
        limits.refuse_long_texts("max_query_chars", f"{field}.{name}", value.get(name))
    return Proposal(
        new_queries=read_queries(value["new_queries"], f"{field}.new_queries", limits),
        reasoning=_text(value.get("reasoning"), f"{field}.reasoning"),
        user_message=_text(value.get("user_message"), f"{field}.user_message"),
        strategy=_strategy(value.get("strategy"), f"{field}.strategy"),
    )


def read_queries(value: object, field: str = "queries", limits: Limits = DEFAULT) -> tuple[Query, ...]:
    """A list of queries."""
    if not is_list(value):
        raise InputError(field, "is not a list", "Send a list of queries")
    limits.refuse_more("max_queries", field, len(value), "items")
    return tuple(read_query(item, f"{field}[{place}]", limits) for place, item in enumerate(value))


def read_query(value: object, field: str, limits: Limits = DEFAULT) -> Query:
    """One query. A text alone is no query: nobody would know where to search."""
    if not is_object(value):
        raise InputError(field, "is not an object", _QUERY_FIX)
    given = {ours: next((value[n] for n in names if value.get(n) is not None), None) for ours, names in _names()}
    tool = _text(given["tool"], f"{field}.tool")
    table = _text(given["table"], f"{field}.table") or tool
    if not table:
        raise InputError(f"{field}.table", "is missing", "Name the table to search")
    filters = given["filters"]
    if filters is not None and not is_object(filters):
        raise InputError(f"{field}.filters", "is not an object", "Send {field: value}")
    limits.refuse_more("max_filter_chars", f"{field}.filters", len(json.dumps(filters or {}, default=str)))
    for ours, said in given.items():
        if ours != "filters":
            limits.refuse_long_texts("max_query_chars", f"{field}.{ours}", said)
    return Query(
        table=table,
        query_text=_text(given["query_text"], f"{field}.query_text"),
        search_mode=_text(given["search_mode"], f"{field}.search_mode"),
        limit=_limit(given["limit"], f"{field}.limit"),
        score_threshold=_threshold(given["score_threshold"], f"{field}.score_threshold"),
        filters=dict(filters or {}),
        tool=tool,
    )


def read_catalog(value: object, field: str = "catalog", limits: Limits = DEFAULT) -> tuple[CatalogEntry, ...]:
    """A list of entries; `fields` is a list of names, or an object of names with their values.

    Entries of the same table are joined.
    """
    if not is_list(value):
        raise InputError(
            field, "is not a list", "Send a list of {table, description, search_modes, fields, vocabulary}"
        )
    tables: dict[str, CatalogEntry] = {}
    for place, item in enumerate(value):
        entry = _entry(item, f"{field}[{place}]", limits)
        tables[entry.table] = _joined(tables[entry.table], entry) if entry.table in tables else entry
    return tuple(tables.values())


def _joined(one: CatalogEntry, other: CatalogEntry) -> CatalogEntry:
    """Two entries of one table as one that has all of both."""
    return CatalogEntry(
        table=one.table,
        description=" ".join(filter(None, dict.fromkeys((one.description, other.description)))),
        search_modes=tuple(dict.fromkeys((*one.search_modes, *other.search_modes))),
        fields={**one.fields, **other.fields},
        vocabulary=tuple(dict.fromkeys((*one.vocabulary, *other.vocabulary))),
    )


def read_results(value: object, field: str = "results") -> dict[str, int]:
    """Rows by table, given as counts or as the rows themselves. An empty list says that nothing came back."""
    if is_list(value) and not value:
        return {}
    if not is_object(value):
        raise InputError(field, "is not an object", "Send {table: count} or {table: [rows]}")
    counts: dict[str, int] = {}
    for table, rows in value.items():
        if isinstance(rows, bool) or not isinstance(rows, int | list | tuple | dict | None):
            raise InputError(f"{field}.{table}", "is neither a count nor a list", "Send the number of rows")
        counts[table] = max(0, rows) if isinstance(rows, int) else len(rows or ())
    return counts


def _entry(value: object, field: str, limits: Limits) -> CatalogEntry:
    if not is_object(value):
        raise InputError(field, "is not an object", "Send {table, description, search_modes, fields, vocabulary}")
    table = _text(value.get("table"), f"{field}.table")
    if not table:
        raise InputError(f"{field}.table", "is missing", "Name the table")
    for name in ("table", "description"):
        limits.refuse_long_texts("max_query_chars", f"{field}.{name}", value.get(name))
    fields = value.get("fields") or ()
    named = fields if is_object(fields) else dict.fromkeys(_texts(fields, f"{field}.fields"))
    return CatalogEntry(
        table=table,
        description=_text(value.get("description"), f"{field}.description"),
        search_modes=_texts(value.get("search_modes"), f"{field}.search_modes"),
        fields={name: _texts(known if is_list(known) else (), f"{field}.fields") for name, known in named.items()},
        vocabulary=_texts(value.get("vocabulary"), f"{field}.vocabulary"),
    )


def _names() -> list[tuple[str, tuple[str, ...]]]:
    return list(_QUERY_NAMES.items())


def _strategy(value: object, field: str) -> Strategy | None:
    plain = _text(value, field).strip().casefold()
    if not plain:
        return None
    known = _STRATEGIES | {strategy.value: strategy for strategy in Strategy}
    if plain not in known:
        raise InputError(field, f"is {plain!r}", "Send relax, rewrite or pivot")
    return known[plain]


def _text(value: object, field: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(field, "is not a text", "Send a string")
    return value.strip()


def _texts(value: object, field: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if is_list(value) and set(map(type, value)) == {str}:
        return cast("tuple[str, ...]", tuple(value))
    if not is_list(value) or not all(isinstance(item, str | int | float) for item in value):
        raise InputError(field, "is not a list of texts", "Send a list of strings")
    return tuple(str(item) for item in value)


def _limit(value: object, field: str) -> int | None:
    number = _number(value, field, "Send a whole number of rows, at least 1")
    if number is None:
        return None
    if number != int(number) or number < 1:
        raise InputError(field, f"is {value}", "Send a whole number of rows, at least 1")
    if number > MOST_ROWS:
        raise InputError(field, f"is {value}", f"Send at most {MOST_ROWS} rows")
    return int(number)


def _threshold(value: object, field: str) -> float | None:
    number = _number(value, field, "Send a score in 0..1")
    if number is not None and not 0 <= number <= 1:
        raise InputError(field, f"is {value}", "Send a score in 0..1")
    return number


def _number(value: object, field: str, fix: str) -> float | None:
    if value is None:
        return None
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        number = None
    if number is None or number in (float("inf"), float("-inf")) or number != number:  # noqa: PLR0124 - not a number
        raise InputError(field, "is not a number", fix)
    return number


def is_object(value: object) -> TypeGuard[Mapping[str, Json]]:
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)
