"""What of a search is read and kept, and what of it a language model is shown."""

import json
from dataclasses import asdict, replace
from typing import Any, Final

from mcp_reflect.records.search import CatalogEntry, SearchRequest, SearchState
from mcp_reflect.replan import ledger

MOST_WORDS: Final = 60_000
"""Words of all vocabularies of a catalogue that are read; the rest is left out, and the result says so."""

MOST_CHARACTERS: Final = 1_000_000
"""Characters of those words."""

_SHOWN: Final = 6_000  # characters of queries, catalogue and results that a language model is shown each
_SHOWN_WORDS: Final = 50  # words of a vocabulary that it is shown: every table's description must fit as well


def bounded(request: SearchRequest) -> tuple[SearchRequest, tuple[str, ...]]:
    """The request with vocabularies cut to what is read, and a note for each cut."""
    words, characters = MOST_WORDS, MOST_CHARACTERS
    catalog: list[CatalogEntry] = []
    notes: tuple[str, ...] = ()
    for entry in request.catalog:
        kept = 0
        for word in entry.vocabulary[:words]:
            characters -= len(word)
            if characters < 0:
                break
            kept += 1
        words -= kept
        if kept < len(entry.vocabulary):
            notes += (f"vocabulary of {entry.table} cut to {kept} of {len(entry.vocabulary)} words",)
            entry = replace(entry, vocabulary=entry.vocabulary[:kept])  # noqa: PLW2901 - the same table, less of it
        catalog.append(entry)
    return (replace(request, catalog=tuple(catalog)), notes) if notes else (request, ())


def inputs(request: SearchRequest, state: SearchState) -> dict[str, Any]:
    """The places of the prompt template, each of a bounded size."""
    entries = [replace(entry, vocabulary=entry.vocabulary[:_SHOWN_WORDS]) for entry in request.catalog]
    return {
        "user_message": request.user_message,
        "queries": _json([asdict(query) for query in request.queries]),
        "results": _json({"counts": request.results, "empty": request.zero_result_tables}),
        "catalog": _json([asdict(entry) for entry in entries]),
        "tried": "\n".join(ledger.describe(tried.query) for tried in state.tried)[:_SHOWN],
        "suggestions": "\n".join(request.suggestions)[:_SHOWN],
        "retry_count": max(state.retry_count, request.retry_count),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:_SHOWN]
