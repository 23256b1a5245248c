"""Patterns for grep that find more than one that found nothing: words in any case, with any separators."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.replan.syntax import is_identifier, parts
from mcp_reflect.replan.words import terms, tokens, weight

_PATTERN_SIGN: Final = re.compile(
    r"\\[dswbDSWB][+*?]?|\[[^\]]{0,200}\][+*?]?|\.[*+?]|[(){}+?|^$*]|\\"
)
_ANY_SEPARATORS: Final = "[-_. /]*"
_LEAST_RARITY: Final = 290  # weight of a word that may be looked for alone
_SHORTEST_TERM: Final = 3  # letters of a term of a pattern that is looked for


def loose_pattern(words: tuple[str, ...]) -> str:
    """Return a pattern that finds words in capitals or not, with any separators between them.

    `("pay", "out")` gives `[pP][aA][yY][-_. /]*[oO][uU][tT]`: only bracket expressions and `*` are used, so that basic,
    extended and Perl expressions read it alike.
    """
    return _ANY_SEPARATORS.join(_in_any_case(word) for word in words)


def _in_any_case(word: str) -> str:
    """A pattern for a word in capitals or not; other signs than letters and digits stand for themselves."""
    bracketed = re.sub(r"([^\w ])", r"[\1]", word)
    return re.sub("[a-zA-Z]", lambda letter: f"[{letter[0].lower()}{letter[0].upper()}]", bracketed)


def pattern_rewrites(text: str, message: str) -> Iterator[str]:
    """Yield patterns for grep in place of a failed one, the likeliest first.

    | the pattern                      | gives                                                                     |
    |----------------------------------|---------------------------------------------------------------------------|
    | has identifiers (`getPayOut`)    | each as it is, then however written, and without its first or last word   |
    | has words alone (`pay out`)      | the words in this order, with anything between them                       |
    | has words as choices (`pay|out`) | each word however written                                                 |
    """
    searched = _terms_of_pattern(text)
    identifiers = sorted(filter(is_identifier, searched), key=len, reverse=True)
    yield from identifiers
    if not identifiers and "|" not in text:
        yield ".*".join(loose_pattern((term.removesuffix("s"),)) for term in searched)
        return
    for term in identifiers or searched:
        words = parts(term.removesuffix("s"))
        yield loose_pattern(words)
        if len(words) > 2:
            yield loose_pattern(words[1:])
        yield loose_pattern(_word_to_search_alone(words, message))
        if len(words) > 2:
            yield loose_pattern(words[:-1])


def _terms_of_pattern(text: str) -> list[str]:
    """Return the terms between the signs of a pattern that are long enough to be looked for.

    There are none in a pattern that an earlier plan made: it begins with a bracket, as `loose_pattern` writes it,
    and is as loose as it can be.
    """
    if text.startswith("["):
        return []
    searched: list[str] = []
    for part in _PATTERN_SIGN.split(text):
        searched += [term for term in terms(part) if len(term) >= _SHORTEST_TERM]
    return searched


def _word_to_search_alone(words: tuple[str, ...], message: str) -> tuple[str, ...]:
    """The last of the words that the person said and that is rare, as a tuple of one; empty if there is none.

    Any other word of an identifier alone would be found everywhere.
    """
    asked = set(tokens(message))
    for word in reversed(words):
        is_asked = word.lower() in asked or f"{word}s".lower() in asked
        if is_asked and weight(word) >= _LEAST_RARITY:
            return (word,)
    return ()
