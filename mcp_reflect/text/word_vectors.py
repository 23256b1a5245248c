"""Sentence vectors without a model: each token has a vector, and a text gets the direction of their weighted sum.

The table is one file, made by packaging/word_vectors/train.py, opened with mmap and read in place: opening it takes no
time that grows with its size, and processes on one machine share its pages. All sums are sums of integers, so a text
has the same vector on every machine.

The file, all numbers little-endian:

    header     magic, version, dimensions, number of tokens, number of slots, size of the texts (HEADER)
    slots      16 bits each: a hash table with open addressing; 0, or the number of a token, counted from 1
    ends       32 bits a token: where its text ends among the texts
    scales     16 bits a token: the factor of its row, which includes the weight of the token
    rows       8 bits a dimension: 128 + the value, `dimensions` bytes a token
    texts      the tokens in UTF-8, without separators; a token inside a word starts with "##", as in BERT
"""

import mmap
import re
import struct
import sys
import unicodedata
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from itertools import chain
from math import sqrt
from operator import mul
from pathlib import Path
from typing import Final

from mcp_reflect.normal_forms import normal_form
from mcp_reflect.patterns import CAMEL

MAGIC: Final = b"MRVECS"
VERSION: Final = 1
# Magic, version, dimensions, reserved, tokens, slots, size of the texts.
HEADER: Final = struct.Struct("<6sHHHIII")
BIAS: Final = 128
LARGEST_SCALE: Final = 1_023
LONGEST_WORD: Final = 40  # letters; a longer one is a hash or encoded data
MOST_PIECES: Final = 5
"""Of a word; words of more are names, codes or of another language, and their pieces mislead."""

Find = Callable[[str], int | None]
"""Returns the number of the token with a text."""

Times = Callable[[str], int]
"""Returns how many times a word of a text counts."""

MOST_TIMES: Final = 4
"""That a word may count in a text of up to 4,000 letters: the sums of its rows fit in 32 bits."""

_WORD: Final = re.compile(r"[^\W_]+")


def words(text: str, find: Find) -> Iterator[str]:
    """Yield the words of a text in lower case without accents; split camelCase and snake_case.

    "Café parseHTTPReply in JavaScript" -> cafe, parse, http, reply, in, javascript: the last is a token as a whole.
    """
    if not text.isascii():
        letters_and_accents = normal_form("NFD", text)
        text = "".join(char for char in letters_and_accents if unicodedata.category(char) != "Mn")
    for word in _WORD.findall(text):
        lower = word.lower()
        if word == lower or word.istitle() or word.isupper() or find(lower) is not None:
            yield lower
        else:
            yield from CAMEL.sub(" ", word).lower().split()


def pieces(word: str, find: Find) -> tuple[int, ...]:
    """Return the longest tokens that the word consists of (WordPiece); none if it would take more than MOST_PIECES.

    `unlockable` may be `unlock` and `##able`: the longest token at its start, then the longest behind that.
    """
    if len(word) > LONGEST_WORD:
        return ()
    numbers: list[int] = []
    start = 0
    prefix = ""
    while start < len(word):
        if len(numbers) == MOST_PIECES:
            return ()
        for end in range(len(word), start, -1):
            number = find(prefix + word[start:end])
            if number is not None:
                numbers.append(number)
                start = end
                prefix = "##"  # of a token inside a word
                break
        else:
            return ()
    return tuple(numbers)


def read_little_endian(kind: str, data: bytes, byteorder: str = sys.byteorder) -> "array[int]":
    """Return the numbers of little-endian data; an array takes bytes in the order of its machine."""
    numbers: array[int] = array(kind, data)
    if byteorder == "big":
        numbers.byteswap()
    return numbers


class WordVectors:
    """A table of word vectors. Threads may share it. ValueError if the file is not a whole table of this version."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, self.dimensions, _, tokens, slots, size = HEADER.unpack_from(self._map)
        ends = HEADER.size + 2 * slots
        scales = ends + 4 * tokens
        self._rows = scales + 2 * tokens
        self._texts = self._rows + self.dimensions * tokens
        if (magic, version, self._texts + size) != (MAGIC, VERSION, len(self._map)):
            raise ValueError(f"{path} is not a whole table of word vectors of version {VERSION}")
        self._last_slot: int = slots - 1
        self._slots = read_little_endian("H", self._map[HEADER.size : ends])
        # The first token starts where none ends.
        self._ends = read_little_endian("I", bytes(4) + self._map[ends:scales])
        self._scales = read_little_endian("H", self._map[scales : self._rows])
        self._mask = int.from_bytes(b"\xff\0\0\0" * (self.dimensions // 4), "little")
        self._pieces = lru_cache(maxsize=20_000)(partial(pieces, find=self._find))

    def knows(self, word: str) -> bool:
        """Return True if a word in lower case is a token as a whole."""
        return self._find(word) is not None

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of the text's tokens."""
        return list(chain.from_iterable(map(self._pieces, words(text, self._find))))

    def weight(self, word: str) -> int:
        """Return how much a word tells, from some 50 of the commonest to some 600; 0 if the table does not know it."""
        return sum(self._scales[number] for number in self.numbers(word))

    def embed(self, text: str) -> "array[float] | None":
        """Return a vector of length 1 in 32-bit floats, or None if the table knows no word of the text."""
        return self._sum_of(Counter(self.numbers(text)))

    def embed_weighed(self, text: str, times: Times) -> "array[float] | None":
        """Return the vector of a text whose words count so many `times`, at most MOST_TIMES; None if none does."""
        counts: Counter[int] = Counter()
        for word in words(text, self._find):
            times_of_word = times(word)
            for number in self._pieces(word):
                counts[number] += times_of_word
        return self._sum_of(counts)

    def _sum_of(self, counts: Mapping[int, int]) -> "array[float] | None":
        """Return the direction of the sum of some rows, each so many times; None if the sum has none.

        Add up four dimensions at a time. A row is read as one large integer. Every
        fourth byte of it is spread over lanes of 32 bits, so that one multiplication and one addition serve a quarter
        of the dimensions. The sums fit in 32 bits for texts of up to 16,000 tokens.
        """
        width = self.dimensions
        mask = self._mask
        first = second = third = fourth = total = 0
        for number, count in counts.items():
            scale = count * self._scales[number]
            total += scale
            start = self._rows + number * width
            row = int.from_bytes(self._map[start : start + width], "little")
            first += (row & mask) * scale
            second += (row >> 8 & mask) * scale
            third += (row >> 16 & mask) * scale
            fourth += (row >> 24 & mask) * scale
        biased = array("I", bytes(4 * width))
        for dimension, lane in enumerate((first, second, third, fourth)):
            biased[dimension::4] = read_little_endian("I", lane.to_bytes(width, "little"))
        offset = BIAS * total
        sums = [value - offset for value in biased]
        length = sqrt(sum(map(mul, sums, sums)))
        if not length:
            return None
        return array("f", [value / length for value in sums])

    def _find(self, token: str) -> int | None:
        """Return the number of a token: it stands in the slot of its hash, or in one of the next up to an empty one."""
        encoded = token.encode("utf-8", "surrogatepass")
        slot = zlib.crc32(encoded) & self._last_slot
        while number := self._slots[slot]:
            start = self._ends[number - 1]
            end = self._ends[number]
            has_same_size = end - start == len(encoded)
            if has_same_size and self._map[self._texts + start : self._texts + end] == encoded:
                return number - 1
            slot = (slot + 1) & self._last_slot
        return None


@cache
def shared_table() -> WordVectors:
    """Return the table that comes with the package, one for the whole process."""
    return WordVectors(Path(__file__).with_name("word_vectors.bin"))
