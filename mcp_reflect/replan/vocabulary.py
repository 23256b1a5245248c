"""The words that the data uses, and the way to them from the words that were asked for."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import islice, takewhile
from typing import NamedTuple

from mcp_reflect.models.search import EmptyCause
from mcp_reflect.replan.words import ABBREVIATIONS, STOP_WORDS, SYNONYMS, name_parts, stem, tokens

_LONGEST = 30  # letters; longer "words" are keys and hashes, and nobody misspells them


def _stemmed(text: str) -> str:
    return " ".join(map(stem, tokens(text)))


_SYNONYMS: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
for _group in SYNONYMS:
    for _word in _group:
        _SYNONYMS[_stemmed(_word)].append(_group)


class Mended(NamedTuple):
    """Words of the data in place of another one; `kind` is None where the data has the word itself."""

    kind: EmptyCause | None
    words: tuple[str, ...]


class Vocabulary:
    """An index over the word list of a catalog. An empty one means that nothing is known of the data.

    Each part of the index is built on its first use: most calls look up a few words only.
    """

    def __init__(self, entries: tuple[str, ...]) -> None:
        self.entries = entries
        self._phrases = tuple(entry for entry in entries if not _is_plain(entry))
        plain = frozenset(entry for entry in entries if _is_plain(entry))
        self.words: frozenset[str] = plain.union(*(_parts(phrase) for phrase in self._phrases))
        self._mended: dict[str, Mended] = {}

    def knows(self, word: str) -> bool:
        """True if the data has the word or a form of it."""
        return word in self.words or stem(word) in self._by_stem

    def forms(self, word: str) -> tuple[str, ...]:
        """Return the forms of a word in the data (singular, plural, tense), the nearest first."""
        forms = self._by_stem.get(stem(word), ())
        return tuple(sorted(forms, key=lambda form: (form != word, abs(len(form) - len(word)), form)))

    def mended(self, word: str) -> Mended:
        """Return the words of the data that stand for `word`, and how they differ from it."""
        if word not in self._mended:
            self._mended[word] = self._mend(word)
        return self._mended[word]

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Return near synonyms that the data has: words, and phrases all of whose words it has."""
        return tuple(dict.fromkeys(text for other in synonyms_of(word) if (text := self._as_written(other))))

    def entry_of(self, word: str) -> str | None:
        """Return the shortest entry, as it is written, that holds the word or a form of it."""
        forms = {word, *self.forms(word)}
        holding = [entry for entry in self.entries if forms & set(_parts(entry))]
        return min(holding, key=len, default=None)

    def split(self, word: str) -> tuple[str, ...]:
        """Return the words that a compound is made of (`payout`: `pay`, `out`) where the data has them, else ()."""
        return self._parted(stem(word)) or self._parted(word)

    def _as_written(self, text: str) -> str:
        words = [self.forms(word)[:1] for word in tokens(text)]
        return " ".join(word[0] for word in words) if all(words) else ""

    def _mend(self, word: str) -> Mended:
        if word in self.words:
            return Mended(None, (word,))
        ways = (
            (EmptyCause.JARGON, self._expanded),
            (EmptyCause.UNKNOWN_WORDS, self._form),
            (EmptyCause.SPELLING, self._parted),
            (EmptyCause.SPELLING, self._spelled),
            (EmptyCause.JARGON, self._longer),
        )
        for kind, way in ways:
            if words := way(word):
                return Mended(kind, words)
        return Mended(EmptyCause.UNKNOWN_WORDS, ())

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
                for slips, other in _within(word, near, allowed):
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
            entry = (_letters(word), word)
            index[len(word), 0, word[0]].append(entry)
            index[len(word), -1, word[-1]].append(entry)
        return dict(index)

    @cached_property
    def _by_initials(self) -> dict[str, tuple[str, ...]]:
        phrases = (tokens(phrase) for phrase in reversed(self._phrases))
        return {"".join(word[0] for word in phrase): phrase for phrase in phrases if len(phrase) > 1}


@lru_cache(maxsize=4096)
def synonyms_of(word: str) -> tuple[str, ...]:
    """Return the words and phrases that mean about the same as a word or phrase, without its own forms."""
    key = _stemmed(word)
    return tuple(other for group in _SYNONYMS.get(key, ()) for other in group if _stemmed(other) != key)


@lru_cache(maxsize=128)
def vocabulary(entries: tuple[str, ...]) -> Vocabulary:
    """Return the index of a word list; the last lists are cached, since a catalog seldom changes."""
    return Vocabulary(entries)


def edit_distance(one: str, other: str, most: int) -> int:
    """Count the slips between two words (insert, delete, replace, swap neighbors); more than `most` is `most` + 1."""
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


def nearest(word: str, others: Iterable[str]) -> str | None:
    """Return the word that was meant: one slip away for less than 8 letters, two above; None where none is."""
    slips = 1 if len(word) < 8 else 2
    best = min(((edit_distance(word, other, slips), other) for other in others), default=(slips + 1, ""))
    return best[1] if len(word) > 3 and best[0] <= slips else None


def _within(word: str, others: Iterable[tuple[int, str]], most: int) -> Iterator[tuple[int, str]]:
    """The words within `most` slips with their distances. The others come with their letter masks."""
    mask = _letters(word)
    for other_mask, other in others:
        if (other_mask ^ mask).bit_count() <= 2 * most:
            slips = edit_distance(word, other, most)
            if slips <= most:
                yield slips, other


def _letters(word: str) -> int:
    """A bit for each letter; two words n slips apart differ in at most 2n bits."""
    mask = 0
    for letter in word:
        mask |= 1 << (ord(letter) & 63)
    return mask


def _parts(entry: str) -> tuple[str, ...]:
    """The words of an entry, with the names of code taken apart."""
    return tuple(dict.fromkeys((*tokens(entry), *name_parts(entry))))


def _is_plain(entry: str) -> bool:
    """True for a single word as an index would cut it, which most entries are."""
    return entry.isascii() and entry.isalnum() and entry.islower()
