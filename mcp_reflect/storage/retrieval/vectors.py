"""Vectors of lessons in the bank: packed into bytes, searched by their signs, compared with a question."""

import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import mul
from typing import Final, TypeAlias

from mcp_reflect.llm.embeddings.word_vectors import shared_table
from mcp_reflect.storage.sqlite.statements import Reading

Vector: TypeAlias = Sequence[float]
"""A unit vector."""

WORDS: Final = "words-1"
"""The name of the packaged table of word vectors among the bank's embedders."""

WORDS_MODEL: Final = 1
"""The number of the packaged table of word vectors among the bank's embedders: see the schema."""

WORDS_BACKGROUND: Final = 0.1
"""The cosine of word vectors of unrelated texts."""

MOST_COMPARED: Final = 200_000
"""Vectors of a scope that are searched; in a larger one only lessons that share words are compared."""

LONGEST_TEXT: Final = 4_000  # characters that are embedded: models read about so much
_MOST_SCOPES: Final = 8  # scopes whose signs are kept in memory; the least recently searched goes first
_PAGE: Final = 20_000  # signs read at once
_FACTOR: Final = struct.Struct("<f")
_LARGEST: Final = 127
_SIGNS: Final = bytes(ord("1") if 0 < number < 128 else ord("0") for number in range(256))


def text_of(text: str, symptoms: Iterable[str], keywords: Sequence[str]) -> str:
    """Return the text by which a lesson is embedded: what it says, its symptoms and its keywords."""
    return "\n".join((text, *symptoms, *([", ".join(keywords)] if keywords else [])))[:LONGEST_TEXT]


def word_vector(text: str) -> bytes | None:
    """Return the packed word vector of a text, or None if the table knows none of its words."""
    vector = shared_table().embed(text)
    return None if vector is None else packed(vector)


def packed(vector: Vector) -> bytes:
    """Pack a vector: a factor in 4 bytes, then a signed byte for each dimension; number = factor * byte."""
    factor = max(map(abs, vector)) / _LARGEST
    return _FACTOR.pack(factor) + array("b", [round(number / factor) for number in vector]).tobytes()


def signs(blob: bytes) -> bytes:
    """Return a bit for each dimension of a packed vector: 1 where the number is positive."""
    dimensions = len(blob) - _FACTOR.size
    return int(blob[_FACTOR.size :].translate(_SIGNS), 2).to_bytes((dimensions + 7) // 8, "big")


def cosine(query: Vector, blob: bytes) -> float:
    """Return the cosine of a unit vector and a packed one, -1 to 1."""
    return _FACTOR.unpack_from(blob)[0] * sum(map(mul, query, array("b", blob[_FACTOR.size :])))


def cosine_of_packed(one: bytes, other: bytes) -> float:
    """Return the cosine of two packed vectors."""
    first, second = array("b", one[_FACTOR.size :]), array("b", other[_FACTOR.size :])
    lengths = sum(map(mul, first, first)) * sum(map(mul, second, second))
    return sum(map(mul, first, second)) / lengths**0.5 if lengths else 0.0


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question as a unit vector of the bank's embedder `model`; unrelated texts have the cosine `background`."""

    numbers: Vector
    model: int
    background: float


def words_query(text: str) -> QueryVector | None:
    """Return the question's word vector, or None if the table knows none of its words."""
    vector = shared_table().embed(text[:LONGEST_TEXT])
    return None if vector is None else QueryVector(vector.tolist(), WORDS_MODEL, WORDS_BACKGROUND)


class Closeness:
    """How close lessons are to a question: 0 for unrelated texts, 1 for the same text. Reads each vector once."""

    def __init__(self, reading: Reading, query: QueryVector) -> None:
        self._reading = reading
        self._query = query
        self._vectors: dict[int, bytes | None] = {}

    def of(self, rows: Iterable[int]) -> dict[int, float]:
        """Return the closeness of each of the rows that has a vector."""
        wanted = list(rows)
        self._read(wanted)
        return {row: self._scaled(self._query.numbers, blob) for row in wanted if (blob := self._vectors[row])}

    def towards(self, best: Sequence[int], weight: float, rows: Iterable[int]) -> dict[int, float]:
        """Return the closeness of rows to the question moved towards the middle of the `best` rows.

        The middle counts `weight` times as much as the question (Rocchio 1971, "Relevance feedback").
        """
        self._read(best)
        middle = [0.0] * len(self._query.numbers)
        blobs = [blob for row in best if (blob := self._vectors[row])]
        for blob in blobs:
            factor = _FACTOR.unpack_from(blob)[0] * weight / len(blobs)
            middle = [total + factor * number for total, number in zip(middle, array("b", blob[4:]), strict=True)]
        moved = [own + other for own, other in zip(self._query.numbers, middle, strict=True)]
        length = sum(map(mul, moved, moved)) ** 0.5 or 1.0
        moved = [number / length for number in moved]
        return {row: self._scaled(moved, blob) for row in rows if (blob := self._vectors.get(row))}

    def vector(self, row: int) -> bytes | None:
        """Return the packed vector of a row that was read."""
        return self._vectors.get(row)

    @property
    def without_vector(self) -> list[int]:
        """The rows that were asked for and have no vector."""
        return [row for row, blob in self._vectors.items() if blob is None]

    def _scaled(self, query: Vector, blob: bytes) -> float:
        background = self._query.background
        return min(max((cosine(query, blob) - background) / (1 - background), 0.0), 1.0)

    def _read(self, rows: Iterable[int]) -> None:
        new = [row for row in rows if row not in self._vectors]
        if new:
            self._vectors.update(dict.fromkeys(new))
            values = {"embedder": self._query.model, "lessons": new}
            self._vectors.update(
                {row["lesson"]: row["vector"] for row in self._reading.rows("vectors_of", values)},
            )


class _Signs:
    """The sign bits of the vectors of one model and scope; `last` is the number of the last vector that was read."""

    def __init__(self) -> None:
        self.by_row: dict[int, int] = {}
        self.last = 0

    def nearest(self, query: int, limit: int) -> list[int]:
        """Return about `limit` rows (at least, if there are so many) whose signs differ least from the query's."""
        if len(self.by_row) <= limit:
            return list(self.by_row)
        differences = list(map(int.bit_count, map(query.__xor__, self.by_row.values())))
        counts, total, most = Counter(differences), 0, 0
        for most in sorted(counts):
            total += counts[most]
            if total >= limit:
                break
        return list(compress(self.by_row, map(most.__ge__, differences)))


class VectorIndex:
    """The signs of vectors in memory, scope by scope, brought up to date before each search.

    Signs are a first choice only: rows that lost their vector since are found out by `Closeness`. Used on the
    database's thread.
    """

    def __init__(self) -> None:
        self._signs: dict[tuple[int, int], _Signs] = {}

    def nearest(self, reading: Reading, query: QueryVector, scopes: Sequence[int], limit: int) -> list[int]:
        """Return the rows of some scopes that are likely to be nearest to the query, about `limit` for each scope."""
        bits = int("".join("1" if number > 0 else "0" for number in query.numbers), 2)
        rows: list[int] = []
        for scope in scopes:
            rows += self._up_to_date(reading, query.model, scope).nearest(bits, limit)
        return rows

    def forget(self, model: int, rows: Iterable[int]) -> None:
        """Drop rows that have no vector any more."""
        gone = set(rows)
        for (embedder, _), held in self._signs.items():
            if embedder == model:
                for row in gone:
                    held.by_row.pop(row, None)

    def _up_to_date(self, reading: Reading, model: int, scope: int) -> _Signs:
        held = self._signs.pop((model, scope), None) or _Signs()
        self._signs[model, scope] = held
        while len(self._signs) > _MOST_SCOPES:
            self._signs.pop(next(iter(self._signs)))
        page = _PAGE
        while page == _PAGE:
            values = {"embedder": model, "scope": scope, "after": held.last, "limit": _PAGE}
            rows = reading.rows("vectors_after", values)
            held.by_row.update((row, int.from_bytes(bits, "big")) for _, row, bits in rows)
            held.last, page = (rows[-1]["seq"] if rows else held.last), len(rows)
        return held
