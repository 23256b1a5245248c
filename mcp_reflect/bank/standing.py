"""What a lesson is worth by its evidence: a Beta posterior against the base rate of its task type, with its interval.

The prior is how lessons of the type fare by proof, itself shrunk towards the whole scope's rate, with the strength
of four outcomes. Ranking gives every lesson of a type the same prior, so only its own evidence moves it among them.
Whether one is harmful is asked against the others' rate: a bad lesson must not lower the bar that it is held to.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from mcp_reflect.bank.beta import below, quantile
from mcp_reflect.bank.effectiveness import MOST_SELF_TOLD
from mcp_reflect.models.lesson import Lesson

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
