"""The repository of recalls: the lessons that fit a task are found in one read transaction, and each recall is logged."""

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
from mcp_reflect.models.lesson import Lesson, State, Trust
from mcp_reflect.models.recall import Fit, Hit, Recall, RecallQuery
from mcp_reflect.models.shown_lesson import words_of
from mcp_reflect.security.redact import clean_text
from mcp_reflect.storage.hit_scores import LARGEST_WEAK
from mcp_reflect.storage.hit_texts import hit_of
from mcp_reflect.storage.hits import RankedHits, ranked_hits
from mcp_reflect.storage.repository import BankContext, Reading, Repository, Writing
from mcp_reflect.storage.retrieval.candidates import is_same_type
from mcp_reflect.storage.retrieval.index import ANALYZER, renew_outdated
from mcp_reflect.storage.retrieval.model_vectors import Embeddings
from mcp_reflect.storage.retrieval.scoring import text_of
from mcp_reflect.storage.retrieval.sign_index import VectorIndex
from mcp_reflect.storage.retrieval.vectors import WORDS, QueryVector, words_query
from mcp_reflect.storage.rows import Row
from mcp_reflect.storage.values import Derived, scoped
from mcp_reflect.text.signature import is_drawn

_MAX_TASK_CHARS: Final = 2_000
"""Characters of a task in the log."""

_WHY_OF_SAME_TYPE: Final = "same task type, and nothing else in common"

_RENEWED_AT_ONCE: Final = 50
"""Index entries that are made anew in one transaction."""

_RENEW_SECONDS: Final = 1.0
"""How long the first recall waits for an index that an older release made."""

_MOST_QUEUED: Final = 1000
"""Recalls that wait to be counted while another process writes; of more, the oldest go uncounted."""


def is_withheld(scope: Scope, task: str, share: float) -> bool:
    """Return whether a task is held out: no lessons are shown, so that tasks with and without them can be compared.

    `share` (0..1) of all tasks are held out. A hash of the task decides, so that the same task is always treated alike;
    case and spacing do not matter.
    """
    task_key = "\0".join((scope.tenant, scope.project, *task.casefold().split()))
    return is_drawn(task_key, share)


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
        self._flush_lock = asyncio.Lock()
        self._renewal_tasks: dict[str, asyncio.Task[None]] = {}  # by tenant

    async def close(self) -> None:
        """Count the queued recalls, and leave the rest of an old index to the next process."""
        for task in self._renewal_tasks.values():
            task.cancel()
            with suppress(asyncio.CancelledError, BankError):
                await task
        await self.settle()

    async def _renew(self, tenant: str) -> None:
        """Update the index entries of an older release, some records at a time."""
        first_outdated = {"version": ANALYZER, "limit": 1, "tenant": tenant}
        with suppress(BankReadOnlyError, BankBusyError):  # the next process goes on
            while await self.db.row("index_outdated", first_outdated):
                renewed = await self.db.write(
                    tenant, lambda tx: renew_outdated(tx, _RENEWED_AT_ONCE)
                )
                if not renewed:
                    break  # the rest is damaged

    async def settle(self) -> None:
        """Count the queued recalls, unless another process is writing; a read-only bank counts nothing.

        Where another process writes, or the disk is full, the next recall or outcome counts them.
        """
        try:
            await self.flush(brief=True)
        except BankReadOnlyError:
            self._queue.clear()
        except BankError:
            return

    async def flush(self, *, brief: bool = False) -> None:
        """Count the queued recalls; wait for other writers as any write does (`brief`: only a moment)."""
        async with self._flush_lock:
            queued_recalls = list(self._queue)  # more may be queued meanwhile
            tenants = dict.fromkeys(recall["tenant"] for recall in queued_recalls)
            for tenant in tenants:
                recalls = [recall for recall in queued_recalls if recall["tenant"] == tenant]
                await self.db.write(tenant, partial(self._count, recalls), brief=brief)
                for recall in recalls:
                    with suppress(ValueError):  # a full queue may have dropped it as its oldest
                        self._queue.remove(recall)

    def _count(self, recalls: Sequence[dict[str, Any]], tx: Writing) -> None:
        """Log recalls, and count each lesson as shown once more; a recall that was counted before counts no more."""
        for values in recalls:
            if tx.run("recall_add", values) and values["applied"]:
                tx.run("lessons_applied", {"ids": values["lesson_ids"], "tenant": values["tenant"]})
        tx.drop_old("recall", self.clock.now(), self.context.keep_days)

    async def embedding_state(self, scope: Scope) -> Json:
        """Return the embedder's name, how many active lessons of a scope have a vector of it, and its problem, if any.

        "off" where no vectors are compared.
        """
        if self._words_only:
            return "off"
        if self._embeddings is None:
            return {"embedder": "words", **await self._vector_counts(scope, WORDS)}
        embedder = self._embeddings.embedder
        state: dict[str, Json] = {
            "embedder": embedder.name or "none",
            **await self._vector_counts(scope, embedder.name),
        }
        if embedder.problem:
            state["problem"] = embedder.problem
        return state

    async def _vector_counts(self, scope: Scope, embedder: str | None) -> dict[str, Json]:
        """Return how many active lessons a scope has, and how many of them have a vector of an embedder."""
        (counts,) = await self.db.rows("vector_counts", scoped(scope, name=embedder))
        return {"lessons": counts["lessons"], "with_vector": counts["vectors"]}

    async def recall(
        self, scope: Scope, ask: RecallQuery, *, applied: bool = True, holdout: float = 0.0
    ) -> Recall:
        """Return the few lessons of a scope that fit a task best, each with how well it fits, and log the recall.

        `applied` says whether they count as shown once more. `holdout` is the share (0..1) of tasks whose lessons are
        not shown, see `is_withheld`.
        """
        await self._begin_to_renew(scope.tenant)
        vectors = await self._vectors_of(text_of(ask))
        hits, hidden = await self._ranked(scope, ask, vectors)
        if ask.task_type and not hits and not ask.strong_only:
            hits, hidden = await self._hits_of_same_type(scope, ask, ask.task_type)
        held_out_count = 0
        if is_withheld(scope, ask.task, holdout):
            held_out_count = len(hits)
            hidden["held_out"] = held_out_count
            hits = ()
        recall_id = await self._log(
            scope,
            clean_text(ask.task),
            hits,
            held_out=held_out_count,
            holdout=holdout,
            applied=applied,
        )
        return Recall(
            recall_id=recall_id,
            lessons=hits,
            hidden={reason: count for reason, count in sorted(hidden.items()) if count > 0},
            mode="hybrid" if vectors else "lexical",
            scope=str(scope),
        )

    async def _begin_to_renew(self, tenant: str) -> None:
        """Update the index of an older release before the first recall of a tenant, and wait a moment for it.

        What is left is done in the background. BankError if the bank cannot be used.
        """
        if tenant in self._renewal_tasks:
            return
        task = asyncio.create_task(self._renew(tenant))
        self._renewal_tasks[tenant] = task
        await asyncio.wait((task,), timeout=_RENEW_SECONDS)
        if task.done():
            task.result()  # raises if the bank cannot be used

    async def _ranked(
        self,
        scope: Scope,
        ask: RecallQuery,
        vectors: Sequence[QueryVector],
        *,
        may_wait: bool = False,
    ) -> RankedHits:
        """Return the hits for a question, best first, and how many lessons were left out, by reason.

        With `may_wait`, for a question that no agent waits for, no recall has to wait until it is answered.
        """
        rank = partial(
            ranked_hits,
            scope=scope,
            ask=ask,
            vectors=vectors,
            index=self._vectors,
            now=self.clock.now(),
        )
        return await self.db.look(scope.tenant, rank, long=may_wait)

    async def _hits_of_same_type(
        self, scope: Scope, ask: RecallQuery, task_type: str
    ) -> RankedHits:
        """Return the lessons of the task's type, as weak hits, where no lesson shares anything else with the task."""
        type_query = replace(ask, task=task_type, symptoms=())
        ranked = await self._ranked(scope, type_query, vectors=())
        weak_hits: list[Hit] = []
        for hit in ranked.hits:
            if is_same_type(hit.task_type, task_type):
                score = min(hit.score, LARGEST_WEAK)
                weak_hits.append(replace(hit, fit=Fit.WEAK, score=score, why=_WHY_OF_SAME_TYPE))
        return RankedHits(tuple(weak_hits), ranked.hidden)

    async def would_show(self, scope: Scope, ask: RecallQuery) -> tuple[Hit, ...]:
        """Return the lessons that fit a task best, and log nothing, since no agent is shown them."""
        vectors = await self._vectors_of(text_of(ask))
        ranked = await self._ranked(scope, ask, vectors, may_wait=True)
        return ranked.hits

    async def _vectors_of(self, text: str) -> list[QueryVector]:
        """Return the vectors of a query: one of the embedding model, if one is named and answers, one of word vectors.

        Lessons that have no vector of the model yet are compared by the packaged table of word vectors. No vectors are
        compared where the setting says so.
        """
        if self._words_only:
            return []
        model_vector: QueryVector | None = None
        if self._embeddings is not None:
            model_vector = await self._embeddings.ask(text)
        words_vector = words_query(clean_text(text))
        return [vector for vector in (model_vector, words_vector) if vector is not None]

    async def recall_by_id(self, scope: Scope, lesson: Lesson) -> Recall:
        """Return a lesson that was asked for by its id, with its whole text, and log the recall."""
        why = "asked for by its id"
        text = words_of(lesson).whole
        hit = hit_of(lesson, self.clock.now(), text=text, score=1.0, fit=Fit.STRONG, why=why)
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
        """Queue a recall to be counted; return its id.

        `task` is redacted by the caller, before it is cut here: half a secret is not recognized.
        """
        recall_id = self.clock.new_id("rec")
        values = scoped(
            scope,
            id=Derived(recall_id),
            task=Derived(task[:_MAX_TASK_CHARS]),
            lesson_ids=Derived(json.dumps([hit.id for hit in hits])),
            held_out=held_out,
            holdout=holdout,
            applied=applied and bool(hits),
            now=self.clock.now(),
        )
        self._queue.append(values)
        await self.settle()
        return recall_id

    async def lessons_of(self, scope: Scope, recall_id: str) -> list[Lesson]:
        """Return the lessons that a recall showed and that are still in use; NotFoundError for an unknown recall."""
        await self.flush()

        def read_shown(reading: Reading) -> list[Lesson]:
            lessons: list[Lesson] = []
            for lesson_id in json.loads(recall_row(reading, scope, recall_id)["lesson_ids"]):
                lessons += reading.lessons("lesson_by_id", scope, id=lesson_id)
            return lessons

        shown_lessons = await self.db.look(scope.tenant, read_shown)
        return [
            lesson
            for lesson in shown_lessons
            if lesson.state is State.ACTIVE and lesson.trust is not Trust.QUARANTINED
        ]


def recall_row(reading: Reading, scope: Scope, recall_id: str) -> Row:
    """Return the row of a recall of this scope; NotFoundError if there is none."""
    return reading.existing(
        "recall_by_id", scope, "recall_id", recall_id, "Send the id that recall_lessons gave."
    )
