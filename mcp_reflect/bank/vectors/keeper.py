"""Gives lessons their vectors, some at a time, when nobody waits: after a write, an import, a change of model.

One process at a time does it for a model: it holds a claim that runs out by itself, so a crash stops nothing.
Each batch is one short transaction that also notes how far the work is, so it goes on where it was.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import Row
from mcp_reflect.bank.sqlite.statements import Transaction
from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankError
from mcp_reflect.llm.embeddings.embedders import Patient, Vector
from mcp_reflect.llm.embeddings.vector_index import UNRELATED, background, packed

BATCH: Final = 32  # lessons embedded at once
BATCH_SECONDS: Final = 60.0
CLAIM_SECONDS: Final = 180.0
LOOK_AGAIN_SECONDS: Final = 60.0  # without a write of our own: another process may have left something
WAIT_SECONDS: Final = 1.0  # writes come in bursts, and a command that ends at once shall not begin
UNUSED_DAYS: Final = 30
_LONGEST_TEXT: Final = 4000  # characters of a lesson that are embedded: models read about so much
_DROPPED_AT_ONCE: Final = 500
_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model as the bank knows it."""

    id: int
    name: str
    dims: int


def text_of(row: Row) -> str:
    """What of a lesson is embedded: its text, what it looks like when it happens, and its keywords."""
    symptoms, keywords = json.loads(row["symptoms"]), json.loads(row["keywords"])
    return "\n".join((row["text"], *symptoms, *([", ".join(keywords)] if keywords else [])))[:_LONGEST_TEXT]


class Keeper:
    """Writes the vectors of the lessons of `projects` (of one tenant), as `patient` gives them.

    Lessons of other projects in the same file are left alone: their text may not be meant for this embedder.
    """

    def __init__(self, db: Database, clock: Clock, patient: Patient, tenant: str, projects: Sequence[str]) -> None:
        self._db = db
        self._clock = clock
        self._patient = patient
        self._tenant = tenant
        self._projects = tuple(dict.fromkeys(projects))
        self._me = clock.new_id("keeper")
        self._task: asyncio.Task[None] | None = None
        self._due = False
        self._at_work = asyncio.Lock()  # one at a time in this process as well
        self._looked_at = float("-inf")
        self._model: Model | None = None

    def wake(self, *, written: bool) -> None:
        """Begin soon, in the background; where this process has `written` nothing, only if it has not looked lately."""
        if not written and self._clock.now() < self._looked_at + LOOK_AGAIN_SECONDS:
            return
        self._due = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._behind())

    async def close(self) -> None:
        """End what goes on in the background; what is written stays, and the next process goes on."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def idle(self) -> None:
        """Wait until what was begun in the background is done."""
        if self._task is not None:
            await self._task

    async def _behind(self) -> None:
        while self._due:
            await asyncio.sleep(WAIT_SECONDS)
            self._due, self._looked_at = False, self._clock.now()
            with suppress(BankError):  # read-only, full, or held by another process: the next wake tries again
                async for _ in self.catch_up():
                    pass

    async def catch_up(self) -> AsyncGenerator[int]:
        """Embed what has no vector yet; yields how many lessons each batch gave one.

        It ends when none is left, when another process is at it, or when the embedder gives none (its
        `problem` says why). Raises BankError.
        """
        async with self._at_work:
            model = await self.model()
            if model is None or not await self._claimed(model):
                return
            try:
                while batch := await self._batch(model):
                    done = await self._embedded(model, batch)
                    if done is None:
                        return
                    yield done
                await self._drop_unused()
            finally:
                with suppress(BankError):
                    async with self._db.write() as tx:
                        await tx.run("embedder_release", {"embedder": model.id, "keeper": self._me})

    async def model(self) -> Model | None:
        """The embedder as the bank knows it; null where it gives nothing, so that nobody can tell its dimensions."""
        if self._model is None:
            probes = await self._patient.embed(UNRELATED, BATCH_SECONDS)
            name = self._patient.name
            if probes is None or name is None:
                return None
            named = {"name": name, "dims": len(probes[0])}
            async with self._db.write() as tx:
                await tx.run("embedder_add", {**named, "background": background(probes), "now": self._clock.now()})
                row = await tx.row("embedder_by_name", named)
            self._model = None if row is None else Model(row["id"], name, len(probes[0]))
        return self._model

    async def _claimed(self, model: Model) -> bool:
        """Whether this process may write; it says so for a while."""
        async with self._db.write() as tx:
            return await self._claim(tx, model)

    async def _claim(self, tx: Transaction, model: Model) -> bool:
        now = self._clock.now()
        until = now + CLAIM_SECONDS
        claim = {"embedder": model.id, "keeper": self._me, "now": now, "until": until}
        return bool(await tx.run("embedder_claim", claim))

    async def _batch(self, model: Model) -> "_Batch | None":
        """The next lessons without a vector: those that changed, then those that are new."""
        where = {"embedder": model.id, "tenant": self._tenant, "limit": BATCH}
        changed = await self._db.rows("unembedded_list", {**where, "projects": self._projects})
        if changed:
            return _Batch(changed, None, 0)
        newest = await self._db.row("newest_lesson", {})
        for project in self._projects:
            rows = await self._db.rows("lessons_after", {**where, "project": project})
            last = rows[-1]["row"] if rows else 0
            # With nothing behind these, all rows up to the newest are known not to be of this project.
            upto = last if len(rows) == BATCH or newest is None else max(last, newest["row"])
            if rows:
                return _Batch(rows, project, upto)
        return None

    async def _embedded(self, model: Model, batch: "_Batch") -> int | None:
        """Embed and write a batch; how many lessons got a vector, null where the embedder or the claim was lost."""
        shown = [row for row in batch.rows if row["findable"]]
        vectors = await self._patient.embed([text_of(row) for row in shown], BATCH_SECONDS) if shown else ()
        if vectors is None:
            return None
        if vectors and len(vectors[0]) != model.dims:
            self._model = None  # the model behind the name is another one now: the next look finds it
            return None
        async with self._db.write() as tx:
            if not await self._claim(tx, model):
                return None
            return await self._write(tx, model, batch, zip(shown, vectors, strict=True))

    async def _write(self, tx: Transaction, model: Model, batch: "_Batch", found: "Any") -> int:
        done = 0
        read = [
            {
                "lesson": row["row"],
                "embedder": model.id,
                "updated_at": row["updated_at"] if row["findable"] else None,
            }
            for row in batch.rows
        ]
        if batch.project is None:
            await tx.run_many("unembedded_done", read)
        await tx.run_many("vector_again", read)
        for row, vector in found:
            done += await self._put(tx, model, row, vector)
        if batch.project is not None:
            note = {"embedder": model.id, "tenant": self._tenant, "project": batch.project, "upto": batch.upto}
            await tx.run("embedded_upto", note)
        return done

    async def _put(self, tx: Transaction, model: Model, row: Row, vector: Vector) -> int:
        scale, numbers = packed(vector)
        which = {"lesson": row["row"], "embedder": model.id, "updated_at": row["updated_at"]}
        return await tx.run("vector_put", {**which, "scale": scale, "vector": numbers})

    async def _drop_unused(self) -> None:
        """Remove, in short transactions, the vectors of models that nobody has used for a month."""
        values = {"before": self._clock.now() - UNUSED_DAYS * _DAY, "limit": _DROPPED_AT_ONCE}
        dropped = _DROPPED_AT_ONCE
        while dropped == _DROPPED_AT_ONCE:
            async with self._db.write() as tx:
                dropped = await tx.run("vectors_drop", values)
                if dropped < _DROPPED_AT_ONCE:
                    await tx.run("embedders_drop", {"before": values["before"]})


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows of lessons; where they are the next ones of a project, how far that brings it."""

    rows: list[Row]
    project: str | None
    upto: int
