"""How a number is read, written and rounded, with exact fractions."""

import re
from fractions import Fraction
from typing import Final

_MOST_DIGITS: Final = 60
_MOST_EXPONENT: Final = 400
_FLOAT_DECIMALS: Final = 10  # from here on the noise of floating point is not an error: 0.30000000000000004


def read(text: str) -> tuple[Fraction, int] | None:
    """Return the value and the decimals of `1,250.50`, `.5`, `6.02e23`; None where it is too long to bother."""
    mantissa, _, exponent = text.lower().replace(",", "").replace("{}", "").partition("e")
    if len(text) > _MOST_DIGITS or not text.isascii() or len(exponent) > 4 or abs(int(exponent or 0)) > _MOST_EXPONENT:
        return None
    power = int(exponent or 0)
    whole, _, part = mantissa.partition(".")
    return Fraction(int(whole + part or 0), 10 ** len(part)) * Fraction(10) ** power, len(part) - power


def fixed(value: Fraction, decimals: int) -> str:
    """Return decimal text rounded half away from zero: fixed(1/3, 2) is 0.33."""
    scaled = abs(value) * 10**decimals
    units = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    digits = str(units).rjust(decimals + 1, "0")
    whole, part = (digits[:-decimals], digits[-decimals:]) if decimals else (digits, "")
    return ("-" if value < 0 and units else "") + whole + ("." + part if part else "")


def terminates(value: Fraction, decimals: int) -> bool:
    """True if so many decimals (negative: trailing zeros) write the value without rounding."""
    return (value * Fraction(10) ** decimals).denominator == 1


def write(value: Fraction, like: str, *, money: bool = False, grouped: bool = False) -> str:
    """Return the value in the style of `like`: its decimals, its thousands.

    More decimals are shown only where those of `like` would be off by more than 1 %, or, behind a
    whole number, where the value has a fraction (two places for money and for what does not end).
    """
    if "10" in like.partition(" ")[2] or "e" in like.lower():  # 6.0 × 10^8
        mantissa = f"{float(value):.{len(re.split('[eE× ]', like)[0].partition('.')[2])}e}"
        return re.sub(r"e[+]?(-?)0*(\d+)", r" × 10^\1\2", mantissa)
    decimals = len(like.partition(".")[2])
    if "." not in like and value.denominator != 1:
        decimals = 2 if money else next((n for n in range(1, 5) if terminates(value, n)), 2)
    while value and decimals < 30 and abs(Fraction(fixed(value, decimals)) - value) > abs(value) / 100:
        decimals += 1
    text = fixed(value, decimals)
    if not (grouped or "," in like):
        return text
    whole, dot, part = text.partition(".")
    return f"{int(whole):,}" + dot + part


def plain_text(value: Fraction) -> str:
    """Return the value in as few decimals as write it, at most six; tiny and huge ones with a power of ten."""
    if value and not Fraction(1, 10**4) <= abs(value) < 10**15:
        mantissa, _, power = f"{float(value):.2e}".partition("e")
        return f"{mantissa} × 10^{int(power)}"
    return fixed(value, next((n for n in range(7) if terminates(value, n)), 6))


def within_percent(exact: Fraction, shown: Fraction, percent: int = 1) -> bool:
    """True if `shown` is at most so many percent of `exact` away from it."""
    return abs(exact - shown) * 100 <= percent * abs(exact)


def matches(exact: Fraction, shown: Fraction, decimals: int, *, about: bool) -> bool | None:
    """True if `shown`, written with so many decimals, is `exact` or a display of it; None where nothing is certain.

    A display is less than one unit of its last place away and within 1 %; a value that the decimals
    could write exactly must be written so. Whole numbers next to a fraction may be counts of whole
    things, and two digits rounded well may be all the digits that count (1.2 × 1.3 = 1.6), so both prove
    nothing. With `about`, 5 % away proves nothing yet.
    """
    unit, apart, close = Fraction(10) ** -decimals, abs(exact - shown), within_percent(exact, shown)
    if exact == shown or (decimals >= _FLOAT_DECIMALS and apart * 10**9 <= abs(exact)):
        return True
    if about:
        return True if apart <= unit or close else None if within_percent(exact, shown, 5) else False
    if terminates(exact, decimals) or apart >= unit:
        return False
    two_digits = apart * 2 <= unit and abs(shown) >= 10 * unit
    return True if close else None if decimals == 0 or two_digits else False


NUMBER: Final = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w]|[.,]\d)")
"""A number of a text, without a sign."""
