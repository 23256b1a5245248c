"""How well a lesson works: what is shown, and what ranking rests on.

Shown is a moving average of outcomes that starts at .5; ranking uses a posterior, shrunk towards the
base rate of the scope while there is little evidence. Both are folds over the outcomes in the order in
which they were first told, so recording the same outcome twice changes nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mcp_reflect.records.lesson import Evidence

START: Final = 0.5
RATE: Final = 0.3  # how far one outcome with full weight moves the average

# An agent's own word counts least; what a test or a measurement shows counts whole.
EVIDENCE_WEIGHT: Final = {Evidence.SELF: 0.3, Evidence.USER: 0.8, Evidence.METRIC: 1.0, Evidence.TEST: 1.0}

# How many outcomes the base rate is worth, and its own prior while nothing has been told at all.
PRIOR_STRENGTH: Final = 4.0
PRIOR_RATE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Told:
    """An outcome: success is 1, 0.5 or 0, weight in (0, 1]."""

    success: float
    weight: float


@dataclass(frozen=True, slots=True)
class Worth:
    """What a lesson's outcomes add up to; `effectiveness` is null before the first."""

    effectiveness: float | None
    wins: float
    losses: float


def worth(outcomes: Iterable[Told]) -> Worth:
    """Fold outcomes, oldest first. The average stays in 0..1 whatever they are."""
    average: float | None = None
    wins = losses = 0.0
    for told in outcomes:
        before = START if average is None else average
        average = before + RATE * told.weight * (told.success - before)
        wins += told.weight * told.success
        losses += told.weight * (1 - told.success)
    return Worth(average, wins, losses)


def base_rate(wins: float, told: float) -> float:
    """The share of outcomes that were good in a scope, from their weights; .5 while there are none."""
    return (wins + PRIOR_STRENGTH * PRIOR_RATE) / (told + PRIOR_STRENGTH)


def posterior(wins: float, losses: float, rate: float) -> float:
    """The mean of a Beta posterior whose prior is the base rate with the strength of 4 outcomes."""
    return (wins + PRIOR_STRENGTH * rate) / (wins + losses + PRIOR_STRENGTH)
