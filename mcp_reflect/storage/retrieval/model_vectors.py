"""Vectors of an embedder that a person named: given to lessons in the background, and to questions."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from typing import Final, Protocol

from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError
from mcp_reflect.models.common import GLOBAL
from mcp_reflect.projects import Scopes
from mcp_reflect.security.redact import clean_text
from mcp_reflect.storage.repository import Database, Writing
from mcp_reflect.storage.retrieval.vectors import (
    LONGEST_TEXT,
    QueryVector,
    Vector,
    middle,
    packed,
    signs,
    text_of,
)
from mcp_reflect.storage.rows import Row
from mcp_reflect.storage.values import Values

BATCH: Final = 32  # lessons embedded at once
BATCH_SECONDS: Final = 60.0
WAIT_SECONDS: Final = 1.0  # writes come in bursts, and a command that ends at once shall not begin


class QuietEmbedder(Protocol):
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
        self,
        db: Database,
        clock: Clock,
        settings: Settings,
        scopes: Scopes,
        embedder: QuietEmbedder,
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
        if model is None:
            self.wake()  # the model was not there yet when lessons were to be embedded
            return None
        return QueryVector(vectors[0], model["id"], model["background"])

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
        """Embed what has no vector yet, after the burst of writes that woke it."""
        await asyncio.sleep(WAIT_SECONDS)
        # Read-only, full, or locked by another process: the next wake tries again.
        with suppress(BankError):
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
        """Embed and store a batch; return how many lessons got a vector, None if the embedder gives none.

        A lesson's vector is the middle of that of its whole text and that of its mistake alone: the mistake names the
        situation in which the lesson is wanted, and the correction draws the vector of the whole away from it.
        """
        texts = [_text_of_row(row) for row in rows]
        mistakes = [row["mistake"][:LONGEST_TEXT] for row in rows if row["mistake"]]
        embedded = await self.embedder.embed([*texts, *mistakes], BATCH_SECONDS)
        if embedded is None or len(embedded[0]) != model["dims"]:
            return None
        of_mistakes = iter(embedded[len(texts) :])
        lessons: list[Values] = []
        for row, of_text in zip(rows, embedded[: len(texts)], strict=True):
            vector = of_text
            if row["mistake"]:
                vector = middle(of_text, next(of_mistakes))
            lessons.append(_vector_values(model, row, packed(vector)))

        def put(tx: Writing) -> int:
            return sum(tx.run("vector_put", lesson) for lesson in lessons)

        return await self._db.write(self._tenant, put)


def _text_of_row(row: Row) -> str:
    """Return the whole text by which a stored lesson is embedded."""
    return text_of(row["text"], json.loads(row["symptoms"]), json.loads(row["keywords"]))


def _vector_values(model: Row, row: Row, blob: bytes) -> Values:
    """Return a lesson's packed vector as it is stored; one that was changed meanwhile (`updated_at`) does not get it."""
    return {
        "embedder": model["id"],
        "lesson": row["row"],
        "updated_at": row["updated_at"],
        "signs": signs(blob),
        "vector": blob,
    }
