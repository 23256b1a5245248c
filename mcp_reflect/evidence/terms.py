"""The terms of a text: its words by their stems, its numbers, and the names of files, functions and versions in it."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.evidence.word_lists import read_word_list
from mcp_reflect.text.stemmer import STOP_WORDS, stem

_LONGEST_NAME: Final = 120
_TERM: Final = re.compile(r"\d+(?:[.,:]\d+)*|[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![^\W\dA-Z_])")
_TOKEN: Final = re.compile(r"\w[\w./:\\-]*")
_CAMEL: Final = re.compile(r"[a-z][A-Z]")
_HASH: Final = re.compile(r"(?=[a-f]*\d)[0-9a-f]{7,40}")


def terms_of(text: str) -> set[str]:
    """Return the words of a text by their stems, its numbers, and its names with a `=` before each.

    The words of every text are left out.
    """
    words = {word.lower() for word in _TERM.findall(text)} - STOP_WORDS
    terms = {
        word.replace(",", "") if word[0].isdigit() else stem(word)
        for word in words
        if len(word) > 1 or word.isdigit()
    }
    terms.update(f"={name}" for name in _names_in(text))
    return terms


def _names_in(text: str) -> Iterator[str]:
    """Yield the names of files, functions and versions: words that are joined by signs, in camelCase, or hashes."""
    for written in dict.fromkeys(_TOKEN.findall(text)):
        if written.isalpha() and written.islower():
            continue  # a plain word, as most are
        token = written.rstrip("./:\\-")
        if len(token) > _LONGEST_NAME or token.replace(".", "").isdigit():
            continue
        is_joined = any(sign in token for sign in "._/:\\-")
        if is_joined or _CAMEL.search(token) or _HASH.fullmatch(token):
            yield token.lower()
        last = token.replace("\\", "/").rsplit("/", 1)[-1]
        if last != token and any(sign in last for sign in "._"):
            yield last.lower()


_COMMON: Final = frozenset(map(stem, read_word_list("output_lines")["common words"]))


def is_common(term: str) -> bool:
    """True for a word that stands in every work with code."""
    return term in _COMMON


def stands_for_itself(term: str) -> bool:
    """True for a word, a name, and a number of three digits or with a fraction."""
    return not term[0].isdigit() or sum(map(str.isdigit, term)) >= 3
