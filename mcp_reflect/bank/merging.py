"""When two lessons are one lesson in other words.

They are where most of their words are shared, in the mistake and in the correction, and none of the
words that carry the point differs: numbers, identifiers, paths, code, and words that turn a sentence round.
"""

import re
from typing import Final

from mcp_reflect.bank.words import STOP_WORDS

# Jaccard similarity of the words; chosen so that a changed word in six or more still is the same lesson.
SAME_WORDS: Final = 0.7

_TOKEN: Final = re.compile(r"`[^`]*`|\"[^\"]*\"|'[^'\s]*'|[^\s,;!?()\[\]{}\"'`]+")
_TURNS: Final = frozenset(
    """not no never none without don't doesn't didn't can't cannot won't shouldn't isn't aren't avoid stop instead
    before after always only unless except disable enable remove add less more fewer higher lower increase decrease
    true false on off up down first last""".split()
)
_ENDING: Final = re.compile(r"(?:ing|ed|es|s)$")


def same_lesson(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two lessons, each as (mistake, correction), say the same."""
    return all(_same_text(first, second) for first, second in zip(one, other, strict=True))


def alike(one: str, other: str) -> float:
    """The share of words that two texts have in common, 0..1."""
    first, second = _words(one), _words(other)
    return len(first & second) / len(first | second) if first | second else 1.0


def _same_text(one: str, other: str) -> bool:
    return _points(one) == _points(other) and alike(one, other) >= SAME_WORDS


def _points(text: str) -> frozenset[str]:
    """What must not differ: numbers, identifiers, paths, quoted code, negations and directions."""
    points: set[str] = set()
    for raw in _TOKEN.findall(text):
        token = raw.rstrip(".:")
        if token.lower() in _TURNS:
            points.add(token.lower())
        elif _is_code(token):
            points.add(token.strip("`\"'"))
    return frozenset(points)


def _is_code(token: str) -> bool:
    if token[:1] in "`\"'" or any(sign in token for sign in "_/\\=<>$@#*|+:%.0123456789"):
        return True
    inner = token[1:]
    return token.startswith("-") or (inner != inner.lower() and len(token) > 1)


def _words(text: str) -> set[str]:
    words = {word.lower() for word in re.findall(r"[^\W_]+", text)}
    telling = words - STOP_WORDS or words
    return {_ENDING.sub("", word) if len(word) > 4 else word for word in telling}
