"""The words the data uses, and the way to them from the words that were asked for."""

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

from mcp_reflect.records.search import Kind
from mcp_reflect.replan.lexicon import ABBREVIATIONS, STOP_WORDS, SYNONYMS
from mcp_reflect.replan.words import name_parts, stem, tokens

_SYNONYMS: dict[str, tuple[str, ...]] = {stem(word): group for group in SYNONYMS for word in group}


class Mended(NamedTuple):
    """Words of the data in place of another one; `kind` is null where it was in the data as it stood."""

    kind: Kind | None
    words: tuple[str, ...]


class Vocabulary:
    """An index over a catalogue's word list. Empty means that nothing is known, not that nothing is there."""

    def __init__(self, entries: tuple[str, ...]) -> None:
        self.words: frozenset[str] = frozenset(word for entry in entries for word in tokens(entry))
        self._by_stem: defaultdict[str, list[str]] = defaultdict(list)
        self._by_length: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        self._by_initials: dict[str, tuple[str, ...]] = {}
        self._mended: dict[str, Mended] = {}
        for word in sorted(self.words):
            self._by_stem[stem(word)].append(word)
            self._by_length[len(word)].append((_letters(word), word))
        for entry in entries:
            phrase = tokens(entry)
            if len(phrase) > 1:
                self._by_initials.setdefault("".join(word[0] for word in phrase), phrase)

    def knows(self, word: str) -> bool:
        """Whether the data has the word or a form of it."""
        return word in self.words or stem(word) in self._by_stem

    def forms(self, word: str) -> tuple[str, ...]:
        """The word as the data writes it (singular, plural, tense), the likest form first."""
        found = self._by_stem.get(stem(word), ())
        return tuple(sorted(found, key=lambda form: (form != word, abs(len(form) - len(word)), form)))

    def _spelled(self, word: str) -> tuple[str, ...]:
        """The nearest word by edit distance: one slip up to 7 letters, two above; none below 4 letters."""
        if len(word) < 4 or word.isdigit():
            return ()
        allowed = 1 if len(word) <= 7 else 2
        mask, best = _letters(word), (allowed + 1, True, "")
        for length in range(len(word) - allowed, len(word) + allowed + 1):
            for letters, other in self._by_length.get(length, ()):
                if (letters ^ mask).bit_count() <= 2 * allowed:
                    distance = edit_distance(word, other, allowed)
                    best = min(best, (distance, other[0] != word[0], other))
        return (best[2],) if best[0] <= allowed else ()

    def _parted(self, word: str) -> tuple[str, ...]:
        """`headlamp` as `head lamp`, where the data has both; `email` as `e mail`."""
        for cut in (*range(3, len(word) - 2), 2, 1):
            head, tail = word[:cut], word[cut:]
            if len(tail) > 2 and head in self.words and tail in self.words:
                return head, tail
        return ()

    def mended(self, word: str) -> Mended:
        """What to ask for instead of a word, and what was the matter with it. Worked out once for each word."""
        if word not in self._mended:
            self._mended[word] = self._mend(word)
        return self._mended[word]

    def _mend(self, word: str) -> Mended:
        if word in self.words:
            return Mended(None, (word,))
        longer = sorted((other for other in self.words if other.startswith(word)), key=len) if len(word) > 3 else []
        ways = (
            (Kind.JARGON, self._expanded(word)),
            (Kind.UNKNOWN_WORDS, self.forms(word)[:1]),
            (Kind.SPELLING, self._parted(word)),
            (Kind.SPELLING, self._spelled(word)),
            (Kind.JARGON, tuple(longer[:1])),
        )
        return next((Mended(kind, words) for kind, words in ways if words), Mended(Kind.UNKNOWN_WORDS, ()))

    def _expanded(self, word: str) -> tuple[str, ...]:
        """The words that a short form stands for, if the data has most of them."""
        phrase = self._by_initials.get(word) if 1 < len(word) < 6 else None
        full = phrase or tokens(ABBREVIATIONS.get(word, ""))
        known = tuple(form for part in full for form in self.forms(part)[:1])
        return tuple(part for part in known if part not in STOP_WORDS) if 2 * len(known) > len(full) else ()

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Near synonyms that the data has."""
        group = _SYNONYMS.get(stem(word), ())
        return tuple(form for other in group if stem(other) != stem(word) for form in self.forms(other)[:1])


@lru_cache(maxsize=16)
def vocabulary(entries: tuple[str, ...]) -> Vocabulary:
    """The index of a word list; the last sixteen lists are kept, since a catalogue seldom changes."""
    return Vocabulary(entries)


def short_forms(text: str) -> tuple[str, ...]:
    """Short forms of phrases in the text: `ml` for `machine learning`."""
    line = " ".join(tokens(text))
    return tuple(short for short, phrase in ABBREVIATIONS.items() if " " in phrase and phrase in line)


def parts_of_names(text: str) -> tuple[str, ...]:
    """The words of the text with names of code taken apart."""
    return tuple(part for word in text.split() for part in name_parts(word))


def edit_distance(one: str, other: str, most: int) -> int:
    """Slips between two words (insert, delete, replace, swap neighbours); `most` + 1 stands for any more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, sign in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != sign))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == sign:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def _letters(word: str) -> int:
    """A bit for each letter; two words n slips apart differ in at most 2n bits."""
    mask = 0
    for letter in word:
        mask |= 1 << (ord(letter) & 63)
    return mask
