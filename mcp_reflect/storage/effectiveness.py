"""How well a lesson works: a Beta posterior."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from mcp_reflect.models.lesson import Evidence, Lesson

# The Beta distribution, as far as a posterior needs it: its share below a value, and its quantiles.
#
# The regularised incomplete beta function by its continued fraction, evaluated with Lentz's method
# (Press et al., Numerical Recipes, section 6.4); SciPy says the same and would be our largest dependency.


_TERMS: Final = 400
_PRECISE: Final = 1e-12
_LEAST: Final = 1e-300


def below(wins: float, losses: float, value: float) -> float:
    """The share (0..1) of Beta(wins, losses) that lies below `value`; both counts are above 0."""
    if value <= 0:
        return 0.0
    if value >= 1:
        return 1.0
    if value > (wins + 1) / (wins + losses + 2):  # the fraction converges fast on this side alone
        return 1 - below(losses, wins, 1 - value)
    log_front = math.lgamma(wins + losses) - math.lgamma(wins) - math.lgamma(losses)
    front = math.exp(log_front + wins * math.log(value) + losses * math.log1p(-value)) / wins
    return front * _fraction(wins, losses, value)


def quantile(wins: float, losses: float, share: float) -> float:
    """The value (0..1) below which `share` of Beta(wins, losses) lies, to 1e-6."""
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if below(wins, losses, middle) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _fraction(a: float, b: float, x: float) -> float:
    c = 1.0
    d = 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, _TERMS):
        for part in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away_from_zero(1 + part * d)
            c = _away_from_zero(1 + part / c)
            total *= d * c
        if abs(d * c - 1) < _PRECISE:
            break
    return total


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _LEAST else _LEAST


# How well a lesson works: what is shown, and the evidence that ranking rests on.
#
# Shown is a moving average of outcomes that starts at .5. Ranking rests on wins and losses, each weighed by its
# evidence (see `standing`). Both are folds over the outcomes in the order in which they were first told, so
# recording the same outcome twice changes nothing.


START: Final = 0.5
RATE: Final = 0.3  # how far one outcome with full weight moves the average

# An agent's own word counts least; what a test or a measurement shows counts whole.
EVIDENCE_WEIGHT: Final = {Evidence.SELF: 0.3, Evidence.USER: 0.8, Evidence.METRIC: 1.0, Evidence.TEST: 1.0}

# All that agents say of a lesson themselves weighs at most as one proven outcome, and stands in only until
# there is as much proof. So no stream of praise lifts a lesson above one that a test has proved.
MOST_SELF_TOLD: Final = 1.0


@dataclass(frozen=True, slots=True)
class Told:
    """An outcome: success is 1, 0.5 or 0, weight in (0, 1]; `proven` where it is more than an agent's own word."""

    success: float
    weight: float
    proven: bool = True


@dataclass(frozen=True, slots=True)
class Worth:
    """What a lesson's outcomes add up to; `effectiveness` is null before the first.

    `proof` is the weight of the proven ones; from `MOST_SELF_TOLD` on, wins and losses are proven alone.
    """

    effectiveness: float | None
    wins: float
    losses: float
    proof: float


def worth(outcomes: Iterable[Told]) -> Worth:
    """Fold outcomes, oldest first. The average stays in 0..1 whatever they are."""
    result = Worth(None, 0.0, 0.0, 0.0)
    for result in worths(outcomes):  # noqa: B007 - the last one is wanted
        pass
    return result


def worths(outcomes: Iterable[Told]) -> Iterator[Worth]:
    """What a lesson was worth after each of its outcomes, oldest first."""
    average: float | None = None
    proven, own = _Sum(), _Sum()
    for told in outcomes:
        before = START if average is None else average
        average = before + RATE * told.weight * (told.success - before)
        (proven if told.proven else own).add(told)
        room = max(MOST_SELF_TOLD - proven.weight, 0.0)
        share = min(1.0, room / own.weight) if own.weight else 0.0
        wins = proven.wins + share * own.wins
        losses = max(proven.weight + share * own.weight - wins, 0.0)
        yield Worth(average, wins, losses, proven.weight)


class _Sum:
    """Outcomes of one sort, added up."""

    def __init__(self) -> None:
        self.wins = self.weight = 0.0

    def add(self, told: Told) -> None:
        self.wins += told.weight * told.success
        self.weight += told.weight


# What a lesson is worth by its evidence: a Beta posterior against the base rate of its task type, with its interval.
#
# The prior is how lessons of the type fare by proof, itself shrunk towards the whole scope's rate, with the strength
# of four outcomes. Ranking gives every lesson of a type the same prior, so only its own evidence moves it among them.
# Whether one is harmful is asked against the others' rate: a bad lesson must not lower the bar that it is held to.


PRIOR_STRENGTH: Final = 4.0
PRIOR_RATE: Final = 0.5  # while nothing at all has been told
INTERVAL: Final = 0.9  # the share of the posterior between low and high

# A lesson is harmful where it is this sure that it works less often than its bar: the base rate of its type,
# but no more than an even chance (in easy work a fair lesson is no harm) and no less than three in ten (where
# nearly everything fails, five proven failures in a row must tell as well). With it, four proven failures in a
# row are enough at an even base rate, five at the lowest bar, and two of three never are.
SURE: Final = 0.9
HIGHEST_BAR: Final = 0.5
LOWEST_BAR: Final = 0.3

Tally = tuple[float, float]
"""The weight of outcomes that were good, and of all."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A posterior: mean, the ends of its 90 % interval, and the base rate it is held against; all in 0..1."""

    mean: float
    low: float
    high: float
    base_rate: float
    harmful: bool


@dataclass(frozen=True, slots=True)
class Rates:
    """How often lessons of a scope worked, by task type (`""` for lessons without one)."""

    by_type: Mapping[str, Tally]
    _all: Tally = field(init=False, repr=False)

    def __post_init__(self) -> None:
        tallies = self.by_type.values()  # added up once: a recall asks for dozens of lessons
        object.__setattr__(self, "_all", (sum(tally[0] for tally in tallies), sum(tally[1] for tally in tallies)))

    def base_rate(self, lesson: Lesson, *, others: bool = False) -> float:
        """The rate of its task type, shrunk towards the scope's; `others` leaves the lesson itself out."""
        counted = others and lesson.proof >= MOST_SELF_TOLD
        own = (lesson.wins, lesson.wins + lesson.losses) if counted else (0.0, 0.0)
        good, every = self._all[0] - own[0], self._all[1] - own[1]
        of_all = _shrunk(max(good, 0.0), max(every, 0.0), PRIOR_RATE)
        of_type = self.by_type.get(lesson.task_type or "", (0.0, 0.0))
        return _shrunk(max(of_type[0] - own[0], 0.0), max(of_type[1] - own[1], 0.0), of_all)

    def mean(self, lesson: Lesson) -> float:
        """The posterior's mean, 0..1: what lessons are ranked by."""
        return _shrunk(lesson.wins, lesson.wins + lesson.losses, self.base_rate(lesson))

    def harmful(self, lesson: Lesson) -> bool:
        """Whether its evidence proves that it does more harm than good."""
        if lesson.losses <= lesson.wins:
            return False
        bar = min(max(self.base_rate(lesson, others=True), LOWEST_BAR), HIGHEST_BAR)
        return below(*_beta(lesson, bar), bar) >= SURE

    def low(self, lesson: Lesson) -> float:
        """The lower end of the interval: how much of its worth is proved."""
        return quantile(*_beta(lesson, self.base_rate(lesson)), (1 - INTERVAL) / 2)

    def standing(self, lesson: Lesson) -> Standing:
        """All of it, for whoever looks at one lesson."""
        rate = self.base_rate(lesson)
        beta = _beta(lesson, rate)
        return Standing(
            mean=self.mean(lesson),
            low=quantile(*beta, (1 - INTERVAL) / 2),
            high=quantile(*beta, (1 + INTERVAL) / 2),
            base_rate=rate,
            harmful=self.harmful(lesson),
        )


def plain_standing(standing: Standing) -> dict[str, float | bool]:
    """A standing as a person is shown it, to three places."""
    return {name: value if isinstance(value, bool) else round(value, 3) for name, value in asdict(standing).items()}


def _shrunk(wins: float, told: float, rate: float) -> float:
    """A rate with a prior worth four outcomes."""
    return (wins + PRIOR_STRENGTH * rate) / (told + PRIOR_STRENGTH)


def _beta(lesson: Lesson, rate: float) -> tuple[float, float]:
    return lesson.wins + PRIOR_STRENGTH * rate, lesson.losses + PRIOR_STRENGTH * (1 - rate)
