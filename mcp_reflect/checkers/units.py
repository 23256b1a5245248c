"""Conversions, and sums of quantities with units, with exact factors."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

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


@dataclass(frozen=True, slots=True)
class _Sum:
    """Quantities with their signs."""

    terms: tuple[tuple[int, Quantity], ...]

    @property
    def end(self) -> int:
        return self.terms[-1][1].end

    @property
    def start(self) -> int:
        return self.terms[0][1].start

    def units(self) -> set[str]:
        return {part.unit.name for _, quantity in self.terms for part in quantity.parts}

    def amounts(self) -> list[Fraction]:
        lists = [[sign * amount for amount in quantity.amounts()] for sign, quantity in self.terms]
        longest = max(map(len, lists))
        return [sum((amounts[min(k, len(amounts) - 1)] for amounts in lists), Fraction(0)) for k in range(longest)]


class UnitsChecker:
    """Checks conversions and mixed sums; plain sums in one unit are the arithmetic checker's."""

    name = "units"

    def check(self, work: Work) -> Iterable[Finding]:
        return [finding for number, step in enumerate(work.steps, 1) for finding in _step(number, step)]


def _step(number: int, step: str) -> Iterator[Finding]:
    found = list(quantities(step))
    index = 0
    left: _Sum | None = None
    about: re.Match[str] | None = None
    while index < len(found):
        current, index = _sum_from(step, found, index)
        if left is not None and about is not None:
            finding = _judge(number, step, left, about, current)
            if finding is not None:
                yield finding
        about = _EQUAL.fullmatch(step, current.end, found[index].start) if index < len(found) else None
        left = current


def _sum_from(step: str, found: list[Quantity], index: int) -> tuple[_Sum, int]:
    terms = [(1, found[index])]
    index += 1
    while index < len(found):
        joint = _PLUS.fullmatch(step, terms[-1][1].end, found[index].start)
        if joint is None:
            break
        terms.append((1 if joint[1] in {"+", "plus"} else -1, found[index]))
        index += 1
    return _Sum(tuple(terms)), index


def _judge(number: int, step: str, left: _Sum, said: re.Match[str], right: _Sum) -> Finding | None:
    target = right.terms[0][1]
    dimensions = {quantity.dimension for _, quantity in left.terms}
    if len(right.terms) > 1 or target.dimension not in dimensions or not _is_claim(step, left, said, right):
        return None
    claim = step[left.start : right.end]
    if len(dimensions) > 1:
        # 5 kg + 3 m = 8 kg; but m beside seconds may be minutes.
        if said["mark"] != "=" or ("m" in left.units() and TIME in dimensions):
            return None
        detail = f"{claim}: different kinds of quantity cannot be added"
        return Finding(step=number, status=Status.FAIL, claim=claim, detail=detail)
    match, expected = _compare(left, target, about=said["mark"] == "≈" or said["about"] is not None)
    if match is Match.YES:
        return Finding(step=number, status=Status.PASS, claim=claim)
    near = step[max(0, left.start - 60) : right.end + 40]
    if match is Match.UNSURE or said["word"] == "or" or _OTHER_MEANING.search(near):
        return None
    fix = _fix(step, target, expected)
    text = fix.text if fix else write(expected, "0.00")
    detail = f"{claim}: {step[left.start : left.end]} is {text} {target.parts[0].unit.name}"
    return Finding(step=number, status=Status.FAIL, claim=claim, expected=text, detail=detail, fix=fix)


def _is_claim(step: str, left: _Sum, said: re.Match[str], right: _Sum) -> bool:
    """True if the two are said to be one: not `× 2 km = …`, not `(500 m uphill)`, not `is 5 m longer`."""
    if len(left.units() | right.units()) < 2:
        return False
    before = step[: left.start].rstrip(" (")[-1:]
    behind = step[right.end :]
    if (
        before in _OPERATORS
        or step[: left.start].rstrip().endswith(" and")
        or behind.lstrip()[:1] in _OPERATORS - {"-", "–"}
    ):
        return False
    if said["bracket"]:
        return behind.lstrip().startswith(")")
    return not (said["word"] and _COMPARED.match(behind))


def _compare(left: _Sum, target: Quantity, *, about: bool) -> tuple[Match, Fraction]:
    """How the right side stands to the left, and what it should be in its first unit."""
    if target.dimension == TEMPERATURE:
        return _temperatures(left, target, about=about)
    best, expected = Match.NO, Fraction(0)
    exact = len({part.unit.family for _, q in (*left.terms, (1, target)) for part in q.parts}) == 1
    shown = target.parts[-1]
    for wanted, given, factor in _meanings(left, target):
        value, stated = wanted / factor, given / factor
        expected = expected or value
        if len(target.parts) == 1 and exact:
            match = matches(value, stated, shown.decimals, about=about)
        else:
            match = _loosely(value, stated, shown.unit.factor / factor / 10**shown.decimals)
        if match is Match.YES:
            return match, value
        if match is Match.UNSURE and not within_percent(value, stated, 50):
            match = Match.NO  # no rounding, whatever is counted
        if match is Match.UNSURE or (value and stated / value in _WORK_SHARES):
            best = Match.UNSURE
    return best, expected


def _meanings(left: _Sum, target: Quantity) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Amounts of the left, of the right, and of one unit of it; a US gallon goes with US quarts."""
    factors = target.parts[0].unit.factors
    ours = left.amounts()
    theirs = [(amount, factors[min(k, len(factors) - 1)]) for k, amount in enumerate(target.amounts())]
    if len(ours) == len(theirs):
        return [(wanted, *given) for wanted, given in zip(ours, theirs, strict=True)]
    return [(wanted, *given) for wanted in ours for given in theirs]


def _loosely(value: Fraction, stated: Fraction, unit: Fraction) -> Match:
    """Between systems factors are rounded: 1 %, or half the last place; up to 10 % proves nothing."""
    apart = abs(value - stated)
    if apart == 0 or within_percent(value, stated) or (apart * 2 <= unit and within_percent(value, stated, 3)):
        return Match.YES
    if within_percent(value, stated, 10) or apart < unit:
        return Match.UNSURE
    return Match.NO


def _temperatures(left: _Sum, target: Quantity, *, about: bool) -> tuple[Match, Fraction]:
    if len(left.terms) != 1 or len(left.terms[0][1].parts) != 1 or len(target.parts) != 1:
        return Match.UNSURE, Fraction(0)
    source, shown = left.terms[0][1].parts[0], target.parts[0]
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
    like = step[part.number_start : part.number_end].lstrip("-−–")
    if not like.isascii():
        return None
    return Fix(start=part.number_start, end=part.number_end, text=write(expected, like, grouped="," in like))
