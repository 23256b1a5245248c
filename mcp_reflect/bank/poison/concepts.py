"""What the words of a text are about: who is spoken to, what is to be done, to what, and with which claim.

The words stand in `lexicon/`, one file a language; a line is a concept and its words. `*` ends a word of which
only the beginning counts, `_` parts the words of a phrase. In scripts without blanks a word is found anywhere.
"""

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from mcp_reflect.bank.poison.known import Known

_MARKS: Final = re.compile("[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u0640]")
_LETTERS: Final = str.maketrans(
    {"ł": "l", "ı": "i", "ø": "o", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe", "’": "'", "ё": "е"}
)
_CHAR: Final = r"(?:[^\W_]|[\u0900-\u0dff])"  # the vowel signs of India's scripts are no letters to `re`
_TOKEN: Final = re.compile(rf"{_CHAR}+(?:['.=@/-]{_CHAR}+)*")
_PARTS: Final = re.compile(r"['.=@/-]")
_DENSE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]")  # scripts that are written without blanks
_PREFIXED: Final = re.compile("[\u0590-\u06ff\u0900-\u097f\uac00-\ud7af]")  # and those that glue endings to words
_ARTICLES: Final = ("وال", "بال", "لل", "ال", "و", "ف", "ب", "ل")
_LONGEST: Final = 14  # letters of a stem, and of a word of a dense script
_NEAR: Final = 3  # words in front of which a negation reaches
_KEY: Final = 2  # letters by which the rest of a phrase is looked up


_Entry = TypeVar("_Entry", str, tuple[tuple[str, ...], str])


class Tag(NamedTuple):
    """A concept, where its word stands among the words of its sentence, and whether it leads a clause or is negated."""

    concept: str
    at: int
    leads: bool
    negated: bool


class Lexicon(NamedTuple):
    """Words, beginnings of words, phrases by their first word, and words of dense scripts, each with its concepts."""

    words: dict[str, tuple[str, ...]]
    stems: dict[str, tuple[str, ...]]
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    dense: dict[str, tuple[str, ...]]


class _Plain(dict[int, str]):
    """Letters by their numbers, each as it is compared: Latin ones without their marks. Found out as they come."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        apart = unicodedata.normalize("NFD", char)
        return self.setdefault(code, apart[0] if len(apart) > 1 and apart[0].isascii() else char)


_PLAIN: Final = _Plain(_LETTERS)


def folded(text: str) -> str:
    """The text in lower case, Latin letters without their marks."""
    text = text.lower()
    return text if text.isascii() else _MARKS.sub("", text.translate(_PLAIN))


@cache
def lexicon() -> Lexicon:
    """All the languages, read once."""
    words: dict[str, tuple[str, ...]] = {}
    stems: dict[str, tuple[str, ...]] = {}
    dense: dict[str, tuple[str, ...]] = {}
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {}
    for file in sorted((Path(__file__).parent / "lexicon").glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines():
            concept, entries = line.split(":", 1)
            for entry in folded(entries).split():
                latin = entry.isascii()
                if not latin and _DENSE.search(entry):
                    dense[entry] = (*dense.get(entry, ()), concept)
                elif "_" in entry:
                    parts = tuple(entry.split("_"))
                    phrases[parts[0]] = (*phrases.get(parts[0], ()), (parts, concept))
                elif entry.endswith("*"):
                    stems[entry[:-1]] = (*stems.get(entry[:-1], ()), concept)
                elif not latin and len(entry) >= 3 and _PREFIXED.search(entry):
                    stems[entry] = (*stems.get(entry, ()), concept)
                else:
                    words[entry] = (*words.get(entry, ()), concept)
    return Lexicon(_ordered(words), _ordered(stems), _ordered(phrases), _ordered(dense))


def _ordered(found: dict[str, tuple[_Entry, ...]]) -> dict[str, tuple[_Entry, ...]]:
    """What was found of each word in order, and once; of nearly every word there is one thing."""
    return {key: some if len(some) == 1 else tuple(sorted({*some})) for key, some in found.items()}


class _Word(NamedTuple):
    """What is known of a word: its concepts, and the rests of the phrases that it may begin, by their first letters."""

    concepts: tuple[str, ...]
    phrases: dict[str, list[tuple[tuple[str, ...], str]]]


def tagged(sentence: str) -> list[Tag]:
    """The tags of a sentence that is `folded`, in their order."""
    tokens = list(_TOKEN.finditer(sentence))
    words = [token[0] for token in tokens]
    found: list[tuple[int, str]] = []
    for at, word in enumerate(words):
        concepts, phrases = _words[word]
        found += [(at, concept) for concept in concepts]
        if phrases and at + 1 < len(words):
            for parts, concept in phrases.get(words[at + 1][:_KEY], ()):
                rest = words[at + 1 : at + 1 + len(parts)]
                if len(rest) == len(parts) and all(map(_is_part, rest, parts)):
                    found.append((at, concept))
    if not sentence.isascii() and _DENSE.search(sentence):
        starts = [token.start() for token in tokens]
        found += [(sum(start <= place for start in starts), concept) for place, concept in _of_dense(sentence)]
        found.sort()
    if not found:
        return []
    negated = {at + step for at, concept in found if concept == "NEG" for step in range(1, _NEAR + 1)}
    leading = {at: _leads(sentence, tokens, at) for at in {at for at, _ in found}}
    return [Tag(concept, at, leading[at], at in negated) for at, concept in found]


def _looked_up(word: str) -> _Word:
    known = lexicon()
    found: set[str] = set()
    pieces = _PARTS.split(word)
    for form in (word, *pieces) if len(pieces) > 1 else _forms(word):
        found.update(known.words.get(form, ()))
        for length in range(3, min(len(form), _LONGEST) + 1):
            found.update(known.stems.get(form[:length], ()))
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for first in sorted({word, *pieces}):
        for parts, concept in known.phrases.get(first, ()):
            phrases.setdefault(parts[1].rstrip("*")[:_KEY], []).append((parts[1:], concept))
    return _Word(tuple(sorted(found)), phrases)


_words: Final = Known(_looked_up)


def _forms(word: str) -> tuple[str, ...]:
    if "\u0600" <= word[0] <= "\u06ff":
        return (word, *(word[len(one) :] for one in _ARTICLES if word.startswith(one) and len(word) > len(one) + 1))
    return (word,)


def _is_part(word: str, part: str) -> bool:
    if part.endswith("*"):
        return word.startswith(part[:-1])
    return word == part or (len(part) >= 2 and bool(_PREFIXED.match(word)) and word.startswith(part))


def _of_dense(sentence: str) -> list[tuple[int, str]]:
    """Words of a dense script, the longest at each place; what a longer one covers does not count."""
    known = lexicon()
    found: list[tuple[int, str]] = []
    place = 0
    while place < len(sentence):
        for length in range(min(_LONGEST, len(sentence) - place), 0, -1):
            if concepts := known.dense.get(sentence[place : place + length]):
                found += [(place, concept) for concept in concepts]
                place += length - 1
                break
        place += 1
    return found


_SIGNS: Final = frozenset(",;:.!?-–—\"'`(*>")  # a clause begins behind them
_LEADING: Final = frozenset(
    "and then also please must should shall now you to just simply always kindly first next instead so "
    "und dann bitte y luego por et puis e poi depois и затем en dan oraz".split()
)


def _leads(sentence: str, tokens: list[re.Match[str]], at: int) -> bool:
    """Whether a word stands where an imperative can."""
    if at == 0 or at >= len(tokens):
        return at == 0
    before = sentence[tokens[at - 1].end() : tokens[at].start()]
    return not _SIGNS.isdisjoint(before) or tokens[at - 1][0] in _LEADING
