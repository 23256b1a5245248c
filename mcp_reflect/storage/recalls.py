"""Recall, and the log of what was shown."""

import hashlib
import json
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankError, BankReadOnlyError, NotFoundError
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import Lesson, Recall, RecallQuery, State, Trust
from mcp_reflect.security.redact import clean_text, quoted
from mcp_reflect.storage import similarity as contradictions
from mcp_reflect.storage.effectiveness import Rates
from mcp_reflect.storage.retrieval.candidates import MOST_SCORED, Search
from mcp_reflect.storage.retrieval.graph import with_related
from mcp_reflect.storage.retrieval.ranking import Ranked, rank
from mcp_reflect.storage.retrieval.vectors import WORDS, VectorIndex, words_query
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.statements import Reading, Row, Writing, lessons_from, scope_values

if TYPE_CHECKING:
    from mcp_reflect.storage.retrieval.embeddings import Embeddings


# Hold-out: in a share of the tasks the recalled lessons are not shown, so that their use can be measured.
#
# Chosen by the task itself, not by chance: the same task in the same scope is always in the same arm, in every
# process and on every day, so nobody can ask again until lessons come.

_STEPS: Final = 2**64


def withheld(scope: Scope, task: str, share: float) -> bool:
    """Whether lessons are held out from a task; `share` (0..1) of all tasks are. Case and spacing do not matter."""
    named = "\0".join((scope.tenant, scope.project, *task.casefold().split()))
    return int.from_bytes(hashlib.sha256(named.encode()).digest()[:8]) < share * _STEPS


# Recall, and the ledger of what was shown, which nobody ever waits for.

_READ: Final = 15  # candidates that ranking chooses from, or five for each hit that is wanted
_MORE: Final = 10  # where a caller's filters leave too few, so many times as many are scored
_MOST_QUEUED: Final = 1000  # recalls remembered while another process writes; the oldest go first


class RecallLog:
    """Counts what was recalled: at once where nobody writes, else later."""

    def __init__(self, db: Database, clock: Clock, keep_days: float) -> None:
        self._db = db
        self._clock = clock
        self._keep_days = keep_days
        self._queue: deque[dict[str, Any]] = deque(maxlen=_MOST_QUEUED)

    async def note(self, values: dict[str, Any]) -> None:
        """Count a recall, or queue it where another process is writing; a read-only bank counts nothing."""
        self._queue.append(values)
        await self.settle()

    async def settle(self) -> None:
        """Count what is queued, if nobody is writing."""
        if not self._queue:
            return
        try:
            self._drop(await self._db.write_briefly(self._write))
        except BankReadOnlyError:
            self._queue.clear()  # nothing can be counted here
        except BankError:
            return  # another process writes, or the disk is full: counted by the next recall or outcome

    async def flush(self) -> None:
        """Count what is queued, waiting for writers as a write does."""
        if self._queue:
            self._drop(await self._db.write(self._write))

    def _write(self, writing: Writing) -> list[dict[str, Any]]:
        """Write what is queued now, and return it.

        More may be queued meanwhile, and another call may write the same: the row of a recall counts it once.
        """
        written = list(self._queue)
        for values in written:
            if writing.run("recall_add", values) and values["applied"] and values["lesson_ids"]:
                writing.run("lessons_applied", {"ids": values["lesson_ids"], "tenant": values["tenant"]})
        writing.drop_old("recall", self._clock.now(), self._keep_days)
        return written

    def _drop(self, written: list[dict[str, Any]]) -> None:
        ids = {values["id"] for values in written}
        self._queue = deque((values for values in self._queue if values["id"] not in ids), _MOST_QUEUED)


def rates(reading: Reading, scope: Scope) -> Rates:
    """How often the lessons of a scope, and global ones, worked, by task type."""
    rows = reading.rows("base_rates", scope_values(scope))
    return Rates({row["task_type"]: (row["wins"], row["told"]) for row in rows})


class RecallRepository:
    """Recalls lessons, and knows what earlier recalls showed."""

    def __init__(
        self, db: Database, clock: Clock, log: RecallLog, embeddings: "Embeddings | None", *, words_only: bool
    ) -> None:
        self._db = db
        self._clock = clock
        self._log = log
        self._embeddings = embeddings
        self._words_only = words_only
        self._vectors = VectorIndex()

    async def embedding_state(self, scope: Scope) -> Json:
        """Return which vectors the lessons of a scope have; "off" where none are compared."""
        if self._embeddings:
            return await self._embeddings.state(scope)
        if self._words_only:
            return "off"
        (counts,) = await self._db.rows("vector_counts", {"name": WORDS, **scope_values(scope)})
        return {"embedder": "words", "lessons": counts["lessons"], "with_vector": counts["vectors"]}

    async def recall(self, scope: Scope, ask: RecallQuery, *, applied: bool = True, holdout: float = 0.0) -> Recall:
        """Return the few lessons that fit a task best, each with how well it fits.

        Args:
            scope: Whose lessons.
            ask: The task and the filters.
            applied: Whether the shown lessons count as applied; the recall is logged in any case.
            holdout: The share (0..1) of tasks whose lessons are not shown.
        """
        now = self._clock.now()
        query = await self._embeddings.ask(ask.text) if self._embeddings else None
        if query is None and not self._words_only:
            query = words_query(clean_text(ask.text))
        search = Search(ask, query, self._vectors)
        ranked = await self._db.look(lambda reading: _ranked(reading, scope, search, now))
        held_out = len(ranked.hits) if withheld(scope, ask.task, holdout) else 0
        if held_out:
            ranked = Ranked((), {**ranked.hidden, "held_out": held_out})
        recall_id = self._clock.new_id("rec")
        await self._log.note(
            {
                "id": recall_id,
                "task": clean_text(ask.task)[:2000],  # redacted before it is cut: half a secret is not recognized
                "lesson_ids": [hit.id for hit in ranked.hits],
                "held_out": held_out,
                "holdout": holdout,
                "now": self._clock.now(),
                "applied": applied,
                **scope_values(scope),
            }
        )
        return Recall(
            recall_id=recall_id,
            lessons=ranked.hits,
            hidden=ranked.hidden,
            mode="hybrid" if query else "lexical",
            scope=str(scope),
        )

    async def check(self, scope: Scope, recall_id: str) -> None:
        """Raise NotFoundError unless this scope had that recall."""
        await self._log.flush()
        await self._db.look(lambda reading: recall_row(reading, scope, recall_id))

    async def lessons_of(self, scope: Scope, recall_id: str) -> list[Lesson]:
        """Return the lessons that a recall showed and that are still in use; NotFoundError for an unknown recall."""
        await self._log.flush()

        def read(reading: Reading) -> list[Lesson]:
            ids: list[str] = json.loads(recall_row(reading, scope, recall_id)["lesson_ids"])
            rows = [reading.row("lesson_by_id", {"id": name, **scope_values(scope)}) for name in ids]
            return lessons_from(row for row in rows if row is not None)

        lessons = await self._db.look(read)
        return [one for one in lessons if one.state is State.ACTIVE and one.trust is not Trust.QUARANTINED]


def recall_row(reading: Reading, scope: Scope, recall_id: str) -> Row:
    """Return the row of a recall of this scope; NotFoundError if there is none."""
    row = reading.row("recall_by_id", {"id": recall_id, **scope_values(scope)})
    if row is None:
        raise NotFoundError(
            "recall_id", f"there is no '{quoted(recall_id)}' in {scope}", "Send the id that recall_lessons gave."
        )
    return row


def _ranked(reading: Reading, scope: Scope, search: Search, now: float) -> Ranked:
    """Return the best hits. Where the caller's filters leave too few candidates, more are scored."""
    ask = search.ask
    filtered = bool(ask.kinds or ask.tags or ask.min_importance or ask.min_effectiveness)
    search = replace(search, read=None if filtered else max(_READ, ask.limit * 5))
    base_rates = rates(reading, scope)
    while True:
        found = search.candidates(reading, scope)
        tied = contradictions.among(reading, (candidate.lesson for candidate in found.best))
        ranked = rank(found, ask, base_rates, now, tied)
        if not filtered or len(ranked.hits) >= ask.limit or found.every or search.scored >= MOST_SCORED:
            return replace(ranked, hits=with_related(reading, scope, ranked.hits, ask.max_chars))
        search = replace(search, scored=min(search.scored * _MORE, MOST_SCORED))
