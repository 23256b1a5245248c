"""What is known of the data: its tables and modes, the words in it, and how well a table fits a need."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import mul
from typing import Any, Final, NamedTuple

from mcp_reflect.llm.embeddings.word_vectors import shared_table
from mcp_reflect.models.search import CatalogEntry, EmptyCause, Query, SearchRequest
from mcp_reflect.replan.words import CAMEL, STOP_WORDS, content, fold, tokens
from mcp_reflect.stemmer import stem

_LEAST_LIKENESS: Final = 0.2
_MOST_COMPARED: Final = 2_000  # entries; comparing more would take longer than a person waits
_SHORTEST: Final = 4  # letters; a shorter word has too many neighbors to be respelled
_LONGEST: Final = 30  # letters; longer words are keys and hashes


@lru_cache(maxsize=8192)
def _vector(text: str) -> Any:
    return shared_table().embed(text)


def likeness(one: str, other: str) -> float:
    """Return how near two texts are in meaning: the cosine of their word vectors, 0 where one is unknown."""
    first, second = _vector(one), _vector(other)
    return 0.0 if first is None or second is None else sum(map(mul, first, second))


class Mended(NamedTuple):
    """Words of the data in place of another one; `kind` is None where the data has the word itself."""

    kind: EmptyCause | None
    words: tuple[str, ...]


class Vocabulary:
    """An index over the word list of a table. An empty one means that nothing is known of the data.

    Each part of the index is built on its first use: most calls look up a few words only.
    """

    def __init__(self, entries: tuple[str, ...]) -> None:
        self.entries = entries
        self.words = frozenset(part for entry in entries for part in _parts(entry))
        self.mended = lru_cache(maxsize=1024)(self._mended)
        self.near = lru_cache(maxsize=1024)(self._near)

    def knows(self, word: str) -> bool:
        """True if the data has the word or a form of it."""
        return word in self.words or stem(word) in self._by_stem

    def forms(self, word: str) -> tuple[str, ...]:
        """Return the forms of a word in the data (singular, plural, tense), the nearest first."""
        forms = self._by_stem.get(stem(word), ())
        return tuple(sorted(forms, key=lambda form: (form != word, abs(len(form) - len(word)), form)))

    def entry_of(self, word: str) -> str | None:
        """Return the shortest entry, as it is written, that holds the word or a form of it."""
        forms = {word, *self.forms(word)}
        return min((entry for entry in self.entries if forms & set(_parts(entry))), key=len, default=None)

    def _near(self, text: str) -> tuple[str, ...]:
        """Return up to three entries that are nearest to a text in meaning, the nearest first."""
        scores = ((likeness(text, entry), entry) for entry in self.entries[:_MOST_COMPARED])
        best = sorted((pair for pair in scores if pair[0] >= _LEAST_LIKENESS), key=lambda pair: -pair[0])
        return tuple(entry for _, entry in best[:3])

    def _mended(self, word: str) -> Mended:
        """Return the words of the data that stand for `word`, and how they differ from it."""
        if word in self.words:
            return Mended(None, (word,))
        for kind, words in (
            (EmptyCause.UNKNOWN_WORDS, self.forms(word)[:1]),
            (EmptyCause.SPELLING, self._parted(word)),
            (EmptyCause.SPELLING, self._spelled(word)),
        ):
            if words:
                return Mended(kind, words)
        return Mended(EmptyCause.UNKNOWN_WORDS, ())

    def _parted(self, word: str) -> tuple[str, ...]:
        """`headlamp` as `head lamp`, where the data has both; `email` as `e mail`."""
        for cut in (*range(3, len(word) - 2), 2, 1):
            head, tail = word[:cut], word[cut:]
            if len(tail) > 2 and head in self.words and tail in self.words:
                return head, tail
        return ()

    def _spelled(self, word: str) -> tuple[str, ...]:
        """The first word of the data that is one slip away; one with the same first letter is preferred."""
        slips = self.words.intersection(one_slip(word, self._letters))
        return tuple(sorted(slips, key=lambda other: (other[0] != word[0], other))[:1])

    @cached_property
    def _letters(self) -> frozenset[str]:
        return frozenset("".join(self.words))

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        index: defaultdict[str, list[str]] = defaultdict(list)
        for word in sorted(self.words):
            index[stem(word)].append(word)
        return dict(index)


@lru_cache(maxsize=128)
def vocabulary(entries: tuple[str, ...]) -> Vocabulary:
    """Return the index of a word list; the last ones are cached, since a catalog seldom changes."""
    return Vocabulary(entries)


def one_slip(word: str, letters: Iterable[str]) -> Iterator[str]:
    """Yield the words that a wrong, missing, additional or swapped letter away; none for short words and numbers."""
    if not _SHORTEST <= len(word) <= _LONGEST or word.isdigit():
        return
    for place in range(len(word) + 1):
        head, tail = word[:place], word[place:]
        yield from (head + letter + tail for letter in letters)
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in letters)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]


def nearest(word: str, others: Iterable[str]) -> str | None:
    """Return the one of the others that was meant: the same word, or the first that is one slip away."""
    known = list(others)
    slips = set(one_slip(word, frozenset("".join(known))))
    return word if word in known else next((other for other in known if other in slips), None)


def _parts(entry: str) -> tuple[str, ...]:
    """The words of an entry, with the names of code taken apart."""
    if entry.isascii() and entry.isalnum() and entry.islower():
        return (entry,)
    return tuple(dict.fromkeys((*tokens(entry), *tokens(CAMEL.sub(" ", entry)))))


# Tables


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

_ALIKE: Final = 3.0  # weight of the nearness of two meanings


@dataclass(frozen=True, slots=True)
class Catalog:
    """The tables of one request: those that the caller described, and those that it searched without a description."""

    described: tuple[CatalogEntry, ...]
    seen: tuple[CatalogEntry, ...] = ()

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
            return vocabulary(entry.vocabulary)
        return vocabulary(tuple(word for entry in self.described for word in entry.vocabulary))

    def fit(self, entry: CatalogEntry, need: str) -> float:
        """Return how well a table's name and description answer a need; 0 is not at all.

        A word shared with the description counts 1, with the name 2, the nearness of the meanings up to 3, and the
        share of the words that the table's vocabulary knows up to 1.
        """
        described, named = _stems(f"{entry.description} {' '.join(entry.fields)}"), _stems(entry.table)
        words = content(need)
        shared = {stem(word) for word in words}
        known = vocabulary(entry.vocabulary)
        share = sum(map(known.knows, words)) / len(words) if entry.vocabulary and words else 0.0
        alike = _ALIKE * max(0.0, likeness(need, f"{entry.table} {entry.description}"))
        return len(shared & described) + 2.0 * len(shared & named) + share + alike


def catalog_of(request: SearchRequest) -> Catalog:
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


@lru_cache(maxsize=256)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in tokens(text) if word not in STOP_WORDS)


def _plain(table: str) -> str:
    return stem("".join(tokens(table)))
