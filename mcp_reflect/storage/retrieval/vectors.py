"""Vectors of lessons: packed into bytes, and compared with a question."""

import math
import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import dist, hypot
from operator import mul
from typing import Final, TypeAlias

from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.retrieval.terms import terms_of
from mcp_reflect.text.word_vectors import MOST_TIMES, shared_table

Vector: TypeAlias = Sequence[float]  # of length 1
Unpacked: TypeAlias = tuple[float, tuple[int, ...], float]
"""The factor of a packed vector, its bytes as numbers, and the sum of their squares."""

WORDS: Final = "words-1"
"""The name of the packaged table of word vectors in the schema."""

WORDS_MODEL: Final = 1
"""Its number in the schema."""

WORDS_BACKGROUND: Final = 0.1
"""The cosine of unrelated texts by that table."""

WORDS_WORTH: Final = 1.0
"""How much a closeness by averages of word vectors counts."""

_MODEL_WORTH: Final = 2.0
"""How much more the closeness by a model counts than that by averages of word vectors.

Measured with all-MiniLM-L6-v2 in 8 bits: 1 finds 28 of 60 symptoms among the first five, 1.5 as many, 2 finds 32, and
no set gets worse (`python -m benchmarks.recall --lessons --embed local`).
"""

MOST_COMPARED: Final = 200_000
"""Vectors of a scope that are searched; in a larger one, lessons must share words."""

LONGEST_TEXT: Final = 4_000  # characters that are embedded: models read about so much
_FACTOR: Final = struct.Struct("<f")
# What translates the signed bytes of a vector into the digits "0" and "1": 1 to 127 are positive.
_SIGNS: Final = b"0" + 127 * b"1" + 128 * b"0"


def text_of(text: str, symptoms: Iterable[str], keywords: Sequence[str]) -> str:
    """Return the text by which a lesson is embedded: what it says, its symptoms and its keywords."""
    lines = [text, *symptoms]
    if keywords:
        lines.append(", ".join(keywords))
    return "\n".join(lines)[:LONGEST_TEXT]


def word_vector(text: str) -> bytes | None:
    """Return the packed word vector of a text, or None if the table knows none of its words."""
    vector = shared_table().embed(text)
    if not vector:
        return None
    return packed(vector)


def packed(vector: Vector) -> bytes:
    """Pack a vector: a factor in 4 bytes, then a signed byte for each dimension; each number is factor * byte.

    `[0.8, -0.6]` is packed as the factor 0.8 / 127 with the bytes 127 and -95.
    """
    factor = max(map(abs, vector)) / 127
    numbers = array("b", [round(number / factor) for number in vector])
    return _FACTOR.pack(factor) + numbers.tobytes()


def middle(one: Vector, other: Vector) -> Vector:
    """Return the unit vector in the middle of two; one of them where they are opposite."""
    sums = [first + second for first, second in zip(one, other, strict=True)]
    length = hypot(*sums)
    if not length:
        return one
    return [number / length for number in sums]


def signs(blob: bytes) -> bytes:
    """Return a bit for each dimension of a packed vector: 1 where the number is positive, the first one highest."""
    dimensions = len(blob) - _FACTOR.size
    return int(blob[_FACTOR.size :].translate(_SIGNS), 2).to_bytes((dimensions + 7) // 8, "big")


def unpacked(blob: bytes) -> Unpacked:
    """Return the factor of a packed vector, its bytes as numbers, and the sum of their squares."""
    numbers = struct.unpack_from(f"{len(blob) - _FACTOR.size}b", blob, _FACTOR.size)
    return _FACTOR.unpack_from(blob)[0], numbers, hypot(*numbers) ** 2


def cosines(query: Vector, vectors: Iterable[Unpacked]) -> list[float]:
    """Return the cosines of a unit vector with unpacked ones, -1 to 1.

    They come from distances by the law of cosines, since `math.dist` and `math.hypot` are several times faster than a
    sum of products.
    """
    unit = tuple(query)
    return [
        factor * ((1 + squares - dist(unit, numbers) ** 2) / 2)
        for factor, numbers, squares in vectors
    ]


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question as a unit vector of the bank's embedder `model`; unrelated texts have the cosine `background`.

    One by word vectors has its `text`, so that its words can be weighed by what is rare in a bank.
    """

    numbers: Vector
    model: int
    background: float
    text: str = ""

    @property
    def worth(self) -> float:
        """How much a closeness to this vector counts, beside one by word vectors."""
        if self.model == WORDS_MODEL:
            return WORDS_WORTH
        return _MODEL_WORTH

    @property
    def signs(self) -> bytes:
        """A bit for each dimension, as `signs` gives them for a packed vector."""
        digits = "".join("1" if number > 0 else "0" for number in self.numbers)
        return int(digits, 2).to_bytes((len(digits) + 7) // 8)

    def closeness(self, cosine: float) -> float:
        """Return a cosine with the question as 0 for unrelated texts to 1 for the same text.

        With a background of 0.1 the cosine 0.55 is 0.5.
        """
        return min(max((cosine - self.background) / (1 - self.background), 0.0), 1.0)


def words_query(text: str) -> QueryVector | None:
    """Return the question's word vector, or None if the table knows none of its words."""
    text = text[:LONGEST_TEXT]
    vector = shared_table().embed(text)
    if not vector:
        return None
    return QueryVector(vector.tolist(), WORDS_MODEL, WORDS_BACKGROUND, text)


def weighed_in_bank(query: QueryVector, rarity: Mapping[str, float]) -> QueryVector:
    """Return a question's word vector with each word counted by the root of its rarity in the bank.

    A name of a speaker is rare in English and stands in every tenth turn of a long conversation: by the packaged
    weights the question would be near to all of them. A word whose terms were not looked up counts whole.
    """

    def times(word: str) -> int:
        rarest = min((rarity.get(term, 1.0) for term in terms_of(word)), default=1.0)
        return round(MOST_TIMES * math.sqrt(rarest))

    vector = shared_table().embed_weighed(query.text, times)
    if not vector:
        return query
    return replace(query, numbers=vector.tolist())


class Compared:
    """Lessons that are compared with a question by the vectors of one embedder."""

    def __init__(self, reading: Reading, query: QueryVector, rows: Iterable[int]) -> None:
        self.query = query
        values = {"embedder": query.model, "lessons": sorted(rows)}
        self.vectors: dict[int, Unpacked] = {
            lesson: unpacked(blob) for lesson, blob in reading.rows("vectors_of", values)
        }

    def to(self, numbers: Vector, rows: Iterable[int]) -> dict[int, float]:
        """Return the closeness to a unit vector, of those rows that have a vector."""
        with_vector = [row for row in rows if row in self.vectors]
        cosines_of_rows = cosines(numbers, [self.vectors[row] for row in with_vector])
        closeness = map(self.query.closeness, cosines_of_rows)
        return dict(zip(with_vector, closeness, strict=True))

    def moved_to_middle(self, best: Sequence[int], weight: float) -> Vector:
        """Return the question moved toward the middle of the best rows, which counts `weight` times as much."""
        vectors = [self.vectors[row] for row in best if row in self.vectors]
        moved = list(self.query.numbers)
        for factor, numbers, _ in vectors:
            part = factor * weight / len(vectors)
            moved = [total + part * number for total, number in zip(moved, numbers, strict=True)]
        length = sum(map(mul, moved, moved)) ** 0.5 or 1.0
        return [number / length for number in moved]


class Closeness:
    """The closeness of lessons to a question (`by_row`): 0 for unrelated texts, 1 for the same text.

    A lesson is compared by the first embedder of `queries` that gave it a vector: while the vectors of a configured
    model are made, those of the packaged table stand in for the missing ones. `worth_of_row` says how much a closeness
    counts, and `without_vector` which rows have no vector of each embedder.
    """

    def __init__(
        self, reading: Reading, queries: Sequence[QueryVector], rows: Iterable[int]
    ) -> None:
        all_rows = set(rows)
        self.without_vector: dict[int, set[int]] = {}
        self._compared: list[Compared] = []
        self.by_row: dict[int, float] = {}
        self.worth_of_row: dict[int, float] = {}
        for query in queries:
            if self._compared and all_rows <= self.by_row.keys():
                break
            # The next embedder reads all of them: rank feedback compares its rows with the same best ones.
            compared = Compared(reading, query, all_rows)
            self._compared.append(compared)
            self.without_vector[query.model] = all_rows - compared.vectors.keys()
            self.by_row = compared.to(query.numbers, all_rows) | self.by_row
            self.worth_of_row = dict.fromkeys(compared.vectors, query.worth) | self.worth_of_row

    def toward(self, best: Sequence[int], weight: float, rows: Sequence[int]) -> dict[int, float]:
        """Return the closeness of rows to the question moved toward the middle of the `best` rows.

        The middle counts `weight` times as much as the question (Rocchio 1971, "Relevance feedback").
        """
        closeness: dict[int, float] = {}
        for compared in self._compared:
            moved = compared.moved_to_middle(best, weight)
            closeness = compared.to(moved, rows) | closeness
        return closeness
