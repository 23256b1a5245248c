"""A chosen lesson as a hit: its fields, its score, and the reasons for it in short clauses."""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any, Final

from mcp_reflect.clock import DAY
from mcp_reflect.models.common import GLOBAL
from mcp_reflect.models.lesson import Lesson, RecordKind, Source
from mcp_reflect.models.lesson_words import ORIGINS
from mcp_reflect.models.recall import BETWEEN_REASONS, Fit, Hit, RecallQuery
from mcp_reflect.models.shown_lesson import shown_lesson
from mcp_reflect.storage.hit_scores import LEAST_STRONG
from mcp_reflect.storage.retrieval.candidates import Candidate
from mcp_reflect.storage.retrieval.match import CLOSE, GUESSED
from mcp_reflect.storage.similarity import same_text

_MOST_LISTED: Final = 2
"""Shared words, and names, that a reason lists."""

_COPIED_FIELDS: Final = (
    "id external_id kind mistake correction task_type tags importance confidence "
    "times_applied trust source is_told"
).split()
"""The fields of a lesson that its hit has, too."""


def hit_of_candidate(
    candidate: Candidate, score: float, query: RecallQuery, now: float, rival_note: str | None
) -> Hit:
    """Return a chosen lesson as a hit; a note about a lesson that contradicts it comes before the other reasons."""
    fit = Fit.WEAK
    if score >= LEAST_STRONG:
        fit = Fit.STRONG
    reasons = _why(candidate, query)
    if rival_note:
        reasons.insert(0, rival_note)
    why = BETWEEN_REASONS.join(reasons)
    return hit_of(candidate.lesson, now, score=round(score, 4), fit=fit, why=why)


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

    For example: `["shares proxy and timeout", "close in meaning", "effectiveness 0.80 so far"]`.
    """
    lesson = candidate.lesson
    match = candidate.match
    shared_words = [word for word in match.words if word not in match.names][:_MOST_LISTED]
    is_close = (match.close or 0.0) >= CLOSE
    has_common_words = bool(shared_words or match.names)
    has_sure_reason = (
        has_common_words or bool(candidate.by_error) or is_close or bool(candidate.names_type)
    )
    clauses_by_condition = (
        (candidate.by_error and candidate.misfit, "has an error of this form"),
        (candidate.by_error and not candidate.misfit, "has this very error"),
        (match.names, f"both name {' and '.join(match.names[:_MOST_LISTED])}"),
        (shared_words, f"shares {' and '.join(shared_words)}"),
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
    first_clause, *other_clauses = [clause for holds, clause in clauses_by_condition if holds]
    if (
        candidate.misfit
    ):  # a short answer has the first clause alone, so that the misfit belongs there
        first_clause += f", but {candidate.misfit}"
    return [first_clause, *other_clauses]


def rival_note(lesson: Lesson, chosen: Iterable[Lesson]) -> str | None:
    """Return a note if another lesson of the answer corrects the same mistake in another way, else None.

    For example "of 2026-01-05; les_4f2a of 2026-03-01 has another correction": the reader may take the newer one.
    """
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
