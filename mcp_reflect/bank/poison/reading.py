"""A text as the recogniser reads it: its sentences, each with what it is about and its words.

What stands in quotation marks is read by itself: somebody else said it, or it is an order in disguise; the weights
tell which.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from mcp_reflect.bank.poison.concepts import Tag, folded, tagged
from mcp_reflect.bank.poison.markup import marks
from mcp_reflect.bank.poison.places import Literal, literals, literals_of

_LEAST_OUTSIDE: Final = 3  # words around a quotation from which on it is one
_QUOTED: Final = re.compile(
    r"(?<!\w)(?:\"([^\"\n]{8,300})\"|'([^'\n]{8,300})'(?!\w)|[“„]([^”“\n]{8,300})[”“]|«([^»\n]{8,300})»"
    r"|「([^」\n]{4,300})」|`([^`\n]{8,300})`)"
)
_QUOTES: Final = re.compile("[\"'“„«「`]")
_PLACE: Final = 0xE000  # the first sign for private use: each stands for a quotation that was taken out
_PLACES: Final = re.compile("[\ue000-\uf8ff]")
_MOST_QUOTED: Final = 6000  # quotations of a text
_SENTENCE: Final = re.compile(r"(?<=[.!?;:。！？；।؟])\s+|\n+|(?<=[。！？；।])")
_WORD: Final = re.compile(r"(?:[^\W\d_]|[\u0900-\u0dff])+(?:'[^\W\d_]+)?|\d+|[^\w\s]")  # a sign is a word too


class Sentence(NamedTuple):
    """What a sentence is about by name (`^` leads a clause, `not-` negated, `q-` quoted), and its words as they are."""

    names: frozenset[str]
    words: tuple[str, ...]


def read(text: str) -> list[Sentence]:
    """The sentences of a plain text, those without a word left out."""
    posed = [f"m-{name}" for name in marks(text)]
    text = _PLACES.sub("", text) if not text.isascii() else text
    rest, quoted = _without_quotations(text)
    near = literals(text)
    found = (_sentence(part, quoted, near, posed) for part in _SENTENCE.split(rest) if part)
    return [sentence for sentence in found if sentence.words or len(sentence.names) > len(posed)]


def _without_quotations(text: str) -> tuple[str, list[str]]:
    quoted: list[str] = []
    if not _QUOTES.search(text):
        return text, quoted

    def taken(found: re.Match[str]) -> str:
        if len(quoted) >= _MOST_QUOTED:
            return found[0]
        quoted.append(next(filter(None, found.groups())))
        return f" {chr(_PLACE + len(quoted) - 1)} "

    rest = _QUOTED.sub(taken, text)
    return (rest, quoted) if len(rest.split()) - len(quoted) >= _LEAST_OUTSIDE else (text, [])


def _sentence(part: str, quoted: list[str], near: tuple[Literal, ...], posed: list[str]) -> Sentence:
    plain = folded(part)
    tags = tagged(plain)
    words = _WORD.findall(plain)
    names = set(posed)
    names.update(_names(tags))
    if near:
        names.update(literals_of(part, near))
    for place in _PLACES.findall(part) if quoted else ():
        inside = quoted[ord(place) - _PLACE]
        names.add("QUOTED")
        for piece in _SENTENCE.split(folded(inside)):
            names.update(f"q-{tag.concept}" for tag in tagged(piece))
            words += _WORD.findall(piece)
        if near:
            names.update(literals_of(inside, near))
    return Sentence(frozenset(names), tuple(words))


def _names(tags: list[Tag]) -> Iterator[str]:
    for tag in tags:
        if tag.negated and tag.concept != "NEG":
            yield f"not-{tag.concept}"
            continue
        yield tag.concept
        if tag.leads:
            yield f"^{tag.concept}"
