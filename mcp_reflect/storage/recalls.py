"""Recalls: the lessons that fit a task, in one read transaction, and the log of what was shown."""

import asyncio
import json
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from mcp_reflect.errors import BankBusyError, BankError, BankReadOnlyError
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import (
    Fit,
    Hit,
    Lesson,
    Recall,
    RecallQuery,
    State,
    Trust,
)
from mcp_reflect.models.shown_lesson import words_of
from mcp_reflect.security.redact import clean_text
from mcp_reflect.storage.hits import LARGEST_WEAK, hit_of, ranked_hits
from mcp_reflect.storage.repository import (
    BankContext,
    Derived,
    Reading,
    Repository,
    Row,
    Writing,
    scoped,
)
from mcp_reflect.storage.retrieval.candidates import is_same_type
from mcp_reflect.storage.retrieval.index import ANALYZER, renew_outdated
from mcp_reflect.storage.retrieval.model_vectors import Embeddings
from mcp_reflect.storage.retrieval.scoring import text_of
from mcp_reflect.storage.retrieval.sign_index import VectorIndex
from mcp_reflect.storage.retrieval.vectors import WORDS, QueryVector, words_query
from mcp_reflect.text.signature import drawn

_MOST_TASK: Final = 2_000  # characters of a task that are kept
_OF_TYPE: Final = "same task type, and nothing else in common"
_RENEWED: Final = 50  # index entries that are made anew in one transaction
_RENEW_SECONDS: Final = 1.0  # that the first recall waits for an index that an older release made
_MOST_QUEUED: Final = 1000  # recalls that wait while another process writes; the oldest go first


def withheld(scope: Scope, task: str, share: float) -> bool:
    """True if lessons are held out from a task, so that their use can be measured; `share` (0..1) of all tasks are.

    The task itself decides, not chance. Case and spacing do not matter.
    """
    named = "\0".join((scope.tenant, scope.project, *task.casefold().split()))
    return drawn(named, share)


class RecallRepository(Repository):
    """Recalls lessons, counts what was recalled, and knows what earlier recalls showed.

    A recall is counted at once if no other process writes, else later, so that no recall waits.
    """

    def __init__(
        self, context: BankContext, *, embeddings: Embeddings | None, words_only: bool
    ) -> None:
        super().__init__(context)
        self._embeddings = embeddings
        self._words_only = words_only
        self._vectors = VectorIndex()
        self._queue: deque[dict[str, Any]] = deque(maxlen=_MOST_QUEUED)
        self._flushing = asyncio.Lock()
        self._renewing: dict[str, asyncio.Task[None]] = {}  # by tenant

    async def close(self) -> None:
        """Count what is queued, and leave the rest of an old index to the next process."""
        for renewing in self._renewing.values():
            renewing.cancel()
            with suppress(asyncio.CancelledError, BankError):
                await renewing
        await self.settle()

    async def _renew(self, tenant: str) -> None:
        """Update the index entries of an older release, some records at a time."""
        with suppress(BankReadOnlyError, BankBusyError):  # the next process goes on
            while await self.db.row(
                "index_outdated", {"version": ANALYZER, "limit": 1, "tenant": tenant}
            ):
                if not await self.db.write(tenant, lambda tx: renew_outdated(tx, _RENEWED)):
                    break  # the rest is damaged

    async def settle(self) -> None:
        """Count what is queued, unless another process is writing; a read-only bank counts nothing."""
        try:
            await self.flush(brief=True)
        except BankReadOnlyError:
            self._queue.clear()  # nothing can be counted here
        except BankError:
            return  # another process writes, or the disk is full: the next recall or outcome counts it

    async def flush(self, *, brief: bool = False) -> None:
        """Count the queued recalls; wait for other writers as any write does (`brief`: only a moment)."""
        async with self._flushing:
            written = list(self._queue)  # more may be queued meanwhile
            for tenant in dict.fromkeys(values["tenant"] for values in written):
                own = [values for values in written if values["tenant"] == tenant]
                await self.db.write(tenant, partial(self._count, own), brief=brief)
                for values in own:
                    with suppress(ValueError):  # it may have gone as the oldest of too many
                        self._queue.remove(values)

    def _count(self, recalls: Sequence[dict[str, Any]], tx: Writing) -> None:
        for values in recalls:
            if tx.run("recall_add", values) and values["applied"]:
                tx.run("lessons_applied", {"ids": values["lesson_ids"], "tenant": values["tenant"]})
        tx.drop_old("recall", self.clock.now(), self.context.keep_days)

    async def embedding_state(self, scope: Scope) -> Json:
        """Return how many active lessons of a scope have a vector, of which embedder, and its problem.

        "off" where no vectors are compared.
        """
        if self._words_only:
            return "off"
        embedder = self._embeddings and self._embeddings.embedder
        values = scoped(scope, name=embedder.name if embedder else WORDS)
        (counts,) = await self.db.rows("vector_counts", values)
        name = (embedder.name or "none") if embedder else "words"
        state: dict[str, Json] = {
            "embedder": name,
            "lessons": counts["lessons"],
            "with_vector": counts["vectors"],
        }
        return {**state, "problem": embedder.problem} if embedder and embedder.problem else state

    async def recall(
        self, scope: Scope, ask: RecallQuery, *, applied: bool = True, holdout: float = 0.0
    ) -> Recall:
        """Return the few lessons of a scope that fit a task best, each with how well it fits, and log the recall.

        They count as `applied` or not. `holdout` is the share (0..1) of tasks whose lessons are not shown.
        """
        if scope.tenant not in self._renewing:
            self._renewing[scope.tenant] = renewing = asyncio.create_task(self._renew(scope.tenant))
            for ended in (await asyncio.wait((renewing,), timeout=_RENEW_SECONDS))[0]:
                ended.result()  # raises if the bank cannot be used
        now = self.clock.now()
        text = text_of(ask)
        vectors = await self._vectors_of(text)
        text = clean_text(text)
        rank = partial(ranked_hits, scope=scope, index=self._vectors, now=now)
        hits, hidden = await self.db.look(
            scope.tenant, lambda reading: rank(reading, ask=ask, vectors=vectors)
        )
        if ask.task_type and not hits and not ask.strong_only:
            of_type = replace(ask, task=ask.task_type, symptoms=())
            hits, hidden = await self.db.look(
                scope.tenant, lambda reading: rank(reading, ask=of_type, vectors=())
            )
            hits = tuple(
                replace(hit, fit=Fit.WEAK, score=min(hit.score, LARGEST_WEAK), why=_OF_TYPE)
                for hit in hits
                if is_same_type(hit.task_type, ask.task_type)
            )
        held_out = len(hits) if withheld(scope, ask.task, holdout) else 0
        if held_out:
            hits, hidden["held_out"] = (), held_out
        task = clean_text(ask.task) if ask.symptoms else text
        recall_id = await self._log(
            scope, task, hits, held_out=held_out, holdout=holdout, applied=applied
        )
        return Recall(
            recall_id=recall_id,
            lessons=hits,
            hidden=dict(sorted((+hidden).items())),
            mode="hybrid" if vectors else "lexical",
            scope=str(scope),
        )

    async def would_show(self, scope: Scope, ask: RecallQuery) -> tuple[Hit, ...]:
        """Return the lessons that fit a task best, and log nothing: nobody is shown them."""
        text = text_of(ask)
        vectors = await self._vectors_of(text)
        rank = partial(ranked_hits, scope=scope, index=self._vectors, now=self.clock.now())
        find = partial(rank, ask=ask, vectors=vectors)
        return (await self.db.look(scope.tenant, find, long=True))[0]

    async def _vectors_of(self, text: str) -> list[QueryVector]:
        """Return a question as vectors: of the model, if one is named and answers, then of the packaged table.

        Lessons that have no vector of the model yet are compared by the table.
        """
        if self._words_only:
            return []
        by_model = await self._embeddings.ask(text) if self._embeddings else None
        return [vector for vector in (by_model, words_query(clean_text(text))) if vector]

    async def recall_by_id(self, scope: Scope, lesson: Lesson) -> Recall:
        """Return one lesson whole, and log the recall."""
        why = "asked for by its id"
        hit = hit_of(
            lesson,
            self.clock.now(),
            text=words_of(lesson).whole,
            score=1.0,
            fit=Fit.STRONG,
            why=why,
        )
        recall_id = await self._log(scope, why, (hit,), held_out=0, holdout=0.0, applied=True)
        return Recall(recall_id=recall_id, lessons=(hit,), mode="id", scope=str(scope))

    async def _log(
        self,
        scope: Scope,
        task: str,
        hits: Sequence[Hit],
        *,
        held_out: int,
        holdout: float,
        applied: bool,
    ) -> str:
        """Queue a recall to be counted; return its id. `task` is redacted: half a secret is not recognized."""
        recall_id = self.clock.new_id("rec")
        ids = Derived(json.dumps([hit.id for hit in hits]))
        values = scoped(
            scope,
            id=Derived(recall_id),
            task=Derived(task[:_MOST_TASK]),
            lesson_ids=ids,
            now=self.clock.now(),
        )
        self._queue.append(
            {**values, "held_out": held_out, "holdout": holdout, "applied": applied and bool(hits)}
        )
        await self.settle()
        return recall_id

    async def lessons_of(self, scope: Scope, recall_id: str) -> list[Lesson]:
        """Return the lessons that a recall showed and that are still in use; NotFoundError for an unknown recall."""
        await self.flush()

        def read(reading: Reading) -> list[Lesson]:
            shown = recall_row(reading, scope, recall_id)["lesson_ids"]
            lessons: list[Lesson] = []
            for name in json.loads(shown):
                lessons += reading.lessons("lesson_by_id", scope, id=name)
            return [
                one
                for one in lessons
                if one.state is State.ACTIVE and one.trust is not Trust.QUARANTINED
            ]

        return await self.db.look(scope.tenant, read)


def recall_row(reading: Reading, scope: Scope, recall_id: str) -> Row:
    """Return the row of a recall of this scope; NotFoundError if there is none."""
    return reading.existing(
        "recall_by_id", scope, "recall_id", recall_id, "Send the id that recall_lessons gave."
    )
