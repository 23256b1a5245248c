"""The vocabulary of a table: which of its words stand for a word of the search."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from operator import mul
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp_reflect.models.search import EmptyCause
from mcp_reflect.replan.words import CAMEL, fold, plain_umlauts, terms, tokens
from mcp_reflect.stemmer import stem
from mcp_reflect.word_vectors import shared_table

_LEAST_LIKENESS: Final = 0.38  # of English words; nearer entries were useful in the searches of users
_ALIKE: Final = 0.8  # difflib's ratio: two letters of ten may differ
_SHORTEST: Final = 4  # letters; a shorter word has too many neighbors to be respelled
_LONG_PREFIX: Final = 5  # letters of a word that may begin a compound of the data
_MOST_COMPARED: Final = 2_000  # entries; comparing more would take longer than a person waits


@lru_cache(maxsize=8192)
def _vector(text: str) -> Any:
    return shared_table().embed(text)


def likeness(one: str, other: str) -> float:
    """Return how near two texts are in meaning: the cosine of their word vectors, 0 where one is unknown."""
    first, second = _vector(one), _vector(other)
    return 0.0 if first is None or second is None else sum(map(mul, first, second))


def similar(word: str, others: Iterable[str]) -> str | None:
    """Return the other word that was meant: the same, or the one that is written nearly alike."""
    return next(iter(get_close_matches(word, others, n=1, cutoff=_ALIKE)), None) if len(word) >= _SHORTEST else None


@lru_cache(maxsize=1)
def abbreviations() -> dict[str, tuple[str, ...]]:
    """Return what short forms stand for. A long form does not give its short one, which the data seldom has alone."""
    lines = Path(__file__).with_name("abbreviations.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(":") for line in lines)
    return {fold(short): tuple(fold(part.strip()) for part in long.split(",")) for short, _, long in pairs}


class Match(NamedTuple):
    """The words of the data that stand for a word of the search. `kind` is None where the data has the word itself."""

    kind: EmptyCause | None
    words: tuple[str, ...]


class Vocabulary:
    """An index over the word list of a table. An empty one means that nothing is known of the data.

    Each part of the index is built on its first use: most calls look up a few words only.
    """

    def __init__(self, entries: tuple[str, ...]) -> None:
        self.entries = entries
        self.words = frozenset(part for entry in entries for part in _parts(entry))
        self.match = lru_cache(maxsize=1024)(self._match)

    def matches(self, text: tuple[str, ...]) -> dict[str, Match]:
        """Return the words of the data for each term; two terms that the data writes as one share that word."""
        found = {term: self._of_term(term) for term in text}
        for one, other in pairwise(text):
            if (joined := fold(one + other)) in self.words:
                found[one] = found[other] = Match(EmptyCause.SPELLING, (joined,))
        return found

    def written(self, words: Iterable[str]) -> str:
        """Return folded words as the data writes them."""
        return " ".join(self._spellings.get(word, word) for word in words)

    def phrase(self, words: set[str]) -> str:
        """Return the shortest entry of several words with most of these; empty where there is none."""
        if len(self.entries) > _MOST_COMPARED:
            return ""
        shared = {entry: len(words.intersection(_parts(entry))) for entry in self.entries}
        most = max(shared.values(), default=0)
        best = min((entry for entry, count in shared.items() if count == most > 0), key=len, default="")
        return best if len(tokens(best)) > 1 else ""

    def near(self, text: str) -> str:
        """Return the entry that is nearest to a text in meaning; empty where none is near."""
        scores = ((likeness(text, entry), entry) for entry in self.entries[:_MOST_COMPARED])
        score, entry = max(scores, default=(0.0, ""))
        return entry if score >= _LEAST_LIKENESS else ""

    def _of_term(self, term: str) -> Match:
        """The match of a whole term; of one in several words, that of all its words."""
        words = tokens(term)  # without the `s` of `Anna's`
        found = [self.match(word) for word in words if len(word) > 1 or word.isdigit() or len(words) == 1]
        if not all(match.words for match in found):
            found = [self.match("".join(words))]
        return Match(next((match.kind for match in found if match.kind), None), sum((m.words for m in found), ()))

    def _match(self, word: str) -> Match:
        if word in self.words:
            return Match(None, (word,))
        alike = self._by_start.get(word[:2], [])
        near = [other for other in alike if abs(len(other) - len(word)) <= 2 and not word.isdigit()]
        longer = [other for other in alike if other.startswith(word) and len(word) >= _LONG_PREFIX]
        cuts = ((word[:cut], word[cut:]) for cut in range(3, len(word) - 2))
        umlauts = plain_umlauts(word)
        for kind, words in (
            (EmptyCause.UNKNOWN_WORDS, self._meant(word)),
            (EmptyCause.UNKNOWN_WORDS, self._forms(word)),
            (EmptyCause.SPELLING, (umlauts,) if umlauts in self.words else ()),
            (EmptyCause.SPELLING, next(filter(self.words.issuperset, cuts), ())),
            (EmptyCause.SPELLING, tuple(filter(None, [similar(word, near)]))),
            (EmptyCause.UNKNOWN_WORDS, tuple(sorted(longer, key=len)[:1])),
        ):
            if words:
                return Match(kind, words)
        return Match(EmptyCause.UNKNOWN_WORDS, ())

    def _meant(self, word: str) -> tuple[str, ...]:
        """What an abbreviation stands for, if the data has it."""
        meanings = abbreviations().get(word) or abbreviations().get(word.removesuffix("s")) or ()
        forms = (tuple(self._forms(part) for part in tokens(long)) for long in meanings)
        return next((tuple(chain.from_iterable(found)) for found in forms if all(found)), ())

    def _forms(self, word: str) -> tuple[str, ...]:
        """The form of the word that the data has: the one of nearly its length."""
        return tuple(sorted(self._by_stem.get(stem(word), ()), key=lambda form: abs(len(form) - len(word)))[:1])

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        return _grouped(self.words, stem)

    @cached_property
    def _by_start(self) -> dict[str, list[str]]:
        return _grouped(self.words, lambda word: word[:2])

    @cached_property
    def _spellings(self) -> dict[str, str]:
        return {fold(part): part for entry in reversed(self.entries) for part in terms(entry)}


def _grouped(words: Iterable[str], by: Callable[[str], str]) -> dict[str, list[str]]:
    index: defaultdict[str, list[str]] = defaultdict(list)
    for word in sorted(words):
        index[by(word)].append(word)
    return dict(index)


@lru_cache(maxsize=128)
def vocabulary(entries: tuple[str, ...]) -> Vocabulary:
    """Return the index of a word list; the last ones are cached, since a catalog seldom changes."""
    return Vocabulary(entries)


def _parts(entry: str) -> tuple[str, ...]:
    """The words of an entry, with the names of code taken apart."""
    if entry.isascii() and entry.isalnum() and entry.islower():
        return (entry,)
    return tuple(dict.fromkeys((*tokens(entry), *tokens(CAMEL.sub(" ", entry)))))
