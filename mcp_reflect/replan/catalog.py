"""The tables of a request: their modes, their words, and how well each fits a need."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from mcp_reflect.models.search import CatalogEntry, Query, SearchRequest
from mcp_reflect.replan.words import (
    OTHER_STOP_WORDS,
    STOP_WORDS,
    Vocabulary,
    content,
    fold,
    likeness,
    similar,
    tokens,
    vocabulary,
)
from mcp_reflect.stemmer import stem

# How much a mode lets through, by its usual name. A name that is not here counts as lexical.
_BREADTH: Final = {
    name: breadth
    for breadth, names in enumerate((
        "exact phrase literal regex",
        "faceted filtered keyword boolean structured",
        "lexical fulltext bm25 text prefix",
        "fuzzy semantic vector dense",
        "hybrid any",
        "master all",
    ))
    for name in names.split()
}  # fmt: skip
_ALIKE: Final = 3.0  # weight of the nearness of two meanings
_ASKS_WHO: Final = frozenset("who whom someone somebody anyone anybody company companies wer wen jemand".split())
_PEOPLE: Final = frozenset(
    map(stem, "people person persons companies staff team members speakers exhibitors vendors contacts".split())
)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The tables that the caller described, and those that it searched without a description."""

    described: tuple[CatalogEntry, ...]
    seen: tuple[CatalogEntry, ...] = ()

    def entry(self, table: str) -> CatalogEntry | None:
        """Return the table of exactly that name, or None."""
        return next((entry for entry in (*self.described, *self.seen) if entry.table == table), None)

    def is_described(self, table: str) -> bool:
        """Return True if the caller's catalog has the table."""
        return any(entry.table == table for entry in self.described)

    def nearest(self, table: str) -> CatalogEntry | None:
        """Return the described table that was meant: other case, separators or number, or nearly the same letters."""
        plain = {_plain(entry.table): entry for entry in reversed(self.described or self.seen)}
        return plain.get(similar(_plain(table), plain) or _plain(table))

    def words_of(self, table: str) -> Vocabulary:
        """Return the vocabulary of a table; of all tables where the table is not described."""
        entry = self.entry(table)
        if entry and (entry.vocabulary or self.is_described(table)):
            return vocabulary(entry.vocabulary)
        return vocabulary(tuple(word for entry in self.described for word in entry.vocabulary))

    def fit(self, entry: CatalogEntry, need: str) -> float:
        """Return how well a table's name and description answer a need; 0 is not at all.

        A word shared with the description counts 1, with the name 2, the nearness of the meanings up to 3, the share
        of the words that the table's vocabulary knows up to 1, and people or companies where the need asks who 1.
        """
        described, named = _stems(f"{entry.description} {' '.join(entry.fields)}"), _stems(entry.table)
        words, shared = content(need), _stems(need)
        known = vocabulary(entry.vocabulary).matches(words).values() if entry.vocabulary else ()
        share = sum(bool(match.words) for match in known) / max(1, len(words))
        alike = _ALIKE * max(0.0, likeness(need, f"{entry.table} {entry.description}"))
        asks_who = bool(_ASKS_WHO.intersection(tokens(need))) and bool((described | named) & _PEOPLE)
        return len(shared & described) + 2.0 * len(shared & named) + share + alike + asks_who


def catalog_of(request: SearchRequest) -> Catalog:
    """Return the caller's catalog, and the searched tables that are neither in it nor a slip of one that is.

    A table that is not described has the modes that it was searched in, and no others. One that is described without
    modes has those of the queries.
    """
    modes = tuple(dict.fromkeys(query.search_mode for query in request.queries))
    catalog = tuple(entry if entry.search_modes else replace(entry, search_modes=modes) for entry in request.catalog)
    described = Catalog(catalog)
    seen: dict[str, CatalogEntry] = {}
    for query in request.queries:
        if not described.is_described(query.table) and not (catalog and described.nearest(query.table)):
            entry = seen.get(query.table, CatalogEntry(table=query.table))
            own = tuple(dict.fromkeys((*entry.search_modes, query.search_mode)))
            seen[query.table] = replace(entry, search_modes=own)
    return Catalog(catalog, tuple(seen.values()))


@lru_cache(maxsize=256)
def breadth(mode: str) -> int:
    """Return how much a mode lets through: 0 (the exact words) to 5 (everything)."""
    return max((_BREADTH[part] for part in tokens(mode) if part in _BREADTH), default=2)


def widest(entry: CatalogEntry) -> str:
    """Return the mode that lets most through; the first of equals; empty where the table has no modes."""
    return max(entry.search_modes, key=breadth, default="")


def in_table(query: Query, entry: CatalogEntry | None) -> Query:
    """Return the query for this table, in a mode that the table has: its own if there, else the nearest in breadth."""
    if entry is None:
        return query

    def distance(mode: str) -> tuple[bool, bool, int, int]:
        wanted = query.search_mode
        other = abs(breadth(mode) - breadth(wanted))
        return mode != wanted, fold(mode) != fold(wanted), other, -breadth(mode)

    return replace(query, table=entry.table, search_mode=min(entry.search_modes, key=distance, default=""))


def closing_filters(query: Query, entry: CatalogEntry | None) -> dict[str, str | None]:
    """Return the filters whose value the catalog does not list for the field, with the listed value that was meant."""
    closing: dict[str, str | None] = {}
    for name, value in query.filters.items() if entry else ():
        listed = {_plain(known): known for known in reversed(entry.fields.get(name, ()))} if entry else {}
        if listed and str(value) not in listed.values():
            meant = _plain(str(value))
            closing[name] = listed.get(similar(meant, listed) or meant) if isinstance(value, str) else None
    return closing


@lru_cache(maxsize=256)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in tokens(text) if word not in STOP_WORDS and word not in OTHER_STOP_WORDS)


def _plain(name: str) -> str:
    return "".join(map(stem, tokens(name)))
