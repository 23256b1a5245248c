"""Sentence vectors without a model: each token has a vector, and a text gets the direction of their weighted sum.

The table is one file, made by `train.py`, opened with mmap and read in place: opening it takes no time that grows
with its size, and processes on one machine share its pages. Only the standard library is needed. All sums are
sums of integers, so a text has the same vector on every machine.

The file, all numbers little-endian:

    header     magic, version, dimensions, number of tokens, number of slots, size of the texts (HEADER)
    slots      16 bits each: a hash table with open addressing; 0, or the number of a token, counted from 1
    ends       32 bits a token: where its text ends among the texts
    scales     16 bits a token: the factor of its row, which includes the weight of the token
    rows       8 bits a dimension: 128 + the value, `dimensions` bytes a token
    texts      the tokens in UTF-8, without separators; a token inside a word starts with "##", as in BERT
"""

from __future__ import annotations

import mmap
import re
import struct
import sys
import unicodedata
import zlib
from array import array
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from math import sqrt
from operator import mul
from pathlib import Path
from threading import Lock
from typing import Final, Self, TypeAlias

MAGIC: Final = b"MRVECS"
VERSION: Final = 1
HEADER: Final = struct.Struct("<6sHHHIII")  # magic, version, dimensions, reserved, tokens, slots, size of the texts
BIAS: Final = 128
LARGEST_SCALE: Final = 1_023
TOTAL_SCALE: Final = (2**32 - 1) // 255  # the sum of scales up to which sums of rows fit in 32 bits
LONGEST_WORD: Final = 40  # letters; what is longer is a hash or encoded data
MOST_PIECES: Final = 5  # of a word; words of more are names, codes or of another language, and their pieces mislead
CACHED_WORDS: Final = 20_000

Find: TypeAlias = Callable[[str], int | None]

_WORD: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class TableError(Exception):
    """The file is not a table that this version can read."""


class WordVectors:
    """Gives texts their vectors. The file is opened when it is first needed; threads may share an object."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._table: _Table | None = None
        self._lock = Lock()

    @property
    def dimensions(self) -> int:
        return self._opened().dimensions

    def embed(self, text: str) -> array[float] | None:
        """Return a vector of length 1 in 32-bit floats, or None if the table knows no word of the text."""
        return self._opened().embed(text)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens that the text's vector is made of, in their order."""
        table = self._opened()
        return [table.token(number) for number in table.numbers(text)]

    def close(self) -> None:
        """Close the file. The next text opens it again."""
        with self._lock:
            table, self._table = self._table, None
        if table is not None:
            table.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self) -> _Table:
        table = self._table
        if table is None:
            with self._lock:
                table = self._table = self._table or _Table(self._path)
        return table


@cache
def shared_table() -> WordVectors:
    """Return the table that comes with the package, one for the whole process."""
    return WordVectors(Path(__file__).with_name("word_vectors.bin"))


def words(text: str, find: Find) -> Iterator[str]:
    """Yield the words of a text in lower case without accents; split camelCase and snake_case.

    A word of mixed case that is a token as a whole (JavaScript) stays whole.
    """
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    for word in _WORD.findall(text):
        lower = word.lower()
        if word == lower or word.istitle() or word.isupper() or find(lower) is not None:
            yield lower
        else:
            yield from _HUMP.sub(" ", word).lower().split()


def pieces(word: str, find: Find) -> tuple[int, ...]:
    """Return the longest tokens that the word consists of (WordPiece); none if it would take more than MOST_PIECES."""
    if len(word) > LONGEST_WORD:
        return ()
    found: list[int] = []
    start = 0
    while start < len(word):
        if len(found) == MOST_PIECES:
            return ()
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            number = find(prefix + word[start:end])
            if number is not None:
                found.append(number)
                start = end
                break
        else:
            return ()
    return tuple(found)


class _Table:
    """An open file."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            try:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:
                raise TableError(f"{path} is empty") from None
        try:
            self._read_header(path)
        except TableError:
            self._map.close()
            raise
        self._cache: dict[str, tuple[int, ...]] = {}

    def _read_header(self, path: Path) -> None:
        if len(self._map) < HEADER.size:
            raise TableError(f"{path} is too short")
        magic, version, self.dimensions, _, tokens, slots, size = HEADER.unpack_from(self._map)
        if magic != MAGIC or version != VERSION:
            raise TableError(f"{path} is not a table of word vectors of version {VERSION}")
        ends = HEADER.size + 2 * slots
        scales = ends + 4 * tokens
        self._rows = scales + 2 * tokens
        self._texts = self._rows + self.dimensions * tokens
        if len(self._map) != self._texts + size or slots & (slots - 1) or slots <= tokens or self.dimensions % 4:
            raise TableError(f"{path} is incomplete or damaged")
        self._last_slot: int = slots - 1
        self._slots = _numbers("H", self._map[HEADER.size : ends])
        self._ends = _numbers("I", self._map[ends:scales])
        self._scales = _numbers("H", self._map[scales : self._rows])
        self._mask = int.from_bytes(b"\xff\0\0\0" * (self.dimensions // 4), "little")

    def close(self) -> None:
        self._map.close()

    def token(self, number: int) -> str:
        return self._bytes_of(number).decode()

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of the text's tokens."""
        cache, find = self._cache, self._find
        found: list[tuple[int, ...]] = []
        for word in words(text, find):
            known = cache.get(word)
            if known is None:
                known = pieces(word, find)
                if len(cache) >= CACHED_WORDS:
                    cache.clear()
                cache[word] = known
            found.append(known)
        return list(chain.from_iterable(found))

    def embed(self, text: str) -> array[float] | None:
        """Add up the rows of the text's tokens, four dimensions at a time, and scale the sum to length 1.

        A row is read as one large integer. Every fourth byte of it is spread over lanes of 32 bits, so that one
        multiplication and one addition serve a quarter of the dimensions.
        """
        data, scales, rows, width, mask = self._map, self._scales, self._rows, self.dimensions, self._mask
        first = second = third = fourth = total = 0
        for number in self.numbers(text):
            scale = scales[number]
            if total + scale > TOTAL_SCALE:
                break
            total += scale
            start = rows + number * width
            row = int.from_bytes(data[start : start + width], "little")
            first += (row & mask) * scale
            second += (row >> 8 & mask) * scale
            third += (row >> 16 & mask) * scale
            fourth += (row >> 24 & mask) * scale
        offset = BIAS * total
        lanes = [_numbers("I", lane.to_bytes(width, "little")) for lane in (first, second, third, fourth)]
        sums = [value - offset for value in chain.from_iterable(zip(*lanes, strict=True))]
        length = sqrt(sum(map(mul, sums, sums)))
        if length == 0:
            return None
        return array("f", [value / length for value in sums])

    def _find(self, token: str) -> int | None:
        """Return the number of the token with this text."""
        encoded = token.encode("utf-8", "surrogatepass")
        slot = zlib.crc32(encoded) & self._last_slot
        while True:
            number: int = self._slots[slot] - 1
            if number < 0:
                return None
            if self._bytes_of(number) == encoded:
                return number
            slot = (slot + 1) & self._last_slot

    def _bytes_of(self, number: int) -> bytes:
        start = self._ends[number - 1] if number else 0
        return self._map[self._texts + start : self._texts + self._ends[number]]


def _numbers(kind: str, data: bytes) -> array[int]:
    """Return little-endian unsigned numbers: `H` of 16 bits, `I` of 32."""
    numbers = array(kind, data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
