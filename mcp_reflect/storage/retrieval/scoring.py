"""The search for rows that may fit a question, and their scores: by shared terms, closeness of meaning, identifiers."""

import heapq
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.recall import RecallQuery
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.retrieval.index import mark
from mcp_reflect.storage.retrieval.match import STRONG, Relevance
from mcp_reflect.storage.retrieval.question import WeighedQuestion, inverse_frequency, weigh
from mcp_reflect.storage.retrieval.row_search import TermCounts, find_rows
from mcp_reflect.storage.retrieval.sign_index import VectorIndex
from mcp_reflect.storage.retrieval.troubles import terms_behind
from mcp_reflect.storage.retrieval.vectors import (
    MOST_COMPARED,
    WORDS_WORTH,
    Closeness,
    QueryVector,
    weighed_in_bank,
)

SCORED: Final = 30
"""Rows found by terms that get a score, if nothing else is said."""

NEAREST: Final = 16
"""The least number of rows found by meaning that get a score; as many as are found by terms, if that is more."""

_SEARCHED_BEHIND: Final = 24
"""Terms of what may be behind a trouble by which rows are found."""

_COMPARED_AGAIN: Final = 16
"""Rows that are compared with the moved question."""

_LEAST_ROWS_FOR_RARITY: Final = 2_000
"""The rows of a bank from which on its rare words say what a question is about.

Of 1,062 turns they cost .009 nDCG@10, of 1,844 as much; of 5,962 they gain.
"""

_COMPARED_ROWS: Final = 10
"""The nearest row has to be nearer than the others of so many."""

_LEAST_CLARITY: Final = 0.6
"""The least that closeness keeps of its worth: with less, abstracts of 100 terms are found worse."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The fitted numbers of the score; `python -m benchmarks.fit` prints the worth of each."""

    # BM25: how soon more of a term adds nothing, how much long rows lose, and what a stop word weighs.
    k1: float = 1.0
    b: float = 0.9
    stop: float = 0.3

    # The worth of a lesson that means the same, where 1 is that of one that shares all terms.
    closeness: float = 1.0
    # In the order closeness counts less where records are longer than so many terms,
    plain_length: float = 15.0
    # in a row that is shorter than this part of the average,
    said: float = 0.35
    # and where the nearest row is not this part nearer than ten others.
    apart: float = 0.2

    # The weight of the middle of the best rows beside the question, and how many rows these are.
    feedback: float = 1.0
    feedback_rows: int = 2

    # The worth, in the order, of the words of what may be behind a trouble: less the more of the question's words the
    # best row shares, and nothing from this part on, since a task is asked for in a lesson's words.
    behind: float = 0.25
    in_words: float = 0.25
    # The same where no row has this part of the question's words: of two hundred lessons some have one of them, and
    # some are near, by chance.
    behind_alone: float = 1.25
    few_words: float = 0.25

    def norm(self, length: float) -> float:
        """Return the count of a term that gives half of its weight, in a row of this relative length."""
        return self.k1 * (1 - self.b + self.b * length)


FITTED: Final = Weights()


@dataclass(frozen=True, slots=True)
class IndexedRow:
    """A row of the index: how often it has each term, and its length: 1.0 for the average number of terms."""

    length: float
    counts: Mapping[str, float]


def _clarity(average: float, plain_length: float) -> float:
    """Return how much of its worth closeness keeps in a scope, by the average number of terms of its records.

    With `plain_length` 15: 1.0 for an average of 15 terms and less, 0.87 for 20, 0.6 (the least) from 42 on.

    A vector is the middle of a record's words: the more words, the less it says of each, by the root of their number
    as the spread of a mean does. Fitted on eleven sets: no set loses, conversations gain .02 to .03 in R@10.
    """
    if not average:
        return 1.0
    return max(_LEAST_CLARITY, min(1.0, math.sqrt(plain_length / average)))


def _share_told_apart(close: Mapping[int, float], apart: float) -> float:
    """Return how much closeness tells rows apart, 0 to 1: little where ten rows are about as near as the nearest.

    With `apart` 0.2: 1.0 where the nearest has 0.5 and the tenth 0.4, 0.5 where the tenth has 0.45.
    """
    nearest = heapq.nlargest(_COMPARED_ROWS, close.values())
    needed = apart * max(nearest, default=0.0)
    if len(nearest) < _COMPARED_ROWS or not needed:
        return 1.0
    return min(1.0, (nearest[0] - nearest[-1]) / needed)


def _bm25(terms: Mapping[str, float], counts: Mapping[str, float], norm: float) -> float:
    """Return the weight of some terms in a row by BM25: a term counts more where the row has it often.

    A term counts half of its weight where the row has it `norm` times.
    """
    covered = 0.0
    count_of = counts.get
    for term, weight in terms.items():
        count = count_of(term)
        if count:
            covered += weight * count / (count + norm)
    return covered


def _words(question: WeighedQuestion, terms: Collection[str]) -> tuple[str, ...]:
    """Return the words of shared terms, the rarest first."""
    if not terms:
        return ()
    ordered = sorted(terms, key=lambda term: (-question.own[term], term))
    return tuple(dict.fromkeys(question.words[term] for term in ordered))


def text_of(query: RecallQuery) -> str:
    """Return the text of a query that terms are taken from."""
    return "\n".join((query.task, *query.symptoms))


class Search:
    """The rows that share terms with a question or are near to it, and what scores them.

    `scored` rows are found by terms, and at least as many by meaning. Making a search finds and reads the rows, in this
    order: by the question's terms, by the terms of what may be behind its trouble, by meaning. `matches` scores them.
    """

    def __init__(
        self,
        reading: Reading,
        scope: Scope,
        query: RecallQuery,
        vectors: Sequence[QueryVector],
        index: VectorIndex,
        scored: int = SCORED,
    ) -> None:
        self.reading = reading
        self.scope = scope
        self.query = query
        self.counts = TermCounts(reading, scope)
        self.question = weigh(self.counts, text_of(query))
        self._records: dict[int, IndexedRow] = {}
        rows = self._rows_by_terms(scored)
        self._read(rows)
        self._behind = self._weights_behind()
        if self._behind:
            heaviest = heapq.nlargest(_SEARCHED_BEHIND, self._behind, key=self._behind.__getitem__)
            weights = {term: self._behind[term] for term in heaviest}
            rows += find_rows(self.counts, weights, scored)
        self._closeness = None
        if vectors and self.question.own:
            weighed = [self._weighed(vector) for vector in vectors]
            rows += self._compare(weighed, index, rows, max(NEAREST, scored))
        self._read(rows)

    def _weighed(self, vector: QueryVector) -> QueryVector:
        """Return a question's vector; one by words has its words weighed by what is rare in the bank, if that is large.

        In a bank of some hundred lessons many a word is rare by chance.
        """
        if not vector.text or self.counts.size < _LEAST_ROWS_FOR_RARITY:
            return vector
        return weighed_in_bank(vector, self.question.rarity)

    def _rows_by_terms(self, scored: int) -> list[int]:
        """Return the rows that share most terms, and those that do so among the wanted kinds and tags."""
        weights = self.question.own
        rows = find_rows(self.counts, weights, scored)
        marks = (
            tuple(mark("kind", kind) for kind in self.query.kinds),
            tuple(mark("tag", tag) for tag in self.query.tags),
        )
        groups = tuple(filter(None, marks))
        if groups:
            rows += find_rows(self.counts, weights, scored, groups)
        return rows

    def _read(self, rows: Sequence[int]) -> None:
        """Read the terms of rows that were not read yet."""
        new = [row for row in dict.fromkeys(rows) if row not in self._records]
        if not new:
            return
        average = self.counts.average
        for row, length, terms in self.reading.rows("index_features", {"rows": new}):
            relative = 1.0
            if average:
                relative = length / average
            self._records[row] = IndexedRow(relative, json.loads(terms))

    def _weights_behind(self) -> dict[str, float]:
        """Return the terms of what may be behind a trouble, each with its part (0..1) of the weight of a rarest term.

        There are none where a row shares much of the question's words: then the question is a task, in the words of a
        lesson. Nor for a caller who wants only what surely fits, or only a few: a guess at a cause is too little then.
        """
        if self.query.strong_only or not self.query.wants_more:
            return {}
        if self._in_other_words(self._parts(FITTED), FITTED) == 0.0:
            return {}
        terms = terms_behind(text_of(self.query))
        rows = self.counts.look_up(list(terms))
        most = inverse_frequency(self.counts.size, 1)
        return {
            term: worth * inverse_frequency(self.counts.size, rows[term]) / most
            for term, worth in terms.items()
            if rows[term]
        }

    def _compare(
        self,
        vectors: Sequence[QueryVector],
        index: VectorIndex,
        rows: Sequence[int],
        nearest: int,
    ) -> list[int]:
        """Compare the meaning of `rows`, and of those that are near to the question; return the `nearest` of these."""
        near: set[int] = set()
        if self.counts.size <= MOST_COMPARED:
            for vector in vectors:
                near.update(index.nearest(self.reading, vector, self.counts.numbers, 2 * nearest))
        self._closeness = Closeness(self.reading, vectors, near.union(rows))
        for model, gone in self._closeness.without_vector.items():
            index.forget(model, gone)
        close = self._closeness.by_row
        return sorted(close.keys() & near, key=lambda row: (-close[row], -row))[:nearest]

    def matches(self, weights: Weights = FITTED) -> list[Relevance]:
        """Return the relevance of each row, the best first, of equal ones the newest.

        `parts` are scores by terms alone, `plain` those by terms and meaning, `order` those by which rows are sorted.
        """
        question = self.question
        records = self._records
        if not records:
            return []
        parts = self._parts(weights)
        close = self._close_by_row
        plain = self._scores(parts, close, weights.closeness)
        guessed = self._guessed(parts, weights)
        order = self._order(parts, plain, guessed, weights)
        shared = {
            row: question.own.keys() & record.counts.keys() for row, record in records.items()
        }
        return [
            Relevance(
                row=row,
                score=min(order[row], 1.0),
                plain=plain[row],
                close=close.get(row),
                words=_words(question, shared[row]),
                names=_words(question, shared[row] & question.names),
                asked=question.telling,
                names_it=not shared[row].isdisjoint(question.formed),
                guessed=guessed[row],
            )
            for row in _ranked(order)
        ]

    @property
    def _close_by_row(self) -> Mapping[int, float]:
        """The closeness of rows that have a vector; of none where no vectors are compared."""
        if self._closeness is None:
            return {}
        return self._closeness.by_row

    def _parts(self, weights: Weights) -> dict[int, float]:
        """Return the score of each row by terms alone, 0..1: the part that it has of the most that a row could have.

        So scores of different questions can be compared. Terms are scored by BM25 (Robertson & Zaragoza 2009, "The
        Probabilistic Relevance Framework").
        """
        question = self.question
        total = math.fsum(question.own.values()) or 1.0
        parts: dict[int, float] = {}
        for row, record in self._records.items():
            norm = weights.norm(record.length)
            own = _bm25(question.own, record.counts, norm)
            stops = weights.stop * _bm25(question.stops, record.counts, norm)
            parts[row] = (own + stops) / total
        return parts

    def _in_other_words(self, parts: Mapping[int, float], weights: Weights) -> float:
        """Return how surely a question is in other words than the lessons, 0 to 1.

        It is 1 where no row shares a word, and 0 from the part `in_words` of its terms on.
        """
        most = max(parts.values(), default=0.0)
        return max(0.0, 1 - (most / weights.in_words) ** 2)

    def _worth_behind(self, weights: Weights) -> float:
        """Return what the words of likely causes are worth: more where no row has many of the question's own words.

        It is not more where a model compared rows, since its closeness tells more than a guess.
        """
        worths = self._closeness.worth_of_row.values() if self._closeness else ()
        if any(worth > WORDS_WORTH for worth in worths):
            return weights.behind
        own = self.question.own.keys()
        most = max(len(own & record.counts.keys()) for record in self._records.values())
        if most < weights.few_words * self.question.telling:
            return weights.behind_alone
        return weights.behind

    def _guessed(self, parts: Mapping[int, float], weights: Weights) -> dict[int, float]:
        """Return how much each row has of what may be behind the question's trouble."""
        unclear = self._in_other_words(parts, weights)
        return {
            row: unclear * _bm25(self._behind, record.counts, weights.norm(record.length))
            for row, record in self._records.items()
        }

    def _order(
        self,
        parts: Mapping[int, float],
        plain: Mapping[int, float],
        guessed: Mapping[int, float],
        weights: Weights,
    ) -> dict[int, float]:
        """Return the scores by which rows are ordered.

        1. Closeness counts as much as it tells in this scope, and less in very short rows.
        2. The question is moved toward its best rows, and compared again.
        3. Guesses at the cause are added.
        4. All is scaled, so that the best score is the best plain one: neither a moved question nor a guess is a fit.
        """
        order: dict[int, float] = dict(plain)
        if self._closeness:
            close = self._closeness.by_row
            worth = weights.closeness * _clarity(self.counts.average, weights.plain_length)
            worth *= _share_told_apart(close, weights.apart)
            order = self._scores(parts, self._lowered_in_short_rows(close, weights), worth)
            if weights.feedback:
                moved = {**close, **self._moved(order, plain, weights)}
                order = self._scores(parts, self._lowered_in_short_rows(moved, weights), worth)
        behind = self._worth_behind(weights)
        order = {row: score + behind * guessed[row] for row, score in order.items()}
        scale = max(plain.values()) / (max(order.values()) or 1.0)
        return {row: score * scale for row, score in order.items()}

    def _lowered_in_short_rows(
        self, close: Mapping[int, float], weights: Weights
    ) -> dict[int, float]:
        """Return the closeness of rows, lowered for rows that are much shorter than the average.

        A turn "Caroline: thanks!" is nearly the name alone, and so near to each question that names her.
        """
        if not weights.said:
            return dict(close)
        return {
            row: closeness * min(1.0, math.sqrt(self._records[row].length / weights.said))
            for row, closeness in close.items()
            if row in self._records
        }

    def _moved(
        self, order: Mapping[int, float], plain: Mapping[int, float], weights: Weights
    ) -> dict[int, float]:
        """Return the closeness of the best rows to the question, moved toward the very best of them.

        It is moved the less, the less the best row fits: rows that hardly fit say little about the question.
        """
        if self._closeness is None:
            return {}
        ranked = _ranked(order)
        feedback = weights.feedback * min(plain[ranked[0]] / STRONG, 1.0) ** 2
        best = ranked[: weights.feedback_rows]
        return self._closeness.toward(best, feedback, ranked[:_COMPARED_AGAIN])

    def _scores(
        self, parts: Mapping[int, float], close: Mapping[int, float], weight: float
    ) -> dict[int, float]:
        """Return the score of each row, 0 to 1: the mean of its part by terms and its closeness, which counts `weight`.

        The closeness of a row that a better model compared counts more.
        """
        worth_of_row: Mapping[int, float] = {}
        if self._closeness:
            worth_of_row = self._closeness.worth_of_row
        scores: dict[int, float] = {}
        for row, part in parts.items():
            worth = weight * worth_of_row.get(row, WORDS_WORTH)
            scores[row] = (part + worth * close.get(row, 0.0)) / (1 + worth)
        return scores


def _ranked(scores: Mapping[int, float]) -> list[int]:
    """Return rows by their scores, the best first, of equal ones the newest."""
    return sorted(scores, key=lambda row: (-scores[row], -row))
