"""The stems of words: forms of one English word have one stem, so that a search for one finds the others.

Function words, which say little of what is meant, are here as well.
"""

from functools import lru_cache
from pathlib import Path
from typing import Final

# Endings of English words: those of plurals and tenses are cut once, the others as long as there are enough letters.
# Words of other languages lose the same endings. Porter's stemmer (1980) is no better on the development sets.
_PLURALS_AND_TENSES: Final = ("ities", "ity", "ings", "ing", "edly", "ied", "ed", "ies", "es", "s")
_OTHERS: Final = tuple("ly e ion at iz iv al ic ment ness ful ous abl ibl anc enc".split())
_LEAST_LETTERS: Final = 5  # that have to stay of a derived word
_LEAST_LETTERS_BEFORE_E: Final = 3  # the same where it ends in e: `cache` and `caching` are one
_VOWELS: Final = frozenset("aeiouy")

# Function words, which say little of what is meant: English ones, and those of English, German, French, Spanish,
# Italian, Portuguese and Dutch, and the commonest of Polish, Swedish, Turkish, Czech and Russian, without diacritics
# and apostrophes. A word that carries meaning in one of these languages is in no list.
_WORD_LISTS: Final = (
    Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8").split("\n\n")
)
ENGLISH: Final = frozenset(_WORD_LISTS[0].split())
STOP_WORDS: Final = frozenset(" ".join(_WORD_LISTS).split())


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; a word with other letters than a to z, or of up to three, as it is.

    `migrations`, `migration` and `migrating` -> `migrat`; `cache` and `caching` -> `cach`; `bus` stays.
    """
    if len(word) <= 3 or not (word.isascii() and word.isalpha()):
        return word
    if not word.endswith(("ss", "us")):
        word = _cut(word, _PLURALS_AND_TENSES, 3)
    word = _without_other_endings(word)
    if word.endswith("y") and word[-2] not in _VOWELS:
        word = word[:-1]
    is_doubled = word[-1] == word[-2] and word[-1] not in _VOWELS
    if is_doubled:
        return word[:-1]
    return word


def _without_other_endings(word: str) -> str:
    """Return a word without the endings of derived words, one after the other: `thoughtfulness` -> `thought`."""
    while True:
        least = _LEAST_LETTERS
        if word.endswith("e"):
            least = _LEAST_LETTERS_BEFORE_E
        rest = _cut(word, _OTHERS, least)
        if rest == word:
            return word
        word = rest


def _cut(word: str, endings: tuple[str, ...], least: int) -> str:
    """Return a word without the first of these endings behind which at least `least` letters and a vowel are left."""
    if not word.endswith(endings):
        return word
    for ending in endings:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= least and not _VOWELS.isdisjoint(rest):
            return rest
    return word
