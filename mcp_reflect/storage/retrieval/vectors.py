"""Vectors of lessons in the bank: packed into bytes, searched by their signs, compared with a question."""

import struct
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from operator import mul
from typing import Final, TypeAlias

from mcp_reflect.llm.embeddings.word_vectors import shared_table
from mcp_reflect.storage.sqlite.statements import Reading

Vector: TypeAlias = Sequence[float]  # of length 1

# The name and number of the packaged table of word vectors in the schema, and the cosine of unrelated texts.
WORDS: Final = "words-1"
WORDS_MODEL: Final = 1
WORDS_BACKGROUND: Final = 0.1

MOST_COMPARED: Final = 200_000  # vectors of a scope that are searched; in a larger one, lessons must share words
LONGEST_TEXT: Final = 4_000  # characters that are embedded: models read about so much
_MOST_SCOPES: Final = 8  # scopes whose signs are kept in memory
_FACTOR: Final = struct.Struct("<f")
_SIGNS: Final = bytes(ord("1") if 0 < number < 128 else ord("0") for number in range(256))


def text_of(text: str, symptoms: Iterable[str], keywords: Sequence[str]) -> str:
    """Return the text by which a lesson is embedded: what it says, its symptoms and its keywords."""
    return "\n".join((text, *symptoms, *([", ".join(keywords)] if keywords else [])))[:LONGEST_TEXT]


@lru_cache(maxsize=500)
def word_vector(text: str) -> bytes | None:
    """Return the packed word vector of a text, or None if the table knows none of its words."""
    vector = shared_table().embed(text)
    return packed(vector) if vector else None


def packed(vector: Vector) -> bytes:
    """Pack a vector: a factor in 4 bytes, then a signed byte for each dimension; number = factor * byte."""
    factor = max(map(abs, vector)) / 127
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
    factor = _FACTOR.unpack_from(one)[0]
    return cosine([factor * number for number in array("b", one[_FACTOR.size :])], other)


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question as a unit vector of the bank's embedder `model`; unrelated texts have the cosine `background`."""

    numbers: Vector
    model: int
    background: float


def words_query(text: str) -> QueryVector | None:
    """Return the question's word vector, or None if the table knows none of its words."""
    vector = shared_table().embed(text[:LONGEST_TEXT])
    return QueryVector(vector.tolist(), WORDS_MODEL, WORDS_BACKGROUND) if vector else None


class Closeness:
    """How close lessons are to a question: 0 for unrelated texts, 1 for the same text."""

    def __init__(self, reading: Reading, query: QueryVector, rows: Sequence[int]) -> None:
        self._query = query
        values = {"embedder": query.model, "lessons": rows}
        self._vectors: dict[int, bytes] = {row["lesson"]: row["vector"] for row in reading.rows("vectors_of", values)}
        self.without_vector = set(rows) - self._vectors.keys()

    def of(self, rows: Iterable[int]) -> dict[int, float]:
        """Return the closeness of each of the rows that has a vector."""
        return self._to(self._query.numbers, rows)

    def towards(self, best: Sequence[int], weight: float, rows: Iterable[int]) -> dict[int, float]:
        """Return the closeness of rows to the question moved towards the middle of the `best` rows.

        The middle counts `weight` times as much as the question (Rocchio 1971, "Relevance feedback").
        """
        moved = list(self._query.numbers)
        blobs = [blob for row in best if (blob := self._vectors.get(row))]
        for blob in blobs:
            factor = _FACTOR.unpack_from(blob)[0] * weight / len(blobs)
            moved = [total + factor * number for total, number in zip(moved, array("b", blob[4:]), strict=True)]
        length = sum(map(mul, moved, moved)) ** 0.5 or 1.0
        return self._to([number / length for number in moved], rows)

    def _to(self, numbers: Vector, rows: Iterable[int]) -> dict[int, float]:
        background = self._query.background
        return {
            row: min(max((cosine(numbers, blob) - background) / (1 - background), 0.0), 1.0)
            for row in rows
            if (blob := self._vectors.get(row))
        }


class VectorIndex:
    """The sign bits of vectors in memory, by model and scope, brought up to date before each search.

    Signs are a first choice only: `Closeness` tells which rows have lost their vector since. Used on the database's
    thread.
    """

    def __init__(self) -> None:
        self._signs: dict[tuple[int, int], dict[int, int]] = {}
        self._last: dict[tuple[int, int], int] = {}  # the number of the last vector that was read

    def nearest(self, reading: Reading, query: QueryVector, scopes: Iterable[int], limit: int) -> list[int]:
        """Return the rows of some scopes whose signs differ least from the query's, about `limit` for each scope."""
        bits = int("".join("1" if number > 0 else "0" for number in query.numbers), 2)
        rows: list[int] = []
        for scope in scopes:
            signs = self._up_to_date(reading, query.model, scope)
            differences = list(map(int.bit_count, map(bits.__xor__, signs.values())))
            for most in sorted(differences)[:limit][-1:]:
                rows += compress(signs, map(most.__ge__, differences))
        return rows

    def forget(self, model: int, rows: Iterable[int]) -> None:
        """Drop rows that have no vector any more."""
        for row in rows:
            for (embedder, _), signs in self._signs.items():
                if embedder == model:
                    signs.pop(row, None)

    def _up_to_date(self, reading: Reading, model: int, scope: int) -> dict[int, int]:
        """Return the signs of a scope by row."""
        key = model, scope
        if key not in self._signs and len(self._signs) >= _MOST_SCOPES:
            self._signs.clear()
            self._last.clear()
        signs = self._signs.setdefault(key, {})
        values = {"embedder": model, "scope": scope, "after": self._last.get(key, 0)}
        for seq, row, bits in reading.rows("vectors_after", values):
            signs[row] = int.from_bytes(bits, "big")
            self._last[key] = seq
        return signs
