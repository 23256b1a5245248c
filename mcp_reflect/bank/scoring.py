"""The second look: the exact lexical score of a few hundred rows.

BM25 (Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework") over weighed fields, plus how far the
words look alike, then once more with the words that the best rows share (relevance model feedback, Lavrenko &
Croft 2001). `benchmarks.fit` fits the parameters and prints what each of them is worth.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from mcp_reflect.bank.features import Features
from mcp_reflect.bank.spelling import trigrams
from mcp_reflect.bank.stopwords import STOP_WORDS


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is fitted. `k1` and `b` are BM25's, for terms and trigrams alike.

    `stop` is what a stop word's weight is multiplied by; `trigrams` how much the best row's trigram score
    is worth beside the best BM25 score; `feedback` the weight of the words of `feedback_rows` rows beside the
    question's own, of which `feedback_terms` are taken.
    """

    k1: float = 0.7
    b: float = 0.9
    stop: float = 0.4
    trigrams: float = 1.1
    trigram_rows: int = 30
    feedback: float = 0.5
    feedback_rows: int = 3
    feedback_terms: int = 10


FITTED: Final = Parameters()

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
        plain = {row.row: self.bm25(row, self.weights) for row in rows}
        best = sorted(rows, key=lambda row: (-plain[row.row], -row.row))[: self.parameters.trigram_rows]
        likeness = self._likeness(best)
        fused = _fused(plain, likeness)
        top = sorted(best, key=lambda row: (-fused[row.row], -row.row))[: self.parameters.feedback_rows]
        more = self._feedback(top, fused, idf_of)
        if not more:
            return fused
        # BM25 adds up over terms, so the question's own need not be scored again.
        return _fused({row.row: plain[row.row] + self.bm25(row, more) for row in rows}, likeness)

    def bm25(self, row: Features, weights: Mapping[str, float]) -> float:
        """BM25 of one row; `weights` are inverse document frequencies, scaled."""
        k1, norm, counts = self.parameters.k1 + 1, self._norm(row), row.counts
        shared = weights.keys() & counts.keys()
        # Exactly summed: a set has its terms in another order in every process.
        return math.fsum([weights[term] * counts[term] * k1 / (counts[term] + norm) for term in shared])

    def _norm(self, row: Features) -> float:
        b = self.parameters.b
        return self.parameters.k1 * (1 - b + b * row.length / self.average if self.average else 1.0)

    def _likeness(self, rows: Sequence[Features]) -> dict[int, float]:
        """BM25 over the trigrams of telling words, every trigram weighing the same, scaled to `trigrams`."""
        telling = [term for term in self.weights if term not in STOP_WORDS] or list(self.weights)
        wanted = frozenset[str]().union(*map(trigrams, telling))
        every = set[str]().union(*(row.counts for row in rows)) - STOP_WORDS
        # Few of the rows' words are like one of the question's: only these are gone through row by row.
        shared = {
            term: tuple(grams & wanted)
            for term in every
            if not (grams := trigrams(term)).isdisjoint(wanted) and term[0] != "_"
        }
        k1, found = self.parameters.k1, dict[int, float]()
        for row in rows:
            like = [term for term in row.counts if term in shared]
            # Most words are there once: their trigrams are counted without a step in Python for each.
            once = Counter(chain.from_iterable([shared[term] for term in like if row.counts[term] == 1]))
            counts: dict[str, float] = dict(once)
            for term in like:
                if (count := row.counts[term]) != 1:
                    for gram in shared[term]:
                        counts[gram] = counts.get(gram, 0.0) + count
            norm = self._norm(row)
            # Exactly summed: a set has its trigrams in another order in every process.
            found[row.row] = math.fsum([count * (k1 + 1) / (count + norm) for count in counts.values()])
        best = max(found.values(), default=0.0)
        return {row: self.parameters.trigrams * score / best for row, score in found.items()} if best else {}

    def _feedback(self, rows: Sequence[Features], scores: Mapping[int, float], idf_of: Idf) -> dict[str, float]:
        """The words that tell most about the best rows, with weights that add up to `feedback` of the question's."""
        told = sum(scores[row.row] for row in rows)
        if not told or not self.parameters.feedback:
            return {}
        terms = {term for row in rows for term in row.counts if term not in STOP_WORDS and not term.startswith("_")}
        idfs = idf_of(sorted(terms))
        sums: dict[str, float] = {}
        for row in rows:
            share, norm = scores[row.row] / told, self._norm(row)
            for term, count in row.counts.items():
                if term in idfs:
                    sums[term] = sums.get(term, 0.0) + share * count / (count + norm) * idfs[term]
        best = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[: self.parameters.feedback_terms]
        total = sum(weight for _, weight in best)
        own = sum(weight for term, weight in self.weights.items() if term not in STOP_WORDS)
        return {term: self.parameters.feedback * own * weight / total for term, weight in best} if total else {}


def _fused(scores: Mapping[int, float], likeness: Mapping[int, float]) -> dict[int, float]:
    """BM25 plus likeness on the scale of the best BM25 score."""
    best = max(scores.values(), default=0.0)
    return {row: score + best * likeness.get(row, 0.0) for row, score in scores.items()}
