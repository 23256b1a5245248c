"""The relevance of a row to a question: shared terms, closeness of meaning, shared identifiers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.storage.retrieval.identifiers import is_identifier, is_rare
from mcp_reflect.storage.retrieval.index import Features, TermCounts
from mcp_reflect.storage.retrieval.spelling import words_like
from mcp_reflect.storage.retrieval.terms import STOP_WORDS, words_of
from mcp_reflect.storage.retrieval.vectors import Closeness

MOST_TERMS: Final = 32  # telling terms of a question that count: the rarest
MOST_READ: Final = 400  # distinct terms of a question that are looked up
# Telling terms that a bank holds when half of a new text's words are known to it, or so: in a small bank, that a
# word is unknown tells little.
_HALF_KNOWN: Final = 300
_MOST_RARE: Final = 1 / 3  # part of a question's terms that may be rare words; with more it is in another language
_COMPARED_AGAIN: Final = 40  # rows that are compared with the moved question
_IDENTIFIER_ROWS: Final = (3, 0.02)  # rows, or part of the rows, that may hold a name that still tells lessons apart


@dataclass(frozen=True, slots=True)
class Weights:
    """The fitted numbers of the score; `python -m benchmarks.fit` prints what each is worth.

    `k1` and `b` are those of BM25; `stop` multiplies the weight of stop words. `closeness` and `identifiers` are the
    worth of a lesson that means the same, and of one that shares all identifiers, where 1 is the worth of one that
    shares all terms. `feedback` is the weight of the middle of the best `feedback_rows` beside the question.
    """

    k1: float = 1.0
    b: float = 0.9
    stop: float = 0.3
    closeness: float = 0.75
    identifiers: float = 0.2
    feedback: float = 1.0
    feedback_rows: int = 3


FITTED: Final = Weights()

STRONG: Final = 0.22
"""The score from which on a lesson fits strongly: tasks from elsewhere reach .2 at most, most tasks in near
words .22 and more."""

SEVERAL: Final = 2  # telling words that have to be shared for that, unless the meaning is close
CLOSE: Final = 0.5  # closeness that is enough without
STRONG_SHARE: Final = 0.35  # of the question's weight, where the meaning of its language is not known
NEAR: Final = 0.15  # a lesson that shares no telling word and is not even so close has nothing in common


@dataclass(frozen=True, slots=True)
class Match:
    """The relevance of a row. `score` is in 0..1 and can be compared between questions.

    `plain` is the score before the best rows were taken into account, `shared` the part of the question's weight that
    its terms cover, 0..1, `close` the closeness of the meanings, 0..1 or None without vectors. `words` are the shared
    words as the question has them, the most telling first, and `names` those of them that are identifiers.
    `foreign`: the table of word vectors knows few of the question's words.
    """

    row: int
    score: float
    plain: float
    shared: float
    close: float | None
    words: tuple[str, ...]
    names: tuple[str, ...]
    foreign: bool = False

    @property
    def strong(self) -> bool:
        """True if the row surely has to do with the question: a shared identifier, or much of the rest."""
        if self.names:
            return True
        if self.foreign:
            return self.shared >= STRONG_SHARE and len(self.words) >= SEVERAL
        return self.plain >= STRONG and (len(self.words) >= SEVERAL or (self.close or 0.0) >= CLOSE)

    @property
    def in_common(self) -> bool:
        """True if the row has anything to do with the question."""
        return bool(self.words) or (self.close or 0.0) >= NEAR


@dataclass(frozen=True, slots=True)
class WeighedQuestion:
    """The terms of a question with their weights (inverse document frequency).

    `own` are the telling terms, `alike` terms of the bank that stand for a misspelt one (with that term and their
    similarity), `stops` the stop words; `words` are the words that the terms come from, `names` the identifiers.
    `foreign`: most words are none that the table of word vectors knows, as in another language than English.
    """

    own: Mapping[str, float]
    alike: Mapping[str, tuple[str, float]]
    stops: Mapping[str, float]
    words: Mapping[str, str]
    names: frozenset[str]
    foreign: bool

    @property
    def has_meaning(self) -> bool:
        """True if there is more to the question than stop words."""
        return bool(self.own.keys() - STOP_WORDS)

    def search_weights(self) -> dict[str, float]:
        """The weights of the terms that candidates are searched by."""
        return {other: self.own[term] * similar for other, (term, similar) in self.alike.items()} | dict(self.own)


def weigh(counts: TermCounts, text: str) -> WeighedQuestion:
    """Weigh the terms of a question; where all are stop words, they count as telling."""
    words = words_of(text)
    terms = list(words)[:MOST_READ]
    counts.look_up(terms)
    surprise = counts.length / (counts.length + _HALF_KNOWN)
    weights = {
        term: idf(rows, counts.size) if (rows := counts.rows_with(term)) else surprise * idf(0, counts.size)
        for term in terms
    }
    telling = [term for term in terms if term not in STOP_WORDS and (len(term) > 1 or not term.isascii())]
    own = {term: weights[term] for term in sorted(telling or terms, key=lambda term: -weights[term])[:MOST_TERMS]}
    unknown = [term for term in own if not counts.rows_with(term)]
    alike = words_like(counts.reading, counts.numbers, unknown, len(own)) if unknown else {}
    counts.look_up(alike)
    for other, (term, _) in alike.items():  # it is known after all, as the word that it stands for
        own[term] = max(own[term], idf(counts.rows_with(other), counts.size))
    plain = [words[term] for term in own if words[term].isalpha()]
    foreign = len(plain) >= SEVERAL and sum(map(is_rare, plain)) > _MOST_RARE * len(plain)
    least, part = _IDENTIFIER_ROWS
    few = max(least, part * counts.size)
    names = {term for term in own if counts.rows_with(term) <= few and is_identifier(words[term], rare=not foreign)}
    return WeighedQuestion(
        own=own,
        alike={other: pair for other, pair in alike.items() if other not in own},
        stops={term: weights[term] for term in terms if term in STOP_WORDS and term not in own},
        words=words,
        names=frozenset(names),
        foreign=foreign,
    )


def idf(rows: float, size: int) -> float:
    """The inverse document frequency of BM25 in the form that is never negative; 0 rows count as 1."""
    held = max(rows, 1)
    return math.log(1 + (max(size, held) - held + 0.5) / (held + 0.5))


def score(
    question: WeighedQuestion,
    rows: Sequence[Features],
    average: float,
    closeness: Closeness | None,
    weights: Weights = FITTED,
) -> list[Match]:
    """Score rows, the best first, of equal ones the newest. `average` is the mean length of a row of the bank.

    Terms are scored by BM25 (Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework"), as the part of the
    most that a row could have, so that scores of different questions can be compared.
    """
    shared = {row.row: _shared(question, row, average, weights) for row in rows}
    named = {row.row: _named(question, row) for row in rows}
    close = closeness.of(shared) if closeness else {}

    most = 1 + weights.closeness + weights.identifiers

    def scores(closeness_of: Mapping[int, float]) -> dict[int, float]:
        return {
            row: (part + weights.identifiers * named[row] + weights.closeness * closeness_of.get(row, 0.0)) / most
            for row, part in shared.items()
        }

    plain = order = scores(close)
    if closeness and weights.feedback and plain:
        ranked = sorted(plain, key=lambda row: (-plain[row], -row))
        moved = closeness.towards(ranked[: weights.feedback_rows], weights.feedback, ranked[:_COMPARED_AGAIN])
        order = scores({**close, **moved})
        # The question moved towards its best rows is closer to them: their scores may not rise by that.
        scale = max(plain.values()) / (max(order.values()) or 1.0)
        order = {row: total * scale for row, total in order.items()}
    matches = [
        Match(
            row=row.row,
            score=min(order[row.row], 1.0),
            plain=plain[row.row],
            shared=min(shared[row.row], 1.0),
            close=close.get(row.row) if closeness else None,
            foreign=question.foreign,
            **_words(question, row),
        )
        for row in rows
    ]
    return sorted(matches, key=lambda match: (-match.score, -match.row))


def _shared(question: WeighedQuestion, row: Features, average: float, weights: Weights) -> float:
    """The part of the question's weight that the row's terms cover, more where they are frequent in it."""
    total = math.fsum(question.own.values())
    if not total:
        return 0.0
    norm = weights.k1 * (1 - weights.b + weights.b * row.length / average if average else 1.0)
    count_of, covered = row.counts.get, 0.0
    for term, weight in question.own.items():
        if count := count_of(term):
            covered += weight * count / (count + norm)
    for term, weight in question.stops.items():
        if count := count_of(term):
            covered += weights.stop * weight * count / (count + norm)
    for other, (term, similar) in question.alike.items():
        if (count := count_of(other)) and term not in row.counts:
            covered += question.own[term] * similar * count / (count + norm)
    return covered / total


def _named(question: WeighedQuestion, row: Features) -> float:
    """The part of the question's weight that shared identifiers have."""
    weight = sum(question.own[term] for term in question.names if term in row.counts)
    return weight / math.fsum(question.own.values()) if weight else 0.0


def _words(question: WeighedQuestion, row: Features) -> dict[str, tuple[str, ...]]:
    held = {term: weight for term, weight in question.own.items() if term in row.counts}
    for other, (term, similar) in question.alike.items():
        if other in row.counts:
            held[term] = max(held.get(term, 0.0), question.own[term] * similar)
    if held and not held.keys() - STOP_WORDS and len(held) < len(question.own):
        held = {}  # a question of stop words alone asks for all of them: some of them are in every text
    ordered = sorted(held, key=lambda term: (-held[term], term))
    words = dict.fromkeys(question.words[term] for term in ordered)
    names = dict.fromkeys(question.words[term] for term in ordered if term in question.names and term in row.counts)
    return {"words": tuple(words), "names": tuple(names)}
