"""When two lessons are one lesson in other words.

They are where most of their words are shared, in the mistake and in the correction, and none of the
words that carry the point differs: numbers, identifiers, paths, code, and words that turn a sentence round.
"""

import re
from typing import Final

from mcp_reflect.bank.stopwords import ENGLISH
from mcp_reflect.patterns import late

# Jaccard similarity of the words; chosen so that a changed word in six or more still is the same lesson.
SAME_WORDS: Final = 0.7

_TOKEN: Final = late(r"`[^`]*`|\"[^\"]*\"|'[^'\s]*'|[^\s,;!?()\[\]{}\"'`]+(?:['’][a-z]+)?")
_TURNS: Final = frozenset(
    """not no never none without don't doesn't didn't can't cannot won't shouldn't isn't aren't avoid stop instead
    before after always only unless except disable enable remove add less more fewer higher lower increase decrease
    true false on off up down first last""".split()
)
_ENDING: Final = late(r"(?:ing|ed|es|s)$")


def same_lesson(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two lessons, each as (mistake, correction), say the same."""
    return all(same_text(first, second) for first, second in zip(one, other, strict=True))


def alike(one: str, other: str) -> float:
    """The share of words that two texts have in common, 0..1."""
    return shared(telling_words(one), telling_words(other))


def shared(one: set[str], other: set[str]) -> float:
    """Jaccard's coefficient: the part of two sets of words that is in both, 0..1."""
    return len(one & other) / len(one | other) if one or other else 1.0


def same_text(one: str, other: str) -> bool:
    """Whether two texts share most of their words and differ in none that carries the point."""
    return points(one) == points(other) and alike(one, other) >= SAME_WORDS


def points(text: str) -> frozenset[str]:
    """What must not differ: numbers, identifiers, paths, quoted code, negations and directions."""
    found: set[str] = set()
    for token in tokens(text):
        if token.lower() in _TURNS:
            found.add(token.lower())
        elif is_code(token):
            found.add(token.strip("`\"'"))
    return frozenset(found)


def codes(text: str) -> frozenset[str]:
    """The numbers, identifiers, paths and quoted code of a text."""
    return frozenset(token.strip("`\"'") for token in tokens(text) if is_code(token))


def tokens(text: str) -> list[str]:
    """The words, numbers, identifiers and quoted code of a text, without what ends a sentence."""
    return [token for raw in _TOKEN.findall(text) if (token := raw.rstrip(".:").replace("’", "'"))]


def is_code(token: str) -> bool:
    """Whether a token is a number, an identifier, a path, an option or quoted code."""
    if token[:1] in "`\"'" or any(sign in token for sign in "_/\\=<>$@#*|+:%.0123456789"):
        return True
    inner = token[1:]
    return token.startswith("-") or (inner != inner.lower() and len(token) > 1)


def telling_words(text: str) -> set[str]:
    """The stems of a text's words, without stop words where there are others."""
    words = {word.lower() for word in re.findall(r"[^\W_]+", text)}
    telling = words - ENGLISH or words
    return set(map(stem, telling))


def stem(word: str) -> str:
    """A lower-case word without the ending that English puts to it."""
    return _ENDING.sub("", word) if len(word) > 4 else word
