"""The few hits of an answer to a recall: candidates are found, filtered, scored, ordered, and chosen."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from mcp_reflect.models.common import Scope
from mcp_reflect.models.recall import Hit, RecallQuery
from mcp_reflect.storage.hit_scores import scores_of, sort_key
from mcp_reflect.storage.hit_selection import Selection, reason_to_hide
from mcp_reflect.storage.hit_texts import hit_of_candidate, rival_note
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.retrieval.candidates import Candidate, candidates_of
from mcp_reflect.storage.retrieval.prompt_fit import fitting_a_prompt
from mcp_reflect.storage.retrieval.scoring import Search
from mcp_reflect.storage.retrieval.sign_index import VectorIndex
from mcp_reflect.storage.retrieval.vectors import QueryVector
from mcp_reflect.storage.similarity import alike

_LEAST_SCORED: Final = 15
"""The least number of rows found by terms that get a score."""

_SCORED_FOR_EACH_HIT: Final = 3

_LEAST_READ: Final = 15
"""The least number of candidates that ranking chooses from."""

_READ_FOR_EACH_HIT: Final = 5

_MOST_SCORED: Final = 1_000
"""The rows that get a score where filters leave out most of them."""

_SAME_TASK: Final = 0.5
"""The Jaccard similarity of the words of two tasks that are alike."""


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
    """Return the hits for a query, `ask`, and count for each other candidate why it is none.

    1. The index finds candidates; those that did not fit a task like this before are marked.
    2. Weak candidates are left out where only strong ones are wanted (`_by_strength`).
    3. The filters of the query leave out others (`_allowed`).
    4. The rest is scored and sorted, and the best find a place in the answer (`_chosen`).

    `hidden` of the result is for example `{"not_relevant": 12, "weak": 3, "other_tags": 1, "similar": 1}`.
    """
    search = Search(reading, scope, ask, vectors, index, _rows_to_score(ask))
    found = candidates_of(search, _most_read(ask))
    candidates = _with_misfits(reading, ask, found.candidates)
    strong, showable = _by_strength(candidates, ask)
    hidden = Counter(not_relevant=found.not_relevant, weak=len(candidates) - len(showable))

    allowed = _allowed(showable, ask, hidden)
    strong_ids = {candidate.lesson.id for candidate in strong}
    scores = scores_of(allowed, strong_ids, now)
    best_first = sorted(allowed, key=lambda candidate: sort_key(candidate.lesson, scores))

    chosen_candidates = _chosen(best_first, ask, hidden)
    chosen_lessons = [candidate.lesson for candidate in chosen_candidates]
    hits: list[Hit] = []
    for candidate in chosen_candidates:
        note = rival_note(candidate.lesson, chosen_lessons)
        score = scores[candidate.lesson.id]
        hits.append(hit_of_candidate(candidate, score, ask, now, note))
    return RankedHits(tuple(hits), hidden)


def _allowed(
    candidates: Sequence[Candidate], ask: RecallQuery, hidden: Counter[str]
) -> list[Candidate]:
    """Return the candidates that the query's filters let through; the reason for each other one goes into `hidden`."""
    allowed: list[Candidate] = []
    for candidate in candidates:
        reason = reason_to_hide(candidate, ask)
        if reason is None:
            allowed.append(candidate)
        else:
            hidden[reason] += 1
    return allowed


def _chosen(
    best_first: Sequence[Candidate], ask: RecallQuery, hidden: Counter[str]
) -> list[Candidate]:
    """Return the candidates that find a place in the answer; the reason for each other one goes into `hidden`."""
    selection = Selection(best_first, ask)
    for candidate in best_first:
        reason = selection.offer(candidate)
        if reason is not None:
            hidden[reason] += 1
    return selection.chosen


def _asks_for_worth(ask: RecallQuery) -> bool:
    """Return whether only lessons of some worth are wanted; the index does not know it, so that many must be read."""
    return bool(ask.min_importance or ask.min_effectiveness)


def _rows_to_score(ask: RecallQuery) -> int:
    """Return how many rows found by terms get a score: many where most of them may be of too little worth."""
    if _asks_for_worth(ask):
        return _MOST_SCORED
    return max(_LEAST_SCORED, _SCORED_FOR_EACH_HIT * ask.limit)


def _most_read(ask: RecallQuery) -> int | None:
    """Return how many candidates are read, None for all: a filter may leave out the best of them."""
    if _asks_for_worth(ask) or ask.kinds or ask.tags:
        return None
    return max(_LEAST_READ, _READ_FOR_EACH_HIT * ask.limit)


class _ByStrength(NamedTuple):
    """Candidates that surely fit, and all that may be shown: these and weaker ones."""

    strong: list[Candidate]
    showable: list[Candidate]


def _by_strength(candidates: Sequence[Candidate], query: RecallQuery) -> _ByStrength:
    """Return the candidates that surely fit, and all that may be shown.

    | the query                          | strong                       | may be shown                              |
    |------------------------------------|------------------------------|-------------------------------------------|
    | is a recall                        | as the index says            | all, weak ones too                        |
    | is by hooks and prompts            | those that fit a prompt      | these, and those near to them (siblings)  |
    """
    if not query.strong_only:
        strong = [candidate for candidate in candidates if candidate.strong]
        return _ByStrength(strong, [*candidates])
    fitting = fitting_a_prompt(candidates)
    return _ByStrength(fitting.sure, [*fitting.sure, *fitting.siblings])


def _with_misfits(
    reading: Reading, ask: RecallQuery, candidates: list[Candidate]
) -> list[Candidate]:
    """Mark the candidates that did not fit an earlier task whose words are half of this task's words.

    `record_outcome` noted for them that they were irrelevant there.
    """
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
