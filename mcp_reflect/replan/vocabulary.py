"""The words of the data, and which of them a searched word stands for."""

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import chain
from typing import Final

from mcp_reflect.patterns import CAMEL
from mcp_reflect.replan.word_lists import listed_forms, listed_words
from mcp_reflect.replan.words import fold, plain_umlauts, similar, terms, tokens
from mcp_reflect.text.stemmer import stem

_LONG_WORD: Final = 7
"""Letters of a word whose slips leave its beginning or its end as it was."""

_LONG_PREFIX: Final = 5
"""Letters of a word that may begin a compound of the data."""

_SHORTEST_PART: Final = 3
"""Letters of a part of a word that the data writes as two."""

_SAME_LENGTH: Final = 2
"""Letters by which a slip may be longer or shorter; difflib takes long, so that not all words are compared."""

_MOST_COMPARED: Final = 2_000
"""Entries that are compared with a phrase; more would take longer than a person waits."""

_COUNTED: Final = re.compile(r"([a-z])(\d+)([a-z]?)")
"""The form of `k8s` and `i18n`: the number counts the letters that are left out."""


class Vocabulary:
    """An index over the word list of a table. An empty one means that nothing is known of the data.

    Each part of the index is built on its first use: most calls look up a few words only.
    """

    def __init__(self, entries: tuple[str, ...]) -> None:
        self.entries = entries
        self.words = frozenset(chain.from_iterable(map(_parts, entries)))
        self.match = lru_cache(maxsize=1024)(self._match)

    def matches(self, text: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """Return the words of the data for each term, none where the data has none.

        With the entries "rain coat" and "MLOps", the terms `raincoat` and `kayak` give
        `{"raincoat": ("rain", "coat"), "kayak": ()}`.
        """
        return {term: self._of_term(term) for term in text}

    def written(self, words: Iterable[str]) -> str:
        """Return folded words as the data writes them, each once: `MLOps` for `mlops`, and for its part `ops`."""
        return " ".join(dict.fromkeys(self._spellings.get(word, word) for word in words))

    def phrase(self, words: set[str]) -> str:
        """Return the entry that has most of these words, the shortest of several; empty where it is a single word.

        Of the entries "proxy", "proxy timeout" and "proxy timeout error", the words {proxy, timeout} give "proxy timeout".
        """
        if len(self.entries) > _MOST_COMPARED:
            return ""
        shared = {entry: len(words.intersection(_parts(entry))) for entry in self.entries}
        most = max(shared.values(), default=0)
        if most == 0:
            return ""
        best = min((entry for entry in shared if shared[entry] == most), key=len)
        if len(tokens(best)) < 2:
            return ""
        return best

    def _of_term(self, term: str) -> tuple[str, ...]:
        """Return the words of the data for a term: for all of its words, else for the term written as one word."""
        words = tokens(term)
        words_that_count = words
        if len(words) > 1:  # without the `s` of `Anna's`
            words_that_count = tuple(word for word in words if len(word) > 1 or word.isdigit())
        meant = [self.match(word) for word in words_that_count]
        if all(meant):
            return tuple(chain.from_iterable(meant))
        return self.match("".join(words))

    def _match(self, word: str) -> tuple[str, ...]:
        """Return the words of the data that a searched word stands for: itself, else by the first rule that finds any.

        | rule         | the word       | the data has                  |
        |--------------|----------------|-------------------------------|
        | `_long_form` | `llm`, `k8s`   | large language model, kubernetes |
        | `_inflected` | `coat`         | coats                         |
        | `_two_parts` | `raincoat`     | rain coat                     |
        | `_slip`      | `recieve`      | receive                       |
        | `_compound`  | `rainc`        | raincoat                      |
        | (umlauts)    | `moeller`      | moller                        |
        """
        if word in self.words:
            return (word,)
        rules = (
            self._long_form,
            self._inflected,
            self._two_parts,
            self._slip,
            self._compound,
        )
        for rule in rules:
            meant = rule(word)
            if meant:
                return meant
        plain = plain_umlauts(word)
        if plain == word:
            return ()
        return self.match(plain)

    def _long_form(self, word: str) -> tuple[str, ...]:
        """Return what an abbreviation stands for: its initials in a phrase of the data, a count, a listed long form.

        `llm` and `llms` are `large language model`, if that is an entry.
        """
        short = word.removesuffix("s")
        by_initials = self._initials.get(word) or self._initials.get(short)
        if by_initials:
            return by_initials
        counted = _COUNTED.fullmatch(short)
        if counted:
            return self._counted(counted)
        for form in listed_forms("long forms").get(short, ()):
            meant = [self._inflected(part) for part in tokens(form)]
            if all(meant):
                return tuple(chain.from_iterable(meant))
        return ()

    def _counted(self, counted: re.Match[str]) -> tuple[str, ...]:
        """Return what a word such as `k8s` stands for: a k, eight letters and an s.

        The s at the end may have been cut before, as that of a plural: so `k8` is the same.
        """
        first = counted[1]
        last = counted[3] or "s"
        length = int(counted[2]) + 2
        meant = [
            word
            for word in self.words
            if len(word) == length and word[0] == first and word[-1] == last
        ]
        return tuple(sorted(meant)[:1])

    def _inflected(self, word: str) -> tuple[str, ...]:
        """Return the form of the word that the data has, `coats` for `coat`; of several, the one of nearly its length."""
        own_stem = stem(word)
        forms = [other for other in self._near(word) if stem(other) == own_stem]
        return tuple(sorted(forms, key=lambda form: abs(len(form) - len(word)))[:1])

    def _two_parts(self, word: str) -> tuple[str, ...]:
        """Return the two words that the data writes apart: `rain` and `coat` for `raincoat`."""
        for middle in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
            two_words = (word[:middle], word[middle:])
            if self.words.issuperset(two_words):
                return two_words
        return ()

    def _slip(self, word: str) -> tuple[str, ...]:
        """Return the word of the data that was mistyped; a number is another number, not a slip."""
        if word.isdigit():
            return ()
        alike = [other for other in self._near(word) if _may_be_slip(word, other)]
        meant = similar(word, alike)
        if meant is None:
            return ()
        return (meant,)

    def _compound(self, word: str) -> tuple[str, ...]:
        """Return the shortest word of the data that begins with this one: `raincoat` for `rainc`.

        A beginning of fewer letters is shared by chance, unless it is a listed one.
        """
        short = word.removesuffix("s")
        if len(word) < _LONG_PREFIX and short not in listed_words("beginnings"):
            return ()
        longer = [other for other in self._near(word) if other.startswith(short)]
        if not longer:
            return ()
        return (min(longer, key=len),)

    def _near(self, word: str) -> list[str]:
        """Return the words of the data that begin with the same two letters, which few slips and endings change."""
        return self._by_start.get(word[:2], [])

    @cached_property
    def _by_start(self) -> dict[str, list[str]]:
        """The words of the data by their first two letters."""
        index: defaultdict[str, list[str]] = defaultdict(list)
        for word in sorted(self.words):
            index[word[:2]].append(word)
        return index

    @cached_property
    def _initials(self) -> dict[str, tuple[str, ...]]:
        """The words of each phrase by their initials: `{"llm": ("large", "language", "model")}`.

        Of two phrases with the same initials the first counts.
        """
        index: dict[str, tuple[str, ...]] = {}
        for entry in self.entries:
            words = tokens(entry)
            if " " in entry and len(words) > 1:
                index.setdefault("".join(word[0] for word in words), words)
        return index

    @cached_property
    def _spellings(self) -> dict[str, str]:
        """How the data writes each folded word: as a term of its own, else as the term that it is a part of.

        Of several terms the one of the first entry counts.
        """
        written = [term for entry in reversed(self.entries) for term in terms(entry)]
        spellings: dict[str, str] = {}
        for term in written:
            spellings |= dict.fromkeys(_parts(term), term)
        return spellings | {fold(term): term for term in written}


@lru_cache(maxsize=128)
def vocabulary(entries: tuple[str, ...]) -> Vocabulary:
    """Return the index of a word list; the last ones are cached, since a catalog seldom changes."""
    return Vocabulary(entries)


def _may_be_slip(word: str, other: str) -> bool:
    """True if two words are nearly as long, and a long one begins or ends like the other."""
    if abs(len(other) - len(word)) > _SAME_LENGTH:
        return False
    if len(word) < _LONG_WORD:
        return True
    return other[:3] == word[:3] or other[-3:] == word[-3:]


def _parts(entry: str) -> tuple[str, ...]:
    """Return the words of an entry, with the names of code taken apart: `payOut` gives payout, pay, out."""
    if entry.isascii() and entry.isalnum() and entry.islower():
        return (entry,)
    return tuple(dict.fromkeys((*tokens(entry), *tokens(CAMEL.sub(" ", entry)))))
