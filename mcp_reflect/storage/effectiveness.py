"""The effectiveness of a lesson: how often it works by its outcomes, against the base rate of its task type."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Evidence, Lesson
from mcp_reflect.storage.repository import Reading, scoped

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


# A lesson's effectiveness: the rate of its good outcomes, smoothed by four outcomes at the base rate of its task type,
# which is smoothed by the scope's rate in the same way. The test for harm uses the rate of the other lessons: a bad
# lesson must not lower the bar that it has to meet.
PRIOR_STRENGTH: Final = 4.0
PRIOR_RATE: Final = 0.5  # before any outcome
REACH: Final = 1.645  # standard errors on either side of the rate, for an interval of 90 %

# A lesson is harmful if its rate is this many standard errors below its bar: the base rate of its type, but at most an
# even chance (among easy tasks a fair lesson does no harm) and at least 0.3 (where nearly everything fails, five
# proven failures in a row must count as well). Four proven failures in a row are then enough at an even base rate,
# five at the lowest bar, and two of three never are.
SURE: Final = 1.5
HIGHEST_BAR: Final = 0.5
LOWEST_BAR: Final = 0.3


class Rates:
    """The success rates of the lessons of a scope."""

    def __init__(self, by_type: Mapping[str, tuple[float, float]]) -> None:
        """Take the weights of the good outcomes and of all, by task type (`""` for lessons without one)."""
        self.by_type = by_type
        self._all = (sum(good for good, _ in by_type.values()), sum(every for _, every in by_type.values()))

    def base_rate(self, lesson: Lesson, *, others: bool = False) -> float:
        """Return the rate of its task type, shrunk toward the scope's; `others` leaves the lesson itself out."""
        counted = others and lesson.proof >= MAX_SELF_REPORTED
        wins, every = (lesson.wins, lesson.wins + lesson.losses) if counted else (0.0, 0.0)
        rate = PRIOR_RATE
        for tally in (self._all, self.by_type.get(lesson.task_type or "", (0.0, 0.0))):
            rate = _shrunk(max(tally[0] - wins, 0.0), max(tally[1] - every, 0.0), rate)
        return rate

    def mean(self, lesson: Lesson) -> float:
        """Return the smoothed rate, 0..1: lessons are ranked by it."""
        return _shrunk(lesson.wins, lesson.wins + lesson.losses, self.base_rate(lesson))

    def harmful(self, lesson: Lesson) -> bool:
        """True if its outcomes prove that it does more harm than good."""
        if lesson.losses <= lesson.wins:
            return False
        bar = min(max(self.base_rate(lesson, others=True), LOWEST_BAR), HIGHEST_BAR)
        every = lesson.wins + lesson.losses
        mean = _shrunk(lesson.wins, every, bar)
        return mean + SURE * _standard_error(mean, every) <= bar

    def effectiveness(self, lesson: Lesson) -> dict[str, float | bool]:
        """Return what the outcomes of a lesson say, to three places.

        Its smoothed rate (`mean`), the ends of its 90 % interval, and the base rate, all in 0..1; and `harmful`.
        """
        mean = self.mean(lesson)
        reach = REACH * _standard_error(mean, lesson.wins + lesson.losses)
        values = {"mean": mean, "low": max(mean - reach, 0.0), "high": min(mean + reach, 1.0)}
        values |= {"base_rate": self.base_rate(lesson)}
        return {**{name: round(value, 3) for name, value in values.items()}, "harmful": self.harmful(lesson)}


def _shrunk(wins: float, weight: float, rate: float) -> float:
    """Return a rate with a prior of four outcomes."""
    return (wins + PRIOR_STRENGTH * rate) / (weight + PRIOR_STRENGTH)


def _standard_error(mean: float, weight: float) -> float:
    """Return the standard deviation of the Beta distribution of a rate."""
    return math.sqrt(mean * (1 - mean) / (weight + PRIOR_STRENGTH + 1))


def rates(reading: Reading, scope: Scope) -> Rates:
    """Return how often the lessons of a scope, and global ones, worked, by task type."""
    rows = reading.rows("base_rates", scoped(scope))
    return Rates({row["task_type"]: (row["wins"], row["told"]) for row in rows})
