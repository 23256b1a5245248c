"""The tables and modes that there are, and how well a table fits."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from mcp_reflect.models.search import CatalogEntry, Query, SearchRequest
from mcp_reflect.replan.words import INTENTS, STOP_WORDS, content, edit_distance, fold, stem, tokens, vocabulary

DEFAULT_MODES: Final = ("faceted", "master")
"""Offered where there is no catalog: the narrow and the wide mode that search tools of this kind have."""

_BREADTH: Final = {
    "exact": 0, "phrase": 0, "literal": 0, "regex": 0,
    "faceted": 1, "filtered": 1, "keyword": 1, "boolean": 1, "structured": 1,
    "lexical": 2, "fulltext": 2, "bm25": 2, "text": 2, "prefix": 2,
    "fuzzy": 3, "semantic": 3, "vector": 3, "dense": 3,
    "hybrid": 4, "any": 4, "master": 5, "all": 5,
}  # fmt: skip
"""How much a mode lets through, by its usual name. A name that is not here counts as lexical."""

_INTENTS: Final = tuple((frozenset(map(stem, cues)), frozenset(map(stem, signs))) for cues, signs in INTENTS)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The tables of one request. `given` says whether the caller named them or we know them from queries only."""

    entries: tuple[CatalogEntry, ...]
    given: bool

    def entry(self, table: str) -> CatalogEntry | None:
        return next((entry for entry in self.entries if entry.table == table), None)

    def nearest(self, table: str) -> CatalogEntry | None:
        """The table that was meant: other case, other separators, singular for plural, one or two slips."""
        wanted = _plain(table)
        for entry in self.entries:
            if _plain(entry.table) == wanted:
                return entry
        slips = 1 if len(wanted) < 8 else 2
        close = [(edit_distance(wanted, _plain(entry.table), slips), entry.table) for entry in self.entries]
        best = min(close, default=(slips + 1, ""))
        return self.entry(best[1]) if len(wanted) > 3 and best[0] <= slips else None


@lru_cache(maxsize=256)
def breadth(mode: str) -> int:
    """0 (the exact words) to 5 (everything)."""
    return max((_BREADTH[part] for part in tokens(mode) if part in _BREADTH), default=2)


def of(request: SearchRequest) -> Catalog:
    """The caller's catalog; without one, the tables seen with the modes seen and the default ones.

    A query without a mode has been seen too: it stays without one as long as nothing wider is needed.
    """
    if request.catalog:
        return Catalog(request.catalog, given=True)
    seen = tuple(dict.fromkeys(query.search_mode for query in request.queries))
    modes = tuple(dict.fromkeys((*seen, *DEFAULT_MODES)))
    tables = dict.fromkeys(query.table for query in request.queries)
    return Catalog(tuple(CatalogEntry(table=table, search_modes=modes) for table in tables), given=False)


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

    A word shared with the description counts 1, with the name 2, an intent that the description answers
    1.5, and 1 for the share of the telling words that the table's vocabulary knows.
    """
    described, named = _described(entry), {stem(word) for word in tokens(entry.table)}
    asked = {stem(word) for word in tokens(need)}
    told = content(need)
    shared = {stem(word) for word in told}
    intents = sum(1 for cues, signs in _INTENTS if asked & cues and signs & (described | named))
    known = vocabulary(entry.vocabulary)
    share = sum(known.knows(word) for word in told) / len(told) if entry.vocabulary and told else 0.0
    return len(shared & described) + 2.0 * len(shared & named) + 1.5 * intents + share


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
