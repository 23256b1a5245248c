"""What lessons mean, for recall: the vectors of a scope in memory, and the question as a vector beside them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final

from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import scope_values
from mcp_reflect.bank.vectors.asked import Asked, closeness
from mcp_reflect.bank.vectors.keeper import Keeper
from mcp_reflect.clock import Clock
from mcp_reflect.llm.embeddings.embedders import Embedder, Patient
from mcp_reflect.llm.embeddings.vector_index import Index, alikeness, open_index
from mcp_reflect.models.common import GLOBAL, Json, Scope
from mcp_reflect.security.redact import clean_text

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


class Meaning:
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
