"""Recalls: the few hits that are shown, by fit, worth and variety, and the log of what was shown."""

import asyncio
import json
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from mcp_reflect.clock import DAY
from mcp_reflect.errors import BankBusyError, BankError, BankReadOnlyError
from mcp_reflect.models.common import GLOBAL, Json, Scope
from mcp_reflect.models.lesson import (
    ORIGINS,
    Fit,
    Hit,
    Lesson,
    Recall,
    RecallQuery,
    RecordKind,
    Source,
    State,
    Trust,
)
from mcp_reflect.models.shown_lesson import shown_lesson, words_of
from mcp_reflect.security.redact import clean_text
from mcp_reflect.storage.repository import (
    BankContext,
    Derived,
    Reading,
    Repository,
    Row,
    Writing,
    scoped,
)
from mcp_reflect.storage.retrieval.candidates import Candidate, candidates_of, is_same_type
from mcp_reflect.storage.retrieval.index import ANALYZER, renew_outdated
from mcp_reflect.storage.retrieval.match import CLOSE, GUESSED, LONG
from mcp_reflect.storage.retrieval.model_vectors import Embeddings
from mcp_reflect.storage.retrieval.prompt_fit import fitting_a_prompt
from mcp_reflect.storage.retrieval.scoring import Search, text_of
from mcp_reflect.storage.retrieval.sign_index import VectorIndex
from mcp_reflect.storage.retrieval.vectors import WORDS, QueryVector, words_query
from mcp_reflect.storage.screening import suspicion_of
from mcp_reflect.storage.similarity import SAME_HIT, alike, same_text
from mcp_reflect.text.signature import drawn

_MOST_TASK: Final = 2_000  # characters of a task that are kept
_MOST_LISTED: Final = 2  # shared words, and names, that a reason lists
MOST_WEAK: Final = 1  # weak hits of an answer whose `limit` does not ask for more
MOST_WEAK_TO_LONG: Final = 2  # the same for a report, which finds little by chance
SIMILAR_HITS: Final = 5  # of so many hits that are wanted, one may say what another says already
_SAME_TASK: Final = 0.5  # the part of the words of two tasks that are alike
HALF_LIFE_DAYS: Final = 180.0
_MOST_RELEVANCE: Final = 1.15  # of relevance, task type and context together
_LEAST_STRONG: Final = 0.5  # the score of a strong hit; a weak one scores less
_LARGEST_WEAK: Final = 0.499
_ABOUT_AS_RELEVANT: Final = 0.8  # of another's relevance: a person's lesson then comes first
_TRUST: Final = {
    Trust.QUARANTINED: 0.0,
    Trust.OBSERVED: 0.5,
    Trust.CONFIRMED: 0.9,
    Trust.TRUSTED: 1.0,
}
_SHOWN: Final = (
    "id external_id kind mistake correction task_type tags importance confidence times_applied trust source is_told"
).split()


def _reason_to_hide(candidate: Candidate, query: RecallQuery) -> str | None:
    lesson = candidate.lesson
    if query.strong_only and suspicion_of(lesson):
        return "suspicious"
    if query.kinds and lesson.kind not in query.kinds:
        return "other_kinds"
    if lesson.kind is RecordKind.REFLECTION and lesson.source is Source.RULES and not query.kinds:
        return "run_summary"
    if query.tags and not set(query.tags) & set(lesson.tags):
        return "other_tags"
    if lesson.importance < query.min_importance:
        return "below_min_importance"
    if query.min_effectiveness and lesson.rate < query.min_effectiveness:
        return "below_min_effectiveness"
    if lesson.harmful:
        return "proved_harmful"
    return None


def _score(candidate: Candidate, now: float, *, strong: bool) -> float:
    """Return the score of a hit, 0..1: above one half for a strong one, else below.

    Relevance is scaled by .6 to 1 for worth; the same task type adds .1, the same context .05. A lesson that the very
    error identifies has the score 1.
    """
    if candidate.by_error and strong:
        return 1.0
    lesson = candidate.lesson
    worth = (
        0.4 * lesson.rate
        + 0.2 * lesson.importance
        + 0.1 * lesson.confidence
        + 0.15 * 0.5 ** (max(now - lesson.updated_at, 0) / DAY / HALF_LIFE_DAYS)
        + 0.15 * _TRUST[lesson.trust]
    )
    relevance = candidate.match.score * (0.6 + 0.4 * worth)
    relevance += 0.1 * candidate.same_type + 0.05 * candidate.same_context
    half = relevance / _MOST_RELEVANCE / 2
    if strong:
        return _LEAST_STRONG + half
    return min(half, _LARGEST_WEAK)


def _scores_of_persons_lessons(
    fitting: Sequence[Candidate], scores: Mapping[str, float]
) -> dict[str, float]:
    """Return the scores of the lessons that a person keeps, where one that only an agent tells had more.

    Of strong hits that are about as relevant, a person's comes first: an agent may call its own as important as it
    likes. It takes the other's score, so that the order of hits is that of their scores.
    """
    strong = [one for one in fitting if scores[one.lesson.id] >= _LEAST_STRONG]
    of_agents = [one for one in strong if _only_an_agent_tells(one.lesson)]
    raised: dict[str, float] = {}
    for own in strong:
        if own.lesson.is_kept_by_person:
            passed = (
                scores[other.lesson.id]
                for other in of_agents
                if own.match.score >= _ABOUT_AS_RELEVANT * other.match.score
            )
            raised[own.lesson.id] = max(scores[own.lesson.id], *passed, 0.0)
    return raised


def _only_an_agent_tells(lesson: Lesson) -> bool:
    return lesson.trust is Trust.OBSERVED and not lesson.is_kept_by_person


def _pick(
    fitting: Sequence[Candidate], query: RecallQuery, hidden: Counter[str]
) -> list[Candidate]:
    """Choose as many as are wanted, in as many characters, without those that say the same.

    Unless `kinds` ask for them, a strategy gives way to the lesson of its run, and reflections to any lesson. Weak ones
    are one or two at the most, unless `limit` asks for more.
    """
    weak = 0
    most_weak = _most_weak(fitting, query)
    kinds = {candidate.lesson.kind for candidate in fitting}
    runs = {one.lesson.reflection_id for one in fitting if one.lesson.kind is RecordKind.LESSON} - {
        None
    }
    chosen: list[Candidate] = []
    left = query.max_chars
    for candidate in fitting:
        lesson = candidate.lesson
        length = len(shown_lesson(lesson))
        if (
            not query.kinds
            and lesson.kind is RecordKind.REFLECTION
            and kinds != {RecordKind.REFLECTION}
        ):
            hidden["reflection"] += 1
        elif (
            not query.kinds and lesson.kind is RecordKind.STRATEGY and lesson.reflection_id in runs
        ):
            hidden["similar"] += 1
        elif len(chosen) >= query.limit or (weak >= most_weak and not candidate.strong):
            hidden["over_limit"] += 1
        elif (
            sum(same_text(lesson.text, one.lesson.text, SAME_HIT) for one in chosen)
            > query.limit // SIMILAR_HITS
        ):
            hidden["similar"] += 1
        elif length > left:
            hidden["over_max_chars"] += 1
        else:
            left -= length
            weak += not candidate.strong
            chosen.append(candidate)
    return chosen


def _most_weak(fitting: Sequence[Candidate], query: RecallQuery) -> int:
    """Return how many weak hits an answer may have; a hook has chosen before."""
    if query.wants_more or query.strong_only:
        return query.limit
    is_long = any(one.match.asked >= LONG for one in fitting)
    return MOST_WEAK_TO_LONG if is_long else MOST_WEAK


def _hit(
    candidate: Candidate, score: float, query: RecallQuery, now: float, rival: str | None
) -> Hit:
    fit = Fit.STRONG if score >= _LEAST_STRONG else Fit.WEAK
    why = "; ".join((*((rival,) if rival else ()), *_why(candidate, query)))
    return _hit_of(candidate.lesson, now, score=round(score, 4), fit=fit, why=why)


def _hit_of(lesson: Lesson, now: float, **about: Any) -> Hit:
    return Hit(
        **{"text": shown_lesson(lesson), **about},
        **{name: getattr(lesson, name) for name in _SHOWN},
        effectiveness=None if lesson.effectiveness is None else round(lesson.effectiveness, 3),
        age_days=int(max(now - lesson.created_at, 0) // DAY),
        scope="global" if lesson.project == GLOBAL else None,
    )


def _why(candidate: Candidate, query: RecallQuery) -> list[str]:
    """Return the reasons for a hit, as short clauses, the strongest first."""
    lesson, match = candidate.lesson, candidate.match
    words = [word for word in match.words if word not in match.names][:_MOST_LISTED]
    close = (match.close or 0.0) >= CLOSE
    found = bool(words or match.names or candidate.by_error or close or candidate.names_type)
    clauses = (
        (
            candidate.by_error,
            "has an error of this form" if candidate.misfit else "has this very error",
        ),
        (match.names, f"both name {' and '.join(match.names[:_MOST_LISTED])}"),
        (words, f"shares {' and '.join(words)}"),
        (close, "close in meaning"),
        (not found and match.guessed >= GUESSED, "may be what is behind it"),
        (not found and match.close, "similar in meaning alone"),
        (candidate.names_type, f"the task names its type ({lesson.task_type})"),
        (candidate.same_type, f"same task type ({lesson.task_type})"),
        (candidate.same_context, "same context"),
        (lesson.effectiveness is not None, f"effectiveness {lesson.effectiveness or 0:.2f} so far"),
        (lesson.strength > 1, f"learned {lesson.strength} times"),
        (lesson.source is Source.IMPORT, ORIGINS["imported"]),
        (lesson.outside, ORIGINS["repeated"]),
        (lesson.is_told, ORIGINS["told"]),
        (
            lesson.kind is RecordKind.REFLECTION and not query.kinds,
            "a reflection: there is no lesson on this yet",
        ),
    )
    first, *more = [clause for holds, clause in clauses if holds]
    if candidate.misfit:  # in the first clause, the only one of a short answer
        first += f", but {candidate.misfit}"
    return [first, *more]


_OF_TYPE: Final = "same task type, and nothing else in common"
_SCORED: Final = 15  # rows found by terms that get a score, or three for each hit that is wanted
_READ: Final = 15  # candidates that ranking chooses from, or five for each hit that is wanted
_MOST_SCORED: Final = 1_000  # with filters that few lessons pass
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
        rank = partial(_ranked, scope=scope, index=self._vectors, now=now)
        hits, hidden = await self.db.look(
            scope.tenant, lambda reading: rank(reading, ask=ask, vectors=vectors)
        )
        if ask.task_type and not hits and not ask.strong_only:
            of_type = replace(ask, task=ask.task_type, symptoms=())
            hits, hidden = await self.db.look(
                scope.tenant, lambda reading: rank(reading, ask=of_type, vectors=())
            )
            hits = tuple(
                replace(hit, fit=Fit.WEAK, score=min(hit.score, _LARGEST_WEAK), why=_OF_TYPE)
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
        rank = partial(_ranked, scope=scope, index=self._vectors, now=self.clock.now())
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
        hit = _hit_of(
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


def _ranked(
    reading: Reading,
    *,
    scope: Scope,
    ask: RecallQuery,
    vectors: Sequence[QueryVector],
    index: VectorIndex,
    now: float,
) -> tuple[tuple[Hit, ...], Counter[str]]:
    """Return the hits, best first, and how many lessons were left out, by reason."""
    by_worth = bool(
        ask.min_importance or ask.min_effectiveness
    )  # filters that the index does not know
    search = Search(
        reading,
        scope,
        ask,
        vectors,
        index,
        _MOST_SCORED if by_worth else max(_SCORED, 3 * ask.limit),
    )
    filtered = by_worth or bool(ask.kinds or ask.tags)
    candidates, not_relevant = candidates_of(
        search, None if filtered else max(_READ, ask.limit * 5)
    )
    hidden = Counter(not_relevant=not_relevant)
    candidates = _with_misfits(reading, ask, candidates)
    sure, wanted = _wanted(candidates, ask)
    strong = {one.lesson.id for one in sure}
    hidden["weak"] = len(candidates) - len(wanted)
    fitting: list[Candidate] = []
    for candidate in wanted:
        if reason := _reason_to_hide(candidate, ask):
            hidden[reason] += 1
        else:
            fitting.append(candidate)
    scores = {one.lesson.id: _score(one, now, strong=one.lesson.id in strong) for one in fitting}
    scores |= _scores_of_persons_lessons(fitting, scores)
    fitting.sort(
        key=lambda candidate: (
            -scores[candidate.lesson.id],
            not candidate.lesson.is_kept_by_person,
            candidate.lesson.id,
        )
    )
    chosen = _pick(fitting, ask, hidden)
    shown = [one.lesson for one in chosen]
    hits = [_hit(one, scores[one.lesson.id], ask, now, _rival(one.lesson, shown)) for one in chosen]
    return tuple(hits), hidden


def _wanted(
    candidates: Sequence[Candidate], query: RecallQuery
) -> tuple[list[Candidate], list[Candidate]]:
    """Return the candidates that fit strongly, and all that may be shown: hooks show those and their siblings alone."""
    if not query.strong_only:
        return [one for one in candidates if one.strong], [*candidates]
    sure, near = fitting_a_prompt(candidates)
    return sure, [*sure, *near]


def _rival(lesson: Lesson, chosen: Iterable[Lesson]) -> str | None:
    """Return a note with the dates if another lesson of the answer corrects the same mistake differently."""
    for other in chosen:
        if (
            other.id != lesson.id
            and lesson.mistake
            and other.mistake
            and same_text(lesson.mistake, other.mistake)
        ):
            days = [datetime.fromtimestamp(one.updated_at, UTC).date() for one in (lesson, other)]
            return f"of {days[0]}; {other.id} of {days[1]} has another correction"
    return None


def _with_misfits(
    reading: Reading, ask: RecallQuery, candidates: list[Candidate]
) -> list[Candidate]:
    """Mark the candidates that were recorded as irrelevant to a task that shares half of its words with this one."""
    rows = reading.rows(
        "irrelevant_tasks", {"ids": [candidate.lesson.id for candidate in candidates]}
    )
    misfits = {row["from_id"] for row in rows if alike(ask.task, row["task"]) >= _SAME_TASK}
    return [
        replace(one, misfit="did not fit a task like this") if one.lesson.id in misfits else one
        for one in candidates
    ]
