"""The scores of the lessons that fit a query, by which the hits of an answer are ordered."""

from collections.abc import Mapping, Sequence
from typing import Final

from mcp_reflect.clock import DAY
from mcp_reflect.models.lesson import Lesson, Trust
from mcp_reflect.storage.retrieval.candidates import Candidate

# The weights of a lesson's worth, which sum to 1.
_RATE_WEIGHT: Final = 0.4
_IMPORTANCE_WEIGHT: Final = 0.2
_CONFIDENCE_WEIGHT: Final = 0.1
_RECENCY_WEIGHT: Final = 0.15
_TRUST_WEIGHT: Final = 0.15

HALF_LIFE_DAYS: Final = 180.0
"""The days after which the recency of a lesson that nobody updates is half of what it was."""

_LEAST_WORTH_FACTOR: Final = 0.6
"""The factor of the relevance of a lesson without any worth; that of the worthiest lesson is 1."""

_SAME_TYPE_BONUS: Final = 0.1
_SAME_CONTEXT_BONUS: Final = 0.05
_MOST_RELEVANCE: Final = 1.15
"""The relevance of 1 with both bonuses."""


LEAST_STRONG: Final = 0.5
"""The least score of a strong hit; a weak one scores less."""

LARGEST_WEAK: Final = 0.499
"""The largest score of a weak hit."""

_ABOUT_AS_RELEVANT: Final = 0.8
"""The part of another lesson's relevance from which on a person's lesson comes before that one."""

_TRUST_SCORE: Final = {
    Trust.QUARANTINED: 0.0,
    Trust.OBSERVED: 0.5,
    Trust.CONFIRMED: 0.9,
    Trust.TRUSTED: 1.0,
}


def scores_of(fitting: Sequence[Candidate], strong_ids: set[str], now: float) -> dict[str, float]:
    """Return the score of each lesson by its id; `strong_ids` are those of strong hits."""
    scores: dict[str, float] = {}
    for candidate in fitting:
        lesson_id = candidate.lesson.id
        scores[lesson_id] = _score(candidate, now, strong=lesson_id in strong_ids)
    return scores | _scores_of_persons_lessons(fitting, scores)


def sort_key(lesson: Lesson, scores: Mapping[str, float]) -> tuple[float, bool, str]:
    """Return the key that sorts hits: the highest score first, of equal ones a person's, then any fixed order."""
    return -scores[lesson.id], not lesson.is_kept_by_person, lesson.id


def _score(candidate: Candidate, now: float, *, strong: bool) -> float:
    """Return the score of a hit, 0..1.

    How relevant a lesson is counts most, its worth scales that a little, and the same task type or context adds to it.

    | candidate                         | score                         |
    | strong, has the query's error     | 1                             |
    | strong                            | 0.5 to 1                      |
    | weak                              | 0 to 0.499                    |
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
    half_score = (relevance + bonus) / _MOST_RELEVANCE / 2  # 0 to 0.5
    if strong:
        return LEAST_STRONG + half_score
    return min(half_score, LARGEST_WEAK)


def _worth(lesson: Lesson, now: float) -> float:
    """Return the worth of a lesson for any query, 0..1: by its outcomes, importance, age and trust."""
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
    """Return the scores of strong lessons that a person keeps, raised to those of an agent's own lessons.

    Of two strong hits that are about as relevant, the person's comes first: an agent may call its own lesson as
    important as it likes. The person's takes the score of the agent's, if that is higher, so that the order of hits is
    that of their scores; of equal scores a person's comes first (`sort_key`).
    """
    strong = [candidate for candidate in fitting if scores[candidate.lesson.id] >= LEAST_STRONG]
    agents_candidates = [candidate for candidate in strong if _is_by_agent_alone(candidate.lesson)]
    raised_scores: dict[str, float] = {}
    for candidate in strong:
        if not candidate.lesson.is_kept_by_person:
            continue
        score = scores[candidate.lesson.id]
        for other in agents_candidates:
            if candidate.match.score >= _ABOUT_AS_RELEVANT * other.match.score:
                score = max(score, scores[other.lesson.id])
        raised_scores[candidate.lesson.id] = score
    return raised_scores


def _is_by_agent_alone(lesson: Lesson) -> bool:
    """Return whether neither a person nor a proof stands behind a lesson."""
    return lesson.trust is Trust.OBSERVED and not lesson.is_kept_by_person
