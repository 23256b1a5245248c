"""What of a search is read and kept, and what of it a language model is shown."""

import json
from dataclasses import asdict, replace
from itertools import accumulate, takewhile
from typing import Any, Final

from mcp_reflect.config import DEFAULT, Limits
from mcp_reflect.models.search import CatalogEntry, SearchRequest, SearchState
from mcp_reflect.replan import ledger

_SHOWN: Final = 6_000  # characters of queries, catalogue and results that a language model is shown each
_SHOWN_WORDS: Final = 50  # words of a vocabulary that it is shown: every table's description must fit as well


def bounded(
    entries: tuple[CatalogEntry, ...], limits: Limits = DEFAULT
) -> tuple[tuple[CatalogEntry, ...], tuple[str, ...]]:
    """The catalogue with vocabularies cut to what is read, and a note for each cut."""
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
        "tried": "\n".join(ledger.describe(tried.query) for tried in state.tried)[:_SHOWN],
        "suggestions": "\n".join(request.suggestions)[:_SHOWN],
        "retry_count": max(state.retry_count, request.retry_count),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:_SHOWN]
