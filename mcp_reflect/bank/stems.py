"""Stems of English words, after Porter (1980), "An algorithm for suffix stripping", Program 14(3).

Words of other languages lose the same endings, in the bank and in the question alike; what that leaves
apart, the similarity of words brings together (see `spelling`).
"""

from functools import lru_cache
from typing import Final

from mcp_reflect.patterns import late

_SHORTEST: Final = 3  # words up to here are their own stem
_VOWEL: Final = "(?:[aeiou]|(?<=[^aeiou])y)"
_CONSONANTS: Final = "(?:(?:[^aeiouy]|(?<![^aeiou])y)+)"
_HAS_VOWEL: Final = late(r"[aeiou]|(?<=[^aeiou])y")
_MEASURED: Final = late(r"(?:[aeiou]|(?<=[^aeiou])y)+(?:[^aeiouy]|(?<=[aeiou])y)+")
_DOUBLE: Final = late(r"([^aeiouylsz])\1$")
_SHORT: Final = late(r"[^aeiou](?:[aeiou]|(?<=[^aeiou])y)[^aeiouwxy]$")

# The longer endings first.
_STEP_2: Final = (
    ("ational", "ate"), ("ization", "ize"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"),
    ("tional", "tion"), ("biliti", "ble"), ("entli", "ent"), ("ousli", "ous"), ("ation", "ate"),
    ("alism", "al"), ("aliti", "al"), ("iviti", "ive"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("abli", "able"), ("alli", "al"), ("ator", "ate"), ("logi", "log"), ("eli", "e"),
)  # fmt: skip
_STEP_3: Final = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ness", ""),
    ("ful", ""),
)  # fmt: skip
_STEP_4: Final = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "sion", "tion", "al", "er", "ic", "ou",
)  # fmt: skip


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of a lower-case word; of one with other letters than a to z, or up to three of them, itself."""
    if len(word) <= _SHORTEST or not (word.isascii() and word.isalpha()):
        return word
    word = _past_and_gerund(_plural(word))
    if word.endswith("y") and _HAS_VOWEL.search(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    return _tidied(_derived(word))


def _measure(word: str) -> int:
    """Porter's m: how many times vowels are followed by consonants."""
    return len(_MEASURED.findall(word))


def _plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-2] if len(word) > 4 else word[:-1]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us")) else word


def _past_and_gerund(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if not _HAS_VOWEL.search(rest):
                return word
            if rest.endswith(("at", "bl", "iz")):
                return f"{rest}e"
            if _DOUBLE.search(rest):
                return rest[:-1]
            return f"{rest}e" if _measure(rest) == 1 and _SHORT.search(rest) else rest
    return word


def _replaced(word: str, pairs: tuple[tuple[str, str], ...]) -> str:
    """The word with the first ending of `pairs` that it has replaced, where enough is left before it."""
    for ending, other in pairs:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + other if _measure(rest) else word
    return word


def _derived(word: str) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if ending in ("sion", "tion"):
                rest += ending[0]
            return rest if _measure(rest) > 1 else word
    return word


def _tidied(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _SHORT.search(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
