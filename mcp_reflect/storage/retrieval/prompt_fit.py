"""Whether a lesson surely bears on a prompt: what hooks show unasked has to fit better than what recall lists.

`python -m benchmarks.decisions` measures it with bug reports, `python -m benchmarks.recall --lessons` with tasks.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.models.lesson import RecordKind, Source, Trust
from mcp_reflect.storage.retrieval.candidates import Candidate
from mcp_reflect.storage.retrieval.match import CLOSE, LONG, NEAR, Relevance
from mcp_reflect.storage.retrieval.question import SEVERAL
from mcp_reflect.text.word_vectors import shared_table

# A task in a sentence.

_STRONG: Final = 0.3
"""The score of a fit by several words."""

_STRONG_BY_MEANING: Final = 0.28
"""The score of a fit by one shared word, or none, where no other lesson comes near."""

_CLOSE_BY_MEANING: Final = 0.44
"""The closeness that such a fit needs: one word is shared by chance."""

_COMES_NEAR: Final = 0.52
"""The part of the best score from which on another lesson comes near."""

_NAMED: Final = 0.2
"""The score of a fit by a rare word, which may be one of the language."""

# A report.

_REPORT: Final = 14
"""The telling words from which on a prompt is a report."""

_FITS_REPORT: Final = 0.6
"""What a lesson needs of closeness and of what the shared words tell (`_fit_to_report`)."""

_STANDS_OUT: Final = 0.45
"""The same for a lesson that no other comes near."""

_COMES_NEAR_REPORT: Final = 0.7
"""The part of a lesson's fit to a report from which on another lesson comes near."""

_TOLD_BY_A_WORD: Final = 0.15
"""What a shared word tells, if it is a rare one in English."""

_RARE_IN_ENGLISH: Final = 600
"""The weight of such a word in the packaged table."""

# Siblings.

_SAME_CHAT: Final = 3600.0
"""The most seconds between two lessons of one chat."""

_OF_THE_BEST: Final = 0.7
"""The part of the score of a sure fit that its sibling has to have."""


@dataclass(frozen=True, slots=True)
class Field:
    """What a lesson is compared with to see whether it stands out among all that were found for a prompt.

    `best` and `second` are the two largest scores, `second_report` the second largest fit to a report.
    """

    best: float
    second: float
    second_report: float

    def has_best(self, match: Relevance) -> bool:
        """Return whether a lesson is the best of all."""
        return match.plain >= self.best

    def stands_out(self, match: Relevance) -> bool:
        """Return whether a lesson is the best, and no other comes near: 0.50 stands out before 0.20, not before 0.30."""
        return self.has_best(match) and self.second < _COMES_NEAR * match.plain


class PromptFit(NamedTuple):
    """The lessons that surely bear on a prompt, and their siblings: nearly fitting ones of the same chat."""

    sure: list[Candidate]
    siblings: list[Candidate]


def fitting_a_prompt(candidates: Sequence[Candidate]) -> PromptFit:
    """Return the lessons that surely bear on a prompt, and their siblings.

    Two rules of one chat are about one subject: a prompt may be near to the words of one, and ask for the other.
    """
    allowed = [
        candidate for candidate in candidates if not (candidate.misfit or _is_automatic(candidate))
    ]
    field = _field_of(candidates, allowed)
    sure = [candidate for candidate in allowed if _is_sure(candidate, field)]
    others = [candidate for candidate in allowed if candidate not in sure]
    return PromptFit(sure, [other for other in others if _is_sibling_of_any(other, sure)])


def _field_of(candidates: Sequence[Candidate], allowed: Sequence[Candidate]) -> Field:
    """Return what each lesson is compared with: the best of all candidates, and the best of those that may be shown."""
    scores = heapq.nlargest(2, (candidate.match.plain for candidate in candidates))
    reports = heapq.nlargest(2, (_fit_to_report(candidate.match) for candidate in allowed))
    return Field(
        best=max(scores, default=0.0),
        second=_second(scores),
        second_report=_second(reports),
    )


def _second(best_two: Sequence[float]) -> float:
    """Return the second of at most two scores; nothing comes near to one that is alone."""
    if len(best_two) < 2:
        return 0.0
    return best_two[1]


def _is_sure(candidate: Candidate, field: Field) -> bool:
    """Return whether a lesson surely bears on the prompt: by its error, its type and context, a name or its words.

    An imported lesson was not learned here, so that it must be near in meaning as well.
    """
    if candidate.by_error or (candidate.same_type and candidate.same_context):
        return True
    match = candidate.match
    if candidate.lesson.source is Source.IMPORT and _is_far(match):
        return False
    return _shares_a_name(match) or _shares_enough(match, field)


def _is_sibling_of_any(other: Candidate, sure: Sequence[Candidate]) -> bool:
    """Return whether a lesson that is near in meaning is the sibling of a sure one."""
    return not _is_far(other.match) and any(_is_sibling(other, candidate) for candidate in sure)


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


def _is_far(match: Relevance) -> bool:
    """Return whether only words are shared, not the meaning: "unwrap" a value of a program, and a present."""
    return match.close is not None and match.close < NEAR


def _shares_a_name(match: Relevance) -> bool:
    """Return whether an identifier is shared; a rare word without a form may be one of the language."""
    if match.names_it:
        return True
    return bool(match.names) and match.plain >= _NAMED and _closeness(match) >= CLOSE


def _shares_enough(match: Relevance, field: Field) -> bool:
    """Return whether much of a prompt is shared, by its words and its meaning.

    A report has rules of its own. A long prompt that does not pass them shares much by chance. A task in a sentence
    needs each of its words, several words and a near meaning, or a nearer meaning than any other lesson has.
    """
    if match.asked >= _REPORT and _fits_report(match, field):
        return True
    if match.asked >= LONG:
        return False
    if _has_each_word(match):
        return True
    close = _closeness(match)
    by_words = (len(match.words) >= SEVERAL or bool(match.names)) and close >= CLOSE
    if match.plain >= _STRONG and by_words:
        return True
    by_meaning = match.plain >= _STRONG_BY_MEANING and close >= _CLOSE_BY_MEANING
    return by_meaning and field.stands_out(match)


def _has_each_word(match: Relevance) -> bool:
    """Return whether each telling word of a short task stands in a lesson: "run make test".

    The error that a lesson carries as a symptom takes its meaning away from the task, but no word.
    """
    return len(match.words) >= match.asked >= SEVERAL and not _is_far(match)


def _fits_report(match: Relevance, field: Field) -> bool:
    """Return whether a lesson bears on a report: it fits well, or less well and no other lesson comes near."""
    fit = _fit_to_report(match)
    if fit >= _FITS_REPORT:
        return True
    return fit >= _STANDS_OUT and field.second_report <= _COMES_NEAR_REPORT * fit


def _fit_to_report(match: Relevance) -> float:
    """Return how well a lesson fits a report: its closeness, and what the shared words tell together.

    One sentence of a report names the trouble, and the rest describes it. So it does not count what part of the report
    is shared, but how much. A word tells the more the rarer it is in English, not in the bank: among a hundred lessons
    "settings" and "everything" are rare by chance.
    """
    told = sum(map(_rarity_in_english, match.words))
    close = match.close or 0.0
    return close + _TOLD_BY_A_WORD * told / _RARE_IN_ENGLISH


def _rarity_in_english(word: str) -> float:
    """Return the weight of a word in the packaged table, at most that of a rare word; an unknown word has that one."""
    weight = shared_table().weight(word.lower()) or _RARE_IN_ENGLISH
    return min(weight, _RARE_IN_ENGLISH)


def _closeness(match: Relevance) -> float:
    """Return how close the meanings are; without vectors the words alone decide."""
    if match.close is None:
        return 1.0
    return match.close
