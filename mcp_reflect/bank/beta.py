"""The Beta distribution, as far as a posterior needs it: its share below a value, and its quantiles.

The regularised incomplete beta function by its continued fraction, evaluated with Lentz's method
(Press et al., Numerical Recipes, section 6.4); SciPy says the same and would be our largest dependency.
"""

import math
from typing import Final

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
