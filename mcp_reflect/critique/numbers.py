"""How a number is read, written and rounded, with exact fractions, and the units that follow numbers."""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

_MOST_DIGITS: Final = 60
_MOST_EXPONENT: Final = 400
_FLOAT_DECIMALS: Final = (
    10  # from here on the noise of floating point is not an error: 0.30000000000000004
)


def read(text: str) -> tuple[Fraction, int] | None:
    """Return the value and the decimals of `1,250.50`, `.5`, `6.02e23`; None if it is too long."""
    mantissa, _, exponent = text.lower().replace(",", "").partition("e")
    if (
        len(text) > _MOST_DIGITS
        or not text.isascii()
        or len(exponent) > 4
        or abs(int(exponent or 0)) > _MOST_EXPONENT
    ):
        return None
    power = int(exponent or 0)
    whole, _, part = mantissa.partition(".")
    return Fraction(int(whole + part or 0), 10 ** len(part)) * Fraction(10) ** power, len(
        part
    ) - power


def fixed(value: Fraction, decimals: int) -> str:
    """Return decimal text rounded half away from zero: fixed(1/3, 2) is 0.33."""
    scaled = abs(value) * 10**decimals
    units = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    digits = str(units).rjust(decimals + 1, "0")
    whole, part = (digits[:-decimals], digits[-decimals:]) if decimals else (digits, "")
    return ("-" if value < 0 and units else "") + whole + ("." + part if part else "")


def terminates(value: Fraction, decimals: int) -> bool:
    """Return whether `decimals` decimals (if negative: trailing zeros) can express the value exactly."""
    return (value * Fraction(10) ** decimals).denominator == 1


def write(value: Fraction, like: str, *, money: bool = False) -> str:
    """Return the value in the style of `like`: as many decimals, and its thousands separators.

    Use more decimals only if the rounded value would be off by more than 1 %, or if `like` is whole and the value is
    not (two decimals for money and for endless fractions).
    """
    decimals = len(like.partition(".")[2])
    if "." not in like and value.denominator != 1:
        decimals = 2 if money else next((n for n in range(1, 5) if terminates(value, n)), 2)
    while (
        value and decimals < 30 and abs(Fraction(fixed(value, decimals)) - value) > abs(value) / 100
    ):
        decimals += 1
    whole, dot, part = fixed(value, decimals).partition(".")
    return (f"{int(whole):,}" if "," in like else whole) + dot + part


def plain_text(value: Fraction) -> str:
    """Return the value with as few decimals as possible, at most six; a tiny or huge one with a power of ten."""
    if value and not Fraction(1, 10**4) <= abs(value) < 10**15:
        mantissa, _, power = f"{float(value):.2e}".partition("e")
        return f"{mantissa} × 10^{int(power)}"
    return fixed(value, next((n for n in range(7) if terminates(value, n)), 6))


def within_percent(exact: Fraction, shown: Fraction, percent: int = 1) -> bool:
    """Return whether `shown` differs from `exact` by at most `percent` percent of `exact`."""
    return abs(exact - shown) * 100 <= percent * abs(exact)


def matches(exact: Fraction, shown: Fraction, decimals: int, *, about: bool) -> bool | None:
    """Return whether `shown`, which has `decimals` decimals, is `exact` or a rounding of it; None if this is uncertain.

    A rounding is off by less than one unit of its last place and by at most 1 %; if the decimals can express the value
    exactly, they must. Two cases prove nothing: a whole number next to a fraction, which may count whole things, and
    two correctly rounded digits, which may be all the significant ones (1.2 × 1.3 = 1.6). With `about`, a difference of
    up to 5 % proves nothing.
    """
    unit, apart, close = Fraction(10) ** -decimals, abs(exact - shown), within_percent(exact, shown)
    if exact == shown or (decimals >= _FLOAT_DECIMALS and apart * 10**9 <= abs(exact)):
        return True
    if about:
        return (
            True if apart <= unit or close else None if within_percent(exact, shown, 5) else False
        )
    if terminates(exact, decimals) or apart >= unit:
        return False
    two_digits = apart * 2 <= unit and abs(shown) >= 10 * unit
    return True if close else None if decimals == 0 or two_digits else False


NUMBER: Final = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w]|[.,]\d)")
"""A number of a text, without a sign."""


class Unit(NamedTuple):
    """A unit by its first name. A word that means several things (GB) has a factor for each of them."""

    name: str
    measure: str
    system: str
    factors: tuple[Fraction, ...]


# What is measured, its system, and units with their factors. A word that means several things (GB) has all of them.
_UNITS: Final = """
length metric: m meter metre 1; km kilometer kilometre 1000; cm centimeter centimetre 0.01
length metric: mm millimeter millimetre 0.001
length foot: inch inches 0.0254; ft foot feet 0.3048; yd yard 0.9144; mi mile 1609.344
mass metric: kg kilo kilogram 1; g gram 0.001; mg milligram 0.000001; t tonne 1000
mass pound: lb lbs pound 0.45359237; oz ounce 0.028349523125
time time: ms msec millisecond 0.001; s sec second 1; min minute 60; h hr hour 3600; day 86400; week 604800
volume metric: L l liter litre 1; mL ml milliliter millilitre 0.001
speed metric: km/h kmh 1000/3600; m/s 1
speed foot: mph 0.44704
data data: byte B 1; KB kB kilobyte 1000,1024; MB megabyte 1000000,1048576; GB gigabyte 1000000000,1073741824
data data: TB terabyte 1000000000000,1099511627776; KiB 1024; MiB 1048576; GiB 1073741824; TiB 1099511627776
money dollar: $ dollar 1; cent ¢ penny pennie 0.01; dime 0.1; nickel 0.05
money pound: £ quid 1; pence 0.01
money euro: € euro 1
count dozen: dozen 12
angle degree: ° degree 1
"""


def _units() -> Iterator[tuple[str, Unit]]:
    for line in _UNITS.strip().split("\n"):
        head, _, tail = line.partition(": ")
        measure, system = head.split()
        for names in tail.split("; "):
            *words, factors = names.split()
            unit = Unit(words[0], measure, system, tuple(map(Fraction, factors.split(","))))
            for word in words:
                yield from ((name, unit) for name in (word, f"{word}s" if len(word) > 2 else word))


_BY_NAME: Final = dict(_units())


def unit_of(label: str) -> Unit | None:
    """Return the unit that the first of these words names, None if it names none."""
    word = label.partition(" ")[0]
    return _BY_NAME.get(word) or (_BY_NAME.get(word.lower()) if len(word) > 2 else None)
