"""Phrases: what is remembered of the words of an output, to tell later whether a text was typed from it.

A phrase is three words in a row, kept as a number of 24 bits: from the numbers no text can be read. The text is
redacted before its phrases are taken.
"""

import re
import zlib
from collections.abc import Set as AbstractSet
from itertools import groupby, islice
from typing import Final

MOST_PHRASES: Final = 2_000
"""Phrases that are remembered of an output; of a longer one, those at its start and its end."""

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
    """Return the phrases of an output that are remembered."""
    phrases = phrases_of(text)
    if len(phrases) <= MOST_PHRASES:
        return tuple(phrases)
    half = MOST_PHRASES // 2
    return (*phrases[:half], *phrases[-half:])


def is_typed_from(text: str, seen: AbstractSet[int]) -> bool:
    """Return whether a text repeats what was seen, nearly word for word as a whole, or a passage of it."""
    phrases = phrases_of(text)
    if len(phrases) < _LEAST:
        return False
    shared = [phrase in seen for phrase in phrases]
    runs = (sum(run) for is_shared, run in groupby(shared) if is_shared)
    return sum(shared) >= _SHARE * len(phrases) or max(runs, default=0) >= _RUN
