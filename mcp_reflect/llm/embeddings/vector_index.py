"""Vectors in memory, and which of them are nearest to one; without numpy."""

import math
from array import array
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from itertools import combinations
from operator import mul
from typing import Final, Protocol

from mcp_reflect.llm.embeddings.embedders import Vector

# A vector as signed bytes: a quarter of the memory, and the same order of neighbours but for ties.


_MOST_PACKING = 127


def packed(vector: Vector) -> tuple[float, bytes]:
    """Return a scale (above 0) and a signed byte for each number of a nonzero vector: number ≈ scale · byte."""
    scale = max(map(abs, vector)) / _MOST_PACKING
    return scale, array("b", [round(number / scale) for number in vector]).tobytes()


def unpacked(blob: bytes) -> "array[int]":
    """Return the signed bytes."""
    return array("b", blob)


# What a cosine of nothing in particular is: models differ, one gives unrelated texts .0 and another .7.


UNRELATED: Final = (
    "The migration locked the orders table for an hour.",
    "Whisk the eggs before you fold in the flour.",
    "Our flight to Lisbon leaves from another gate.",
    "The tenant has to give three months' notice.",
    "A violin string breaks when it is wound too tight.",
    "Glaciers carve valleys in the shape of a U.",
    "The goalkeeper was sent off before half time.",
    "Vaccines train the immune system without the disease.",
    "Rotate the logs before the disk is full.",
    "She inherited a stamp collection from her uncle.",
    "Bees dance to tell where the flowers are.",
    "Interest on the loan is due every quarter.",
)
"""Sentences that have no subject in common."""

_MOST_BACKGROUND: Final = 0.9  # a model that tells nothing apart shall not divide by zero


def background(vectors: Sequence[Vector]) -> float:
    """Return the mean cosine of the vectors of UNRELATED, 0 to .9."""
    cosines = [sum(map(mul, one, other)) for one, other in combinations(vectors, 2)]
    return min(max(sum(cosines) / len(cosines), 0.0), _MOST_BACKGROUND)


# Many vectors in memory, and which of them lie nearest to one. With numpy where it is installed, else plainly.


MOST_VECTORS: Final = 100_000
"""More are not searched one by one: then only what words found is scored by meaning as well."""

MOST_NUMBERS_PLAINLY: Final = 400_000  # some 15 ms without numpy

Packed = tuple[int, float, bytes]
"""The row of a lesson, the scale, and the signed bytes."""


class Index(Protocol):
    """Vectors of one length, by row. A cosine of an unknown row is not there."""

    most: int

    def __len__(self) -> int: ...
    def rows(self) -> list[int]: ...
    def put(self, vectors: Iterable[Packed]) -> None: ...
    def drop(self, rows: Iterable[int]) -> None: ...
    def nearest(self, query: Vector, limit: int) -> list[int]: ...
    def cosines(self, query: Vector, rows: Iterable[int]) -> dict[int, float]: ...
    def mean(self, rows: Iterable[int]) -> Vector: ...


def open_index(dims: int) -> Index:
    """Return an empty index for vectors of `dims` numbers."""
    if find_spec("numpy") is None:
        return PlainIndex(dims)
    from mcp_reflect.llm.embeddings.matrix import Matrix  # noqa: PLC0415 - numpy hangs on it

    return Matrix(dims)


class PlainIndex:
    """An index without numpy."""

    def __init__(self, dims: int) -> None:
        self.most = MOST_NUMBERS_PLAINLY // dims
        self._dims = dims
        self._kept: dict[int, tuple[float, array[int]]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def rows(self) -> list[int]:
        """Return the rows that have a vector, as they came."""
        return list(self._kept)

    def put(self, vectors: Iterable[Packed]) -> None:
        """Keep vectors; one of a known row takes the place of the one before."""
        for row, scale, blob in vectors:
            self._kept[row] = (scale, unpacked(blob))

    def drop(self, rows: Iterable[int]) -> None:
        """Forget the vectors of rows."""
        for row in rows:
            self._kept.pop(row, None)

    def nearest(self, query: Vector, limit: int) -> list[int]:
        """Return the rows with the greatest cosines, the nearest first; the smaller row where two are alike."""
        found = self.cosines(query, self._kept)
        return sorted(found, key=lambda row: (-found[row], row))[:limit]

    def cosines(self, query: Vector, rows: Iterable[int]) -> dict[int, float]:
        """Return the cosine (-1 to 1) of each of `rows` that has a vector."""
        known = ((row, self._kept[row]) for row in rows if row in self._kept)
        return {row: scale * sum(map(mul, query, numbers)) for row, (scale, numbers) in known}

    def mean(self, rows: Iterable[int]) -> Vector:
        """Return the middle of the vectors of rows, all zero where none is known."""
        kept = [self._kept[row] for row in rows if row in self._kept]
        sums = [0.0] * self._dims
        for scale, numbers in kept:
            sums = [total + scale * number for total, number in zip(sums, numbers, strict=True)]
        return [total / max(len(kept), 1) for total in sums]


def moved(query: Vector, towards: Vector, weight: float) -> Vector:
    """Return `query` plus `weight` times `towards` as a unit vector: pseudo-relevance feedback."""
    summed: Sequence[float] = [one + weight * other for one, other in zip(query, towards, strict=True)]
    length = math.hypot(*summed)
    return [number / length for number in summed] if length else query


def alikeness(index: Index, rows: Sequence[int]) -> float:
    """Return how alike the vectors of `rows` are: the mean cosine of two of them, -1 to 1; 0 for fewer than two.

    It is read off their middle: its squared length is the mean over all pairs, each vector's with itself among them.
    """
    count = len(rows)
    if count < 2:
        return 0.0
    squared = sum(number * number for number in index.mean(rows))
    return (squared * count - 1) / (count - 1)
