"""Whether a lesson helped or hurt, by sessions whose ending runs prove: with it, and with it held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import Final

LEAST_CASES: Final = 10
"""Sessions on each side, below which nothing is known."""

_Z: Final = 1.96  # of an interval that holds in 95 of 100 cases


class Effect(StrEnum):
    """What a lesson did, as far as its interval tells."""

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
        """The part of them with a good ending, 0..1."""
        return self.good / self.sessions if self.sessions else 0.0

    @property
    def told(self) -> str:
        """The part in words."""
        return f"{self.good} of {self.sessions}"

    def bounds(self) -> tuple[float, float]:
        """Return between what the rate lies (Wilson's interval)."""
        count, rate = self.sessions, self.rate
        middle = (rate + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
        half = _Z * sqrt(rate * (1 - rate) / count + _Z**2 / (4 * count**2)) / (1 + _Z**2 / count)
        return middle - half, middle + half


@dataclass(frozen=True, slots=True)
class Comparison:
    """Sessions that were shown a lesson and followed it, beside those from which it was held out."""

    shown: Arm = Arm()
    held_out: Arm = Arm()

    @property
    def interval(self) -> tuple[float, float] | None:
        """Between what the difference of the two rates lies (Newcombe's interval); None under ten cases on either side."""
        if min(self.shown.sessions, self.held_out.sessions) < LEAST_CASES:
            return None
        difference = self.shown.rate - self.held_out.rate
        (low, high), (held_low, held_high) = self.shown.bounds(), self.held_out.bounds()
        below = sqrt((self.shown.rate - low) ** 2 + (held_high - self.held_out.rate) ** 2)
        above = sqrt((high - self.shown.rate) ** 2 + (self.held_out.rate - held_low) ** 2)
        return round(difference - below, 4), round(difference + above, 4)

    @property
    def effect(self) -> Effect:
        """Helped or hurt where the whole interval says so."""
        interval = self.interval
        if interval is None:
            return Effect.UNKNOWN
        low, high = interval
        if low > 0:
            return Effect.HELPED
        return Effect.HURT if high < 0 else Effect.UNKNOWN

    @property
    def told(self) -> str:
        """What is known, in words."""
        counts = f"{self.shown.told} sessions ended well with it, {self.held_out.told} without"
        if self.interval is None:
            return f"{self.effect}: {counts}; it takes {LEAST_CASES} on each side"
        low, high = (round(100 * one) for one in self.interval)
        return f"{self.effect}: {counts} ({low:+d} to {high:+d} points)"


def effects_of(comparisons: Sequence[Comparison]) -> dict[str, int]:
    """Return how many lessons helped, hurt, and of how many it is unknown."""
    counts = dict.fromkeys((effect.value for effect in Effect), 0)
    for one in comparisons:
        counts[one.effect.value] += 1
    return counts
