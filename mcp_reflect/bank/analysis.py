"""Text as terms: what is written into the index, and what a question asks for.

NFKC and case folded, diacritics folded, English endings cut (`stems`), identifiers, paths and codes whole
and in parts, runs of scripts without spaces as pairs of letters. Terms hold letters, digits and `_`.
"""

import unicodedata
from functools import lru_cache
from typing import Final

from mcp_reflect.bank.stems import stem
from mcp_reflect.bank.stopwords import STOP_WORDS
from mcp_reflect.patterns import late

LONGEST: Final = 64  # characters of a term; what is longer is cut, here and there alike

# Of texts in ASCII; `scripts` has those of all others.
_CHUNK: Final = late(r"[^\W_]+(?:[._/:\\@'-]+[^\W_]+)*")
_PART: Final = late(r"[^\W_]+")
_CAMEL: Final = late(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_APOSTROPHE: Final = late(r"['’]")
_UNFOLDED: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"})


def terms_of(text: str) -> list[str]:
    """The terms of a text in their order, stop words too; an identifier gives itself and then its parts."""
    return [term for chunk in _chunks(text) for term, _ in _terms(chunk) if term]


def words_of(text: str) -> dict[str, str]:
    """Each term of a text once, in their order, with the word that it stands for where it came first."""
    found: dict[str, str] = {}
    for chunk in _chunks(text):
        for term, word in _terms(chunk):
            if term:  # an accent that stands alone leaves nothing
                found.setdefault(term, word)
    return found


def _chunks(text: str) -> list[str]:
    """Stretches of letters, digits and what joins them."""
    if text.isascii():
        return _CHUNK.findall(text)
    from mcp_reflect.bank import scripts  # noqa: PLC0415 - its patterns take long to compile, and most texts are ASCII

    return scripts.CHUNK.findall(unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=100_000)
def _terms(chunk: str) -> tuple[tuple[str, str], ...]:
    """The terms of a chunk, each with its word."""
    part = _PART
    if not chunk.isascii():
        from mcp_reflect.bank import scripts  # noqa: PLC0415 - see above

        if scripts.UNSPACED.match(chunk):
            return _pairs(chunk)
        part = scripts.PART
    parts = part.findall(_without_apostrophes(chunk))
    if len(parts) == 1:
        return _word_terms(parts[0])
    whole = "_".join(map(_folded, parts))[:LONGEST]
    inner = [pair for part in parts for pair in _word_terms(part) if len(pair[0]) > 1]
    return ((whole, chunk), *inner)


def _word_terms(word: str) -> tuple[tuple[str, str], ...]:
    """A word, or the whole and the parts of one in camelCase."""
    inner = _CAMEL.findall(word) if word.isascii() and not word.islower() and not word.isdigit() else ()
    parts = tuple((_stemmed(part.lower()), part.lower()) for part in inner if len(part) > 1)
    if len(parts) > 1:
        return ((_stemmed(_folded(word))[:LONGEST], word), *parts)
    return ((_stemmed(_folded(word))[:LONGEST], word.lower()),)


def _stemmed(word: str) -> str:
    """A stop word as it is, so that it is known as one; of any other word the stem."""
    return word if word in STOP_WORDS else stem(word)


def _without_apostrophes(chunk: str) -> str:
    """`don't` as dont, `server's` as server, `l'erreur` as erreur."""
    if "'" not in chunk and "’" not in chunk:
        return chunk
    head, *tail = _APOSTROPHE.split(chunk)
    if len(tail) != 1:
        return "".join((head, *tail))
    if tail[0].lower() == "s":
        return head
    return tail[0] if len(head) <= 2 and len(tail[0]) > 2 else head + tail[0]


def _folded(word: str) -> str:
    """A word in one case, without diacritics."""
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFD", word.casefold())
    bare = "".join(sign for sign in apart if not unicodedata.combining(sign))
    return unicodedata.normalize("NFC", bare).translate(_UNFOLDED)


def _pairs(run: str) -> tuple[tuple[str, str], ...]:
    """Pairs of neighbouring letters; a letter that stands alone is itself."""
    pairs = [run[place : place + 2] for place in range(len(run) - 1)] or [run]
    return tuple(zip(pairs, pairs, strict=True))
