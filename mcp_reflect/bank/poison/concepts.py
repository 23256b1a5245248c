"""What the words of a text are about: who is spoken to, what is to be done, to what, and with which claim.

The words stand in `lexicon/`, one file a language; a line is a concept and its words. `*` ends a word of which
only the beginning counts, `_` parts the words of a phrase. In scripts without blanks a word is found anywhere.
"""

import re
import unicodedata
from functools import cache, lru_cache
from importlib import resources
from typing import Final, NamedTuple

_MARKS: Final = re.compile("[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u0640]")
_LETTERS: Final = str.maketrans(
    {"ł": "l", "ı": "i", "ø": "o", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe", "’": "'", "ё": "е"}
)
_CHAR: Final = r"(?:[^\W_]|[\u0900-\u0dff])"  # the vowel signs of India's scripts are no letters to `re`
_TOKEN: Final = re.compile(rf"{_CHAR}+(?:['.=@/-]{_CHAR}+)*")
_PARTS: Final = re.compile(r"['.=@/-]")
_SENTENCE: Final = re.compile(r"(?<=[.!?;:。！？；।؟])\s+|\n+|(?<=[。！？；।])")
_DENSE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]")  # scripts that are written without blanks
_PREFIXED: Final = re.compile("[\u0590-\u06ff\u0900-\u097f\uac00-\ud7af]")  # and those that glue endings to words
_ARTICLES: Final = ("وال", "بال", "لل", "ال", "و", "ف", "ب", "ل")
_LONGEST: Final = 14  # letters of a stem, and of a word of a dense script
_NEAR: Final = 3  # words in front of which a negation reaches
_LONGEST_KEPT: Final = 19  # letters of a word that is remembered with what it is about: no key is so short
_MOST_KEPT: Final = 20_000  # words


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


def folded(text: str) -> str:
    """The text in lower case, Latin letters without their marks."""
    text = text.lower().translate(_LETTERS)
    if text.isascii():
        return text
    pieces: list[str] = []
    for char in text:
        plain = unicodedata.normalize("NFD", char) if char > "\x7f" else char
        pieces.append(plain[0] if len(plain) > 1 and plain[0].isascii() else char)
    return _MARKS.sub("", "".join(pieces))


@cache
def lexicon() -> Lexicon:
    """All the languages, read once."""
    words: dict[str, set[str]] = {}
    stems: dict[str, set[str]] = {}
    dense: dict[str, set[str]] = {}
    phrases: dict[str, set[tuple[tuple[str, ...], str]]] = {}
    for file in sorted(
        resources.files("mcp_reflect.bank.poison").joinpath("lexicon").iterdir(), key=lambda one: one.name
    ):
        if not file.name.endswith(".txt"):
            continue
        for line in file.read_text(encoding="utf-8").splitlines():
            concept, entries = line.split(":", 1)
            for entry in map(folded, entries.split()):
                if _DENSE.search(entry):
                    dense.setdefault(entry, set()).add(concept)
                elif "_" in entry:
                    parts = tuple(entry.split("_"))
                    phrases.setdefault(parts[0], set()).add((parts, concept))
                elif entry.endswith("*"):
                    stems.setdefault(entry[:-1], set()).add(concept)
                elif _PREFIXED.search(entry) and len(entry) >= 3:
                    stems.setdefault(entry, set()).add(concept)
                else:
                    words.setdefault(entry, set()).add(concept)

    def fixed(found: dict[str, set[str]]) -> dict[str, tuple[str, ...]]:
        return {key: tuple(sorted(some)) for key, some in found.items()}

    return Lexicon(
        fixed(words), fixed(stems), {key: tuple(sorted(some)) for key, some in phrases.items()}, fixed(dense)
    )


def sentences(text: str) -> list[list[Tag]]:
    """The tags of each sentence of a text that is `folded`."""
    known = lexicon()
    return [tags for sentence in _SENTENCE.split(text) if (tags := _tags(sentence, known))]


def _tags(sentence: str, known: Lexicon) -> list[Tag]:
    found: list[tuple[int, str]] = []
    tokens = list(_TOKEN.finditer(sentence))
    words = [token[0] for token in tokens]
    for at, word in enumerate(words):
        alone, phrases = _kept(word) if len(word) <= _LONGEST_KEPT else _looked_up(word)
        if alone:
            found += [(at, concept) for concept in alone]
        for parts, concept in phrases:
            rest = words[at + 1 : at + len(parts)]
            if len(rest) == len(parts) - 1 and all(map(_is_part, rest, parts[1:])):
                found.append((at, concept))
    if not found and sentence.isascii():
        return []
    if _DENSE.search(sentence):
        starts = [token.start() for token in tokens]
        found += [(sum(start <= place for start in starts), concept) for place, concept in _of_dense(sentence, known)]
    negations = {at for at, concept in found if concept == "NEG"}
    return [
        Tag(concept, at, _leads(sentence, tokens, at), any(near in negations for near in range(at - _NEAR, at)))
        for at, concept in sorted(set(found))
    ]


def _looked_up(word: str) -> tuple[frozenset[str], tuple[tuple[tuple[str, ...], str], ...]]:
    """What a word is about alone, and the phrases that begin with it or with a part of it."""
    known = lexicon()
    parts = _PARTS.split(word)
    found: set[str] = set()
    for form in (word, *parts) if len(parts) > 1 else _forms(word):
        found.update(known.words.get(form, ()))
        for length in range(3, min(len(form), _LONGEST) + 1):
            found.update(known.stems.get(form[:length], ()))
    return frozenset(found), tuple(phrase for first in {word, *parts} for phrase in known.phrases.get(first, ()))


_kept = lru_cache(maxsize=_MOST_KEPT)(_looked_up)


def _forms(word: str) -> tuple[str, ...]:
    if "\u0600" <= word[0] <= "\u06ff":
        return (word, *(word[len(one) :] for one in _ARTICLES if word.startswith(one) and len(word) > len(one) + 1))
    return (word,)


def _is_part(word: str, part: str) -> bool:
    if part.endswith("*"):
        return word.startswith(part[:-1])
    return word == part or (len(part) >= 2 and bool(_PREFIXED.match(word)) and word.startswith(part))


def _of_dense(sentence: str, known: Lexicon) -> list[tuple[int, str]]:
    """Words of a dense script, the longest at each place; what a longer one covers does not count."""
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
