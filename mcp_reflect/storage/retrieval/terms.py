"""Text as analyzed terms: words of any script, without their endings; stop words."""

import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.stemmer import stem

# Function words, which count for less: English ones, and those of English, German, French, Spanish, Italian, Portuguese
# and Dutch, without diacritics and apostrophes. A word that carries meaning in one of these languages is in no list.
_WORD_LISTS: Final = Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8").split("\n\n")
ENGLISH: Final = frozenset(_WORD_LISTS[0].split())
STOP_WORDS: Final = frozenset(" ".join(_WORD_LISTS).split())

LONGEST: Final = 64  # characters of a term; longer terms are cut

# Thai, Chinese, Japanese, Korean: no spaces between words.
_UNSPACED: Final = "\u0e00-\u0e7f\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u1100-\u11ff"
# Vowel signs and the like, which `re` does not take for letters: Arabic and Hebrew points, the scripts of India.
_MARKS: Final = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff"
_LETTERS: Final = rf"(?:[^\W_{_UNSPACED}]|[{_MARKS}])+"

# Letters and digits with the signs that join them, or a run of a script without spaces; and their parts.
_CHUNK: Final = lazy_compile(rf"[{_UNSPACED}]+|{_LETTERS}(?:[._/:\\@'’-]+{_LETTERS})*")
_PART: Final = lazy_compile(rf"(?:[^\W_]|[{_MARKS}])+")
_RUN: Final = lazy_compile(rf"[{_UNSPACED}]")
_ASCII_CHUNK: Final = lazy_compile(r"[^\W_]+(?:[._/:\\@'-]+[^\W_]+)*")  # most texts are ASCII: these compile faster
_ASCII_PART: Final = lazy_compile(r"[^\W_]+")
_CAMEL: Final = lazy_compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNFOLDED: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"})


def terms_of(text: str) -> list[str]:
    """Return the terms of a text in order, with stop words; an identifier gives itself and then its parts.

    Words are folded (NFKC, case, diacritics) and stemmed; runs of scripts without spaces give pairs of letters. Terms
    hold letters, digits and `_`.
    """
    return [term for chunk in _chunks(text) for term, _ in _terms(chunk) if term]


def words_of(text: str) -> dict[str, str]:
    """Return each term of a text once, in order, with the word at its first place in the text."""
    words: dict[str, str] = {}
    for chunk in _chunks(text):
        for term, word in _terms(chunk):
            if term:  # an accent without a letter gives an empty term
                words.setdefault(term, word)
    return words


@lru_cache(maxsize=10_000)
def telling_words(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without stop words if there are others."""
    words = {word.lower() for word in _ASCII_PART.findall(text)}
    return frozenset(map(stem, words - ENGLISH or words))


def _chunks(text: str) -> list[str]:
    return _ASCII_CHUNK.findall(text) if text.isascii() else _CHUNK.findall(unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=100_000)
def _terms(chunk: str) -> tuple[tuple[str, str], ...]:
    """Return the terms of a chunk, each with its word."""
    if not chunk.isascii() and _RUN.match(chunk):
        pairs = [chunk[place : place + 2] for place in range(len(chunk) - 1)] or [chunk]
        return tuple(zip(pairs, pairs, strict=True))
    parts = (_ASCII_PART if chunk.isascii() else _PART).findall(_without_apostrophe(chunk))
    if len(parts) == 1:
        return _word_terms(parts[0])
    whole = "_".join(map(_folded, parts))[:LONGEST]
    inner = [pair for part in parts for pair in _word_terms(part) if len(pair[0]) > 1]
    return ((whole, chunk), *inner)


def _word_terms(word: str) -> tuple[tuple[str, str], ...]:
    """Return the term of a word; of one in camelCase also those of its parts."""
    inner = _CAMEL.findall(word) if word.isascii() and not word.islower() and not word.isdigit() else ()
    parts = tuple((_stemmed(part.lower()), part.lower()) for part in inner if len(part) > 1)
    if len(parts) > 1:
        return ((_stemmed(_folded(word))[:LONGEST], word), *parts)
    return ((_stemmed(_folded(word))[:LONGEST], word.lower()),)


def _stemmed(word: str) -> str:
    return word if word in STOP_WORDS else stem(word)


def _without_apostrophe(chunk: str) -> str:
    """Return `don't` as dont, `server's` as server, `l'erreur` as erreur."""
    head, *tail = chunk.replace("’", "'").split("'")
    if len(tail) != 1:
        return "".join((head, *tail))
    if tail[0].lower() == "s":
        return head
    return tail[0] if len(head) <= 2 and len(tail[0]) > 2 else head + tail[0]


def _folded(word: str) -> str:
    """Return a word in lower case, without diacritics."""
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFD", word.casefold())
    bare = "".join(sign for sign in apart if not unicodedata.combining(sign))
    return unicodedata.normalize("NFC", bare).translate(_UNFOLDED)
