"""Whether a lesson surely bears on a prompt: what hooks show unasked has to fit better than what recall lists.

`python -m benchmarks.decisions` measures it with bug reports, `python -m benchmarks.recall --lessons` with tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.lesson import RecordKind, Source, Trust
from mcp_reflect.storage.retrieval.question import SEVERAL
from mcp_reflect.storage.retrieval.scoring import CLOSE, LONG, NEAR, Candidate, Match

_STRONG: Final = 0.3  # the score of a fit to a task in a sentence, by several words
_LEAST_CLOSE: Final = 0.35  # closeness that several words need: else chance puts them together
_ALONE: Final = 0.28  # the score of a fit by one word, or none, where no other lesson comes near
_COMES_NEAR: Final = 0.6  # part of the best score from which on another lesson comes near
_NAMED: Final = 0.2  # the score of a fit by a rare word, which may be one of the language
_STRONG_FOR_LONG: Final = 0.25  # each word of a long prompt weighs less, and chance reaches less
_BEST_FOR_LONG: Final = 0.2  # the same by several words, for the best of all lessons
_CLOSE_TO_LONG: Final = 0.4  # closeness of a fit to a long one
_SAME_CHAT: Final = 3600.0  # seconds between two lessons of one chat, at most
_OF_THE_BEST: Final = 0.7  # part of the score of a sure fit that its sibling has to have


@dataclass(frozen=True, slots=True)
class Field:
    """The scores of the best lesson and of the second, against which one is held."""

    best: float
    second: float

    def has_best(self, match: Match) -> bool:
        """Return whether a lesson is the best of all."""
        return match.plain >= self.best

    def stands_out(self, match: Match) -> bool:
        """Return whether a lesson is the best, and no other comes near."""
        return self.has_best(match) and self.second < _COMES_NEAR * match.plain


def fitting_a_prompt(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """Return the lessons that surely bear on a prompt, and their siblings: nearly fitting ones of the same chat.

    Two rules of one chat are about one subject; a prompt is near to the words of one and asks for the other.
    """
    allowed = [one for one in candidates if not (one.misfit or _is_automatic(one))]
    scores = sorted((one.match.plain for one in candidates), reverse=True)
    field = Field(*[*scores, 0.0, 0.0][:2])
    sure = [one for one in allowed if _is_sure(one, field)]
    near = [
        other
        for other in allowed
        if other not in sure
        and not _is_far(other.match)
        and any(_is_sibling(other, one) for one in sure)
    ]
    return sure, near


def _is_sure(candidate: Candidate, field: Field) -> bool:
    if candidate.by_error or (candidate.same_type and candidate.same_context):
        return True
    match = candidate.match
    if candidate.lesson.source is Source.IMPORT and _is_far(match):
        return False
    return _shares_a_name(match) or _shares_enough(match, field)


def _is_sibling(other: Candidate, sure: Candidate) -> bool:
    """Return whether a lesson was learned in the chat of a sure one, and nearly fits a report as it does.

    A task in a sentence says too little to tell siblings by.
    """
    if other.match.asked < LONG:
        return False
    between = abs(other.lesson.created_at - sure.lesson.created_at)
    return between <= _SAME_CHAT and other.match.plain >= _OF_THE_BEST * sure.match.plain


def _is_automatic(candidate: Candidate) -> bool:
    """Return whether rules wrote a record, and nobody stands behind it: a summary of a run, or a draft."""
    lesson = candidate.lesson
    unproven = lesson.trust not in (Trust.TRUSTED, Trust.CONFIRMED)
    return lesson.kind is RecordKind.REFLECTION or (lesson.source is Source.RULES and unproven)


def _is_far(match: Match) -> bool:
    """Return whether only words are shared, not the meaning: "unwrap" in a program and of a present."""
    return match.close is not None and match.close < NEAR


def _shares_a_name(match: Match) -> bool:
    """Return whether an identifier is shared; a rare word without a form may be one of the language."""
    if match.names_it:
        return True
    return bool(match.names) and match.plain >= _NAMED and _closeness(match) >= CLOSE


def _shares_enough(match: Match, field: Field) -> bool:
    """Return whether much of a prompt is shared, by its words and its meaning."""
    close = _closeness(match)
    by_words = (len(match.words) >= SEVERAL or bool(match.names)) and close >= _LEAST_CLOSE
    if match.asked >= LONG:
        if match.plain >= _STRONG_FOR_LONG and close >= _CLOSE_TO_LONG:
            return True
        return match.plain >= _BEST_FOR_LONG and by_words and field.has_best(match)
    if match.plain >= _STRONG and by_words:
        return True
    return match.plain >= _ALONE and close >= CLOSE and field.stands_out(match)


def _closeness(match: Match) -> float:
    """Return how close the meanings are; without vectors the words alone decide."""
    return 1.0 if match.close is None else match.close
