"""Vectors of an embedder that a person named: given to lessons in the background, and to questions."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Final, Protocol

from mcp_reflect.clock import DAY, Clock
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError
from mcp_reflect.models.common import GLOBAL, Json, Scope
from mcp_reflect.projects import Scopes
from mcp_reflect.security.redact import clean_text
from mcp_reflect.storage.repository import Database, Row, Writing, scoped
from mcp_reflect.storage.retrieval.vectors import LONGEST_TEXT, QueryVector, Vector, packed, signs, text_of

BATCH: Final = 32  # lessons embedded at once
BATCH_SECONDS: Final = 60.0
LOOK_AGAIN_SECONDS: Final = 60.0  # without a write of our own: another process may have left lessons without a vector
WAIT_SECONDS: Final = 1.0  # writes come in bursts, and a command that ends at once shall not begin
UNUSED_DAYS: Final = 30


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

    Lessons get their vectors after a write, some at a time, in the background, in the process that wrote them; what
    another process left is done some time after a question.
    """

    def __init__(self, db: Database, clock: Clock, settings: Settings, scopes: Scopes, embedder: Embedder) -> None:
        """Use `embedder` for the lessons of `scopes` and global ones.

        The texts of other projects in the same file may not be meant for this embedder.
        """
        self._db = db
        self._clock = clock
        self._seconds = settings.embeddings_seconds
        self.embedder = embedder
        self.use(scopes)
        self._model: Row | None = None
        self.task: asyncio.Task[None] | None = None
        self._due = False
        self._working = asyncio.Lock()
        self._looked_at = float("-inf")

    def use(self, scopes: Scopes) -> None:
        """Embed the lessons of `scopes` and global ones from now on."""
        self._tenant = scopes.own.tenant
        self._projects = tuple(dict.fromkeys((scopes.own.project, *scopes.others, GLOBAL)))

    async def ask(self, text: str) -> QueryVector | None:
        """Return the vector of a question, redacted like a stored text, or None if the embedder gives none in time."""
        self.wake(written=False)
        vectors = await self.embedder.embed([clean_text(text)[:LONGEST_TEXT]], self._seconds)
        if not vectors:
            return None
        named = {"name": self.embedder.name, "dims": len(vectors[0]), "tenant": self._tenant}
        if self._model is None or self._model["dims"] != named["dims"]:
            self._model = await self._db.row("embedder_by_name", named)
        return QueryVector(vectors[0], self._model["id"], self._model["background"]) if self._model else None

    async def state(self, scope: Scope) -> dict[str, Json]:
        """Return the embedder's name, how many of a scope's active lessons have a vector of it, and its problem."""
        name = self.embedder.name
        (counts,) = await self._db.rows("vector_counts", {"name": name, **scoped(scope)})
        state = {"embedder": name or "none", "lessons": counts["lessons"], "with_vector": counts["vectors"]}
        return {**state, "problem": self.embedder.problem} if self.embedder.problem else state

    def wake(self, *, written: bool = True) -> None:
        """Begin to embed soon, in the background; if nothing was `written`, only if it has not looked lately."""
        if not written and self._clock.now() < self._looked_at + LOOK_AGAIN_SECONDS:
            return
        self._due = True
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._in_background())

    async def close(self) -> None:
        """End the work in the background; what is written stays, and the next process goes on."""
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
            self.task = None

    async def embed_all(self) -> AsyncGenerator[int]:
        """Give every lesson its vector now; yield how many each batch brought; `embedder.problem` says why it ends."""
        await self.close()  # what waits in the background is done here
        async with aclosing(self._catch_up()) as batches:
            async for done in batches:
                yield done

    async def _in_background(self) -> None:
        while self._due:
            await asyncio.sleep(WAIT_SECONDS)
            self._due, self._looked_at = False, self._clock.now()
            with suppress(BankError):  # read-only, full, or locked by another process: the next wake tries again
                async for _ in self._catch_up():
                    pass

    async def _catch_up(self) -> AsyncGenerator[int]:
        """Embed lessons without a vector, until none is left or the embedder fails."""
        async with self._working:
            model = await self._registered()
            if model is None:
                return
            values = {"embedder": model["id"], "tenant": self._tenant, "projects": self._projects, "limit": BATCH}
            after = 0
            while rows := await self._db.rows("unembedded_list", {**values, "after": after}):
                embedded = await self._embed(model, rows)
                if embedded is None:
                    return
                yield embedded
                after = rows[-1]["row"]
            unused = {"before": self._clock.now() - UNUSED_DAYS * DAY}
            await self._db.write(
                self._tenant, lambda tx: (tx.run("vectors_drop", unused), tx.run("embedders_drop", unused))
            )

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
        texts = [text_of(row["text"], json.loads(row["symptoms"]), json.loads(row["keywords"])) for row in rows]
        vectors = await self.embedder.embed(texts, BATCH_SECONDS)
        if vectors is None or len(vectors[0]) != model["dims"]:
            return None
        lessons = [
            {"lesson": row["row"], "updated_at": row["updated_at"], "signs": signs(blob), "vector": blob}
            for row, blob in zip(rows, map(packed, vectors), strict=True)
        ]

        def put(tx: Writing) -> int:
            return sum(tx.run("vector_put", {**lesson, "embedder": model["id"]}) for lesson in lessons)

        return await self._db.write(self._tenant, put)
