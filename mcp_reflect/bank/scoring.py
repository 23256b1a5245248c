"""The second look: the exact lexical score of a few hundred rows.

BM25 (Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework") over weighed fields, plus how far the
words look alike (the cosine of their sets of trigrams, Ochiai's coefficient), then once more with the words that the
best rows share (relevance model feedback, Lavrenko & Croft 2001). `benchmarks.fit` fits the parameters and prints
what each of them is worth.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from mcp_reflect.bank.features import Features
from mcp_reflect.bank.spelling import trigrams_of
from mcp_reflect.bank.stopwords import STOP_WORDS


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
PADDING: Final = 20  # trigrams that a row is taken to have more, so that a word or two are not like all of a question

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
            found[row.row] = (there & asked).bit_count() / math.sqrt(there.bit_count() + PADDING)
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
