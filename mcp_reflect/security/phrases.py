"""Phrases: what is remembered of the words of an output, to tell later whether a text was typed from it.

A phrase is three words in a row, kept as a number of 24 bits: from the numbers no text can be read. So are the
beginnings of its longer words, which tell a text that says the same in other words. The text is redacted before.
"""

import re
import zlib
from collections.abc import Set as AbstractSet
from itertools import groupby, islice, pairwise
from typing import Final

MOST_PHRASES: Final = 2_000
"""Phrases that are remembered of an output; of a longer one, those at its start and its end."""

MOST_WORDS: Final = 1_000
"""Beginnings of words that are remembered of an output, from its start."""

_WORD: Final = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u9fff\uac00-\ud7af]+")
"""A word, or a character of a script that puts no spaces between words."""

_IN_A_ROW: Final = 3
_BITS: Final = 0xFF_FFFF
_LEAST: Final = 3  # phrases of a text; in fewer, two texts agree by chance
_SHARE: Final = 0.5  # of a text's phrases: so many remain where some words were exchanged
_RUN: Final = 5  # phrases in a row, among words of one's own


def phrases_of(text: str) -> list[int]:
    """Return the phrases of a text in their order, each once."""
    words = _WORD.findall(text.casefold())
    rows = zip(*(islice(words, start, None) for start in range(_IN_A_ROW)), strict=False)
    return list(dict.fromkeys(zlib.crc32(" ".join(row).encode()) & _BITS for row in rows))


def remembered(text: str) -> tuple[int, ...]:
    """Return what is remembered of an output: its phrases, then the beginnings of its words."""
    phrases = phrases_of(text)
    words = words_of(text)[:MOST_WORDS]
    if len(phrases) <= MOST_PHRASES:
        return (*phrases, *words)
    half = MOST_PHRASES // 2
    return (*phrases[:half], *phrases[-half:], *words)


_CONTENT: Final = re.compile(
    r"[\u3040-\u9fff\uac00-\ud7af]{2,}|[^\W_\u3040-\u9fff\uac00-\ud7af]{3,}"
)
"""A word of three letters and more, or a run of a script that puts no spaces between words."""

_BEGINNING: Final = 5  # letters of a word that its endings leave alone: `disab`
_LEAST_WORDS: Final = 3
_SHARE_OF_WORDS: Final = 0.5


def words_of(text: str) -> list[int]:
    """Return the beginnings of the longer words of a text as numbers, each once; of other scripts, pairs of signs."""
    beginnings: dict[str, None] = {}
    for word in _CONTENT.findall(text.casefold()):
        if word[0] < "\u3040":
            beginnings[word[:_BEGINNING]] = None
        else:
            beginnings.update(dict.fromkeys(map("".join, pairwise(word))))
    return [zlib.crc32(f"word {word}".encode()) & _BITS for word in beginnings]


def says_the_same(text: str, seen: AbstractSet[int]) -> bool:
    """Return whether most words of a text stand in what is remembered of one output, in any order and with any endings.

    A long output has many words: so this says something only of a text that was told from others before.
    """
    words = words_of(text)
    shared = sum(word in seen for word in words)
    return shared >= _LEAST_WORDS and shared >= _SHARE_OF_WORDS * len(words)


def is_typed_from(text: str, seen: AbstractSet[int]) -> bool:
    """Return whether a text repeats what was seen, nearly word for word as a whole, or a passage of it."""
    phrases = phrases_of(text)
    if len(phrases) < _LEAST:
        return False
    shared = [phrase in seen for phrase in phrases]
    runs = (sum(run) for is_shared, run in groupby(shared) if is_shared)
    return sum(shared) >= _SHARE * len(phrases) or max(runs, default=0) >= _RUN
