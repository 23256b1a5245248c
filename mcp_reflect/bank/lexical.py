"""Which rows fit a question by their words: terms weighed, rows gathered, scored, and what they share named."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.bank.analysis import words_of
from mcp_reflect.bank.features import HELD, Features, kind_mark, scope_number, tag_mark, type_mark
from mcp_reflect.bank.gathering import Look, gather
from mcp_reflect.bank.relevance import chance_in, evidence
from mcp_reflect.bank.scoring import FITTED, Parameters, Scorer, idf
from mcp_reflect.bank.spelling import words_like
from mcp_reflect.bank.sqlite.rows import features_from
from mcp_reflect.bank.sqlite.statements import Reading
from mcp_reflect.bank.stopwords import STOP_WORDS
from mcp_reflect.models.common import GLOBAL, Scope

MOST_TERMS: Final = 32  # telling terms of a question that count: the rarest
MOST_READ: Final = 400  # distinct terms of a question that are looked up
SCORED: Final = 40  # rows that get an exact score: 150 find no more on the development sets
SCORED_HELD: Final = 5  # rows in quarantine of which is said that they are held back
# Telling terms that a bank holds when half of a new text's words are known to it, or so: in a small bank, that a
# word is unknown tells little.
HALF_KNOWN: Final = 300
PADDING: Final = 4  # words that a row is taken to have more, so that one word is not half of a title of two
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
    return held, min(math.fsum(counts) / (row.length + PADDING), 1.0)
