"""The words of a work, which say how its sums are meant: "modulo", "degrees", "rounded"."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from mcp_reflect.evidence.word_lists import read_word_list

MOST_READ: Final = 20_000
"""Characters of a step that are read."""

_MOST_WORDS_READ: Final = 200_000  # characters of a work whose words are looked at
_WORDS: Final = re.compile(r"[^\W\d_]+|[°&|]")
_PHRASES: Final = {
    "base n": re.compile(r"\b[Bb]ase (?:\d|two|eight|ten|twelve|sixteen)"),
    "decibel": re.compile(r"\bdB"),
    "modulo": re.compile(
        r"ℤ|𝔽|\b[ZF]_?\{?\d|\bfield (?:with|of) \w+ elements\b|\b(?:finite|Galois) field\b"
    ),
}
"""Signs of another arithmetic that are no words, by the word that stands for them."""


@cache
def words_for(heading: str) -> frozenset[str]:
    """Return the words of a heading of words/arithmetic.txt."""
    return frozenset(read_word_list("arithmetic")[heading])


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, and the signs that say as much as a word: "°", "&" and "|"."""
    phrases = {name for name, pattern in _PHRASES.items() if pattern.search(text)}
    return frozenset(_WORDS.findall(text.lower())) | phrases


def words_of_a_work(steps: Sequence[str], goal: str) -> frozenset[str]:
    """Return the words of a work.

    They say how its sums are meant, and may stand anywhere: in the goal, a heading, or sentences before.
    """
    words: set[str] = set()
    room = _MOST_WORDS_READ
    for text in (goal, *steps):
        part = text[: min(room, MOST_READ)]
        words |= words_of(part)
        room -= len(part)
        if room <= 0:
            break
    return frozenset(words)


def is_another_arithmetic(words: frozenset[str]) -> bool:
    """True where the words of a work say that its sums are no plain ones: "modulo", "binary", "In Z_7"."""
    return not words.isdisjoint(words_for("another_arithmetic"))
