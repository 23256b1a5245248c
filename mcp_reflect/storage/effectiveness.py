"""The effectiveness of a lesson: a Beta posterior over its outcomes, against the base rate of its task type."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.models.lesson import Evidence, Lesson

# The cumulative distribution function of the Beta distribution and its quantiles: the regularized incomplete beta
# function by its continued fraction, evaluated with Lentz's method (Press et al., Numerical Recipes, section 6.4).
_TERMS: Final = 400
_PRECISE: Final = 1e-12


def below(wins: float, losses: float, value: float) -> float:
    """Return the share (0..1) of Beta(wins, losses) below `value`; both counts are above 0."""
    if not 0 < value < 1:
        return float(value >= 1)
    if value > (wins + 1) / (wins + losses + 2):  # the fraction converges fast on this side alone
        return 1 - below(losses, wins, 1 - value)
    log_front = math.lgamma(wins + losses) - math.lgamma(wins) - math.lgamma(losses)
    front = math.exp(log_front + wins * math.log(value) + losses * math.log1p(-value)) / wins
    return front * _fraction(wins, losses, value)


def quantile(wins: float, losses: float, share: float) -> float:
    """Return the value (0..1) below which `share` of Beta(wins, losses) lies, to 1e-6."""
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if below(wins, losses, middle) < share else (low, middle)
    return (low + high) / 2


def _fraction(a: float, b: float, x: float) -> float:
    c = 1.0
    total = d = 1 / ((1 - (a + b) * x / (a + 1)) or 1e-300)
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for part in (even, odd):
            d, c = 1 / ((1 + part * d) or 1e-300), (1 + part / c) or 1e-300
            total *= d * c
        if abs(d * c - 1) < _PRECISE:
            break
    return total


# Totals over outcomes. A moving average that starts at .5 is shown; ranking uses wins and losses, each weighted by its
# evidence. Both are folds over the outcomes in the order in which they were first recorded, so recording the same
# outcome twice changes nothing. An agent's own word counts least; a test or a measurement that was seen counts whole.
START: Final = 0.5
RATE: Final = 0.3  # the share by which one outcome of full weight moves the average
BACKED_WEIGHT: Final = 0.6  # of an agent's own word with results or a quotation that nobody saw but the agent
EVIDENCE_WEIGHT: Final = {Evidence.SELF: 0.3, Evidence.USER: 0.8, Evidence.METRIC: 1.0, Evidence.TEST: 1.0}

# All self-reported outcomes weigh at most as much as one proven outcome, and only until there is that much proof, so no
# amount of praise lifts a lesson above one that a test has proved.
MAX_SELF_REPORTED: Final = 1.0


@dataclass(frozen=True, slots=True)
class WeightedOutcome:
    """An outcome: success is 1, 0.5 or 0, weight in (0, 1]; `proven` unless it is only an agent's own word."""

    success: float
    weight: float
    proven: bool = True


class Totals(NamedTuple):
    """The sum of a lesson's outcomes; `effectiveness` is None before the first.

    `proof` is the weight of the proven ones; from `MAX_SELF_REPORTED` on, wins and losses count these alone.
    """

    effectiveness: float | None
    wins: float
    losses: float
    proof: float


def total(outcomes: Iterable[WeightedOutcome]) -> Totals:
    """Fold outcomes, oldest first. The average stays in 0..1 for any outcomes."""
    return [Totals(None, 0.0, 0.0, 0.0), *running_totals(outcomes)][-1]


def running_totals(outcomes: Iterable[WeightedOutcome]) -> Iterator[Totals]:
    """Yield the totals after each outcome, oldest first."""
    average = START
    weight, wins = {True: 0.0, False: 0.0}, {True: 0.0, False: 0.0}  # by `proven`
    for outcome in outcomes:
        average += RATE * outcome.weight * (outcome.success - average)
        weight[outcome.proven] += outcome.weight
        wins[outcome.proven] += outcome.weight * outcome.success
        allowed = max(MAX_SELF_REPORTED - weight[True], 0.0)
        share = min(1.0, allowed / weight[False]) if weight[False] else 0.0
        won = wins[True] + share * wins[False]
        lost = max(weight[True] + share * weight[False] - won, 0.0)
        yield Totals(average, won, lost, weight[True])


# A lesson's effectiveness: a Beta posterior against the base rate of its task type, with its interval. The prior is the
# rate of the type's proven outcomes, itself shrunk towards the scope's rate, with the strength of four outcomes. The
# test for harm uses the rate of the other lessons: a bad lesson must not lower the bar that it has to meet.
PRIOR_STRENGTH: Final = 4.0
PRIOR_RATE: Final = 0.5  # before any outcome
INTERVAL: Final = 0.9  # the share of the posterior between low and high

# A lesson is harmful if, with this certainty, it works less often than its bar: the base rate of its type, but at
# most an even chance (among easy tasks a fair lesson does no harm) and at least 0.3 (where nearly everything fails,
# five proven failures in a row must count as well). Four proven failures in a row are then enough at an even base
# rate, five at the lowest bar, and two of three never are.
SURE: Final = 0.9
HIGHEST_BAR: Final = 0.5
LOWEST_BAR: Final = 0.3


class Rates:
    """The success rates of the lessons of a scope."""

    def __init__(self, by_type: Mapping[str, tuple[float, float]]) -> None:
        """Take the weights of the good outcomes and of all, by task type (`""` for lessons without one)."""
        self.by_type = by_type
        self._all = (sum(good for good, _ in by_type.values()), sum(every for _, every in by_type.values()))

    def base_rate(self, lesson: Lesson, *, others: bool = False) -> float:
        """Return the rate of its task type, shrunk towards the scope's; `others` leaves the lesson itself out."""
        counted = others and lesson.proof >= MAX_SELF_REPORTED
        wins, every = (lesson.wins, lesson.wins + lesson.losses) if counted else (0.0, 0.0)
        rate = PRIOR_RATE
        for tally in (self._all, self.by_type.get(lesson.task_type or "", (0.0, 0.0))):
            rate = _shrunk(max(tally[0] - wins, 0.0), max(tally[1] - every, 0.0), rate)
        return rate

    def mean(self, lesson: Lesson) -> float:
        """Return the posterior's mean, 0..1: lessons are ranked by it."""
        return _shrunk(lesson.wins, lesson.wins + lesson.losses, self.base_rate(lesson))

    def harmful(self, lesson: Lesson) -> bool:
        """True if its outcomes prove that it does more harm than good."""
        if lesson.losses <= lesson.wins:
            return False
        bar = min(max(self.base_rate(lesson, others=True), LOWEST_BAR), HIGHEST_BAR)
        return below(*_beta(lesson, bar), bar) >= SURE

    def low(self, lesson: Lesson) -> float:
        """Return the lower end of the interval: the effectiveness that is proved."""
        return quantile(*_beta(lesson, self.base_rate(lesson)), (1 - INTERVAL) / 2)

    def effectiveness(self, lesson: Lesson) -> dict[str, float | bool]:
        """Return the posterior of a lesson as a person sees it, to three places.

        Its mean, the ends of its 90 % interval, and the base rate it is compared with, all in 0..1; and `harmful`.
        """
        rate = self.base_rate(lesson)
        high = quantile(*_beta(lesson, rate), (1 + INTERVAL) / 2)
        values = {"mean": self.mean(lesson), "low": self.low(lesson), "high": high, "base_rate": rate}
        return {**{name: round(value, 3) for name, value in values.items()}, "harmful": self.harmful(lesson)}


def _shrunk(wins: float, weight: float, rate: float) -> float:
    """Return a rate with a prior of four outcomes."""
    return (wins + PRIOR_STRENGTH * rate) / (weight + PRIOR_STRENGTH)


def _beta(lesson: Lesson, rate: float) -> tuple[float, float]:
    return lesson.wins + PRIOR_STRENGTH * rate, lesson.losses + PRIOR_STRENGTH * (1 - rate)
