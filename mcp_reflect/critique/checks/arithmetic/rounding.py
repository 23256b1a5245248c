"""When a number that is shown stands for an exact value."""

from enum import Enum, auto
from fractions import Fraction

from mcp_reflect.critique.checks.arithmetic.numerals import terminates

_FLOAT_DECIMALS = 10  # from here on the noise of floating point is no error: 0.30000000000000004
_ROOT_NOISE = 10**12  # roots are cut at 40 digits, π at 50


class Match(Enum):
    YES = auto()
    UNSURE = auto()
    NO = auto()


def same(left: Fraction, right: Fraction, *, inexact: bool) -> bool:
    """Whether two values are one, but for roots and π cut short."""
    return left == right or (inexact and abs(left - right) * _ROOT_NOISE <= max(abs(left), abs(right)))


def within_percent(exact: Fraction, shown: Fraction, percent: int = 1) -> bool:
    return abs(exact - shown) * 100 <= percent * abs(exact)


def matches(exact: Fraction, shown: Fraction, decimals: int, *, inexact: bool, about: bool) -> Match:
    """Whether `shown`, written with so many decimals, is `exact` or a display of it.

    A display is less than one unit of its last place away and within 1 %; a value that the decimals
    could write exactly must be written so. Whole numbers next to a fraction may be counts of whole
    things, and two digits rounded well may be all the digits that count (1.2 × 1.3 = 1.6), so both prove
    nothing. With `about`, 5 % away proves nothing yet.
    """
    if same(exact, shown, inexact=inexact):
        return Match.YES
    if decimals >= _FLOAT_DECIMALS and abs(exact - shown) * 10**9 <= abs(exact):
        return Match.YES
    unit = Fraction(10) ** -decimals
    apart, close = abs(exact - shown), within_percent(exact, shown)
    if about:
        if apart <= unit or close:
            return Match.YES
        return Match.UNSURE if within_percent(exact, shown, 5) else Match.NO
    if not inexact and terminates(exact, decimals):
        return Match.NO
    if apart < unit:
        if close:
            return Match.YES
        two_digits = apart * 2 <= unit and abs(shown) >= 10 * unit
        return Match.UNSURE if decimals == 0 or two_digits else Match.NO
    return Match.NO
