"""The words of a search: cut, folded, compared and weighed; and the words of the data that stand for them."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import chain
from operator import mul
from typing import Any, Final

from mcp_reflect.patterns import CAMEL
from mcp_reflect.text.stemmer import STOP_WORDS, stem
from mcp_reflect.text.word_vectors import shared_table

_WORD: Final = re.compile(r"[^\W_]+")
_QUOTED: Final = r'["“„«][^"“”„«»]+["”“»]'
# What is not wanted stays with the word that says so.
_OPPOSED: Final = (
    r"\b(?:without|ohne|(?:an)?statt|instead of)\s+(?:(?:an?|the|any|mit|de[mnrs]|die|das|eine?[mnrs]?)\s+)?\w[\w-]*"
    r"|\b\w{4,} free(?=\s+\w{4,})"
)
_TERM: Final = re.compile(rf"({_QUOTED})|({_OPPOSED})|\S+", re.IGNORECASE)
_OUTSIDE: Final = "\"'“”„«»`.,;:!?()[]{}<>"
_WRITTEN: Final = re.compile(r"\w[-_./:]+\w|[a-z][A-Z]|[|*%\\\[\]<>=^$]")
_LONG: Final = (
    4000  # characters read of one text; a message longer than that is a document, not a question
)
_CHAT: Final = frozenset(
    "please tell show find look looking want know help need thank thanks give something anything someone anyone way "
    "happen happened make take trying actually already currently "
    "bitte geht gibt bekomme bekommen machen tun zuruck finde finden such suche suchen zeig zeige gib nenne "
    "cherche chercher trouve trouver montre busca buscar muestra encuentra cerca trova mostra zoek vind toon".split()
)
_UNKNOWN: Final = 450  # weight of a word that the table does not know: rarer than most


def fold(text: str) -> str:
    """Return a text in lower case without accents: `Jérôme` and `jerome` are one word."""
    if text.isascii():
        return text[:_LONG].lower()
    decomposed = unicodedata.normalize("NFKD", text[:_LONG]).casefold()
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def plain_umlauts(word: str) -> str:
    """Return a folded word with umlauts written as one letter: `moeller` as `moller`."""
    return word.replace("ae", "a").replace("oe", "o").replace("ue", "u")


@lru_cache(maxsize=2048)
def tokens(text: str) -> tuple[str, ...]:
    """Return all words of a text, folded, in order, as a full-text index cuts them."""
    return tuple(_WORD.findall(fold(text)))


@lru_cache(maxsize=1024)
def terms(text: str) -> tuple[str, ...]:
    """Return the parts of a text between blanks as they are written, without punctuation; quoted parts stay whole."""
    found = (
        match[1] or match[2] or match[0].strip(_OUTSIDE) for match in _TERM.finditer(text[:_LONG])
    )
    return tuple(filter(None, found))


def is_quoted(text: str) -> bool:
    """Return True if a part of the text stands in quotes."""
    return re.search(_QUOTED, text) is not None


@lru_cache(maxsize=1024)
def content(text: str) -> tuple[str, ...]:
    """Return the terms that say what is looked for, as written, each once; of nothing but stop words all of them."""
    every = {tokens(term): term for term in reversed(terms(text)) if tokens(term)}
    unique = tuple(reversed(every.values()))
    full = tuple(term for term in unique if not STOP_WORDS.issuperset(tokens(term)))
    full = tuple(term for term in full if len(term) > 1 or term.isdigit())
    return tuple(term for term in full if not _CHAT.issuperset(tokens(term))) or full or unique


@lru_cache(maxsize=4096)
def normalized(text: str) -> str:
    """Return a key that near-identical texts share: the same words in any order, however often.

    A quoted phrase keeps its order. A text with an identifier or an operator is its own key.
    """
    words = tokens(text)
    if _WRITTEN.search(text):
        return " ".join(text.split())
    return '"' + " ".join(words) + '"' if is_quoted(text) else " ".join(sorted(set(words)))


@lru_cache(maxsize=1024)
def stems(text: str) -> frozenset[str]:
    """Return the stems of the words that say what is looked for."""
    return frozenset(stem(word) for word in tokens(text) if word not in STOP_WORDS)


def is_name(term: str, text: str) -> bool:
    """Return True for a name, a code or a quoted part of a text: a capital inside the sentence, or a digit."""
    is_capital = term[:1].isupper() and (term[1:].isupper() or not text.startswith(term))
    return is_capital or is_quoted(term) or any(sign.isdigit() for sign in term)


def weight(term: str) -> int:
    """Return how distinctive a term is, from 0 (a number or a date) to 600: rare words more than common ones."""
    parts = [part for part in tokens(term) if not part.isdigit()]
    return max((shared_table().weight(part) or _UNKNOWN for part in parts), default=0)


def telling(words: tuple[str, ...], said: str) -> tuple[str, ...]:
    """Return the words, the most telling first: names, what the person `said`, rare words; numbers come last."""
    asked = {plain_umlauts(word): term for term in terms(said) for word in tokens(term)}

    def value(term: str) -> tuple[bool, bool, int]:
        parts = [plain_umlauts(part) for part in tokens(term)] if weight(term) else []
        named = any(is_name(asked.get(part, term), said) for part in parts)
        return not asked.keys().isdisjoint(parts), named, weight(term)

    return tuple(sorted(words, key=value, reverse=True))


# The words of the data


_ALIKE: Final = 0.8  # difflib's ratio: two letters of ten may differ
_SHORTEST: Final = 4  # letters; a shorter word has too many neighbors to be respelled
_LONG_WORD: Final = 7  # letters of a word whose slips leave its beginning or end as it was
_LONG_PREFIX: Final = 5  # letters of a word that may begin a compound of the data
_MOST_COMPARED: Final = 2_000  # entries; comparing more would take longer than a person waits
_BEGINNINGS: Final = frozenset(
    "app auth dev doc env prod repo".split()
)  # of words that are seldom written out
_LONG_FORMS: Final = {
    "2fa": ("two factor authentication", "zwei faktor anmeldung"),
    "ai": ("artificial intelligence",),
    "db": ("database",),
    "email": ("e mail",),
    "kennwort": ("passwort",),
    "mail": ("email",),
    "ml": ("machine learning",),
    "pentest": ("penetration test",),
    "phone": ("telephone",),
    "pw": ("password", "passwort"),
    "ui": ("user interface",),
}


@lru_cache(maxsize=8192)
def _vector(text: str) -> Any:
    return shared_table().embed(text)


def likeness(one: str, other: str) -> float:
    """Return how near two texts are in meaning: the cosine of their word vectors, 0 where one is unknown."""
    first, second = _vector(one), _vector(other)
    return 0.0 if first is None or second is None else sum(map(mul, first, second))


def similar(word: str, others: Iterable[str]) -> str | None:
    """Return the other word that was meant: the same, or the one that is written nearly alike."""
    return (
        next(iter(get_close_matches(word, others, n=1, cutoff=_ALIKE)), None)
        if len(word) >= _SHORTEST
        else None
    )


class Vocabulary:
    """An index over the word list of a table. An empty one means that nothing is known of the data.

    Each part of the index is built on its first use: most calls look up a few words only.
    """

    def __init__(self, entries: tuple[str, ...]) -> None:
        self.entries = entries
        self.words = frozenset(part for entry in entries for part in _parts(entry))
        self.match = lru_cache(maxsize=1024)(self._match)

    def matches(self, text: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """Return the words of the data for each term, none where it has none."""
        return {term: self._of_term(term) for term in text}

    def written(self, words: Iterable[str]) -> str:
        """Return folded words as the data writes them, each once: `MLOps` for a part of that name."""
        return " ".join(dict.fromkeys(self._spellings.get(word, word) for word in words))

    def phrase(self, words: set[str]) -> str:
        """Return the shortest entry of several words with most of these; empty if there is none."""
        if len(self.entries) > _MOST_COMPARED:
            return ""
        shared = {entry: len(words.intersection(_parts(entry))) for entry in self.entries}
        most = max(shared.values(), default=0)
        best = min(
            (entry for entry, count in shared.items() if count == most > 0), key=len, default=""
        )
        return best if len(tokens(best)) > 1 else ""

    def _of_term(self, term: str) -> tuple[str, ...]:
        """The words of a whole term; of one in several words, those of all its words."""
        words = tokens(term)  # without the `s` of `Anna's`
        found = [
            self.match(word) for word in words if len(word) > 1 or word.isdigit() or len(words) == 1
        ]
        return tuple(chain.from_iterable(found)) if all(found) else self.match("".join(words))

    def _match(self, word: str) -> tuple[str, ...]:
        """The word itself, its long form, an inflected form, two parts, a slip, or the beginning of a compound."""
        if word in self.words:
            return (word,)
        short = word.removesuffix("s")
        if meant := self._initials.get(word) or self._initials.get(short) or self._long_form(short):
            return meant
        if forms := self._forms(word):
            return forms
        near = self._by_start.get(word[:2], [])
        cuts = ((word[:cut], word[cut:]) for cut in range(3, len(word) - 2))
        if split := next(filter(self.words.issuperset, cuts), ()):
            return split
        alike = [
            other
            for other in near
            if abs(len(other) - len(word)) <= 2  # difflib takes long for all
            and (len(word) < _LONG_WORD or other[:3] == word[:3] or other[-3:] == word[-3:])
        ]
        if slip := None if word.isdigit() else similar(word, alike):
            return (slip,)
        is_beginning = len(word) >= _LONG_PREFIX or short in _BEGINNINGS
        longer = [other for other in near if other.startswith(short)] if is_beginning else []
        plain = plain_umlauts(word)
        return (min(longer, key=len),) if longer else self.match(plain) if plain != word else ()

    def _long_form(self, word: str) -> tuple[str, ...]:
        """What an abbreviation stands for, if the data has it; `k8s` are a k, eight letters and an s."""
        if counted := re.fullmatch(r"([a-z])(\d+)([a-z]?)", word):
            first, size, last = counted[1], int(counted[2]) + 2, counted[3] or "s"
            return tuple(
                sorted(
                    one for one in self.words if (one[0], len(one), one[-1]) == (first, size, last)
                )[:1]
            )
        forms = (
            tuple(self._forms(part) for part in tokens(long)) for long in _LONG_FORMS.get(word, ())
        )
        return next((tuple(chain.from_iterable(found)) for found in forms if all(found)), ())

    def _forms(self, word: str) -> tuple[str, ...]:
        """The form of the word that the data has: the one of nearly its length."""
        forms = [other for other in self._by_start.get(word[:2], []) if stem(other) == stem(word)]
        return tuple(sorted(forms, key=lambda form: abs(len(form) - len(word)))[:1])

    @cached_property
    def _by_start(self) -> dict[str, list[str]]:
        index: defaultdict[str, list[str]] = defaultdict(list)
        for word in sorted(self.words):
            index[word[:2]].append(word)
        return index

    @cached_property
    def _initials(self) -> dict[str, tuple[str, ...]]:
        phrases = (tokens(entry) for entry in reversed(self.entries) if " " in entry)
        return {"".join(word[0] for word in words): words for words in phrases if len(words) > 1}

    @cached_property
    def _spellings(self) -> dict[str, str]:
        written = [term for entry in reversed(self.entries) for term in terms(entry)]
        return {part: term for term in written for part in _parts(term)} | {
            fold(term): term for term in written
        }


@lru_cache(maxsize=128)
def vocabulary(entries: tuple[str, ...]) -> Vocabulary:
    """Return the index of a word list; the last ones are cached, since a catalog seldom changes."""
    return Vocabulary(entries)


def _parts(entry: str) -> tuple[str, ...]:
    """The words of an entry, with the names of code taken apart."""
    if entry.isascii() and entry.isalnum() and entry.islower():
        return (entry,)
    return tuple(dict.fromkeys((*tokens(entry), *tokens(CAMEL.sub(" ", entry)))))
