"""Which rows fit a question by their terms: weighed, searched, scored."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Protocol

from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.storage.retrieval.features import HELD, Features, kind_mark, scope_number, tag_mark, type_mark
from mcp_reflect.storage.retrieval.index import Look, gather
from mcp_reflect.storage.retrieval.spelling import trigrams_of, words_like
from mcp_reflect.storage.retrieval.terms import STOP_WORDS, words_of
from mcp_reflect.storage.sqlite.rows import features_from
from mcp_reflect.storage.sqlite.statements import Reading

# Whether what was found has to do with the task at all: an empty answer is better than the least bad lesson.
#
# The evidence is the part of the question that a lesson covers, raised by the part of the lesson that the question
# covers: any long text shares some words with any long question, and a short one that is mostly in the question is
# meant by it. By chance a long question shares more words with something, but a smaller part of itself, which falls
# with the root of the number of its words; so the part of the question counts times that root. And by chance more is
# shared with the best of a large bank than of a small one. Fitted over 26 banks of 15 to 2,000 texts, so that tasks
# from elsewhere find nothing and tasks from here lose next to nothing (`benchmarks.recall` draws the curve).


BAR: Final = 1.0  # the evidence that one lesson at least must have: as much as chance gives
BESIDE: Final = 0.2  # beside a sure one, so much of the bar is enough
WHOLE: Final = 0.85  # so much of the question covered is enough, however long the lesson
SURE_SHARE: Final = 0.25  # with one shared word, so much of the question must be covered
LEAST_WORDS: Final = 2

LESSON: Final = 5.0  # how much the part of the lesson raises evidence: all of the lesson, sixfold
# What chance gives: up to so many telling words in a bank the first, from so many on the second, between by the log.
SMALL_BANK: Final = (500, 0.7)
LARGE_BANK: Final = (30_000, 1.17)

# Where lessons are known by meaning, 0 is the closeness of unrelated texts in the same model and 1 of the same text.
SURE_CLOSE: Final = 0.4  # so close is enough without any word in common
CLOSE_BESIDE: Final = 0.25  # beside a sure one
FAR: Final = 0.05  # what means something so far away shares some words by chance
NEARLY_ALL: Final = 0.8  # but not such a part of the question's weight: a model knows little of codes and names


class Covering(Protocol):
    """What covers `share` (0..1) of a question's weight with some of its telling words: `terms`.

    `close` is how close the meanings are, 0..1, null where it is not known; `evidence` see there.
    """

    @property
    def share(self) -> float: ...
    @property
    def terms(self) -> tuple[str, ...]: ...
    @property
    def close(self) -> float | None: ...
    @property
    def evidence(self) -> float: ...


def evidence(share: float, asked: int, part: float, chance: float) -> float:
    """How much speaks for a lesson, from 0; 1 is what chance gives the best one now and then.

    It covers `share` (0..1) of the weight of a question of `asked` telling words, which covers `part` (0..1) of its
    words, in a bank of such a `chance`.
    """
    return share * math.sqrt(asked) * (1 + LESSON * part) / chance


def chance_in(length: float) -> float:
    """What chance gives the best lesson of a bank of `length` telling words, now and then."""
    (small, least), (large, most) = SMALL_BANK, LARGE_BANK
    place = math.log(max(length, 1) / small) / math.log(large / small)
    return least + (most - least) * min(max(place, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Gate:
    """What may be shown for one question. `bar` and `least` are evidence, from 0.

    `near` is how close a lesson's meaning must be beside a sure one, 0..1.
    """

    bar: float
    least: float
    near: float = CLOSE_BESIDE

    def lets_in(self, candidate: Covering) -> bool:
        """Whether a candidate is relevant, given that one at least is surely so."""
        return candidate.evidence >= self.least or (candidate.close or 0.0) >= self.near

    def is_sure(self, candidate: Covering) -> bool:
        """Whether a candidate alone shows that the bank knows of the task.

        Where its meaning is known and near, that is enough; where it is far, nearly all words must be shared.
        """
        if candidate.close is not None and candidate.close >= SURE_CLOSE:
            return True
        if candidate.close is not None and candidate.close < FAR and candidate.share < NEARLY_ALL:
            return False
        several = len(candidate.terms) >= LEAST_WORDS or candidate.share >= SURE_SHARE
        return (candidate.evidence >= self.bar or candidate.share >= WHOLE) and several


def gate_for(found: Iterable[Covering], bar: float = BAR) -> Gate:
    """The gate for the candidates of one question; nothing passes where none is sure."""
    known = list(found)
    gate = Gate(bar, BESIDE * bar)
    return gate if any(map(gate.is_sure, known)) else Gate(math.inf, math.inf, math.inf)


# The second look: the exact lexical score of a few hundred rows.
#
# BM25 (Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework") over weighed fields, plus how far the
# words look alike (the cosine of their sets of trigrams, Ochiai's coefficient), then once more with the words that
# the
# best rows share (relevance model feedback, Lavrenko & Croft 2001). `benchmarks.fit` fits the parameters and prints
# what each of them is worth.


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is fitted. `k1` and `b` are BM25's.

    `stop` is what a stop word's weight is multiplied by; `trigrams` how much the best row's trigram score
    is worth beside the best BM25 score; `feedback` the weight of the words of `feedback_rows` rows beside the
    question's own, of which `feedback_terms` are taken.
    """

    k1: float = 0.7
    b: float = 0.9
    stop: float = 0.4
    trigrams: float = 1.0
    trigram_rows: int = 40
    feedback: float = 0.5
    feedback_rows: int = 3
    feedback_terms: int = 10


FITTED: Final = Parameters()
PADDING_SCORING: Final = (
    20  # trigrams that a row is taken to have more, so that a word or two are not like all of a question
)

Idf = Callable[[Sequence[str]], Mapping[str, float]]
"""The inverse document frequency of terms; those in a single row may be left out."""


def idf(found: float, size: int) -> float:
    """BM25's inverse document frequency in the form that is never negative; an unknown word counts as one row's."""
    held = max(found, 1)
    return math.log(1 + (max(size, held) - held + 0.5) / (held + 0.5))


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores rows against a question's weighed terms. `average` is the mean telling length of the bank's rows."""

    weights: Mapping[str, float]
    average: float
    parameters: Parameters = FITTED

    def scores(self, rows: Sequence[Features], idf_of: Idf) -> dict[int, float]:
        """The score of each row, at least 0; comparable within one question only."""
        plain = self._bm25(rows, self.weights)
        best = sorted(rows, key=lambda row: (-plain[row.row], -row.row))[: self.parameters.trigram_rows]
        likeness = self._likeness(best)
        fused = _fused(plain, likeness)
        top = sorted(best, key=lambda row: (-fused[row.row], -row.row))[: self.parameters.feedback_rows]
        more = self._feedback(top, rows, fused, idf_of)
        if not more:
            return fused
        # BM25 adds up over terms, so the question's own need not be scored again.
        again = self._bm25(rows, more)
        return _fused({row: score + again[row] for row, score in plain.items()}, likeness)

    def _bm25(self, rows: Sequence[Features], weights: Mapping[str, float]) -> dict[int, float]:
        """BM25 of each row; `weights` are inverse document frequencies, scaled."""
        scaled = [(term, weight * (self.parameters.k1 + 1)) for term, weight in weights.items()]
        found: dict[int, float] = {}
        for row in rows:
            norm, count_of = self._norm(row), row.counts.get
            parts = [weight * count / (count + norm) for term, weight in scaled if (count := count_of(term))]
            found[row.row] = math.fsum(parts)
        return found

    def _norm(self, row: Features) -> float:
        b = self.parameters.b
        return self.parameters.k1 * (1 - b + b * row.length / self.average if self.average else 1.0)

    def _likeness(self, rows: Sequence[Features]) -> dict[int, float]:
        """The cosine of the trigrams of a row's and the question's telling words, scaled to `trigrams`."""
        asked = trigrams_of([term for term in self.weights if term not in STOP_WORDS] or self.weights)
        found: dict[int, float] = {}
        for row in rows:
            there = trigrams_of(row.telling)
            found[row.row] = (there & asked).bit_count() / math.sqrt(there.bit_count() + PADDING_SCORING)
        best = max(found.values(), default=0.0)
        return {row: self.parameters.trigrams * score / best for row, score in found.items()} if best else {}

    def _feedback(
        self, best: Sequence[Features], rows: Sequence[Features], scores: Mapping[int, float], idf_of: Idf
    ) -> dict[str, float]:
        """The words that tell most about the best rows, with weights that add up to `feedback` of the question's.

        A word that no other of the rows has would only lift its own.
        """
        told = sum(scores[row.row] for row in best)
        if not told or not self.parameters.feedback:
            return {}
        held = Counter(chain.from_iterable(row.counts for row in rows))
        idfs = idf_of(sorted({term for row in best for term in row.telling if held[term] > 1}))
        sums: dict[str, float] = {}
        for row in best:
            share, norm = scores[row.row] / told, self._norm(row)
            for term, count in row.counts.items():
                if term in idfs:
                    sums[term] = sums.get(term, 0.0) + share * count / (count + norm) * idfs[term]
        most = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[: self.parameters.feedback_terms]
        total = sum(weight for _, weight in most)
        own = sum(weight for term, weight in self.weights.items() if term not in STOP_WORDS)
        return {term: self.parameters.feedback * own * weight / total for term, weight in most} if total else {}


def _fused(scores: Mapping[int, float], likeness: Mapping[int, float]) -> dict[int, float]:
    """BM25 plus likeness on the scale of the best BM25 score."""
    best = max(scores.values(), default=0.0)
    return {row: score + best * likeness.get(row, 0.0) for row, score in scores.items()}


# Which rows fit a question by their words: terms weighed, rows gathered, scored, and what they share named.


MOST_TERMS: Final = 32  # telling terms of a question that count: the rarest
MOST_READ: Final = 400  # distinct terms of a question that are looked up
SCORED: Final = 40  # rows that get an exact score: 150 find no more on the development sets
SCORED_HELD: Final = 5  # rows in quarantine of which is said that they are held back
# Telling terms that a bank holds when half of a new text's words are known to it, or so: in a small bank, that a
# word is unknown tells little.
HALF_KNOWN: Final = 300
PADDING_LEXICAL: Final = 4  # words that a row is taken to have more, so that one word is not half of a title of two
_FEW: Final = 2_000  # a scope with no more rows than this needs no help to find those of a task type


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for. `tags` and `kinds` only widen the search: whoever shows rows checks them.

    `scored` is how many rows get an exact score.
    """

    text: str
    task_type: str | None = None
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    scored: int = SCORED


@dataclass(frozen=True, slots=True)
class Match:
    """A row that shares words with the question.

    `score` is lexical, relative to the best row's, and `share` the part of the question's weight (inverse
    document frequency) that its words cover, both in 0..1. `terms` are the question's words it shares, the
    most telling first, of the `asked` telling words that it has. `close` is how close their meanings are
    (see `hybrid`), 0..1, null where nobody embeds. `evidence` is how much speaks for the row having to do with the
    question, beside what chance gives in this bank (see `relevance`). What is `held` is in quarantine, without a score.
    """

    row: int
    score: float
    share: float
    terms: tuple[str, ...]
    asked: int
    close: float | None = None
    held: bool = False
    evidence: float = 0.0


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A question's terms with their weights: the telling ones, these with their look-alikes, and the stop words."""

    own: dict[str, float]
    every: dict[str, float]
    stops: dict[str, float]
    alike: dict[str, tuple[str, float]]

    def with_stops(self, part: float) -> dict[str, float]:
        """All terms, stop words with so much of their weight."""
        return {term: weight * part for term, weight in self.stops.items()} | self.every


@dataclass(frozen=True, slots=True)
class Gathered:
    """The rows that are worth an exact score for a question, whose `words` stand for its terms."""

    index: "Counts"
    words: Mapping[str, str]
    weighed: _Weighed
    rows: Sequence[Features]


def matches(reading: Reading, scope: Scope, question: Question, most: int | None = None) -> list[Match]:
    """The rows of a scope, and global ones, that share telling words with the question, best first.

    At most so many, null for all. A few in quarantine come last, so that it can be said that they are held back.
    """
    found = gathered(reading, scope, question)
    return matched(found, most=most) if found else []


def gathered(reading: Reading, scope: Scope, question: Question) -> Gathered | None:
    """The rows that could match; null where there is nothing to ask for or nothing to ask."""
    index = Counts(reading, scope)
    words = words_of(question.text)
    if not words or not index.numbers:
        return None
    weighed = _weighed(index, list(words)[:MOST_READ])
    return Gathered(index, words, weighed, _gathered(index, question, weighed))


def matched(found: Gathered, parameters: Parameters = FITTED, most: int | None = None) -> list[Match]:
    """The rows by their exact score, those of equal score the newest first; see `matches`."""
    index, words, weighed = found.index, found.words, found.weighed
    honest = [row for row in found.rows if HELD not in row.counts]
    scores = Scorer(weighed.with_stops(parameters.stop), index.average, parameters).scores(honest, index.shared_idf)
    best = max(scores.values(), default=0.0)
    total = math.fsum(weighed.own.values())
    if not total:
        return []
    # A question of stop words alone asks for all of them: some of them are in every text.
    least = 0 if weighed.own.keys() - STOP_WORDS else len(weighed.own)
    chance = chance_in(index.length)
    ranked: list[Match] = []
    honest.sort(key=lambda row: (-scores[row.row], -row.row))
    for row in (*honest, *(row for row in found.rows if HELD in row.counts)):
        if most is not None and len(ranked) >= most and row.row in scores:
            continue
        held, part = _shared(row, weighed)
        if len(held) < least or not held:
            continue
        shared = tuple(words[term] for term in sorted(held, key=lambda term: (-held[term], term)))
        share = min(math.fsum(held.values()) / total, 1.0)  # exactly: a set has its terms in another order each time
        score = scores[row.row] / best if best and row.row in scores else 0.0
        told = evidence(share, len(weighed.own), part, chance)
        ranked.append(Match(row.row, score, share, shared, len(weighed.own), held=HELD in row.counts, evidence=told))
    return ranked


class Counts:
    """How many rows out of quarantine there are in a scope and the global one, and how many of them hold a term."""

    def __init__(self, reading: Reading, scope: Scope) -> None:
        self.reading = reading
        own, everywhere = scope_number(scope), scope_number(Scope(scope.tenant, GLOBAL))
        sizes = reading.rows("index_sizes", {"scopes": [own, everywhere]})
        there = {row["scope"] for row in sizes if row["places"]}
        self.numbers = [number for number in dict.fromkeys((own, everywhere)) if number in there]
        self.sizes: dict[int, int] = {row["scope"]: row["found"] for row in sizes}
        self.places: dict[int, int] = {row["scope"]: row["places"] for row in sizes}
        self.size = sum(self.sizes.values())
        self.length = sum(row["length"] for row in sizes)
        self.average = self.length / self.size if self.size else 0.0
        self.found: dict[int, dict[str, int]] = {number: {} for number in self.numbers}
        self._in_all: dict[str, int] = {}

    def look_up(self, terms: Sequence[str]) -> None:
        """Count the rows that hold these terms, by scope."""
        new = [term for term in dict.fromkeys(terms) if term not in self._in_all]
        if not new:
            return
        self._in_all.update(dict.fromkeys(new, 0))
        for scope, term, found in self.reading.rows("index_terms", {"scopes": self.numbers, "terms": new}):
            self.found[scope][term] = found
            self._in_all[term] += found

    def rows_with(self, term: str) -> int:
        """How many rows hold a term that was looked up."""
        return self._in_all.get(term, 0)

    def shared_idf(self, terms: Sequence[str]) -> Mapping[str, float]:
        """The inverse document frequencies of those terms that more than one row holds."""
        self.look_up(terms)
        return {term: idf(found, self.size) for term in terms if (found := self.rows_with(term)) > 1}


def _weighed(index: Counts, terms: Sequence[str]) -> _Weighed:
    """The terms with their weights; where all are stop words, they tell what there is to tell."""
    index.look_up(terms)
    surprise = index.length / (index.length + HALF_KNOWN)
    weights = {
        term: idf(found, index.size) if (found := index.rows_with(term)) else surprise * idf(0, index.size)
        for term in terms
    }
    telling = [term for term in terms if term not in STOP_WORDS and (len(term) > 1 or not term.isascii())]
    chosen = sorted(telling or terms, key=lambda term: -weights[term])[:MOST_TERMS]
    own = {term: weights[term] for term in terms if term in set(chosen)}
    unknown = [term for term in own if not index.rows_with(term)]
    alike = words_like(index.reading, index.numbers, unknown, len(own)) if unknown else {}
    index.look_up(list(alike))
    for other, (word, _) in alike.items():  # it is known after all, as the word that it stands for
        own[word] = max(own[word], idf(index.rows_with(other), index.size))
    every = dict(own)
    for other, (word, similar) in alike.items():
        every.setdefault(other, own[word] * similar)
    stops = {term: weights[term] for term in terms if term in STOP_WORDS}
    return _Weighed(own, every, stops, {other: pair for other, pair in alike.items() if other not in own})


def _gathered(index: Counts, question: Question, weighed: _Weighed) -> list[Features]:
    """The rows that are worth an exact score, from the project and from everywhere."""
    asked = weighed.with_stops(FITTED.stop)
    groups = [tuple(map(kind_mark, question.kinds)), tuple(map(tag_mark, question.tags))]
    preferred = (type_mark(question.task_type),) if question.task_type else ()
    if preferred or any(groups):
        index.look_up([mark for group in (*groups, preferred) for mark in group])
    chosen: list[Features] = []
    for number in index.numbers:
        size, found = index.sizes[number], index.found[number]
        narrow = tuple(group for group in groups if size > question.scored and _narrows(group, found, size))
        looks = [Look(question.scored), Look(SCORED_HELD, held=True)]
        if narrow:
            looks.append(Look(question.scored, narrow))
        if size > _FEW and _narrows(preferred, found, size):
            looks.append(Look(question.scored, (*narrow, preferred)))
        places = gather(index.reading, number, index.places[number], asked, looks)
        rows = index.reading.rows("index_features", {"scope": number, "places": places})
        chosen += map(features_from, rows)
    return chosen


def _narrows(marks: Sequence[str], found: Mapping[str, int], size: int) -> bool:
    """Whether so few rows have one of the marks that a look among all could miss them."""
    return bool(marks) and sum(found.get(mark, 0) for mark in marks) < size / 2


def _shared(row: Features, weighed: _Weighed) -> tuple[dict[str, float], float]:
    """The question's telling terms that a row holds, itself or as a look-alike, with their weight.

    Then the part of the row's telling terms that the question has, 0..1.
    """
    held: dict[str, float] = {}
    counts: list[float] = []
    count_of = row.counts.get
    for term, weight in weighed.own.items():
        if count := count_of(term):
            held[term] = weight
            counts.append(count)
    for other, (word, similar) in weighed.alike.items():
        if count := count_of(other):
            held[word] = max(held.get(word, 0.0), weighed.own[word] * similar)
            counts.append(count)
    return held, min(math.fsum(counts) / (row.length + PADDING_LEXICAL), 1.0)
