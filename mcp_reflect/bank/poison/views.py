"""The ways in which a text can be read: as it is written, with its disguise taken off, and decoded."""

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from mcp_reflect.patterns import late

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
_MIXED: Final = late(r"(?=\S*[^\W\d_])(?=\S*[0134578$@])\S{2,}")
_LEET_INSIDE: Final = re.compile(r"[^\W\d_][0134578$@]{1,2}[^\W\d_]")
_LEAST_MIXED: Final = 2  # words with digits inside: `k8s` or `utf8mb4` alone is no disguise
_MOST_MIXED: Final = 40  # characters of a word that somebody spelt with digits
_SPACED: Final = re.compile(r"(?<!\w)(?:\w[ .·_-]){5,200}\w(?!\w)")
_SPELT: Final = late(r"(?<!\w)(?:\w[ .·_-]){1,200}\w(?!\w)")  # its short words, where a long one is so written
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{16,8000}={0,2}")
_HEX: Final = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}){12,2000}(?![0-9a-fA-F])")
# Signs by their numbers, in one base: at least six of them, parted by the same few signs.
_NUMBERS: Final = (
    (
        late(r"(?<!\w)(?:0?0?[1-9]\d|1[01]\d|12[0-6])(?:[\s,;:_/.-]{1,2}(?:0?[1-9]\d|1[01]\d|12[0-6])){5,2000}(?!\w)"),
        10,
    ),
    (late(r"(?<!\w)(?:0x)?[2-7][0-9a-fA-F](?:[\s,;:_/.-]{1,2}(?:0x)?[2-7][0-9a-fA-F]){5,2000}(?!\w)"), 16),
    (late(r"(?<!\w)0[01]{7}(?:[\s,;:_/.-]{0,2}0[01]{7}){5,2000}(?!\w)"), 2),
)
_DIGITS: Final = {10: late(r"\d+"), 16: late(r"(?!0x)[0-9a-fA-F]{2}"), 2: late(r"[01]{8}")}
_NUMBERED: Final = re.compile(r"(?:(?:0x)?[0-9a-fA-F]{2,8}[\s,;:_/.-]{1,2}){5}|[01]{48}")
_ORDERS: Final = (
    "ignore", "disregard", "forget", "instruction", "prompt", "obey", "secret", "password", "delete", "reveal",
    "system", "approve", "without", "always", "command",
)  # fmt: skip
_REVERSED: Final = tuple(word[::-1] for word in _ORDERS)
_TURNED: Final = tuple(codecs.encode(word, "rot13") for word in (*_ORDERS, "user", "send"))
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
    if any(word in folded for word in _TURNED):
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
