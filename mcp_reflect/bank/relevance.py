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


class Covering(Protocol):
    """What covers `share` (0..1) of a question's weight with some of its `asked` telling words: `terms`."""

    @property
    def share(self) -> float: ...
    @property
    def terms(self) -> tuple[str, ...]: ...
    @property
    def asked(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Gate:
    """What may be shown for one question. `bar` and `least` are parts of the question's weight, 0..1."""

    bar: float
    least: float

    def lets_in(self, candidate: Covering) -> bool:
        """Whether a candidate is relevant, given that one at least is surely so."""
        return candidate.share >= self.least

    def is_sure(self, candidate: Covering) -> bool:
        """Whether a candidate alone shows that the bank knows of the task."""
        several = len(candidate.terms) >= LEAST_WORDS or candidate.share >= SURE_SHARE
        return candidate.share >= self.bar and several


def gate_for(found: Iterable[Covering], bar: float = BAR) -> Gate:
    """The gate for the candidates of one question; nothing passes where none is sure."""
    known = list(found)
    asked = max((candidate.asked for candidate in known), default=1)
    gate = Gate(bar / math.sqrt(asked), BESIDE * bar / math.sqrt(asked))
    return gate if any(map(gate.is_sure, known)) else Gate(math.inf, math.inf)
