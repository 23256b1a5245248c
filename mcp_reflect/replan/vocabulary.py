"""The words the data uses, and the way to them from the words that were asked for."""

from bisect import bisect_left
from collections import defaultdict
from functools import cached_property, lru_cache
from itertools import islice, takewhile
from typing import NamedTuple

from mcp_reflect.models.search import Kind
from mcp_reflect.replan.lexicon import ABBREVIATIONS, STOP_WORDS, SYNONYMS
from mcp_reflect.replan.spelling import distance_to, letters
from mcp_reflect.replan.words import name_parts, stem, tokens

_SYNONYMS: dict[str, tuple[str, ...]] = {stem(word): group for group in SYNONYMS for word in group}
_LONGEST = 30  # letters; longer "words" are keys and hashes, and nobody misspells them


class Mended(NamedTuple):
    """Words of the data in place of another one; `kind` is null where it was in the data as it stood."""

    kind: Kind | None
    words: tuple[str, ...]


class Vocabulary:
    """An index over a catalogue's word list. Empty means that nothing is known, not that nothing is there.

    What a lookup needs is built when it is first needed: most calls ask for a few words only.
    """

    def __init__(self, entries: tuple[str, ...]) -> None:
        self._phrases = tuple(entry for entry in entries if not _is_plain(entry))
        plain = frozenset(entry for entry in entries if _is_plain(entry))
        self.words: frozenset[str] = plain.union(*(tokens(phrase) for phrase in self._phrases))
        self._mended: dict[str, Mended] = {}

    def knows(self, word: str) -> bool:
        """Whether the data has the word or a form of it."""
        return word in self.words or stem(word) in self._by_stem

    def forms(self, word: str) -> tuple[str, ...]:
        """The word as the data writes it (singular, plural, tense), the likest form first."""
        found = self._by_stem.get(stem(word), ())
        return tuple(sorted(found, key=lambda form: (form != word, abs(len(form) - len(word)), form)))

    def mended(self, word: str) -> Mended:
        """What to ask for instead of a word, and what was the matter with it. Worked out once for each word."""
        if word not in self._mended:
            self._mended[word] = self._mend(word)
        return self._mended[word]

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Near synonyms that the data has."""
        group = _SYNONYMS.get(stem(word), ())
        return tuple(form for other in group if stem(other) != stem(word) for form in self.forms(other)[:1])

    def _mend(self, word: str) -> Mended:
        if word in self.words:
            return Mended(None, (word,))
        ways = (
            (Kind.JARGON, self._expanded),
            (Kind.UNKNOWN_WORDS, self._form),
            (Kind.SPELLING, self._parted),
            (Kind.SPELLING, self._spelled),
            (Kind.JARGON, self._longer),
        )
        for kind, way in ways:
            if words := way(word):
                return Mended(kind, words)
        return Mended(Kind.UNKNOWN_WORDS, ())

    def _form(self, word: str) -> tuple[str, ...]:
        return self.forms(word)[:1]

    def _expanded(self, word: str) -> tuple[str, ...]:
        """The words that a short form stands for, if the data has most of them."""
        phrase = self._by_initials.get(word) if 1 < len(word) < 6 else None
        full = phrase or tokens(ABBREVIATIONS.get(word, ""))
        known = tuple(form for part in full for form in self.forms(part)[:1])
        return tuple(part for part in known if part not in STOP_WORDS) if 2 * len(known) > len(full) else ()

    def _parted(self, word: str) -> tuple[str, ...]:
        """`headlamp` as `head lamp`, where the data has both; `email` as `e mail`."""
        for cut in (*range(3, len(word) - 2), 2, 1):
            head, tail = word[:cut], word[cut:]
            if len(tail) > 2 and head in self.words and tail in self.words:
                return head, tail
        return ()

    def _spelled(self, word: str) -> tuple[str, ...]:
        """The nearest word by edit distance: one slip up to 7 letters, two above; none below 4 letters."""
        if not 4 <= len(word) <= _LONGEST or word.isdigit():
            return ()
        allowed = 1 if len(word) <= 7 else 2
        best = (allowed + 1, True, "")
        for length in range(len(word) - allowed, len(word) + allowed + 1):
            for place in (0, -1):
                near = self._by_ends.get((length, place, word[place]), ())
                for slips, other in distance_to(word, near, allowed):
                    best = min(best, (slips, other[0] != word[0], other))
        return (best[2],) if best[0] <= allowed else ()

    def _longer(self, word: str) -> tuple[str, ...]:
        """The shortest word that a cut one of four letters or more begins: `config` for `configuration`."""
        start = bisect_left(self._sorted, word)
        beginning = takewhile(lambda other: other.startswith(word), islice(self._sorted, start, None))
        return tuple(sorted(beginning, key=len)[:1]) if len(word) > 3 else ()

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.words)

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        index: defaultdict[str, list[str]] = defaultdict(list)
        for word in self._sorted:
            index[stem(word)].append(word)
        return dict(index)

    @cached_property
    def _by_ends(self) -> dict[tuple[int, int, str], list[tuple[int, str]]]:
        """Words by length and first letter (place 0) or last letter (place -1): a slip seldom hits both."""
        index: defaultdict[tuple[int, int, str], list[tuple[int, str]]] = defaultdict(list)
        for word in self._sorted:
            entry = (letters(word), word)
            index[len(word), 0, word[0]].append(entry)
            index[len(word), -1, word[-1]].append(entry)
        return dict(index)

    @cached_property
    def _by_initials(self) -> dict[str, tuple[str, ...]]:
        phrases = (tokens(phrase) for phrase in reversed(self._phrases))
        return {"".join(word[0] for word in phrase): phrase for phrase in phrases if len(phrase) > 1}


@lru_cache(maxsize=128)
def vocabulary(entries: tuple[str, ...]) -> Vocabulary:
    """The index of a word list; the last lists are kept, since a catalogue seldom changes."""
    return Vocabulary(entries)


def short_forms(text: str) -> tuple[str, ...]:
    """Short forms of phrases in the text: `ml` for `machine learning`."""
    line = " ".join(tokens(text))
    return tuple(short for short, phrase in ABBREVIATIONS.items() if " " in phrase and phrase in line)


def parts_of_names(text: str) -> tuple[str, ...]:
    """The words of the text with names of code taken apart."""
    return tuple(part for word in text.split() for part in name_parts(word))


def _is_plain(entry: str) -> bool:
    """Whether an entry is one word as an index would cut it, which most are."""
    return entry.isascii() and entry.isalnum() and entry.islower()
