"""Words that look alike: other forms of a word, and slips of the pen.

The similarity of two words is the Dice coefficient of their character trigrams, the ends of a word counted
as a letter. It joins a question's unknown words to words of the bank, and counts a little in every score.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from mcp_reflect.bank.sqlite.statements import Reading

ALIKE: Final = 0.5  # of their trigrams at least so many are shared
_SIZE: Final = 3
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_SHORTEST: Final = 5  # a shorter word is near to too many others
_LONGEST: Final = 16
_MOST_WORDS: Final = 3  # unknown words of a question that are looked into
_MOST_ALIKE: Final = 3  # words of the bank that one of them may stand for
_MOST_FORMS: Final = 40  # words of the bank that begin alike


@lru_cache(maxsize=100_000)
def trigrams(word: str) -> frozenset[str]:
    """The trigrams of a word with its ends."""
    ended = f"_{word}_"
    # A list within is made faster than it is generated, and a recall asks for the trigrams of hundreds of words.
    return frozenset([ended[place : place + _SIZE] for place in range(max(1, len(ended) - _SIZE + 1))])


def similarity(one: str, other: str) -> float:
    """The Dice coefficient of two words' trigrams, 0..1."""
    first, second = trigrams(one), trigrams(other)
    return 2 * len(first & second) / (len(first) + len(second))


def words_like(reading: Reading, numbers: Iterable[int], unknown: Iterable[str]) -> dict[str, tuple[str, float]]:
    """Words of the bank that unknown words may stand for: each with the unknown word and their similarity."""
    found: dict[str, tuple[str, float]] = {}
    worth_it = [word for word in unknown if _SHORTEST <= len(word) <= _LONGEST and word.isalpha()]
    for word in sorted(worth_it, key=lambda word: (-len(word), word))[:_MOST_WORDS]:
        near = {other: similarity(word, other) for other in {*_forms(reading, numbers, word)}}
        for other in _slips(reading, numbers, word):
            near[other] = max(similarity(word, other), ALIKE)
        for other in sorted(near, key=lambda other: (-near[other], other))[:_MOST_ALIKE]:
            if near[other] >= ALIKE:
                found.setdefault(other, (word, near[other]))
    return found


def _forms(reading: Reading, numbers: Iterable[int], word: str) -> list[str]:
    """Words that begin as most of this one does."""
    begin = word[: max(_SHORTEST - 1, len(word) * 3 // 5)]
    end = begin[:-1] + chr(ord(begin[-1]) + 1)
    return [
        row["term"]
        for number in numbers
        for row in reading.rows("index_terms_from", {"scope": number, "from": begin, "to": end, "limit": _MOST_FORMS})
    ]


def _slips(reading: Reading, numbers: Iterable[int], word: str) -> list[str]:
    """Words that are one letter away: one more, one less, another one, or two that changed places."""
    if not word.isascii():
        return []
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    near = {head + tail[1:] for head, tail in cuts if tail}
    near |= {head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1}
    near |= {head + letter + tail[1:] for head, tail in cuts if tail for letter in _LETTERS}
    near |= {head + letter + tail for head, tail in cuts for letter in _LETTERS}
    rows = reading.rows("index_terms", {"scopes": list(numbers), "terms": sorted(near)})
    return [row["term"] for row in rows]
