"""The words of a search: how a text is cut into them, when two of them are the same, and how much each one tells."""

import re
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from operator import mul
from typing import Any, Final

from mcp_reflect.normal_forms import normal_form
from mcp_reflect.replan.word_lists import listed_words
from mcp_reflect.text.stemmer import STOP_WORDS, stem
from mcp_reflect.text.word_vectors import shared_table

_WORD: Final = re.compile(r"[^\W_]+")
_QUOTED: Final = r'["“„«][^"“”„«»]+["”“»]'
# What is not wanted stays with the word that says so.
_OPPOSED: Final = (
    r"\b(?:without|ohne|(?:an)?statt|instead of)\s+"
    r"(?:(?:an?|the|any|mit|de[mnrs]|die|das|eine?[mnrs]?)\s+)?\w[\w-]*"
    r"|\b\w{4,} free(?=\s+\w{4,})"
)
_TERM: Final = re.compile(rf"({_QUOTED})|({_OPPOSED})|\S+", re.IGNORECASE)
_OUTSIDE: Final = "\"'“”„«»`.,;:!?()[]{}<>"
_WRITTEN: Final = re.compile(r"\w[-_./:]+\w|[a-z][A-Z]|[|*%\\\[\]<>=^$]")
_QUOTES: Final = '"“”„«»'
MOST_WORDS: Final = 12
"""Words of a text that are read. A text of more is a document; search engines weigh the rest as noise."""

_MOST_CHARS: Final = 4000
"""Characters read of one text; a message that is longer is a document, not a question."""

_UNKNOWN: Final = 450
"""The weight of a word that the table does not know: it is rarer than most."""

_ALIKE: Final = 0.8
"""The ratio of difflib from which on two words are alike: two letters of ten may differ."""

_SHORTEST: Final = 4
"""Letters of a word that may be respelled; a shorter one has too many neighbors."""


def fold(text: str) -> str:
    """Return a text in lower case without accents: `Jérôme` and `jerome` are one word."""
    if text.isascii():
        return text[:_MOST_CHARS].lower()
    decomposed = normal_form("NFKD", text[:_MOST_CHARS]).casefold()
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def plain_umlauts(word: str) -> str:
    """Return a folded word with umlauts written as one letter: `moeller` as `moller`."""
    return word.replace("ae", "a").replace("oe", "o").replace("ue", "u")


@lru_cache(maxsize=2048)
def tokens(text: str) -> tuple[str, ...]:
    """Return all words of a text, folded, in order, as a full-text index cuts them: "Pay-Out" gives pay and out."""
    return tuple(_WORD.findall(fold(text)))


@lru_cache(maxsize=1024)
def terms(text: str) -> tuple[str, ...]:
    """Return the parts of a text between blanks as they are written, without punctuation.

    `Find "dark mode", without ads!` gives `Find`, `"dark mode"`, `without ads`: a quoted part stays whole, and so does
    what is not wanted.
    """
    parts: list[str] = []
    for match in _TERM.finditer(text[:_MOST_CHARS]):
        term = match[1] or match[2] or match[0].strip(_OUTSIDE)
        if term:
            parts.append(term)
    return tuple(parts)


def is_quoted(text: str) -> bool:
    """Return True if a part of the text stands in quotes."""
    return re.search(_QUOTED, text) is not None


def without_quotes(term: str) -> str:
    """Return a term without the quotes around it."""
    return term.strip(_QUOTES)


@lru_cache(maxsize=1024)
def content(text: str) -> tuple[str, ...]:
    """Return the terms that say what is looked for, as written, each once.

    `Please find the proxy timeout` gives `proxy`, `timeout`: words of a request and stop words are left out. Where
    nothing else is left, the words of the request are kept, since they may be meant (`help`), and else the stop words.
    """
    spellings: dict[tuple[str, ...], str] = {}
    for term in terms(text):  # a repeated term has its first spelling, and stands at its last place
        spellings[tokens(term)] = spellings.pop(tokens(term), term)
    spellings.pop((), None)
    all_terms = tuple(spellings.values())
    without_stop_words = tuple(term for term in all_terms if _says_something(term))
    words_of_requests = listed_words("chat")
    subject = tuple(
        term for term in without_stop_words if not words_of_requests.issuperset(tokens(term))
    )
    return subject or without_stop_words or all_terms


def _says_something(term: str) -> bool:
    """True for a term that is no stop word ("the") and no single letter; a digit says something."""
    if STOP_WORDS.issuperset(tokens(term)):
        return False
    return len(term) > 1 or term.isdigit()


@lru_cache(maxsize=4096)
def normalized(text: str) -> str:
    """Return a key that near-identical texts share: the same words in any order, however often.

    `Proxy timeout` and `timeout, proxy` have the key `proxy timeout`. A quoted phrase keeps its order. A text with an
    identifier or an operator, such as `proxy_timeout AND`, is its own key.
    """
    if _WRITTEN.search(text):
        return " ".join(text.split())
    words = tokens(text)
    if is_quoted(text):
        return '"' + " ".join(words) + '"'
    return " ".join(sorted(set(words)))


@lru_cache(maxsize=1024)
def stems(text: str) -> frozenset[str]:
    """Return the stems of the words that say what is looked for."""
    return frozenset(stem(word) for word in tokens(text) if word not in STOP_WORDS)


def is_name(term: str, text: str) -> bool:
    """Return True for a name, a code or a quoted part of a text.

    In "Which talks has Kiel about GPT4 and RAG?", `Kiel`, `GPT4` and `RAG` are names; `Which` is none, since any word has a
    capital at the beginning of a sentence, and `talks` has none.
    """
    if is_quoted(term) or any(char.isdigit() for char in term):
        return True
    begins_sentence = text.startswith(term)
    return term[:1].isupper() and (term[1:].isupper() or not begins_sentence)


def weight(term: str) -> int:
    """Return how distinctive a term is, from 0 (a number or a date) to 600: rare words more than common ones."""
    table = shared_table()
    words = [word for word in tokens(term) if not word.isdigit()]
    return max((table.weight(word) or _UNKNOWN for word in words), default=0)


def most_telling_first(words: tuple[str, ...], message: str) -> tuple[str, ...]:
    """Return terms in another order, the most telling first.

    What the person's `message` has comes first; of that, and of the rest, names come before rare words and these before
    common ones. Numbers come last.
    """
    terms_of_message: dict[str, str] = {}
    for term in terms(message):
        for word in tokens(term):
            terms_of_message[plain_umlauts(word)] = term

    def value(term: str) -> tuple[bool, bool, int]:
        """Return what terms are ordered by: whether the person said it, whether it is a name, and how rare it is."""
        rarity = weight(term)
        if rarity == 0:
            return False, False, 0
        parts = [plain_umlauts(part) for part in tokens(term)]
        was_said = any(part in terms_of_message for part in parts)
        terms_of_parts = {terms_of_message.get(part, term) for part in parts}
        is_named = any(is_name(each, message) for each in terms_of_parts)
        return was_said, is_named, rarity

    return tuple(sorted(words, key=value, reverse=True))


@lru_cache(maxsize=8192)
def _vector(text: str) -> Any:
    """Return the word vector of a text, None for unknown words; the latest vectors are cached."""
    return shared_table().embed(text)


def likeness(one: str, other: str) -> float:
    """Return how near two texts are in meaning: the cosine of their word vectors, 0 where one is unknown."""
    first = _vector(one)
    second = _vector(other)
    if first is None or second is None:
        return 0.0
    return sum(map(mul, first, second))


def similar(word: str, others: Iterable[str]) -> str | None:
    """Return the one of `others` that was meant, which is written the same or nearly so: `receive` for `recieve`.

    None where none is near, and for a word of fewer than four letters.
    """
    if len(word) < _SHORTEST:
        return None
    nearest = get_close_matches(word, others, n=1, cutoff=_ALIKE)
    return next(iter(nearest), None)
