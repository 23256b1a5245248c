"""The few hits of an answer: which lessons fit and are worth it, in which order, and the reasons for each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, Final, NamedTuple

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

_SCORED: Final = 15  # least number of rows found by terms that get a score
_SCORED_FOR_EACH_HIT: Final = 3
_READ: Final = 15  # least number of candidates that ranking chooses from
_READ_FOR_EACH_HIT: Final = 5
_MOST_SCORED: Final = 1_000  # rows with a score where filters leave out most of them
_MOST_LISTED: Final = 2  # shared words, and names, that a reason lists
MOST_WEAK: Final = 1  # weak hits of an answer whose `limit` does not ask for more
MOST_WEAK_TO_LONG: Final = 2  # the same for a report, which finds little by chance
SIMILAR_HITS: Final = 5  # of so many hits that are wanted, one may say what another says already
_SAME_TASK: Final = 0.5  # Jaccard similarity of the words of two tasks that are alike

# The score of a hit. The weights of worth sum to 1.
_RATE_WEIGHT: Final = 0.4
_IMPORTANCE_WEIGHT: Final = 0.2
_CONFIDENCE_WEIGHT: Final = 0.1
_RECENCY_WEIGHT: Final = 0.15
_TRUST_WEIGHT: Final = 0.15
HALF_LIFE_DAYS: Final = 180.0  # of the recency of a lesson that is not updated
_LEAST_WORTH_FACTOR: Final = (
    0.6  # what the relevance of a lesson without any worth is multiplied by
)
_SAME_TYPE_BONUS: Final = 0.1
_SAME_CONTEXT_BONUS: Final = 0.05
_MOST_RELEVANCE: Final = 1.15  # with both bonuses
_LEAST_STRONG: Final = 0.5  # the score of a strong hit; a weak one scores less
LARGEST_WEAK: Final = 0.499
_ABOUT_AS_RELEVANT: Final = 0.8  # of another's relevance: a person's lesson then comes first
_TRUST_SCORE: Final = {
    Trust.QUARANTINED: 0.0,
    Trust.OBSERVED: 0.5,
    Trust.CONFIRMED: 0.9,
    Trust.TRUSTED: 1.0,
}
_COPIED_FIELDS: Final = (  # of a lesson into its hit
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
    """Return the score of a hit, 0..1: one half and more for a strong one, else less.

    How relevant a lesson is counts most, its worth scales that a little, and the same task type or context adds to it.
    A lesson that has the very error of the query has the score 1.
    """
    if candidate.by_error and strong:
        return 1.0
    worth = _worth(candidate.lesson, now)
    relevance = candidate.match.score * (_LEAST_WORTH_FACTOR + (1 - _LEAST_WORTH_FACTOR) * worth)
    bonus = 0.0
    if candidate.same_type:
        bonus += _SAME_TYPE_BONUS
    if candidate.same_context:
        bonus += _SAME_CONTEXT_BONUS
    half = (relevance + bonus) / _MOST_RELEVANCE / 2
    if strong:
        return _LEAST_STRONG + half
    return min(half, LARGEST_WEAK)


def _worth(lesson: Lesson, now: float) -> float:
    """Return how much a lesson is worth whatever the query, 0..1: its proof, importance, age and trust."""
    age_days = max(now - lesson.updated_at, 0) / DAY
    recency = 0.5 ** (age_days / HALF_LIFE_DAYS)
    return (
        _RATE_WEIGHT * lesson.rate
        + _IMPORTANCE_WEIGHT * lesson.importance
        + _CONFIDENCE_WEIGHT * lesson.confidence
        + _RECENCY_WEIGHT * recency
        + _TRUST_WEIGHT * _TRUST_SCORE[lesson.trust]
    )


def _scores_of_persons_lessons(
    fitting: Sequence[Candidate], scores: Mapping[str, float]
) -> dict[str, float]:
    """Return the scores of the lessons that a person keeps, raised where one that only an agent tells had more.

    Of strong hits that are about as relevant, a person's comes first: an agent may call its own as important as it
    likes. It takes the other's score, so that the order of hits is that of their scores.
    """
    strong = [candidate for candidate in fitting if scores[candidate.lesson.id] >= _LEAST_STRONG]
    of_agents = [candidate for candidate in strong if _only_an_agent_tells(candidate.lesson)]
    raised: dict[str, float] = {}
    for candidate in strong:
        if not candidate.lesson.is_kept_by_person:
            continue
        score = scores[candidate.lesson.id]
        for other in of_agents:
            if candidate.match.score >= _ABOUT_AS_RELEVANT * other.match.score:
                score = max(score, scores[other.lesson.id])
        raised[candidate.lesson.id] = score
    return raised


def _only_an_agent_tells(lesson: Lesson) -> bool:
    """Return whether neither a person nor a proof stands behind a lesson."""
    return lesson.trust is Trust.OBSERVED and not lesson.is_kept_by_person


class Selection:
    """Chooses the hits of an answer: as many as the query wants, in as many characters, none that repeats another.

    Unless `kinds` ask for them, a strategy gives way to the lesson of its run, and reflections to any lesson. Weak ones
    are one or two at the most, unless `limit` asks for more.
    """

    def __init__(self, fitting: Sequence[Candidate], query: RecallQuery) -> None:
        lessons = [candidate.lesson for candidate in fitting]
        self.chosen: list[Candidate] = []
        self._query = query
        self._characters_left = query.max_chars
        self._weak_count = 0
        self._most_weak = _most_weak(fitting, query)
        self._has_others = any(lesson.kind is not RecordKind.REFLECTION for lesson in lessons)
        self._reflections_with_lesson = {
            lesson.reflection_id
            for lesson in lessons
            if lesson.kind is RecordKind.LESSON and lesson.reflection_id is not None
        }

    def offer(self, candidate: Candidate) -> str | None:
        """Choose a candidate and return None, or return why it is left out."""
        lesson = candidate.lesson
        reason = self._reason_to_give_way(lesson)
        if reason:
            return reason
        if self._is_full_for(candidate):
            return "over_limit"
        if self._repeats_chosen(lesson):
            return "similar"
        length = len(shown_lesson(lesson))
        if length > self._characters_left:
            return "over_max_chars"
        self._characters_left -= length
        if not candidate.strong:
            self._weak_count += 1
        self.chosen.append(candidate)
        return None

    def _reason_to_give_way(self, lesson: Lesson) -> str | None:
        """Return why a record gives way to one of another kind, None if it does not.

        A query that asks for kinds gets all that it asks for.
        """
        if self._query.kinds:
            return None
        if lesson.kind is RecordKind.REFLECTION and self._has_others:
            return "reflection"
        is_strategy = lesson.kind is RecordKind.STRATEGY
        if is_strategy and lesson.reflection_id in self._reflections_with_lesson:
            return "similar"
        return None

    def _is_full_for(self, candidate: Candidate) -> bool:
        """Return whether the answer has all hits that it may have, or all weak ones where the candidate is weak."""
        if len(self.chosen) >= self._query.limit:
            return True
        return self._weak_count >= self._most_weak and not candidate.strong

    def _repeats_chosen(self, lesson: Lesson) -> bool:
        """Return whether chosen ones say the same; one for every five hits that are wanted (`SIMILAR_HITS`) may."""
        similar = [
            other for other in self.chosen if same_text(lesson.text, other.lesson.text, SAME_HIT)
        ]
        return len(similar) > self._query.limit // SIMILAR_HITS


def _most_weak(fitting: Sequence[Candidate], query: RecallQuery) -> int:
    """Return how many weak hits an answer may have: as many as are wanted for a hook, which has chosen before."""
    if query.wants_more or query.strong_only:
        return query.limit
    is_long_query = any(candidate.match.asked >= LONG for candidate in fitting)
    if is_long_query:
        return MOST_WEAK_TO_LONG
    return MOST_WEAK


def _hit(
    candidate: Candidate, score: float, query: RecallQuery, now: float, rival_note: str | None
) -> Hit:
    """Return a chosen lesson as a hit; `rival_note` about a lesson that contradicts it is its first reason."""
    fit = Fit.WEAK
    if score >= _LEAST_STRONG:
        fit = Fit.STRONG
    reasons = _why(candidate, query)
    if rival_note:
        reasons.insert(0, rival_note)
    return hit_of(candidate.lesson, now, score=round(score, 4), fit=fit, why="; ".join(reasons))


def hit_of(lesson: Lesson, now: float, **about: Any) -> Hit:
    """Return a lesson as a hit. `about` has its `score`, `fit` and `why`, and its `text` unless that is the short one."""
    effectiveness = lesson.effectiveness
    if effectiveness is not None:
        effectiveness = round(effectiveness, 3)
    scope = None
    if lesson.project == GLOBAL:
        scope = "global"
    return Hit(
        **{"text": shown_lesson(lesson), **about},
        **{name: getattr(lesson, name) for name in _COPIED_FIELDS},
        effectiveness=effectiveness,
        age_days=int(max(now - lesson.created_at, 0) // DAY),
        scope=scope,
    )


def _why(candidate: Candidate, query: RecallQuery) -> list[str]:
    """Return the reasons for a hit, as short clauses, the strongest first.

    The table has each clause with the condition under which it holds.
    """
    lesson = candidate.lesson
    match = candidate.match
    words = [word for word in match.words if word not in match.names][:_MOST_LISTED]
    is_close = (match.close or 0.0) >= CLOSE
    has_sure_reason = bool(
        words or match.names or candidate.by_error or is_close or candidate.names_type
    )
    clauses = (
        (candidate.by_error and candidate.misfit, "has an error of this form"),
        (candidate.by_error and not candidate.misfit, "has this very error"),
        (match.names, f"both name {' and '.join(match.names[:_MOST_LISTED])}"),
        (words, f"shares {' and '.join(words)}"),
        (is_close, "close in meaning"),
        (not has_sure_reason and match.guessed >= GUESSED, "may be what is behind it"),
        (not has_sure_reason and match.close, "similar in meaning alone"),
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
    first, *others = [clause for holds, clause in clauses if holds]
    if candidate.misfit:  # in the first clause, the only one of a short answer
        first += f", but {candidate.misfit}"
    return [first, *others]


class RankedHits(NamedTuple):
    """The hits of an answer, best first, and how many other lessons were left out, by reason."""

    hits: tuple[Hit, ...]
    hidden: Counter[str]


def ranked_hits(
    reading: Reading,
    *,
    scope: Scope,
    ask: RecallQuery,
    vectors: Sequence[QueryVector],
    index: VectorIndex,
    now: float,
) -> RankedHits:
    """Return the hits for a query, `ask`: candidates are filtered, scored, sorted, and chosen as long as they fit."""
    search = Search(reading, scope, ask, vectors, index, _rows_to_score(ask))
    candidates, not_relevant = candidates_of(search, _most_read(ask))
    candidates = _with_misfits(reading, ask, candidates)
    strong, showable = _by_strength(candidates, ask)
    hidden = Counter(not_relevant=not_relevant, weak=len(candidates) - len(showable))
    fitting: list[Candidate] = []
    for candidate in showable:
        reason = _reason_to_hide(candidate, ask)
        if reason:
            hidden[reason] += 1
        else:
            fitting.append(candidate)
    scores = _scores(fitting, {candidate.lesson.id for candidate in strong}, now)
    fitting.sort(key=lambda candidate: _sort_key(candidate.lesson, scores))
    selection = Selection(fitting, ask)
    for candidate in fitting:
        reason = selection.offer(candidate)
        if reason:
            hidden[reason] += 1
    chosen_lessons = [candidate.lesson for candidate in selection.chosen]
    hits: list[Hit] = []
    for candidate in selection.chosen:
        lesson = candidate.lesson
        hits.append(
            _hit(candidate, scores[lesson.id], ask, now, _rival_note(lesson, chosen_lessons))
        )
    return RankedHits(tuple(hits), hidden)


def _asks_for_worth(ask: RecallQuery) -> bool:
    """Return whether only lessons of some worth are wanted, which the index does not know."""
    return bool(ask.min_importance or ask.min_effectiveness)


def _rows_to_score(ask: RecallQuery) -> int:
    """Return how many rows found by terms get a score: many where most of them may be of too little worth."""
    if _asks_for_worth(ask):
        return _MOST_SCORED
    return max(_SCORED, _SCORED_FOR_EACH_HIT * ask.limit)


def _most_read(ask: RecallQuery) -> int | None:
    """Return how many candidates are read, None for all: a filter may leave out the best of them."""
    if _asks_for_worth(ask) or ask.kinds or ask.tags:
        return None
    return max(_READ, _READ_FOR_EACH_HIT * ask.limit)


def _scores(fitting: Sequence[Candidate], strong_ids: set[str], now: float) -> dict[str, float]:
    """Return the score of each lesson by its id; `strong_ids` are those of strong hits."""
    scores: dict[str, float] = {}
    for candidate in fitting:
        lesson_id = candidate.lesson.id
        scores[lesson_id] = _score(candidate, now, strong=lesson_id in strong_ids)
    return scores | _scores_of_persons_lessons(fitting, scores)


def _sort_key(lesson: Lesson, scores: Mapping[str, float]) -> tuple[float, bool, str]:
    """Return the key that sorts hits: the highest score first, of equal ones a person's, then any fixed order."""
    return -scores[lesson.id], not lesson.is_kept_by_person, lesson.id


class _ByStrength(NamedTuple):
    """Candidates that fit strongly, and all that may be shown: these and weaker ones."""

    strong: list[Candidate]
    showable: list[Candidate]


def _by_strength(candidates: Sequence[Candidate], query: RecallQuery) -> _ByStrength:
    """Return which candidates fit strongly, and which may be shown.

    Hooks and prompts (`strong_only`) show the strong ones and those near to them alone; a recall shows weak ones, too.
    """
    if not query.strong_only:
        strong = [candidate for candidate in candidates if candidate.strong]
        return _ByStrength(strong, [*candidates])
    strong, near = fitting_a_prompt(candidates)
    return _ByStrength(strong, [*strong, *near])


def _rival_note(lesson: Lesson, chosen: Iterable[Lesson]) -> str | None:
    """Return a note with the dates if another lesson of the answer corrects the same mistake differently, else None."""
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
    misfit_ids = {row["from_id"] for row in rows if alike(ask.task, row["task"]) >= _SAME_TASK}
    marked: list[Candidate] = []
    for candidate in candidates:
        if candidate.lesson.id in misfit_ids:
            marked.append(replace(candidate, misfit="did not fit a task like this"))
        else:
            marked.append(candidate)
    return marked
