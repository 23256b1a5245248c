"""The selection of the lessons that an answer shows: the caller's filters leave some out, and none repeats another."""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.models.lesson import Lesson, RecordKind, Source
from mcp_reflect.models.recall import RecallQuery
from mcp_reflect.models.shown_lesson import shown_lesson
from mcp_reflect.storage.retrieval.candidates import Candidate
from mcp_reflect.storage.retrieval.match import LONG
from mcp_reflect.storage.screening import suspicion_of
from mcp_reflect.storage.similarity import SAME_HIT, same_text

MOST_WEAK: Final = 1
"""Weak hits of an answer whose `limit` does not ask for more."""

MOST_WEAK_TO_LONG: Final = 2
"""The same for a report, which finds little by chance."""

SIMILAR_HITS: Final = 5
"""Of so many hits that are wanted, one may say what another says already."""


def reason_to_hide(candidate: Candidate, query: RecallQuery) -> str | None:
    """Return why a lesson that fits is not shown, None if it may be: a filter of the caller, or its own outcomes.

    A summary that rules wrote of a run is shown only to a caller who asks for reflections.
    """
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


class Selection:
    """Chooses the hits of an answer: as many as the query wants, in as many characters, none that repeats another.

    Unless the query asks for kinds, a strategy gives way to the lesson of its run, and reflections to any lesson. Weak
    hits are one or two at the most, unless `limit` asks for more. Candidates are offered the best first.
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
