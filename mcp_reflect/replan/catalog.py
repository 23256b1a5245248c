"""The tables and modes that there are, and how well a table fits."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from mcp_reflect.models.search import CatalogEntry, Query, SearchRequest
from mcp_reflect.replan.vocabulary import Vocabulary, nearest, synonyms_of, vocabulary
from mcp_reflect.replan.words import INTENTS, STOP_WORDS, content, fold, stem, tokens

_BREADTH: Final = {
    "exact": 0, "phrase": 0, "literal": 0, "regex": 0,
    "faceted": 1, "filtered": 1, "keyword": 1, "boolean": 1, "structured": 1,
    "lexical": 2, "fulltext": 2, "bm25": 2, "text": 2, "prefix": 2,
    "fuzzy": 3, "semantic": 3, "vector": 3, "dense": 3,
    "hybrid": 4, "any": 4, "master": 5, "all": 5,
}  # fmt: skip
"""How much a mode lets through, by its usual name. A name that is not here counts as lexical."""

_SYNONYM: Final = 0.5

_INTENTS: Final = tuple((frozenset(map(stem, cues)), frozenset(map(stem, signs))) for cues, signs in INTENTS)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The tables of one request: those that the caller described, and those that it searched without a description."""

    described: tuple[CatalogEntry, ...]
    seen: tuple[CatalogEntry, ...] = ()

    @property
    def entries(self) -> tuple[CatalogEntry, ...]:
        return (*self.described, *self.seen)

    def entry(self, table: str) -> CatalogEntry | None:
        """Return the table of exactly that name, or None."""
        return next((entry for entry in self.entries if entry.table == table), None)

    def is_described(self, table: str) -> bool:
        """True if the caller's catalog has the table."""
        return any(entry.table == table for entry in self.described)

    def nearest(self, table: str) -> CatalogEntry | None:
        """Return the described table that was meant: other case, separators or number, or one or two slips."""
        plain = {_plain(entry.table): entry for entry in reversed(self.described or self.entries)}
        wanted = _plain(table)
        near = wanted if wanted in plain else nearest(wanted, plain)
        return plain[near] if near else None

    def words_of(self, table: str) -> Vocabulary:
        """Return the vocabulary of a table; of all tables where it has none."""
        entry = self.entry(table)
        if entry and entry.vocabulary:
            return vocabulary(entry.vocabulary)
        if self.is_described(table):
            return vocabulary(())
        return vocabulary(tuple(word for entry in self.described for word in entry.vocabulary))


@lru_cache(maxsize=256)
def breadth(mode: str) -> int:
    """0 (the exact words) to 5 (everything)."""
    return max((_BREADTH[part] for part in tokens(mode) if part in _BREADTH), default=2)


def of(request: SearchRequest) -> Catalog:
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
    return Catalog(request.catalog, tuple(seen.values()))


def widest(entry: CatalogEntry) -> str:
    """The mode that lets most through; the first of equals; empty where the table has no modes."""
    return max(entry.search_modes, key=breadth, default="")


def in_table(query: Query, entry: CatalogEntry) -> Query:
    """The query for this table, in a mode that the table has: its own if there, else the nearest in breadth."""
    mode = query.search_mode
    if mode not in entry.search_modes:
        folded = {fold(known): known for known in entry.search_modes}
        near = sorted(entry.search_modes, key=lambda known: (abs(breadth(known) - breadth(mode)), -breadth(known)))
        mode = folded.get(fold(mode)) or (near[0] if near else "")
    return replace(query, table=entry.table, search_mode=mode)


def fit(entry: CatalogEntry, need: str) -> float:
    """How well a table's name and description answer a need; 0 is not at all.

    A word shared with the description counts 1, a synonym .5, a word shared with the name 2, an intent that the
    description answers 1.5, and the share of the telling words that the table's vocabulary knows up to 1.
    """
    described, named = _described(entry), {stem(word) for word in tokens(entry.table)}
    asked = {stem(word) for word in tokens(need)}
    told = content(need)
    shared = {stem(word) for word in told}
    meant = {stem(other) for word in told for other in synonyms_of(word)} - shared
    intents = sum(1 for cues, signs in _INTENTS if asked & cues and signs & (described | named))
    known = vocabulary(entry.vocabulary)
    share = sum(known.knows(word) for word in told) / len(told) if entry.vocabulary and told else 0.0
    words = len(shared & described) + _SYNONYM * len(meant & described) + 2.0 * len(shared & named)
    return words + 1.5 * intents + share


def subject(entry: CatalogEntry, text: str) -> tuple[str, ...]:
    """The words of a text that are about the subject, without those that only say which table is meant."""
    named = {stem(word) for word in tokens(entry.table)}
    cues = frozenset[str]().union(*(cues for cues, _ in _INTENTS))
    words = content(text)
    return tuple(word for word in words if stem(word) not in named and stem(word) not in cues) or words


def _described(entry: CatalogEntry) -> frozenset[str]:
    return _stems(entry.description) | _stems(" ".join(entry.fields))


@lru_cache(maxsize=256)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in tokens(text) if word not in STOP_WORDS or word in {"how", "who", "where"})


def _plain(table: str) -> str:
    return stem("".join(tokens(table)))
