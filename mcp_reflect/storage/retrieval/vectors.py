"""The vectors of lessons: written in the background, searched in memory."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankError
from mcp_reflect.llm.embeddings.embedders import Embedder, Patient, Vector
from mcp_reflect.llm.embeddings.vector_index import UNRELATED, Index, alikeness, background, moved, open_index, packed
from mcp_reflect.models.common import GLOBAL, Json, Scope
from mcp_reflect.security.redact import clean_text
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import Row, scope_values
from mcp_reflect.storage.sqlite.statements import Reading, Transaction

# A question as a vector, beside the lessons of its scope.


@dataclass(frozen=True, slots=True)
class Asked:
    """`query` is a unit vector of the model `embedder`, `index` the vectors of the scope, `near` the nearest rows.

    Where there are too many to hold (`beyond`), the index is empty, and so is `near`. `background` is the cosine
    that unrelated texts have in this model. `alike` is how close the lessons of the scope are to one another, 0..1.
    """

    query: Vector
    embedder: int
    index: Index
    background: float
    near: tuple[int, ...] = ()
    beyond: bool = False
    alike: float = 0.0

    def beside(self, reading: Reading, rows: Sequence[int]) -> "Asked":
        """The same as `reading` sees it, with the vectors of `rows` at hand.

        They are read where there were too many to hold; else, of what is near, only what the bank still has counts:
        a lesson that was forgotten, changed or put into quarantine by any process leaves the index here.
        """
        if not self.beyond:
            return replace(self, near=self._kept(reading))
        index = open_index(len(self.query))
        kept = reading.rows("vectors_of", {"embedder": self.embedder, "lessons": list(rows)})
        index.put((row["lesson"], row["scale"], row["vector"]) for row in kept)
        return replace(self, index=index)

    def closeness(self, rows: Sequence[int]) -> Mapping[int, float]:
        """How close the question is to each of `rows` that has a vector: 0 for unrelated, 1 for the same."""
        cosines = self.index.cosines(self.query, rows)
        return {row: closeness(cosine, self.background) for row, cosine in cosines.items()}

    def moved(self, rows: Sequence[int], weight: float) -> "Asked":
        """The question moved towards the middle of `rows`."""
        return replace(self, query=moved(self.query, self.index.mean(rows), weight))

    def _kept(self, reading: Reading) -> tuple[int, ...]:
        """The nearest rows that have their vector in the bank; others come up where some have lost it."""
        near = self.near
        while True:
            values = {"embedder": self.embedder, "lessons": near}
            there = {row["lesson"] for row in reading.rows("vectors_kept", values)}
            gone = [row for row in near if row not in there]
            if not gone:
                return near
            self.index.drop(gone)
            near = tuple(self.index.nearest(self.query, len(near)))


def closeness(cosine: float, background: float) -> float:
    """A cosine on the scale from unrelated (0) to the same (1) of its model."""
    return min(max((cosine - background) / (1 - background), 0.0), 1.0)


# Gives lessons their vectors, some at a time, when nobody waits: after a write, an import, a change of model.
#
# One process at a time does it for a model: it holds a claim that runs out by itself, so a crash stops nothing.
# Each batch is one short transaction that also notes how far the work is, so it goes on where it was.


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


# What lessons mean, for recall: the vectors of a scope in memory, and the question as a vector beside them.


MOST_SCOPES: Final = 4  # whose vectors are kept in memory; the least recently asked goes first
_PAGE: Final = 5000
_IN_A_THREAD: Final = 10_000  # vectors: to search more takes longer than the loop should stand still
_LONGEST_QUESTION: Final = 4000  # characters
_SAMPLED: Final = 200  # vectors that tell how alike the lessons of a scope are
_DOUBTED: Final = 20  # lessons: of so few, how alike they are counts half


@dataclass(slots=True)
class _Held:
    """The vectors of one model and scope, up to the last one read. `beyond`: they are too many to hold.

    `alike` is the mean cosine of two of them, as it was when there were `counted`.
    """

    index: Index
    seen: int = 0
    beyond: bool = False
    alike: float = 0.0
    counted: int = 0


class VectorIndex:
    """The bank's side of embeddings. Whatever fails in it, recall goes on by words; `state` says why."""

    def __init__(
        self, db: Database, clock: Clock, open_embedder: Callable[[], Embedder], scopes: Sequence[Scope], seconds: float
    ) -> None:
        self._db = db
        self._seconds = seconds
        self._patient = Patient(open_embedder, clock)
        projects = [*(scope.project for scope in scopes), GLOBAL]
        self._keeper = Keeper(db, clock, self._patient, scopes[0].tenant, projects)
        self._held: dict[tuple[int, Scope], _Held] = {}
        self._syncing = asyncio.Lock()
        self._models: dict[tuple[str, int], tuple[int, float]] = {}

    def written(self) -> None:
        """Lessons were written: give them their vectors, soon."""
        self._keeper.wake(written=True)

    async def idle(self) -> None:
        """Wait until what was begun in the background is done."""
        await self._keeper.idle()

    async def close(self) -> None:
        """End what goes on in the background."""
        await self._keeper.close()

    async def caught_up(self) -> AsyncGenerator[int]:
        """Give every lesson its vector now; yields how many each batch brought. See `problem` where it stops short."""
        await self._keeper.close()  # what waits in the background is done here
        async with aclosing(self._keeper.catch_up()) as batches:
            async for done in batches:
                yield done

    @property
    def problem(self) -> str | None:
        """Why there are no vectors at the moment, null while all is well."""
        return self._patient.problem

    async def probed(self) -> str | None:
        """Ask the embedder for one word, with patience; what is wrong, null for nothing."""
        await self._patient.embed(["?"], max(self._seconds, 10.0))
        return self._patient.problem

    async def state(self, scope: Scope) -> dict[str, Json]:
        """Which embedder, how many of a scope's active lessons have a vector of it, and what is wrong."""
        name = self._patient.opened_name()
        (counts,) = await self._db.rows("vector_counts", {"name": name, **scope_values(scope)})
        beyond = any(held.beyond for (_, held_scope), held in self._held.items() if held_scope == scope)
        told: dict[str, Json] = {
            "embedder": name or "none",
            "lessons": counts["lessons"],
            "with_vector": counts["vectors"],
        }
        if beyond:
            told["search"] = "too many to compare one by one: only what shares words is compared"
        if self._patient.problem:
            told["problem"] = self._patient.problem
        return told

    async def ask(self, scope: Scope, text: str, limit: int) -> Asked | None:
        """The question as a vector, with the `limit` nearest rows; null where recall has words alone.

        Takes `seconds` at the most for the embedder. The text goes through the same door as what is stored.
        """
        self._keeper.wake(written=False)
        found = await self._patient.embed([clean_text(text)[:_LONGEST_QUESTION]], self._seconds)
        name = self._patient.name
        if not found or name is None:
            return None
        query = found[0]
        model = await self._model(name, len(query))
        if model is None:
            return None
        number, background = model
        held = await self._synced(number, scope, len(query))
        asked = Asked(query, number, held.index, background, beyond=held.beyond, alike=_alike(held, background))
        if held.beyond:
            return asked
        if len(held.index) > _IN_A_THREAD:
            return replace(asked, near=tuple(await asyncio.to_thread(held.index.nearest, query, limit)))
        return replace(asked, near=tuple(held.index.nearest(query, limit)))

    async def _model(self, name: str, dims: int) -> tuple[int, float] | None:
        """The number of the model in the bank and its background; null where no lesson has been embedded by it."""
        if (name, dims) not in self._models:
            row = await self._db.row("embedder_by_name", {"name": name, "dims": dims})
            if row is None:
                return None
            self._models[name, dims] = (row["id"], row["background"])
        return self._models[name, dims]

    async def _synced(self, model: int, scope: Scope, dims: int) -> _Held:
        """The scope's vectors, with those that came since they were last asked for."""
        async with self._syncing:
            held = self._held.pop((model, scope), None) or _Held(open_index(dims))
            self._held[model, scope] = held
            while len(self._held) > MOST_SCOPES:
                self._held.pop(next(iter(self._held)))
            values = {"embedder": model, "limit": _PAGE, **scope_values(scope)}
            while not held.beyond:
                rows = await self._db.rows("vectors_after", {**values, "after": held.seen})
                held.index.put((row["lesson"], row["scale"], row["vector"]) for row in rows)
                if rows:
                    held.seen = rows[-1]["seq"]
                if len(held.index) > held.index.most:
                    held.beyond, held.index = True, open_index(dims)
                if len(rows) < _PAGE:
                    break
        return held


def _alike(held: _Held, background: float) -> float:
    """How close the lessons are to one another, 0..1; looked at again when they have become a tenth more or less."""
    count = len(held.index)
    if abs(count - held.counted) * 10 > held.counted:
        rows = held.index.rows()
        sample = rows[:: max(1, len(rows) // _SAMPLED)]
        held.alike, held.counted = alikeness(held.index, sample) * count / (count + _DOUBTED), count
    return closeness(held.alike, background)
