"""Terms of texts: words as they are compared, folded and stemmed, and identifiers with their parts."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from re import Pattern
from typing import Final, TypeAlias

from mcp_reflect.normal_forms import normal_form
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.text.stemmer import ENGLISH, STOP_WORDS, stem

LONGEST: Final = 64  # characters of a term; longer terms are cut

# Thai, Chinese, Japanese, Korean: no spaces between words.
_UNSPACED: Final = (
    "\u0e00-\u0e7f\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u1100-\u11ff"
)
# Vowel signs and the like, which `re` does not take for letters: Arabic and Hebrew points, the scripts of India.
_MARKS: Final = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff"
_LETTERS: Final = rf"(?:[^\W_{_UNSPACED}]|[{_MARKS}])+"

# Letters and digits with the signs that join them, or a run of a script without spaces; and their parts.
_CHUNK: Final = lazy_compile(rf"[{_UNSPACED}]+|{_LETTERS}(?:[._/:\\@'’-]+{_LETTERS})*")
_PART: Final = lazy_compile(rf"(?:[^\W_]|[{_MARKS}])+")
_RUN: Final = lazy_compile(rf"[{_UNSPACED}]")
# Most texts are ASCII: these compile faster.
_ASCII_CHUNK: Final = lazy_compile(r"[^\W_]+(?:[._/:\\@'-]+[^\W_]+)*")
_ASCII_PART: Final = lazy_compile(r"[^\W_]+")
_CAMEL: Final = lazy_compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNFOLDED: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"})
_LONGEST_ARTICLE: Final = 2  # letters before an apostrophe: l'erreur, qu'il

TermOfWord: TypeAlias = tuple[str, str]
"""A term, and the word of a text that it comes from."""


def terms_of(text: str) -> list[str]:
    """Return the terms of a text in order, with stop words; an identifier gives itself and then its parts.

    "Retried src/app" gives `retr`, `src_app`, `src`, `app`. Words are folded (NFKC, case, diacritics) and stemmed; runs
    of scripts without spaces give pairs of letters. Terms hold letters, digits and `_`.
    """
    return [term for term, _ in _terms_with_words(text) if term]


def words_of(text: str) -> dict[str, str]:
    """Return each term of a text once, in order, with the word at its first place in the text."""
    words: dict[str, str] = {}
    for term, word in _terms_with_words(text):
        if term:
            words.setdefault(term, word)
    return words


@lru_cache(maxsize=10_000)
def telling_words(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without stop words unless it has no others.

    "The uploads are retried" gives upload and retr, "to be or not to be" all of its words.
    """
    words = {word.lower() for word in _ASCII_PART.findall(text)}
    return frozenset(map(stem, words - ENGLISH or words))


def _terms_with_words(text: str) -> Iterator[TermOfWord]:
    """Return the terms of a text in order; an accent that stands without a letter gives an empty one."""
    return chain.from_iterable(map(_terms_of_chunk, _chunks(text)))


def _chunks(text: str) -> list[str]:
    """Return the words, joined names and runs of scripts without spaces of a text: "run src/app.py" has two chunks."""
    if text.isascii():
        return _ASCII_CHUNK.findall(text)
    return _CHUNK.findall(normal_form("NFKC", text))


@lru_cache(maxsize=100_000)
def _terms_of_chunk(chunk: str) -> tuple[TermOfWord, ...]:
    """Return the terms of a chunk, by the way its script writes words."""
    if chunk.isascii():
        return _terms_of_name(chunk, _ASCII_PART)
    if _RUN.match(chunk):
        return _pairs_of_letters(chunk)
    return _terms_of_name(chunk, _PART)


def _pairs_of_letters(run: str) -> tuple[TermOfWord, ...]:
    """Return each two neighbors of a script without spaces as a term, since no sign tells where a word ends there.

    Three signs ABC give the terms AB and BC.
    """
    pairs = [run[start : start + 2] for start in range(len(run) - 1)]
    return tuple((pair, pair) for pair in pairs or [run])


def _terms_of_name(chunk: str, part: Pattern[str]) -> tuple[TermOfWord, ...]:
    """Return the term of a word, or those of a joined name: the whole of it first, then its parts.

    A part of one letter tells nothing beside the whole: the `c` of `c:/temp`.
    """
    parts = part.findall(_without_apostrophe(chunk))
    if len(parts) == 1:
        return _terms_of_word(parts[0])
    whole = "_".join(map(_folded, parts))[:LONGEST]
    terms = [(whole, chunk)]
    for one_part in parts:
        terms += [pair for pair in _terms_of_word(one_part) if len(pair[0]) > 1]
    return tuple(terms)


def _terms_of_word(word: str) -> tuple[TermOfWord, ...]:
    """Return the term of a word; of one in camelCase also those of its parts."""
    whole = _stemmed(_folded(word))[:LONGEST]
    parts = [part.lower() for part in _camel_parts(word)]
    if len(parts) > 1:
        return ((whole, word), *((_stemmed(part), part) for part in parts))
    return ((whole, word.lower()),)


def _camel_parts(word: str) -> list[str]:
    """Return the parts of a word in camelCase that have several letters; none of a word in one case."""
    if not word.isascii() or word.islower() or word.isdigit():
        return []
    return [part for part in _CAMEL.findall(word) if len(part) > 1]


def _stemmed(word: str) -> str:
    """Return the stem of a word; a stop word stays whole, so that it is still known as one."""
    if word in STOP_WORDS:
        return word
    return stem(word)


def _without_apostrophe(chunk: str) -> str:
    """Return `don't` as dont, `server's` as server, `l'erreur` as erreur."""
    before, *others = chunk.replace("’", "'").split("'")
    if len(others) != 1:
        return "".join((before, *others))
    after = others[0]
    if after.lower() == "s":
        return before
    is_article = len(before) <= _LONGEST_ARTICLE < len(after)
    if is_article:
        return after
    return before + after


def _folded(word: str) -> str:
    """Return a word without case and diacritics: `Größe` as grosse, `naïve` as naive."""
    if word.isascii():
        return word.lower()
    letters_and_accents = normal_form("NFD", word.casefold())
    letters = [sign for sign in letters_and_accents if not unicodedata.combining(sign)]
    return normal_form("NFC", "".join(letters)).translate(_UNFOLDED)
