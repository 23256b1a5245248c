"""The tables and modes that there are, and how well a table fits a need."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from mcp_reflect.models.search import CatalogEntry, Query, SearchRequest
from mcp_reflect.replan.vocabulary import Likeness, Vocabulary, nearest, nothing_alike, vocabulary
from mcp_reflect.replan.words import INTENTS, STOP_WORDS, content, fold, stem, tokens

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
"""How much a mode lets through, by its usual name. A name that is not here counts as lexical."""

_INTENTS: Final = tuple((frozenset(map(stem, cues)), frozenset(map(stem, signs))) for cues, signs in INTENTS)
_CUES: Final = frozenset(cue for cues, _ in _INTENTS for cue in cues)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The tables of one request: those that the caller described, and those that it searched without a description."""

    described: tuple[CatalogEntry, ...]
    seen: tuple[CatalogEntry, ...] = ()
    likeness: Likeness = nothing_alike

    def entry(self, table: str) -> CatalogEntry | None:
        """Return the table of exactly that name, or None."""
        return next((entry for entry in (*self.described, *self.seen) if entry.table == table), None)

    def is_described(self, table: str) -> bool:
        """True if the caller's catalog has the table."""
        return any(entry.table == table for entry in self.described)

    def nearest(self, table: str) -> CatalogEntry | None:
        """Return the described table that was meant: other case, separators or number, or one slip."""
        plain = {_plain(entry.table): entry for entry in reversed(self.described or self.seen)}
        near = nearest(_plain(table), plain)
        return plain[near] if near else None

    def words_of(self, table: str) -> Vocabulary:
        """Return the vocabulary of a table; of all tables where the table is not described."""
        entry = self.entry(table)
        if entry and (entry.vocabulary or self.is_described(table)):
            return vocabulary(entry.vocabulary, self.likeness)
        return vocabulary(tuple(word for entry in self.described for word in entry.vocabulary), self.likeness)

    def fit(self, entry: CatalogEntry, need: str) -> float:
        """Return how well a table's name and description answer a need; 0 is not at all.

        A word shared with the description counts 1, with the name 2; an intent that the description answers 1.5; the
        nearness of the meanings, and the share of the words that the table's vocabulary knows, up to 1 each.
        """
        described, named = _stems(f"{entry.description} {' '.join(entry.fields)}"), _stems(entry.table)
        words, asked = content(need), {stem(word) for word in tokens(need)}
        shared = {stem(word) for word in words}
        intents = sum(1 for cues, signs in _INTENTS if asked & cues and signs & (described | named))
        known = vocabulary(entry.vocabulary, self.likeness)
        share = sum(map(known.knows, words)) / len(words) if entry.vocabulary and words else 0.0
        alike = max(0.0, self.likeness(need, f"{entry.table} {entry.description}"))
        return len(shared & described) + 2.0 * len(shared & named) + 1.5 * intents + share + alike


def catalog_of(request: SearchRequest, likeness: Likeness = nothing_alike) -> Catalog:
    """Return the caller's catalog, and the searched tables that are neither in it nor a slip of one that is.

    A table that is not described has the modes that it was searched in, and no others.
    """
    described = Catalog(request.catalog)
    seen: dict[str, CatalogEntry] = {}
    for query in request.queries:
        if described.is_described(query.table) or (request.catalog and described.nearest(query.table)):
            continue
        entry = seen.get(query.table, CatalogEntry(table=query.table))
        modes = tuple(dict.fromkeys((*entry.search_modes, query.search_mode)))
        seen[query.table] = replace(entry, search_modes=modes)
    return Catalog(request.catalog, tuple(seen.values()), likeness)


@lru_cache(maxsize=256)
def breadth(mode: str) -> int:
    """Return how much a mode lets through: 0 (the exact words) to 5 (everything)."""
    return max((_BREADTH[part] for part in tokens(mode) if part in _BREADTH), default=2)


def widest(entry: CatalogEntry) -> str:
    """Return the mode that lets most through; the first of equals; empty where the table has no modes."""
    return max(entry.search_modes, key=breadth, default="")


def in_table(query: Query, entry: CatalogEntry) -> Query:
    """Return the query for this table, in a mode that the table has: its own if there, else the nearest in breadth."""
    mode = query.search_mode
    if mode not in entry.search_modes:
        near = sorted(
            entry.search_modes,
            key=lambda known: (fold(known) != fold(mode), abs(breadth(known) - breadth(mode)), -breadth(known)),
        )
        mode = near[0] if near else ""
    return replace(query, table=entry.table, search_mode=mode)


def subject(entry: CatalogEntry, text: str) -> tuple[str, ...]:
    """Return the words of a text that are about the subject, without those that only say which table is meant."""
    other = _CUES | {stem(word) for word in tokens(entry.table)}
    words = content(text)
    return tuple(word for word in words if stem(word) not in other) or words


@lru_cache(maxsize=256)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in tokens(text) if word not in STOP_WORDS or word in {"how", "who", "where"})


def _plain(table: str) -> str:
    return stem("".join(tokens(table)))
