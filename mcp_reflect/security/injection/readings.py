"""The readings of a text: as written, without disguise, decoded; its sentences."""

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.injection.features import Literal, Tag, folded, literals, literals_of, marks, tagged

# Characters that nobody sees: text that only a program reads.


_FLAG: Final = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,8}\U000e007f")  # flags of regions
_TAGS: Final = re.compile("[\U000e0000-\U000e007f]")
_RUN: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u180e]{4}|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3}")
# Zero-width within a word of Latin letters: no script that is written with them needs it there.
_WITHIN: Final = re.compile("[A-Za-z][\u200b-\u200d\u2060-\u2064\ufeff]+[A-Za-z]")
_TURNED_HIDDEN: Final = re.compile("[\u202d\u202e]|[\u2066-\u2068]{2}|[\u2066-\u2068]\u2069")


def hides_text(text: str) -> bool:
    """Whether a text carries signs that are not shown, in the ways in which text is hidden."""
    if text.isascii():
        return False
    return bool(
        _TAGS.search(_FLAG.sub("", text)) or _RUN.search(text) or _WITHIN.search(text) or _TURNED_HIDDEN.search(text)
    )


# The ways in which a text can be read: as it is written, with its disguise taken off, and decoded.


MOST_CHARS: Final = 60_000  # of a field: longer ones do not fit the arguments

_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef]"
)
# Letters that look like Latin ones; only in words that mix the scripts do they stand for them.
_LIKE: Final = str.maketrans(
    "аеорсухіјѕԁһӏոսցօαειορνυκτАВЕКМНОРСТУХІЅЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧɡɩı",
    "aeopcyxijsdhlnugoaeiopvuktABEKMHOPCTYXISJABEZHIKMNOPTYXgii",
)
_LEET: Final = str.maketrans("01345789$@", "oieastbgsa")
_MIXED: Final = lazy_compile(r"(?=\S*[^\W\d_])(?=\S*[0134578$@])\S{2,}")
_LEET_INSIDE: Final = re.compile(r"[^\W\d_][0134578$@]{1,2}[^\W\d_]")
_LEAST_MIXED: Final = 2  # words with digits inside: `k8s` or `utf8mb4` alone is no disguise
_MOST_MIXED: Final = 40  # characters of a word that somebody spelt with digits
_SPACED: Final = re.compile(r"(?<!\w)(?:\w[ .·_-]){5,200}\w(?!\w)")
_SPELT: Final = lazy_compile(r"(?<!\w)(?:\w[ .·_-]){1,200}\w(?!\w)")  # its short words, where a long one is so written
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{16,8000}={0,2}")
_HEX: Final = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}){12,2000}(?![0-9a-fA-F])")
# Signs by their numbers, in one base: at least six of them, parted by the same few signs.
_NUMBERS: Final = (
    (
        lazy_compile(
            r"(?<!\w)(?:0?0?[1-9]\d|1[01]\d|12[0-6])(?:[\s,;:_/.-]{1,2}(?:0?[1-9]\d|1[01]\d|12[0-6])){5,2000}(?!\w)"
        ),
        10,
    ),
    (lazy_compile(r"(?<!\w)(?:0x)?[2-7][0-9a-fA-F](?:[\s,;:_/.-]{1,2}(?:0x)?[2-7][0-9a-fA-F]){5,2000}(?!\w)"), 16),
    (lazy_compile(r"(?<!\w)0[01]{7}(?:[\s,;:_/.-]{0,2}0[01]{7}){5,2000}(?!\w)"), 2),
)
_DIGITS: Final = {10: lazy_compile(r"\d+"), 16: lazy_compile(r"(?!0x)[0-9a-fA-F]{2}"), 2: lazy_compile(r"[01]{8}")}
_NUMBERED: Final = re.compile(r"(?:(?:0x)?[0-9a-fA-F]{2,8}[\s,;:_/.-]{1,2}){5}|[01]{48}")
_ORDERS: Final = (
    "ignore", "disregard", "forget", "instruction", "prompt", "obey", "secret", "password", "delete", "reveal",
    "system", "approve", "without", "always", "command",
)  # fmt: skip
_REVERSED: Final = tuple(word[::-1] for word in _ORDERS)
_TURNED_VIEWS: Final = tuple(codecs.encode(word, "rot13") for word in (*_ORDERS, "user", "send"))
_ENTITY: Final = re.compile(r"&(?:#\w{1,8}|[a-zA-Z]{2,8});")
_PERCENT: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_ESCAPED: Final = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")


def plain(text: str) -> str:
    """The text in compatibility form, without unseen signs, with look-alike letters as Latin ones."""
    text = unicodedata.normalize("NFKC", _UNSEEN.sub("", text))
    if text.isascii():
        return text
    return re.sub(r"\w+", lambda word: _latin(word[0]), text)


def _latin(word: str) -> str:
    if any("a" <= char.lower() <= "z" for char in word) and not word.isascii():
        return word.translate(_LIKE)
    return word


def views(text: str) -> Iterator[str]:
    """The plain text first, then each disguise taken off; a view that says the same is left out."""
    text = plain(text[:MOST_CHARS])
    seen = {text}
    for view in (text, *_undisguised(text)):
        if view == text or view not in seen:
            seen.add(view)
            yield view


def decoded(text: str) -> Iterator[str]:
    """What is written in codes: its readers would have to decode it, so only plain words count there."""
    text = plain(text[:MOST_CHARS])
    for found in _BASE64.finditer(text):
        yield from _from_bytes(_base64(found[0]))
    for found in _HEX.finditer(text):
        yield from _from_bytes(bytes.fromhex(found[0]))
    if _NUMBERED.search(text):
        yield from _from_numbers(text)
    folded = text.lower()
    if any(word in folded for word in _REVERSED):
        yield text[::-1]
    if any(word in folded for word in _TURNED_VIEWS):
        yield codecs.encode(text, "rot13")


def _undisguised(text: str) -> Iterator[str]:
    if "&" in text and _ENTITY.search(text):
        import html  # noqa: PLC0415 - a table of 2,000 names, and few texts hold one

        yield html.unescape(text)
    if "%" in text and _PERCENT.search(text):
        yield unquote(text)
    if "\\" in text and _ESCAPED.search(text):
        yield _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    joined = text
    if _SPACED.search(text):
        joined = _SPELT.sub(lambda found: re.sub(r"(\w)[ .·_-](?=\w)", r"\1", found[0]), re.sub(r" {2,}", "\n", text))
        joined = joined.replace("\n", " ")
        yield joined
    if len(_LEET_INSIDE.findall(joined)) >= _LEAST_MIXED:
        yield _MIXED.sub(lambda word: word[0].translate(_LEET) if len(word[0]) <= _MOST_MIXED else word[0], joined)


def _from_numbers(text: str) -> Iterator[str]:
    for pattern, base in _NUMBERS:
        for found in pattern.finditer(text):
            yield from _from_bytes(bytes(int(one, base) & 0x7F for one in _DIGITS[base].findall(found[0])))


def _base64(run: str) -> bytes:
    run = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(run + "=" * (-len(run) % 4))
    except (binascii.Error, ValueError):
        return b""


def _from_bytes(content: bytes) -> Iterator[str]:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return
    if sum(char.isalpha() or char == " " for char in text) >= 0.8 * len(text) and " " in text:
        yield text


# A text as the recogniser reads it: its sentences, each with what it is about and its words.
#
# What stands in quotation marks is read by itself: somebody else said it, or it is an order in disguise; the weights
# tell which.


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
