"""The few hits of an answer: which lessons fit and are worth it, in which order, and the reasons for each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, Final

from mcp_reflect.clock import DAY
from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.models.lesson import (
    ORIGINS,
    Fit,
    Hit,
    Lesson,
    RecallQuery,
    RecordKind,
    Source,
    Trust,
)
from mcp_reflect.models.shown_lesson import shown_lesson
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.retrieval.candidates import Candidate, candidates_of
from mcp_reflect.storage.retrieval.match import CLOSE, GUESSED, LONG
from mcp_reflect.storage.retrieval.prompt_fit import fitting_a_prompt
from mcp_reflect.storage.retrieval.scoring import Search
from mcp_reflect.storage.retrieval.sign_index import VectorIndex
from mcp_reflect.storage.retrieval.vectors import QueryVector
from mcp_reflect.storage.screening import suspicion_of
from mcp_reflect.storage.similarity import SAME_HIT, alike, same_text

_SCORED: Final = 15  # rows found by terms that get a score, or three for each hit that is wanted
_READ: Final = 15  # candidates that ranking chooses from, or five for each hit that is wanted
_MOST_SCORED: Final = 1_000  # with filters that few lessons pass
_MOST_LISTED: Final = 2  # shared words, and names, that a reason lists
MOST_WEAK: Final = 1  # weak hits of an answer whose `limit` does not ask for more
MOST_WEAK_TO_LONG: Final = 2  # the same for a report, which finds little by chance
SIMILAR_HITS: Final = 5  # of so many hits that are wanted, one may say what another says already
_SAME_TASK: Final = 0.5  # the part of the words of two tasks that are alike
HALF_LIFE_DAYS: Final = 180.0
_MOST_RELEVANCE: Final = 1.15  # of relevance, task type and context together
_LEAST_STRONG: Final = 0.5  # the score of a strong hit; a weak one scores less
LARGEST_WEAK: Final = 0.499
_ABOUT_AS_RELEVANT: Final = 0.8  # of another's relevance: a person's lesson then comes first
_TRUST: Final = {
    Trust.QUARANTINED: 0.0,
    Trust.OBSERVED: 0.5,
    Trust.CONFIRMED: 0.9,
    Trust.TRUSTED: 1.0,
}
_SHOWN: Final = (
    "id external_id kind mistake correction task_type tags importance confidence "
    "times_applied trust source is_told"
).split()


def _reason_to_hide(candidate: Candidate, query: RecallQuery) -> str | None:
    """Return why a lesson that fits is not shown, None if it may be: the caller's filters, and what proved harmful."""
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
    return min(half, LARGEST_WEAK)


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
    for candidate in strong:
        if not candidate.lesson.is_kept_by_person:
            continue
        passed = [
            scores[other.lesson.id]
            for other in of_agents
            if candidate.match.score >= _ABOUT_AS_RELEVANT * other.match.score
        ]
        raised[candidate.lesson.id] = max(scores[candidate.lesson.id], *passed, 0.0)
    return raised


def _only_an_agent_tells(lesson: Lesson) -> bool:
    """Return whether neither a person nor a proof stands behind a lesson."""
    return lesson.trust is Trust.OBSERVED and not lesson.is_kept_by_person


class Selection:
    """The hits that are chosen so far: as many as are wanted, in as many characters, none that another one says.

    Unless `kinds` ask for them, a strategy gives way to the lesson of its run, and reflections to any lesson. Weak ones
    are one or two at the most, unless `limit` asks for more.
    """

    def __init__(self, fitting: Sequence[Candidate], query: RecallQuery) -> None:
        lessons = [one.lesson for one in fitting]
        self.chosen: list[Candidate] = []
        self._query = query
        self._left = query.max_chars
        self._weak = 0
        self._most_weak = _most_weak(fitting, query)
        self._has_others = any(lesson.kind is not RecordKind.REFLECTION for lesson in lessons)
        self._runs = {
            lesson.reflection_id
            for lesson in lessons
            if lesson.kind is RecordKind.LESSON and lesson.reflection_id is not None
        }

    def offer(self, candidate: Candidate) -> str | None:
        """Take a candidate, or return the reason against it."""
        lesson = candidate.lesson
        gives_way = self._gives_way(lesson)
        if gives_way:
            return gives_way
        if self._is_full(candidate):
            return "over_limit"
        if self._is_said(lesson):
            return "similar"
        length = len(shown_lesson(lesson))
        if length > self._left:
            return "over_max_chars"
        self._left -= length
        self._weak += not candidate.strong
        self.chosen.append(candidate)
        return None

    def _gives_way(self, lesson: Lesson) -> str | None:
        """Return why a record gives way to others, None if it does not: who asks for its kind has it."""
        if self._query.kinds:
            return None
        if lesson.kind is RecordKind.REFLECTION and self._has_others:
            return "reflection"
        if lesson.kind is RecordKind.STRATEGY and lesson.reflection_id in self._runs:
            return "similar"
        return None

    def _is_full(self, candidate: Candidate) -> bool:
        """Return whether the answer has all hits that are wanted, or all weak ones where this is one."""
        if len(self.chosen) >= self._query.limit:
            return True
        return self._weak >= self._most_weak and not candidate.strong

    def _is_said(self, lesson: Lesson) -> bool:
        """Return whether chosen ones say the same; of many hits that are wanted, a few may."""
        alike_ones = sum(same_text(lesson.text, one.lesson.text, SAME_HIT) for one in self.chosen)
        return alike_ones > self._query.limit // SIMILAR_HITS


def _most_weak(fitting: Sequence[Candidate], query: RecallQuery) -> int:
    """Return how many weak hits an answer may have; a hook has chosen before."""
    if query.wants_more or query.strong_only:
        return query.limit
    is_long = any(one.match.asked >= LONG for one in fitting)
    if is_long:
        return MOST_WEAK_TO_LONG
    return MOST_WEAK


def _hit(
    candidate: Candidate, score: float, query: RecallQuery, now: float, rival: str | None
) -> Hit:
    """Return a chosen lesson as a hit; a lesson that corrects the same mistake differently is its first reason."""
    fit = Fit.WEAK
    if score >= _LEAST_STRONG:
        fit = Fit.STRONG
    reasons = _why(candidate, query)
    if rival:
        reasons.insert(0, rival)
    return hit_of(candidate.lesson, now, score=round(score, 4), fit=fit, why="; ".join(reasons))


def hit_of(lesson: Lesson, now: float, **about: Any) -> Hit:
    """Return a lesson as a hit; `about` has its score, fit and reason, and its text where that is not the short one."""
    effectiveness = lesson.effectiveness
    if effectiveness is not None:
        effectiveness = round(effectiveness, 3)
    scope = None
    if lesson.project == GLOBAL:
        scope = "global"
    return Hit(
        **{"text": shown_lesson(lesson), **about},
        **{name: getattr(lesson, name) for name in _SHOWN},
        effectiveness=effectiveness,
        age_days=int(max(now - lesson.created_at, 0) // DAY),
        scope=scope,
    )


def _why(candidate: Candidate, query: RecallQuery) -> list[str]:
    """Return the reasons for a hit, as short clauses, the strongest first."""
    lesson = candidate.lesson
    match = candidate.match
    words = [word for word in match.words if word not in match.names][:_MOST_LISTED]
    close = (match.close or 0.0) >= CLOSE
    found = bool(words or match.names or candidate.by_error or close or candidate.names_type)
    clauses = (
        (candidate.by_error and candidate.misfit, "has an error of this form"),
        (candidate.by_error and not candidate.misfit, "has this very error"),
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


def ranked_hits(
    reading: Reading,
    *,
    scope: Scope,
    ask: RecallQuery,
    vectors: Sequence[QueryVector],
    index: VectorIndex,
    now: float,
) -> tuple[tuple[Hit, ...], Counter[str]]:
    """Return the hits, best first, and how many lessons were left out, by reason."""
    search = Search(reading, scope, ask, vectors, index, _rows_to_score(ask))
    candidates, not_relevant = candidates_of(search, _most_read(ask))
    candidates = _with_misfits(reading, ask, candidates)
    sure, wanted = _wanted(candidates, ask)
    hidden = Counter(not_relevant=not_relevant, weak=len(candidates) - len(wanted))
    fitting: list[Candidate] = []
    for candidate in wanted:
        reason = _reason_to_hide(candidate, ask)
        if reason:
            hidden[reason] += 1
        else:
            fitting.append(candidate)
    scores = _scores(fitting, {one.lesson.id for one in sure}, now)
    fitting.sort(key=lambda one: _place(one.lesson, scores))
    selection = Selection(fitting, ask)
    for candidate in fitting:
        reason = selection.offer(candidate)
        if reason:
            hidden[reason] += 1
    shown = [one.lesson for one in selection.chosen]
    hits = [
        _hit(one, scores[one.lesson.id], ask, now, _rival(one.lesson, shown))
        for one in selection.chosen
    ]
    return tuple(hits), hidden


def _asks_for_worth(ask: RecallQuery) -> bool:
    """Return whether only lessons of some worth are wanted, which the index does not know."""
    return bool(ask.min_importance or ask.min_effectiveness)


def _rows_to_score(ask: RecallQuery) -> int:
    """Return how many rows found by terms get a score: many where most of them may be of too little worth."""
    if _asks_for_worth(ask):
        return _MOST_SCORED
    return max(_SCORED, 3 * ask.limit)


def _most_read(ask: RecallQuery) -> int | None:
    """Return how many candidates are read, None for all: a filter may leave out the best of them."""
    if _asks_for_worth(ask) or ask.kinds or ask.tags:
        return None
    return max(_READ, 5 * ask.limit)


def _scores(fitting: Sequence[Candidate], strong: set[str], now: float) -> dict[str, float]:
    """Return the score of each lesson by its id."""
    scores = {one.lesson.id: _score(one, now, strong=one.lesson.id in strong) for one in fitting}
    return scores | _scores_of_persons_lessons(fitting, scores)


def _place(lesson: Lesson, scores: Mapping[str, float]) -> tuple[float, bool, str]:
    """Return what orders hits: the score, of equal ones a person's first, then any fixed order."""
    return -scores[lesson.id], not lesson.is_kept_by_person, lesson.id


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
    if not lesson.mistake:
        return None
    for other in chosen:
        if other.id == lesson.id or not other.mistake:
            continue
        if same_text(lesson.mistake, other.mistake):
            correction = f"{other.id} of {_day_of(other)} has another correction"
            return f"of {_day_of(lesson)}; {correction}"
    return None


def _day_of(lesson: Lesson) -> date:
    """Return the day of a lesson's last change."""
    return datetime.fromtimestamp(lesson.updated_at, UTC).date()


def _with_misfits(
    reading: Reading, ask: RecallQuery, candidates: list[Candidate]
) -> list[Candidate]:
    """Mark the candidates that were recorded as irrelevant to a task that shares half of its words with this one."""
    ids = [candidate.lesson.id for candidate in candidates]
    rows = reading.rows("irrelevant_tasks", {"ids": ids})
    misfits = {row["from_id"] for row in rows if alike(ask.task, row["task"]) >= _SAME_TASK}
    marked: list[Candidate] = []
    for candidate in candidates:
        if candidate.lesson.id in misfits:
            marked.append(replace(candidate, misfit="did not fit a task like this"))
        else:
            marked.append(candidate)
    return marked
