"""Conversions of one quantity into another unit, with factors that are exact by definition."""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from mcp_reflect.critique.numbers import matches, read, within_percent, write
from mcp_reflect.critique.work import Finding, Fix, Work

# What is measured, its system, and units with their factors. A word that means several things (GB) has all of them.
_TABLE: Final = """
length metric: m meter metre 1; km kilometer kilometre 1000; cm centimeter centimetre 0.01
length metric: mm millimeter millimetre 0.001
length foot: in inch inches 0.0254; ft foot feet 0.3048; yd yard 0.9144; mi mile 1609.344
mass metric: kg kilo kilogram 1; g gram 0.001; mg milligram 0.000001; t tonne 1000
mass pound: lb lbs pound 0.45359237; oz ounce 0.028349523125
time time: ms msec millisecond 0.001; s sec second 1; min minute 60; h hr hour 3600; day 86400; week 604800
volume metric: L l liter litre 1; mL ml milliliter millilitre 0.001
speed metric: km/h kmh 1000/3600; m/s 1
speed foot: mph 0.44704
data data: byte B 1; KB kB kilobyte 1000,1024; MB megabyte 1000000,1048576; GB gigabyte 1000000000,1073741824
data data: TB terabyte 1000000000000,1099511627776; KiB 1024; MiB 1048576; GiB 1073741824; TiB 1099511627776
"""
Unit = tuple[str, str, str, tuple[Fraction, ...]]


def _units() -> Iterator[tuple[str, Unit]]:
    for line in _TABLE.strip().split("\n"):
        head, _, tail = line.partition(": ")
        measure, system = head.split()
        for names in tail.split("; "):
            *words, factors = names.split()
            unit = words[0], measure, system, tuple(Fraction(factor) for factor in factors.split(","))
            for word in words:
                yield from ((name, unit) for name in (word, f"{word}s" if len(word) > 2 else word))


UNITS: Final = dict(_units())
_NAMES: Final = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_NUMBER: Final = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+"
_ABOUT: Final = r"(?:about|approximately|approx\.?|roughly|around|nearly|almost|some|~|≈)"
_CONVERSION: Final = re.compile(
    rf"(?<![\w.,/^+*×÷−–-])(?<![-+*/×÷] )(?P<first>{_NUMBER})[ -]?(?P<unit>{_NAMES})(?![\w/²³^])"
    r"(?: (?:long|wide|tall|high|deep))?,? ?"
    rf"(?P<sign>=|≈|→|\b(?:is|are|equals?|makes|which is|that is|comes to|converts to)\b|"
    r"\((?=[^)]*\))) ?(?:or |just |exactly )?"
    rf"(?P<about>{_ABOUT} ?)?(?P<second>{_NUMBER})[ -]?(?P<target>{_NAMES})(?![\w/²³^])(?P<behind> ?\S*(?: ?\d)?)"
)
_COMPOUND: Final = re.compile(rf"\d ?(?:{_NAMES})(?:,? and|,| plus| minus| times)? $")
_SUM_BEHIND: Final = re.compile(
    r"\s*(?:[+−*/×÷]|-\s|plus\b|minus\b|times\b|per\b|an?\b|each\b|"
    r"more|less|longer|of\b|from\b|away)"
)
_OTHER: Final = re.compile(
    r"\b(?:scale[sd]?|map|model|drawing|work(?:ing|day|week)?s?|business|shift|school|per (?:day|week|person)|"
    r"ratio|wrong|"
    r"incorrect|false|not|mistak\w+|suppose|exchange|worth)\b",
    re.IGNORECASE,
)


def unit_name(label: str) -> str | None:
    """Return the first name of a unit, None for a word that is not one."""
    unit = UNITS.get(label) or (UNITS.get(label.lower()) if len(label) > 2 else None)
    return unit[0] if unit else None


def check_units(work: Work) -> Iterator[Finding]:
    """Check conversions; sums are for arithmetic."""
    for number, step in enumerate(work.steps, start=1):
        for found in _CONVERSION.finditer(step[:10_000]):
            if (finding := _judged(number, step, found)) is not None:
                yield finding


def _judged(number: int, step: str, found: re.Match[str]) -> Finding | None:
    first, target = UNITS[found["unit"]], UNITS[found["target"]]
    given, stated = read(found["first"]), read(found["second"])
    # "3 km (2 km uphill)" names a part.
    part = found["sign"] == "(" and not found["behind"].startswith(")")
    if first[1] != target[1] or first[0] == target[0] or given is None or stated is None or part:
        return None
    if _COMPOUND.search(step[max(0, found.start() - 30) : found.start()]):
        return None  # the second part of "6 ft 2 in"
    if _SUM_BEHIND.match(found["behind"]) or _OTHER.search(step[max(0, found.start() - 60) : found.end() + 40]):
        return None
    about = found["sign"] == "≈" or found["about"] is not None
    pairs = [(given[0] * one / other) for one in first[3] for other in target[3]]
    exact = first[2] == target[2]
    rulings = [_compare(value, *stated, about=about, exact=exact) for value in pairs]
    claim = step[found.start() : found.end("target")]
    if True in rulings:
        return Finding(step=number, wrong=False, claim=claim)
    if None in rulings:
        return None
    text = write(pairs[0], found["second"])
    fix = Fix(start=found.start("second"), end=found.end("second"), text=text)
    detail = f"{found['first']} {found['unit']} is {text} {found['target']}"
    return Finding(step=number, wrong=True, claim=claim, expected=text, detail=detail, fix=fix)


def _compare(value: Fraction, stated: Fraction, decimals: int, *, about: bool, exact: bool) -> bool | None:
    """Between systems factors are rounded: up to 1 % they agree, up to 10 % they prove nothing."""
    if exact:
        return matches(value, stated, decimals, about=about)
    half = Fraction(1, 2) / Fraction(10) ** decimals
    if within_percent(value, stated) or (abs(value - stated) <= half and within_percent(value, stated, 3)):
        return True
    return None if within_percent(value, stated, 10) else False
