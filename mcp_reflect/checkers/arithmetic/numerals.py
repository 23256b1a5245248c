"""How a number is read, written and rounded."""

import re
from decimal import Decimal
from enum import Enum, auto
from fractions import Fraction
from unicodedata import numeric

MAX_DIGITS = 60
MAX_EXPONENT = 400
_SHORT = 16
EXACT = 60  # decimals of a vulgar fraction: it is never a rounded display

VULGAR = {sign: Fraction(numeric(sign)).limit_denominator(8) for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")


def read(text: str) -> tuple[Fraction, int] | None:
    """Value and decimals of `1,250.50`, `.5`, `6.02e23`; None where it is too long to bother."""
    if len(text) < _SHORT and text.isdigit() and text.isascii():
        return Fraction(int(text)), 0
    if len(text) > MAX_DIGITS or not text.isascii():
        return None
    mantissa, _, exponent = text.lower().replace(",", "").replace("{}", "").partition("e")
    if len(exponent) > len("+999"):
        return None
    power = int(exponent or 0)
    if abs(power) > MAX_EXPONENT:
        return None
    whole, _, part = mantissa.partition(".")
    value = Fraction(int(whole + part or 0), 10 ** len(part))
    return value * Fraction(10) ** power, len(part) - power


def read_raised(text: str) -> Fraction | None:
    """Value of superscript digits: `⁻³` is -3; None where they are no number."""
    plain = text.translate(_RAISED)
    digits = plain.removeprefix("-").removeprefix("+")
    if not digits.isdecimal() or len(digits) > len("999"):
        return None
    return Fraction(int(plain))


def scientific(text: str) -> str:
    """Write `3.98 × 10^-19` and `3.98 × 10⁻¹⁹` as 3.98e-19, other numbers as they are."""
    mantissa, power, exponent = re.sub(r" ?(?:[×·*]|\\times) ?10", "e", text).partition("e")
    return mantissa + power + exponent.translate(_RAISED).strip("^{}")


def fixed(value: Fraction, decimals: int) -> str:
    """Decimal text rounded half away from zero: fixed(1/3, 2) is 0.33."""
    scaled = abs(value) * 10**decimals
    units = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    digits = str(units).rjust(decimals + 1, "0")
    whole, part = (digits[:-decimals], digits[-decimals:]) if decimals else (digits, "")
    sign = "-" if value < 0 and units else ""
    return sign + whole + ("." + part if part else "")


def terminates(value: Fraction, decimals: int) -> bool:
    """True if so many decimals (negative: trailing zeros) write the value without rounding."""
    return (value * Fraction(10) ** decimals).denominator == 1


def write(value: Fraction, like: str, *, money: bool = False, grouped: bool = False) -> str:
    """The value in the display style of `like`: decimals, thousands, exponent.

    More decimals are shown only where those of `like` would be off by more than 1 %, or, behind a
    whole number, where the value has a fraction (two places for money and for what does not end).
    """
    shape = like.lower()
    if "e" in shape:
        return _scientific(value, len(shape.partition("e")[0].partition(".")[2]))
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


def _scientific(value: Fraction, decimals: int) -> str:
    mantissa, _, power = f"{Decimal(value.numerator) / Decimal(value.denominator):.{decimals}e}".partition("e")
    return f"{mantissa}e{int(power)}" if value else "0"


_FLOAT_DECIMALS = 10  # from here on the noise of floating point is no error: 0.30000000000000004
_NOISE = 10**12  # of roots, which are floats


class Match(Enum):
    YES = auto()
    UNSURE = auto()
    NO = auto()


def same(left: Fraction, right: Fraction) -> bool:
    """True if two values are one, but for roots cut short."""
    return left == right or abs(left - right) * _NOISE <= max(abs(left), abs(right))


def within_percent(exact: Fraction, shown: Fraction, percent: int = 1) -> bool:
    return abs(exact - shown) * 100 <= percent * abs(exact)


def matches(exact: Fraction, shown: Fraction, decimals: int, *, about: bool) -> Match:
    """True if `shown`, written with so many decimals, is `exact` or a display of it.

    A display is less than one unit of its last place away and within 1 %; a value that the decimals
    could write exactly must be written so. Whole numbers next to a fraction may be counts of whole
    things, and two digits rounded well may be all the digits that count (1.2 × 1.3 = 1.6), so both prove
    nothing. With `about`, 5 % away proves nothing yet.
    """
    if same(exact, shown):
        return Match.YES
    if decimals >= _FLOAT_DECIMALS and abs(exact - shown) * 10**9 <= abs(exact):
        return Match.YES
    unit = Fraction(10) ** -decimals
    apart, close = abs(exact - shown), within_percent(exact, shown)
    if about:
        if apart <= unit or close:
            return Match.YES
        return Match.UNSURE if within_percent(exact, shown, 5) else Match.NO
    if terminates(exact, decimals):
        return Match.NO
    if apart < unit:
        if close:
            return Match.YES
        two_digits = apart * 2 <= unit and abs(shown) >= 10 * unit
        return Match.UNSURE if decimals == 0 or two_digits else Match.NO
    return Match.NO


_SWISS = re.compile(r"(?<=\d)['’](?=\d{3})")
_NO_CENTS = re.compile(r"(?<=\d)\.[–—-](?!\d)")
_COMMA = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d{1,2}(?!\d)")
_ENGLISH = re.compile(r"\d,\d{3}(?!\d)|\d\.\d{1,2}(?!\d)")
_MILLIONS = re.compile(r"(?<=\d)[Mk](?=[\s,;.)]|$)")
_PLAIN = re.compile(r"\d(?!\d|\.\d|[Mk](?:\W|$))(?=\s)")


def in_english(text: str) -> str:
    """Write German, French and Swiss numbers, and sums of which all members are millions, in the English way.

    The result is as long as the text, so that places in one are places in the other.
    """
    text = _NO_CENTS.sub("  ", _SWISS.sub(",", text))
    money = "€" in text or "EUR" in text or "CHF" in text
    if money and re.search(r"\d,\d{2}(?!\d)", text) and not _ENGLISH.search(_COMMA.sub("", text)):
        text = _COMMA.sub(lambda found: found[0].translate(str.maketrans(",.", ".,")), text)
    if "=" in text and len(_MILLIONS.findall(text)) > 2 and not _PLAIN.search(text):
        text = _MILLIONS.sub(" ", text)
    return text
