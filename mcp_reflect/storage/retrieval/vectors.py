"""Vectors of lessons: packed into bytes, searched by their signs, compared with a question, made in the background."""

import asyncio
import json
import struct
import threading
from array import array
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from math import dist, hypot
from operator import mul
from typing import Final, Protocol, TypeAlias

from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError
from mcp_reflect.models.common import GLOBAL
from mcp_reflect.projects import Scopes
from mcp_reflect.security.redact import clean_text
from mcp_reflect.storage.repository import Database, Reading, Row, Writing
from mcp_reflect.text.word_vectors import shared_table

Vector: TypeAlias = Sequence[float]  # of length 1

# The name and number of the packaged table of word vectors in the schema, and the cosine of unrelated texts.
WORDS: Final = "words-1"
WORDS_MODEL: Final = 1
WORDS_BACKGROUND: Final = 0.1

MOST_COMPARED: Final = (
    200_000  # vectors of a scope that are searched; in a larger one, lessons must share words
)
LONGEST_TEXT: Final = 4_000  # characters that are embedded: models read about so much
_MOST_SCOPES: Final = 8  # scopes whose signs are kept in memory
_FACTOR: Final = struct.Struct("<f")
_SIGNS: Final = bytes(ord("1") if 0 < number < 128 else ord("0") for number in range(256))
_BIT: Final = [bytes(ord("0") + (number >> bit & 1) for number in range(256)) for bit in range(8)]


def text_of(text: str, symptoms: Iterable[str], keywords: Sequence[str]) -> str:
    """Return the text by which a lesson is embedded: what it says, its symptoms and its keywords."""
    return "\n".join((text, *symptoms, *([", ".join(keywords)] if keywords else [])))[:LONGEST_TEXT]


def word_vector(text: str) -> bytes | None:
    """Return the packed word vector of a text, or None if the table knows none of its words."""
    vector = shared_table().embed(text)
    return packed(vector) if vector else None


def packed(vector: Vector) -> bytes:
    """Pack a vector: a factor in 4 bytes, then a signed byte for each dimension; number = factor * byte."""
    factor = max(map(abs, vector)) / 127
    return (
        _FACTOR.pack(factor) + array("b", [round(number / factor) for number in vector]).tobytes()
    )


def signs(blob: bytes) -> bytes:
    """Return a bit for each dimension of a packed vector: 1 where the number is positive."""
    dimensions = len(blob) - _FACTOR.size
    return int(blob[_FACTOR.size :].translate(_SIGNS), 2).to_bytes((dimensions + 7) // 8, "big")


def unpacked(blob: bytes) -> tuple[float, tuple[int, ...], float]:
    """Return the factor of a packed vector, its bytes as numbers, and the sum of their squares."""
    numbers = struct.unpack_from(f"{len(blob) - _FACTOR.size}b", blob, _FACTOR.size)
    return _FACTOR.unpack_from(blob)[0], numbers, hypot(*numbers) ** 2


def cosines(query: Vector, vectors: Iterable[tuple[float, tuple[int, ...], float]]) -> list[float]:
    """Return the cosines of a unit vector with unpacked ones, -1 to 1.

    By the law of cosines: `math.dist` and `math.hypot` are several times faster than a sum of products.
    """
    unit = tuple(query)
    return [
        factor * ((1 + squares - dist(unit, numbers) ** 2) / 2)
        for factor, numbers, squares in vectors
    ]


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
    """The closeness of lessons to a question (`by_row`): 0 for unrelated texts, 1 for the same text."""

    def __init__(self, reading: Reading, query: QueryVector, rows: Sequence[int]) -> None:
        self._query = query
        values = {"embedder": query.model, "lessons": rows}
        self._vectors = {
            lesson: unpacked(blob) for lesson, blob in reading.rows("vectors_of", values)
        }
        self.without_vector = set(rows) - self._vectors.keys()
        self.by_row = self._to(query.numbers, self._vectors)

    def toward(self, best: Sequence[int], weight: float, rows: Iterable[int]) -> dict[int, float]:
        """Return the closeness of rows to the question moved toward the middle of the `best` rows.

        The middle counts `weight` times as much as the question (Rocchio 1971, "Relevance feedback").
        """
        moved = list(self._query.numbers)
        vectors = [self._vectors[row] for row in best if row in self._vectors]
        for factor, numbers, _ in vectors:
            part = factor * weight / len(vectors)
            moved = [total + part * number for total, number in zip(moved, numbers, strict=True)]
        length = sum(map(mul, moved, moved)) ** 0.5 or 1.0
        return self._to([number / length for number in moved], rows)

    def _to(self, numbers: Vector, rows: Iterable[int]) -> dict[int, float]:
        background = self._query.background
        known = [row for row in rows if row in self._vectors]
        found = cosines(numbers, map(self._vectors.__getitem__, known))
        return {
            row: min(max((cosine - background) / (1 - background), 0.0), 1.0)
            for row, cosine in zip(known, found, strict=True)
        }


class NearestSigns:
    """The signs of vectors in memory: one integer for each dimension, with a bit for each row that was added.

    `last` is the number of the last vector that was read.
    """

    def __init__(self) -> None:
        self.last = 0
        self._rows: list[int] = []
        self._places: dict[int, int] = {}
        self._columns: list[int] = []
        self._valid = (
            0  # a bit for each place; one whose row lost its vector, or got another, is not set
        )

    def add(self, rows: Sequence[int], bits: Sequence[bytes]) -> None:
        """Add the signs of rows, in place of those that they had."""
        start, size, data = len(self._rows), len(bits[0]), b"".join(reversed(bits))
        self._valid |= ((1 << len(rows)) - 1) << start
        for place, row in enumerate(rows, start):
            self.drop(row)
            self._places[row] = place
        self._rows += rows
        self._columns = self._columns or [0] * (8 * size)
        for bit in range(8 * size):
            self._columns[bit] |= int(data[bit // 8 :: size].translate(_BIT[bit % 8]), 2) << start

    def drop(self, row: int) -> None:
        """Forget a row, if it is there."""
        if (place := self._places.pop(row, None)) is not None:
            self._valid ^= 1 << place

    def nearest(self, query: bytes, limit: int) -> list[int]:
        """Return `limit` rows whose signs differ least from the query's, and those that differ as little.

        The differences of all rows are counted at once, a binary digit of the counts at a time, with full adders.
        """
        every = (1 << len(self._rows)) - 1
        bits = reversed(f"{int.from_bytes(query, 'little'):0{len(self._columns)}b}")
        digit = [
            column ^ every if bit == "1" else column
            for bit, column in zip(bits, self._columns, strict=False)
        ]
        digits: list[int] = []  # of the counts, the lowest first
        while digit:
            total, *others = digit
            carries: list[int] = []
            for one, two in zip_longest(others[::2], others[1::2], fillvalue=0):
                either = one ^ two
                carries.append(one & two | total & either)
                total ^= either
            digits.append(total)
            digit = carries
        chosen, equal = (
            0,
            self._valid,
        )  # rows that are nearer than the last one wanted, and those that may be
        for bits in reversed(digits):
            nearer = equal & ~bits
            if (chosen | nearer).bit_count() >= limit:
                equal = nearer
            else:
                chosen, equal = chosen | nearer, equal & bits
        chosen |= equal
        rows: list[int] = []
        while chosen:
            place = chosen.bit_length() - 1
            rows.append(self._rows[place])
            chosen ^= 1 << place
        return rows


class VectorIndex:
    """The signs of vectors in memory, by model and scope, brought up to date before each search.

    Signs only preselect: `Closeness` tells which rows have lost their vector since. The threads of a
    bank on a server take turns.
    """

    def __init__(self) -> None:
        self._signs: dict[tuple[int, int], NearestSigns] = {}
        self._lock = threading.Lock()

    def nearest(
        self, reading: Reading, query: QueryVector, scopes: Iterable[int], limit: int
    ) -> list[int]:
        """Return the rows of some scopes whose signs differ least from the query's, about `limit` for each scope."""
        text = "".join("1" if number > 0 else "0" for number in query.numbers)
        bits, model = int(text, 2).to_bytes((len(text) + 7) // 8), query.model
        with self._lock:
            return [
                row
                for scope in scopes
                for row in self._up_to_date(reading, model, scope).nearest(bits, limit)
            ]

    def forget(self, model: int, rows: Iterable[int]) -> None:
        """Drop rows that have lost their vector."""
        with self._lock:
            for nearest in [
                signs for (embedder, _), signs in self._signs.items() if embedder == model
            ]:
                for row in rows:
                    nearest.drop(row)

    def _up_to_date(self, reading: Reading, model: int, scope: int) -> NearestSigns:
        if (model, scope) not in self._signs and len(self._signs) >= _MOST_SCOPES:
            self._signs.clear()
        known = self._signs.setdefault((model, scope), NearestSigns())
        if new := reading.rows(
            "vectors_after", {"embedder": model, "scope": scope, "after": known.last}
        ):
            known.add([row["lesson"] for row in new], [row["signs"] for row in new])
            known.last = new[-1]["seq"]
        return known


# Vectors of an embedder that a person named: given to lessons in the background, and to questions.

BATCH: Final = 32  # lessons embedded at once
BATCH_SECONDS: Final = 60.0
WAIT_SECONDS: Final = 1.0  # writes come in bursts, and a command that ends at once shall not begin


class Embedder(Protocol):
    """An embedding model, which gives None instead of an error. `problem` says why, None after a success."""

    @property
    def name(self) -> str | None: ...
    @property
    def problem(self) -> str | None: ...
    async def embed(self, texts: Sequence[str], seconds: float) -> Sequence[Vector] | None: ...
    async def measure(self, seconds: float) -> tuple[int, float] | None:
        """Return the number of dimensions, and the mean cosine of unrelated texts."""
        ...


class Embeddings:
    """The vectors of one embedder. Where it fails, recall goes on without it; `embedder.problem` says why.

    Lessons get their vectors some at a time, in the background, after a write or the first question of a process.
    """

    def __init__(
        self, db: Database, clock: Clock, settings: Settings, scopes: Scopes, embedder: Embedder
    ) -> None:
        """Use `embedder` for the lessons of `scopes` and global ones.

        The texts of other projects in the same file may not be meant for this embedder.
        """
        self._db = db
        self._clock = clock
        self._seconds = settings.embeddings_seconds
        self.embedder = embedder
        self.use(scopes)
        self.task: asyncio.Task[None] | None = None

    def use(self, scopes: Scopes) -> None:
        """Embed the lessons of `scopes` and global ones from now on."""
        self._tenant = scopes.own.tenant
        self._projects = tuple(dict.fromkeys((scopes.own.project, *scopes.others, GLOBAL)))

    async def ask(self, text: str) -> QueryVector | None:
        """Return the vector of a question, redacted like a stored text, or None if the embedder gives none in time."""
        if self.task is None:
            self.wake()  # another process may have left lessons without a vector
        vectors = await self.embedder.embed([clean_text(text)[:LONGEST_TEXT]], self._seconds)
        if not vectors:
            return None
        named = {"name": self.embedder.name, "dims": len(vectors[0]), "tenant": self._tenant}
        model = await self._db.row("embedder_by_name", named)
        return QueryVector(vectors[0], model["id"], model["background"]) if model else None

    def wake(self) -> None:
        """Begin to embed soon, in the background."""
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._in_background())

    async def close(self) -> None:
        """End the work in the background; what is written stays, and the next process goes on."""
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
            self.task = None

    async def _in_background(self) -> None:
        await asyncio.sleep(WAIT_SECONDS)
        with suppress(
            BankError
        ):  # read-only, full, or locked by another process: the next wake tries again
            async for _ in self.embed_all():
                pass

    async def embed_all(self) -> AsyncGenerator[int]:
        """Give every lesson its vector now; yield how many each batch brought; `embedder.problem` says why it ends."""
        model = await self._registered()
        if model is None:
            return
        values = {
            "embedder": model["id"],
            "tenant": self._tenant,
            "projects": self._projects,
            "limit": BATCH,
        }
        after = 0
        while rows := await self._db.rows("unembedded_list", {**values, "after": after}):
            embedded = await self._embed(model, rows)
            if embedded is None:
                return
            yield embedded
            after = rows[-1]["row"]

    async def _registered(self) -> Row | None:
        """Return the embedder as the bank knows it; None if it gives nothing, so that its dimensions are unknown."""
        measured = await self.embedder.measure(BATCH_SECONDS)
        if measured is None:
            return None
        dimensions, background = measured
        named = {"name": self.embedder.name, "dims": dimensions}

        def register(tx: Writing) -> Row | None:
            tx.run("embedder_add", {**named, "background": background, "now": self._clock.now()})
            return tx.row("embedder_by_name", named)

        return await self._db.write(self._tenant, register)

    async def _embed(self, model: Row, rows: list[Row]) -> int | None:
        """Embed and store a batch; return how many lessons got a vector, None if the embedder gives none."""
        texts = [
            text_of(row["text"], json.loads(row["symptoms"]), json.loads(row["keywords"]))
            for row in rows
        ]
        vectors = await self.embedder.embed(texts, BATCH_SECONDS)
        if vectors is None or len(vectors[0]) != model["dims"]:
            return None
        lessons = [
            {
                "lesson": row["row"],
                "updated_at": row["updated_at"],
                "signs": signs(blob),
                "vector": blob,
            }
            for row, blob in zip(rows, map(packed, vectors), strict=True)
        ]

        def put(tx: Writing) -> int:
            return sum(
                tx.run("vector_put", {**lesson, "embedder": model["id"]}) for lesson in lessons
            )

        return await self._db.write(self._tenant, put)
