"""Conversions of quantities with units, with exact factors."""

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import cycle, pairwise, product

from mcp_reflect.checkers.arithmetic.numerals import Match, matches, within_percent, write
from mcp_reflect.checkers.base import Finding, Fix, Work
from mcp_reflect.checkers.quantities import TEMPERATURE, Quantity, quantities
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
# Next to an operator a quantity is a part of a sum, which is not computed here.
_SUM_BEFORE = re.compile(r"(?:[-+−–*/×÷·^√±]|\b(?:and|plus|minus|times))[\s(]*$")
_SUM_BEHIND = re.compile(r"\s*(?:[+−*/×÷·^√±]|[-–]\s?[\d.]|(?:plus|minus|times)\b)")
_OTHER_MEANING = re.compile(
    r"\b(?:scale[sd]?|map|model|drawing|represents?|legend|exchange|worth|working|work(?:day|week)?s?|business|shift|"
    r"school|per (?:day|week|person)|man|person|ratio|toy|wrong|incorrect|false|not|mistak\w+|confus\w+|suppose)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"\s*(?:\w+er\b|more|less|of\b|away|from|than|ahead|behind|above|below|later|apart|per\b|a\b|each|every|/)"
)
# How much of a day, week, month or year people work: 8 of 24 hours, 5 of 7 days, 40 of 168 hours.
_WORK_SHARES = tuple(
    Fraction(a, b) for a, b in ((8, 24), (5, 7), (40, 168), (12, 24), (52, 48), (250, 365), (260, 365))
)


class UnitsChecker:
    """Checks conversions; sums are the arithmetic checker's."""

    name = "units"

    def check(self, work: Work) -> Iterable[Finding]:
        return [finding for number, step in enumerate(work.steps, 1) for finding in _findings(number, step)]


def _findings(number: int, step: str) -> Iterator[Finding]:
    for left, right in pairwise(quantities(step)):
        said = _EQUAL.fullmatch(step, left.end, right.start)
        if said and (finding := _judged(number, step, left, said, right)):
            yield finding


def _judged(number: int, step: str, left: Quantity, said: re.Match[str], target: Quantity) -> Finding | None:
    units = {part.unit.name for part in (*left.parts, *target.parts)}
    if left.dimension != target.dimension or left.dimension == TEMPERATURE or len(units) < 2:
        return None
    if not _is_claim(step, left.start, said, target):
        return None
    claim = step[left.start : target.end]
    match, expected = _compare(left, target, about=said["mark"] == "≈" or said["about"] is not None)
    if match is Match.YES:
        return Finding(step=number, status=Status.PASS, claim=claim)
    near = step[max(0, left.start - 60) : target.end + 40]
    if match is Match.UNSURE or said["word"] == "or" or _OTHER_MEANING.search(near):
        return None
    fix = _fix(step, target, expected)
    text = fix.text if fix else write(expected, "0.00")
    detail = f"{step[left.start : left.end]} is {text} {target.parts[0].unit.name}"
    return Finding(step=number, status=Status.FAIL, claim=claim, expected=text, detail=detail, fix=fix)


def _is_claim(step: str, start: int, said: re.Match[str], right: Quantity) -> bool:
    """True if the two are said to be one: not `× 2 km = …`, not `(500 m uphill)`, not `is 5 m longer`."""
    if _SUM_BEFORE.search(step[max(0, start - 20) : start]) or _SUM_BEHIND.match(step, right.end):
        return False
    if said["bracket"]:
        return step.startswith(")", right.end)
    return not (said["word"] and _COMPARED.match(step, right.end))


def _compare(left: Quantity, target: Quantity, *, about: bool) -> tuple[Match, Fraction]:
    """How the right side stands to the left, and what it should be in its first unit."""
    best, expected = Match.NO, Fraction(0)
    exact = len({part.unit.family for part in (*left.parts, *target.parts)}) == 1
    shown, factors = target.parts[-1], target.parts[0].unit.factors
    ours, theirs = left.amounts(), list(zip(target.amounts(), cycle(factors), strict=False))
    # The first meaning of kB goes with the first of MB; else each meaning of one side is tried with each of the other.
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


def _loosely(value: Fraction, stated: Fraction, unit: Fraction) -> Match:
    """Between systems factors are rounded: 1 %, or half the last place; up to 10 % proves nothing."""
    apart = abs(value - stated)
    if apart == 0 or within_percent(value, stated) or (apart * 2 <= unit and within_percent(value, stated, 3)):
        return Match.YES
    if within_percent(value, stated, 10) or apart < unit:
        return Match.UNSURE
    return Match.NO


def _fix(step: str, target: Quantity, expected: Fraction) -> Fix | None:
    if len(target.parts) != 1:
        return None
    part = target.parts[0]
    return Fix(start=part.start, end=part.number_end, text=write(expected, step[part.start : part.number_end]))
