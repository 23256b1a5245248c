"""Whether what was found has to do with the task at all: an empty answer is better than the least bad lesson.

The evidence is the part of the question that a lesson covers, raised by the part of the lesson that the question
covers: any long text shares some words with any long question, and a short one that is mostly in the question is
meant by it. By chance a long question shares more words with something, but a smaller part of itself, which falls
with the root of the number of its words; so the part of the question counts times that root. And by chance more is
shared with the best of a large bank than of a small one. Fitted over 26 banks of 15 to 2,000 texts, so that tasks
from elsewhere find nothing and tasks from here lose next to nothing (`benchmarks.recall` draws the curve).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

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
