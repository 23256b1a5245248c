"""The words of a search: cut, folded, compared and weighed."""

import re
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Final

from mcp_reflect.stemmer import stem
from mcp_reflect.word_vectors import shared_table

# Function words, which say nothing of what is searched; words of conversation, which say that somebody asks; and
# function words of other languages, folded, without those that are English or code.
_WORD_LISTS: Final = Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8").split("\n\n")
STOP_WORDS, LIGHT_WORDS, OTHER_STOP_WORDS = [frozenset(words.split()) for words in _WORD_LISTS]
_ALL_STOP_WORDS: Final = STOP_WORDS | OTHER_STOP_WORDS
CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD: Final = re.compile(r"[^\W_]+")
_QUOTED: Final = r'["“„«][^"“”„«»]+["”“»]'
_TERM: Final = re.compile(rf"({_QUOTED})|\S+")
_OUTSIDE: Final = "\"'“”„«»`.,;:!?()[]{}<>"
_WRITTEN: Final = re.compile(r"\w[-_./:]+\w|[a-z][A-Z]|[|*%\\\[\]<>=^$]")
_LONG: Final = 4000  # characters read of one text; a message longer than that is a document, not a question
_UNKNOWN: Final = 450  # weight of a word that the table does not know: rarer than most


def fold(text: str) -> str:
    """Return a text in lower case without accents: `Jérôme` and `jerome` are one word."""
    if text.isascii():
        return text[:_LONG].lower()
    decomposed = unicodedata.normalize("NFKD", text[:_LONG]).casefold()
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def plain_umlauts(word: str) -> str:
    """Return a folded word with umlauts written as one letter: `moeller` as `moller`."""
    return word.replace("ae", "a").replace("oe", "o").replace("ue", "u")


@lru_cache(maxsize=2048)
def tokens(text: str) -> tuple[str, ...]:
    """Return all words of a text, folded, in order, as a full-text index cuts them."""
    return tuple(_WORD.findall(fold(text)))


@lru_cache(maxsize=1024)
def terms(text: str) -> tuple[str, ...]:
    """Return the parts of a text between blanks as they are written, without punctuation; quoted parts stay whole."""
    found = (match[1] or match[0].strip(_OUTSIDE) for match in _TERM.finditer(text[:_LONG]))
    return tuple(filter(None, found))


def unquoted(text: str) -> str:
    """Return a text without its quotation marks."""
    return re.sub('["“”„«»]', "", text)


def is_quoted(text: str) -> bool:
    """Return True if a part of the text stands in quotes."""
    return re.search(_QUOTED, text) is not None


@lru_cache(maxsize=1024)
def content(text: str) -> tuple[str, ...]:
    """Return the terms that say what is looked for, as written, each once; of nothing but stop words all of them."""
    every = {tokens(term): term for term in reversed(terms(text)) if tokens(term)}
    unique = tuple(reversed(every.values()))
    full = tuple(term for term in unique if not _ALL_STOP_WORDS.issuperset(tokens(term)))
    full = tuple(term for term in full if len(term) > 1 or term.isdigit())
    return tuple(term for term in full if not LIGHT_WORDS.issuperset(tokens(term))) or full or unique


@lru_cache(maxsize=4096)
def normalized(text: str) -> str:
    """Return a key that near-identical texts share: the same words in any order, however often.

    A quoted phrase keeps its order. A text with an identifier or an operator is its own key.
    """
    words = tokens(text)
    if _WRITTEN.search(text):
        return " ".join(text.split())
    return '"' + " ".join(words) + '"' if is_quoted(text) else " ".join(sorted(set(words)))


@lru_cache(maxsize=1024)
def stems(text: str) -> frozenset[str]:
    """Return the stems of the words that say what is looked for."""
    return frozenset(stem(word) for term in content(text) for word in tokens(term))


def is_name(term: str, text: str) -> bool:
    """Return True for a name, a code or a quoted part of a text: a capital inside the sentence, or a digit."""
    is_capital = term[:1].isupper() and (term[1:].isupper() or not text.startswith(term))
    return is_capital or is_quoted(term) or any(sign.isdigit() for sign in term)


def weight(term: str) -> int:
    """Return how much a term tells, from 0 (a number or a date) to 600: rare words tell more than common ones."""
    parts = [part for part in tokens(term) if not part.isdigit()]
    return max((shared_table().weight(part) or _UNKNOWN for part in parts), default=0)


def telling(words: tuple[str, ...], said: str, *, by_weight: bool = True) -> tuple[str, ...]:
    """Return the words, the most telling first: names, what the person `said`, rare words; numbers come last.

    A name says which one, and a noun says what it is: beside two names stand two other words that were said.
    """
    asked = {plain_umlauts(word): term for term in terms(said) for word in tokens(term)}

    def value(term: str) -> tuple[bool, bool, int]:
        parts = [plain_umlauts(part) for part in tokens(term)] if weight(term) else []
        named = any(is_name(asked.get(part, term), said) for part in parts)
        return named, not asked.keys().isdisjoint(parts), weight(term) if by_weight else 0

    ordered = sorted(words, key=value, reverse=True)
    named = [term for term in ordered if value(term)[0]]
    others = [term for term in ordered if term not in named and value(term)[1]] if named else []
    first = [*named[:2], *sorted(others, key=weight, reverse=True)[:2]]
    return (*first, *(term for term in ordered if term not in first))
