"""Conversions, and sums of quantities with units, with exact factors."""

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import cycle, pairwise, product

from mcp_reflect.checkers.arithmetic.numerals import Match, matches, within_percent, write
from mcp_reflect.checkers.base import Finding, Fix, Work
from mcp_reflect.checkers.quantities import TEMPERATURE, TIME, Quantity, quantities
from mcp_reflect.models.critique import Status

_ABOUT = r"(?:about|approximately|approx\.?|roughly|around|nearly|almost|some|~|≈)"
_SHAPE = r"(?: (?:long|tall|wide|deep|high|thick|old|away|apart|heavy|total|each))?"
_SAID = (
    r"is|are|equals|is equal to|is equivalent to|is the same as|converts to|comes to|amounts to|makes|"
    r"which is|that is|that's|which equals|i\.e\.,?|or"
)
_EQUAL = re.compile(
    rf"(?:(?: (?:of )?[a-z]+){{0,2}} ?(?P<mark>=|≈|→|⇒) ?|{_SHAPE},? (?P<word>{_SAID}) (?:also |only |exactly |just )?|"
    rf"{_SHAPE} ?(?P<bracket>\()(?:or |i\.e\. |= ?)?)(?P<about>{_ABOUT} ?)?"
)
_PLUS = re.compile(r" ?(\+|plus|[-−–]|minus) ?")
_OPERATORS = frozenset("+-−–*/×÷·^√±")
_OTHER_MEANING = re.compile(
    r"\b(?:scale[sd]?|map|model|drawing|represents?|legend|exchange|worth|working|work(?:day|week)?s?|business|shift|"
    r"school|per (?:day|week|person)|man|person|ratio|toy|wrong|incorrect|false|not|mistak\w+|confus\w+|suppose)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"\s*(?:\w+er\b|more|less|of\b|away|from|than|ahead|behind|above|below|later|apart|per\b|a\b|each|every|/)"
)
# Degrees from absolute zero to the zero of each scale.
_ZERO = {"°C": Fraction("273.15"), "°F": Fraction("459.67"), "K": Fraction(0)}
# How much of a day, week, month or year people work: 8 of 24 hours, 5 of 7 days, 40 of 168 hours.
_WORK_SHARES = tuple(
    Fraction(a, b) for a, b in ((8, 24), (5, 7), (40, 168), (12, 24), (52, 48), (250, 365), (260, 365))
)


_Terms = list[tuple[int, Quantity]]
"""Quantities with their signs, as they are added up."""


class UnitsChecker:
    """Checks conversions and mixed sums; plain sums in one unit are the arithmetic checker's."""

    name = "units"

    def check(self, work: Work) -> Iterable[Finding]:
        return [finding for number, step in enumerate(work.steps, 1) for finding in _findings(number, step)]


def _findings(number: int, step: str) -> Iterator[Finding]:
    sums: list[_Terms] = []
    for quantity in quantities(step):
        joint = _PLUS.fullmatch(step, sums[-1][-1][1].end, quantity.start) if sums else None
        if joint:
            sums[-1].append((1 if joint[1] in {"+", "plus"} else -1, quantity))
        else:
            sums.append([(1, quantity)])
    for left, right in pairwise(sums):
        said = _EQUAL.fullmatch(step, left[-1][1].end, right[0][1].start)
        if said and len(right) == 1 and (finding := _judged(number, step, left, said, right[0][1])):
            yield finding


def _judged(number: int, step: str, left: _Terms, said: re.Match[str], target: Quantity) -> Finding | None:
    units = {part.unit.name for _, quantity in left for part in quantity.parts}
    dimensions = {quantity.dimension for _, quantity in left}
    start = left[0][1].start
    if target.dimension not in dimensions or not _is_claim(step, start, said, target):
        return None
    claim = step[start : target.end]
    if len(dimensions) > 1:
        # 5 kg + 3 m = 8 kg; but m beside seconds may be minutes.
        if said["mark"] != "=" or ("m" in units and TIME in dimensions):
            return None
        detail = f"{claim}: different kinds of quantity cannot be added"
        return Finding(step=number, status=Status.FAIL, claim=claim, detail=detail)
    if len(units | {part.unit.name for part in target.parts}) < 2:
        return None
    match, expected = _compare(left, target, about=said["mark"] == "≈" or said["about"] is not None)
    if match is Match.YES:
        return Finding(step=number, status=Status.PASS, claim=claim)
    near = step[max(0, start - 60) : target.end + 40]
    if match is Match.UNSURE or said["word"] == "or" or _OTHER_MEANING.search(near):
        return None
    fix = _fix(step, target, expected)
    text = fix.text if fix else write(expected, "0.00")
    detail = f"{claim}: {step[start : left[-1][1].end]} is {text} {target.parts[0].unit.name}"
    return Finding(step=number, status=Status.FAIL, claim=claim, expected=text, detail=detail, fix=fix)


def _is_claim(step: str, start: int, said: re.Match[str], right: Quantity) -> bool:
    """True if the two are said to be one: not `× 2 km = …`, not `(500 m uphill)`, not `is 5 m longer`."""
    before, behind = step[:start].rstrip(" ("), step[right.end :].lstrip()
    if before[-1:] in _OPERATORS or before.endswith(" and") or behind[:1] in _OPERATORS - {"-", "–"}:
        return False
    if said["bracket"]:
        return behind.startswith(")")
    return not (said["word"] and _COMPARED.match(step, right.end))


def _compare(left: _Terms, target: Quantity, *, about: bool) -> tuple[Match, Fraction]:
    """How the right side stands to the left, and what it should be in its first unit."""
    if target.dimension == TEMPERATURE:
        return _temperatures(left, target, about=about)
    best, expected = Match.NO, Fraction(0)
    exact = len({part.unit.family for _, quantity in (*left, (1, target)) for part in quantity.parts}) == 1
    shown, factors = target.parts[-1], target.parts[0].unit.factors
    ours = [sum((sign * amount for sign, amount in way), Fraction(0)) for way in _ways(left)]
    theirs = list(zip(target.amounts(), cycle(factors), strict=False))
    # A US gallon goes with US quarts; else each meaning of one side is tried with each of the other.
    pairs = zip(ours, theirs, strict=True) if len(ours) == len(theirs) else product(ours, theirs)
    for wanted, (given, factor) in pairs:
        value, stated = wanted / factor, given / factor
        expected = expected or value
        if len(target.parts) == 1 and exact:
            match = matches(value, stated, shown.decimals, about=about)
        else:
            match = _loosely(value, stated, shown.unit.factor / factor / 10**shown.decimals)
        if match is Match.YES:
            return match, value
        rounded = match is Match.UNSURE and within_percent(value, stated, 50)
        if rounded or (value and stated / value in _WORK_SHARES):
            best = Match.UNSURE
    return best, expected


def _ways(left: _Terms) -> Iterator[list[tuple[int, Fraction]]]:
    """Return the signed amounts of a sum for each meaning of its units."""
    amounts = [(sign, quantity.amounts()) for sign, quantity in left]
    for meaning in range(max(len(values) for _, values in amounts)):
        yield [(sign, values[min(meaning, len(values) - 1)]) for sign, values in amounts]


def _loosely(value: Fraction, stated: Fraction, unit: Fraction) -> Match:
    """Between systems factors are rounded: 1 %, or half the last place; up to 10 % proves nothing."""
    apart = abs(value - stated)
    if apart == 0 or within_percent(value, stated) or (apart * 2 <= unit and within_percent(value, stated, 3)):
        return Match.YES
    if within_percent(value, stated, 10) or apart < unit:
        return Match.UNSURE
    return Match.NO


def _temperatures(left: _Terms, target: Quantity, *, about: bool) -> tuple[Match, Fraction]:
    if len(left) != 1:
        return Match.UNSURE, Fraction(0)
    source, shown = left[0][1].parts[0], target.parts[0]
    value = (source.value + _ZERO[source.unit.name]) * source.unit.factor / shown.unit.factor - _ZERO[shown.unit.name]
    apart, place = abs(value - shown.value), Fraction(1, 10**shown.decimals)
    if apart * 2 <= place or (apart < 1 and (about or shown.unit.name == "K")):
        return Match.YES, value
    degrees = source.value * source.unit.factor / shown.unit.factor  # warmer by 10 °C (18 °F)
    if apart <= max(place, 4 if about else 3) or abs(degrees - shown.value) <= 1:
        return Match.UNSURE, value
    return Match.NO, value


def _fix(step: str, target: Quantity, expected: Fraction) -> Fix | None:
    if len(target.parts) != 1:
        return None
    part = target.parts[0]
    like = step[part.start : part.number_end].lstrip("-−–")
    if not like.isascii():
        return None
    return Fix(start=part.start, end=part.number_end, text=write(expected, like, grouped="," in like))
