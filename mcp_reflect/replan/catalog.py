"""The tables that a search may use: the modes of each, the words of its rows, and how well it answers a need."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from mcp_reflect.models.search import CatalogEntry, Query, SearchRequest
from mcp_reflect.replan.vocabulary import Vocabulary, vocabulary
from mcp_reflect.replan.word_lists import listed_words
from mcp_reflect.replan.words import content, likeness, similar, stems, tokens
from mcp_reflect.text.stemmer import stem

# How much a mode lets through, by its usual names. A name that is not here counts as lexical.
_BREADTH_BY_MODES: Final = {
    "exact phrase literal regex": 0,
    "faceted filtered keyword boolean structured": 1,
    "lexical fulltext bm25 text prefix": 2,
    "fuzzy semantic vector dense": 3,
    "hybrid any": 4,
    "master all": 5,
}
_LEXICAL: Final = 2
_ALIKE: Final = 3.0
"""The weight of the nearness of two meanings in how well a table fits."""


def _breadth_by_name() -> dict[str, int]:
    """Return how much a mode lets through, by each of its usual names: `{"exact": 0, "phrase": 0, …}`."""
    breadth_of: dict[str, int] = {}
    for names, value in _BREADTH_BY_MODES.items():
        breadth_of |= dict.fromkeys(names.split(), value)
    return breadth_of


_BREADTH: Final = _breadth_by_name()


class Catalog:
    """The tables of a search: those that the caller described, and others that the caller searched.

    A searched name that is a slip of a described one (`doc` of `docs`) is no table of its own. A searched table has the
    modes that it was searched in; a table that was described without modes has those of all queries.
    """

    def __init__(self, request: SearchRequest) -> None:
        self.described = _with_modes(request)
        self._words: dict[str, Vocabulary] = {}
        self._by_name = {entry.table: entry for entry in reversed(self.described)}
        unknown = [query for query in request.queries if query.table not in self._by_name]
        if self.described:
            unknown = [query for query in unknown if not self.nearest(query.table)]
        for query in unknown:
            self._add_mode(query)

    def _add_mode(self, query: Query) -> None:
        """Add a table that nobody described, with the modes that it was searched in."""
        before = self._by_name.get(query.table, CatalogEntry(table=query.table))
        modes = dict.fromkeys((*before.search_modes, query.search_mode))
        self._by_name[query.table] = replace(before, search_modes=tuple(modes))

    def entry(self, table: str) -> CatalogEntry | None:
        """Return the table of exactly that name, or None."""
        return self._by_name.get(table)

    def is_described(self, table: str) -> bool:
        """Return True if the caller's catalog has the table."""
        return any(entry.table == table for entry in self.described)

    def nearest(self, table: str) -> CatalogEntry | None:
        """Return the table that was meant, None for none: other case, separators or number, or nearly the same letters.

        `Invoice` and `invoces` mean `invoices`.
        """
        entries = {entry.table: entry for entry in self.described or self._by_name.values()}
        return entries.get(self.nearest_name(table, tuple(entries)) or "")

    @staticmethod
    def nearest_name(table: str, known: Sequence[str]) -> str | None:
        """Return the known name that was meant: other case, separators or number, or nearly the same letters."""
        return _meant_name(table, _by_plain_name(known))

    def words_of(self, table: str) -> Vocabulary:
        """Return the vocabulary of a table; of all tables where the table is not described."""
        if table not in self._words:  # looked up once: the hash of a long list takes milliseconds
            self._words[table] = vocabulary(self._word_list(table))
        return self._words[table]

    def _word_list(self, table: str) -> tuple[str, ...]:
        """Return the words of a described table, else of all tables."""
        if self.is_described(table):
            return self._by_name[table].vocabulary
        if len(self.described) == 1:  # the same tuple: its index may be cached
            return self.described[0].vocabulary
        words: list[str] = []
        for entry in self.described:
            words += entry.vocabulary
        return tuple(words)

    def relevance(self, entry: CatalogEntry, need: str) -> float:
        """Return how well a table answers a need, from 0 (not at all) up; the weights are chosen, not measured.

        `need` is the person's message with the text of the query.

        | what the table has                                              | counts           |
        |-----------------------------------------------------------------|------------------|
        | a word of the need in its description or fields                 | 1 each           |
        | a word of the need in its name                                  | 2 each           |
        | a description that is near the need in meaning                  | up to 3          |
        | words of the need in its vocabulary                             | 1 to 2 together  |
        | people or companies, where the need asks who                    | 1                |
        """
        described = stems(f"{entry.description} {' '.join(entry.fields)}")
        named = stems(entry.table)
        wanted = stems(need)
        shared = len(wanted & described) + 2.0 * len(wanted & named)
        nearness = likeness(need, f"{entry.table} {entry.description}")
        score = shared + self._score_by_vocabulary(entry, need) + _ALIKE * max(0.0, nearness)
        if _asks_who(need) and not _PEOPLE_STEMS.isdisjoint(described | named):
            score += 1
        return score

    def _score_by_vocabulary(self, entry: CatalogEntry, need: str) -> float:
        """Return 1 for any word of the need that the table's vocabulary has, and the share of such words on top.

        Of four words of a need the vocabulary has one: that is 1.25. It is 0 where it has none.
        """
        if not entry.vocabulary:
            return 0.0
        words = content(need)
        matches = self.words_of(entry.table).matches(words).values()
        words_it_has = sum(1 for match in matches if match)
        if words_it_has == 0:
            return 0.0
        return 1 + words_it_has / len(words)


def _with_modes(request: SearchRequest) -> tuple[CatalogEntry, ...]:
    """Return the caller's catalog, in which a table without modes has the modes of all queries."""
    modes = tuple(dict.fromkeys(query.search_mode for query in request.queries))
    described: list[CatalogEntry] = []
    for entry in request.catalog:
        if entry.search_modes:
            described.append(entry)
        else:
            described.append(replace(entry, search_modes=modes))
    return tuple(described)


_PEOPLE_STEMS: Final = frozenset(map(stem, listed_words("people")))


def _asks_who(need: str) -> bool:
    """True where a need asks for people or companies."""
    return not listed_words("asks who").isdisjoint(tokens(need))


@lru_cache(maxsize=256)
def breadth(mode: str) -> int:
    """Return how much a mode lets through, from 0 (the exact words) to 5 (everything): `vector_search` 3."""
    return max((_BREADTH[part] for part in tokens(mode) if part in _BREADTH), default=_LEXICAL)


def widest(entry: CatalogEntry) -> str:
    """Return the mode that lets most through, of equal ones the first; empty where the table has no modes."""
    return max(entry.search_modes, key=breadth, default="")


def in_table(query: Query, entry: CatalogEntry | None) -> Query:
    """Return the query for this table, in a mode that the table has: its own if there, else the nearest in breadth."""
    if entry is None:
        return query

    own_breadth = breadth(query.search_mode)

    def distance(mode: str) -> tuple[bool, int, int]:
        """Return how far a mode is from the query's own; of two as far, the wider one is nearer."""
        is_other = mode != query.search_mode
        return is_other, abs(breadth(mode) - own_breadth), -breadth(mode)

    mode = min(entry.search_modes, key=distance, default="")
    return replace(query, table=entry.table, search_mode=mode)


def impossible_filters(query: Query, entry: CatalogEntry | None) -> dict[str, str | None]:
    """Return the filters that let nothing through, since the catalog does not list their value for the field.

    Each has the listed value that was meant, None where no listed value is like it: for the listed states "open" and
    "closed", the filters `state=Opened` and `state=new` give `{"state": "open"}` and `{"state": None}`.
    """
    if entry is None:
        return {}
    meant_values: dict[str, str | None] = {}
    for name, value in query.filters.items():
        listed = _by_plain_name(entry.fields.get(name, ()))
        if listed and str(value) not in listed.values():
            meant_values[name] = _meant_value(value, listed)
    return meant_values


def _meant_value(value: object, listed: Mapping[str, str]) -> str | None:
    """Return the listed value that was meant; a number or the like is written in one way only, and means no other."""
    if not isinstance(value, str):
        return None
    return _meant_name(value, listed)


def _by_plain_name(names: Sequence[str]) -> dict[str, str]:
    """Return names by what their spellings share (`_plain`); of names that share it the first."""
    return {_plain(name): name for name in reversed(names)}


def _meant_name(name: str, name_by_plain: Mapping[str, str]) -> str | None:
    """Return the name that was meant, where `name_by_plain` has the names by what their spellings share (`_plain`)."""
    plain = _plain(name)
    return name_by_plain.get(similar(plain, name_by_plain) or plain)


def _plain(name: str) -> str:
    """Return what the spellings of a name share: `Order_Items`, `orderitem` and `order items` are `orderitem`."""
    return "".join(map(stem, tokens(name)))
