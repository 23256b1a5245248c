"""Whether what was found has to do with the task at all: an empty answer is better than the least bad lesson.

The bar is the part of the question's weight that a lesson covers. By chance a long question shares some words
with something, but a smaller part of itself: the bar falls with the root of the number of its words. Fitted so
that tasks from elsewhere find nothing and tasks from here lose next to nothing (`benchmarks.recall` draws the curve).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

BAR: Final = 0.55  # part of the weight that one word's question needs covered; divided by the root of its words
SURE_SHARE: Final = 0.4  # so much covered is enough with one word; with less, two words must be shared
LEAST_WORDS: Final = 2
BESIDE: Final = 0.35  # beside a sure one, so much of the bar is enough

# Where lessons are known by meaning, 0 is the closeness of unrelated texts in the same model and 1 of the same text.
SURE_CLOSE: Final = 0.4  # so close is enough without any word in common
CLOSE_BESIDE: Final = 0.25  # beside a sure one
FAR: Final = 0.05  # what means something so far away shares some words by chance
NEARLY_ALL: Final = 0.8  # but not such a part of the question's weight: a model knows little of codes and names


class Covering(Protocol):
    """What covers `share` (0..1) of a question's weight with some of its `asked` telling words: `terms`.

    `close` is how close the meanings are, 0..1, null where it is not known.
    """

    @property
    def share(self) -> float: ...
    @property
    def terms(self) -> tuple[str, ...]: ...
    @property
    def asked(self) -> int: ...
    @property
    def close(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Gate:
    """What may be shown for one question. `bar` and `least` are parts of the question's weight, 0..1.

    `near` is how close a lesson's meaning must be beside a sure one, 0..1.
    """

    bar: float
    least: float
    near: float = CLOSE_BESIDE

    def lets_in(self, candidate: Covering) -> bool:
        """Whether a candidate is relevant, given that one at least is surely so."""
        return candidate.share >= self.least or (candidate.close or 0.0) >= self.near

    def is_sure(self, candidate: Covering) -> bool:
        """Whether a candidate alone shows that the bank knows of the task.

        Where its meaning is known and near, that is enough; where it is far, nearly all words must be shared.
        """
        if candidate.close is not None and candidate.close >= SURE_CLOSE:
            return True
        if candidate.close is not None and candidate.close < FAR and candidate.share < NEARLY_ALL:
            return False
        several = len(candidate.terms) >= LEAST_WORDS or candidate.share >= SURE_SHARE
        return candidate.share >= self.bar and several


def gate_for(found: Iterable[Covering], bar: float = BAR) -> Gate:
    """The gate for the candidates of one question; nothing passes where none is sure."""
    known = list(found)
    asked = max((candidate.asked for candidate in known), default=1)
    gate = Gate(bar / math.sqrt(asked), BESIDE * bar / math.sqrt(asked))
    return gate if any(map(gate.is_sure, known)) else Gate(math.inf, math.inf, math.inf)
