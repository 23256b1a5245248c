"""The tables of a request: their modes, their words, and how well each fits a need."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from mcp_reflect.models.search import CatalogEntry, Query, SearchRequest
from mcp_reflect.replan.words import (
    Vocabulary,
    content,
    likeness,
    similar,
    stems,
    tokens,
    vocabulary,
)
from mcp_reflect.text.stemmer import stem

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
_ASKS_WHO: Final = frozenset(
    "who whom someone somebody anyone anybody company companies wer wen jemand".split()
)
_PEOPLE: Final = frozenset(
    map(
        stem,
        "people person persons companies staff team members speakers exhibitors vendors contacts".split(),
    )
)


class Catalog:
    """The tables that the caller described, and those that it searched, neither described nor a slip of such a name.

    A searched table has the modes that it was searched in, a table described without modes those of all queries.
    """

    def __init__(self, request: SearchRequest) -> None:
        modes = tuple(dict.fromkeys(query.search_mode for query in request.queries))
        self.described = tuple(
            entry if entry.search_modes else replace(entry, search_modes=modes)
            for entry in request.catalog
        )
        self._words: dict[str, Vocabulary] = {}
        self._by_name = {entry.table: entry for entry in reversed(self.described)}
        unknown = [query for query in request.queries if query.table not in self._by_name]
        for query in (
            unknown
            if not self.described
            else [query for query in unknown if not self.nearest(query.table)]
        ):
            before = self._by_name.get(query.table, CatalogEntry(table=query.table))
            own = tuple(dict.fromkeys((*before.search_modes, query.search_mode)))
            self._by_name[query.table] = replace(before, search_modes=own)

    def entry(self, table: str) -> CatalogEntry | None:
        """Return the table of exactly that name, or None."""
        return self._by_name.get(table)

    def is_described(self, table: str) -> bool:
        """Return True if the caller's catalog has the table."""
        return any(entry.table == table for entry in self.described)

    def nearest(self, table: str) -> CatalogEntry | None:
        """Return the table that was meant: other case, separators or number, or nearly the same letters."""
        entries = {entry.table: entry for entry in self.described or self._by_name.values()}
        return entries.get(self.nearest_name(table, tuple(entries)) or "")

    @staticmethod
    def nearest_name(table: str, known: Sequence[str]) -> str | None:
        """Return the known name that was meant: other case, separators or number, or nearly the same letters."""
        plain = {_plain(name): name for name in reversed(known)}
        return plain.get(similar(_plain(table), plain) or _plain(table))

    def words_of(self, table: str) -> Vocabulary:
        """Return the vocabulary of a table; of all tables where the table is not described."""
        if table not in self._words:  # looked up once: the hash of a long list takes milliseconds
            entries = [self._by_name[table]] if self.is_described(table) else self.described
            words = (
                entries[0].vocabulary
                if len(entries) == 1
                else tuple(w for e in entries for w in e.vocabulary)
            )
            self._words[table] = vocabulary(words)
        return self._words[table]

    def fit(self, entry: CatalogEntry, need: str) -> float:
        """Return how well a table's name and description answer a need; 0 is not at all.

        A word shared with the description counts 1, with the name 2, the nearness of the meanings up to 3, a word
        of the vocabulary 1 and the share of such words up to 1, and people or companies where the need asks who 1.
        """
        described, named = (
            stems(f"{entry.description} {' '.join(entry.fields)}"),
            stems(entry.table),
        )
        words, shared = content(need), stems(need)
        known = self.words_of(entry.table).matches(words).values() if entry.vocabulary else ()
        share = any(known) + sum(map(bool, known)) / max(1, len(words))
        alike = _ALIKE * max(0.0, likeness(need, f"{entry.table} {entry.description}"))
        asks_who = bool(_ASKS_WHO.intersection(tokens(need))) and bool(
            (described | named) & _PEOPLE
        )
        return len(shared & described) + 2.0 * len(shared & named) + share + alike + asks_who


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

    def distance(mode: str) -> tuple[bool, int, int]:
        return (
            mode != query.search_mode,
            abs(breadth(mode) - breadth(query.search_mode)),
            -breadth(mode),
        )

    return replace(
        query, table=entry.table, search_mode=min(entry.search_modes, key=distance, default="")
    )


def closing_filters(query: Query, entry: CatalogEntry | None) -> dict[str, str | None]:
    """Return the filters whose value the catalog does not list for the field, with the listed value that was meant."""
    closing: dict[str, str | None] = {}
    for name, value in query.filters.items() if entry else ():
        listed = (
            {_plain(known): known for known in reversed(entry.fields.get(name, ()))}
            if entry
            else {}
        )
        if listed and str(value) not in listed.values():
            meant = _plain(str(value))
            closing[name] = (
                listed.get(similar(meant, listed) or meant) if isinstance(value, str) else None
            )
    return closing


def _plain(name: str) -> str:
    return "".join(map(stem, tokens(name)))
