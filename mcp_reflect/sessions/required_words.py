"""Words without which a pattern cannot match: to look for one of them is much quicker than to try the pattern.

`timed? ?out|deadline exceeded` is tried only in a text that has "time" or "deadline exceeded".
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Final, TypeAlias

from mcp_reflect.patterns import lazy_compile

_Part: TypeAlias = tuple[Any, Any]
"""What a parsed pattern consists of: a kind, and its value."""

_NONE: Final[frozenset[str]] = frozenset()
_PARSER: Final[Any] = import_module("re._parser")
_PIECE: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
"""A piece of a pattern: an escape, a class, or a sign."""

_SHORTEST: Final = 2  # letters of a word; single ones stand in nearly every text
# What a pattern that ignores case takes for s, i and k beside their capitals.
_ODD_LETTERS: Final = str.maketrans("ſıİK", "siik")


class Alternatives:
    """The alternatives of a pattern, each of which is tried only in a text that has one of its required words."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    @cached_property
    def _with_words(self) -> list[tuple[frozenset[str], re.Pattern[str]]]:
        """Each alternative as a pattern of its own, with the words of which a text that matches has one.

        A pattern is compiled for the first text that has one of its words: of a few hundred most never are.
        """
        flags = self._pattern.flags & ~re.UNICODE
        texts = alternatives(self._pattern.pattern)
        return [(required_words(text, flags), lazy_compile(text, flags)) for text in texts]

    def match_in(self, text: str, letters: str) -> bool:
        """Return whether the pattern matches somewhere in a text, of which `letters` is the folded form."""
        for words, pattern in self._with_words:
            may_match = not words or any(word in letters for word in words)
            if may_match and pattern.search(text):
                return True
        return False


def alternatives(pattern: str) -> list[str]:
    """Return what stands between the bars of a pattern that are in no group and no class: `a(b|c)|d` is `a(b|c)` and `d`."""
    parts = [""]
    depth = 0
    for piece in _PIECE.findall(pattern):
        if piece == "(":
            depth += 1
        elif piece == ")":
            depth -= 1
        if piece == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def folded(text: str) -> str:
    """Return the text in lower case, with the odd letters that a pattern without case takes for s, i and k."""
    return text.translate(_ODD_LETTERS).lower()


def required_words(pattern: str, flags: int) -> frozenset[str]:
    """Return words of which each text that matches has one at least; none where no such words are known.

    `40(?:0|5) bad` gives {" bad"}: of the words that it needs, the longest one tells most.
    """
    return _words_of(_PARSER.parse(pattern, flags))


def _words_of(parts: Iterable[_Part]) -> frozenset[str]:
    """Return the words of one part of a sequence: every part has to match, so that the part with the longest is enough."""
    choices: list[frozenset[str]] = []
    letters: list[_Part] = []
    for part in parts:
        if str(part[0]) == "LITERAL":
            letters.append(part)
            continue
        choices += (_joined(letters), _words_in(part, letters))
        letters = []
    choices.append(_joined(letters))
    telling = [words for words in choices if _shortest(words)]
    return max(telling, key=_shortest, default=_NONE)


def _joined(letters: Iterable[_Part]) -> frozenset[str]:
    """Return the one word that letters in a row make."""
    return frozenset([folded("".join(chr(letter) for _, letter in letters))])


def _words_in(part: _Part, before: Sequence[_Part]) -> frozenset[str]:
    """Return the words of a part that is no letter; each branch of `40(?:0|5)` has the letters before it."""
    kind, value = str(part[0]), part[1]
    if kind == "SUBPATTERN":
        return _words_of(value[-1])
    if kind in ("MAX_REPEAT", "MIN_REPEAT") and value[0] > 0:
        return _words_of(value[-1])
    if kind == "BRANCH":
        branches = [_words_of([*before, *branch]) for branch in value[1]]
        if all(branches):  # a branch without words matches a text that has none of the others'
            return _NONE.union(*branches)
    return _NONE


def _shortest(words: frozenset[str]) -> int:
    """Return the length of the shortest word, 0 where there is none, or it is too short to tell anything."""
    length = min(map(len, words), default=0)
    if length < _SHORTEST:
        return 0
    return length
