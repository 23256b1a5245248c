"""Whether a lesson helped or hurt, by sessions whose ending runs prove.

Sessions that were shown a lesson are compared with a control group: a part of the sessions, chosen by chance, is *held
out*, which means that it is shown no lessons.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import Final

LEAST_CASES: Final = 10
"""Sessions on each side, below which nothing is known."""

_Z: Final = 1.96
"""Standard deviations of a normal distribution on each side of its mean, between which 95 of 100 cases lie."""


class Effect(StrEnum):
    """What a lesson did; unknown where chance may have made the difference."""

    HELPED = "helped"
    HURT = "hurt"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Arm:
    """Sessions with a proven ending: how many there are, and in how many of them it was good."""

    sessions: int = 0
    good: int = 0

    @property
    def rate(self) -> float:
        """The part of them with a good ending, 0..1; 0 where there are none."""
        if not self.sessions:
            return 0.0
        return self.good / self.sessions

    @property
    def in_words(self) -> str:
        """The counts as an answer has them: "7 of 10"."""
        return f"{self.good} of {self.sessions}"

    def bounds(self) -> tuple[float, float]:
        """Return the lowest and highest rate that the true one may be, right in 95 of 100 cases (Wilson's score interval).

        A plain rate says too much for few sessions: 7 of 10 gives .40 to .89.
        """
        count = self.sessions
        rate = self.rate
        shrinkage = 1 + _Z**2 / count
        center = (rate + _Z**2 / (2 * count)) / shrinkage
        variance = rate * (1 - rate) / count + _Z**2 / (4 * count**2)
        half_width = _Z * sqrt(variance) / shrinkage
        return center - half_width, center + half_width


@dataclass(frozen=True, slots=True)
class Comparison:
    """Sessions that were shown a lesson and followed it, beside those of the control group, which were shown none."""

    shown: Arm = Arm()
    held_out: Arm = Arm()

    @property
    def interval(self) -> tuple[float, float] | None:
        """The lowest and highest difference of the two rates, -1 to 1 (Newcombe's hybrid score interval).

        It is the rate with the lesson minus the rate without. None under LEAST_CASES sessions on either side.
        """
        shown = self.shown
        control = self.held_out
        if min(shown.sessions, control.sessions) < LEAST_CASES:
            return None
        difference = shown.rate - control.rate
        shown_low, shown_high = shown.bounds()
        control_low, control_high = control.bounds()
        below = sqrt((shown.rate - shown_low) ** 2 + (control_high - control.rate) ** 2)
        above = sqrt((shown_high - shown.rate) ** 2 + (control.rate - control_low) ** 2)
        return round(difference - below, 4), round(difference + above, 4)

    @property
    def effect(self) -> Effect:
        """Helped or hurt where the whole interval lies above or below zero."""
        interval = self.interval
        if interval is None:
            return Effect.UNKNOWN
        low, high = interval
        if low > 0:
            return Effect.HELPED
        if high < 0:
            return Effect.HURT
        return Effect.UNKNOWN

    @property
    def in_words(self) -> str:
        """What is known, as "helped: 9 of 10 sessions ended well with it, 2 of 10 without (+27 to +87 points)"."""
        counts = (
            f"{self.shown.in_words} sessions ended well with it, {self.held_out.in_words} without"
        )
        if self.interval is None:
            return f"{self.effect}: {counts}; it takes {LEAST_CASES} on each side"
        low, high = (round(100 * bound) for bound in self.interval)
        return f"{self.effect}: {counts} ({low:+d} to {high:+d} points)"


def effects_of(comparisons: Sequence[Comparison]) -> dict[str, int]:
    """Return how many lessons have each effect: {"helped": 2, "hurt": 0, "unknown": 7}."""
    counts = dict.fromkeys((effect.value for effect in Effect), 0)
    for comparison in comparisons:
        counts[comparison.effect.value] += 1
    return counts
