"""Equations between plain numbers: computed exactly, and called wrong only where no reading of them holds.

A reading is a way in which people write the same thing: a decimal comma, a result rounded for display, a percentage, a
range, the keys of a calculator. If any of them makes the equation true, nothing is said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Final

from mcp_reflect.evidence.computing import value_of
from mcp_reflect.evidence.equations import (
    Equation,
    Side,
    equations_in,
    is_another_arithmetic,
    words_of_a_work,
)
from mcp_reflect.evidence.exact import CheckedEquation, Fix
from mcp_reflect.evidence.expressions import Operation, Plain, numbers_in
from mcp_reflect.evidence.sum_comparing import shows
from mcp_reflect.evidence.sum_readings import agree
from mcp_reflect.evidence.sum_sides import CURRENCIES, SumSide, read_sides
from mcp_reflect.evidence.tokens import TokenKind
from mcp_reflect.evidence.written_numbers import Style, write_number

_MOST_EQUATIONS: Final = 60  # of a step
_MOST_OF_A_WORK: Final = 250  # of all steps: more take longer than a caller waits


def check_sums(steps: Sequence[str], goal: str = "") -> Iterator[CheckedEquation]:
    """Yield the equations between plain numbers of each step, as far as they can be computed."""
    words = words_of_a_work(steps, goal)
    if is_another_arithmetic(words):
        return
    rounded: set[Fraction] = set()
    count = 0
    for number, step in enumerate(steps, start=1):
        for _, equation in zip(range(_MOST_EQUATIONS), equations_in(step), strict=False):
            count += 1
            if count > _MOST_OF_A_WORK:
                return
            found = _check(equation, step, number, rounded, words)
            if found is not None:
                yield found
            rounded |= _rounded_results(equation)


def _rounded_results(equation: Equation) -> set[Fraction]:
    """Return the results that an equation shows with fewer digits than they have."""
    sums = read_sides(equation, Style.POINT)
    return {
        shown.literal.value
        for computed, shown in pairwise(sums)
        if computed is not None
        and shown is not None
        and shown.literal is not None
        and shown.bounds.exact != computed.bounds.exact
        and shows(shown, computed)
    }


def _check(
    equation: Equation, step: str, number: int, rounded: set[Fraction], words: frozenset[str]
) -> CheckedEquation | None:
    """Return what comes out of an equation; None where it is not read, or where its readings disagree.

    `words` are those of the work, which may say that it is meant otherwise: "degrees", "alphabet".

    It is read in each style of numbers, since the "." of "1.500" parts thousands in one and decimals in the other:
    - no style reads two sides beside each other: nothing is said
    - no style finds a fault: it holds
    - one style finds a fault and the other none: nothing is said, its writer may have meant the other
    - each style finds a fault: it is wrong, and what comes out is written in the style in which it is the least
    """
    readings = {style: read_sides(equation, style, rounded) for style in Style}
    known = [style for style, sums in readings.items() if _is_known(sums)]
    if not known:
        return None
    first = known[0]
    faults = {
        style: _first_fault(readings[style], words, strictly=style is not first) for style in known
    }
    if all(fault is None for fault in faults.values()):
        return _holding(readings[first], step, number)
    if None in faults.values():
        return None
    style = min(known, key=lambda one: _distance(readings[one], faults[one] or 0))
    return _fault(readings[style], faults[style] or 0, style, step, number)


def _distance(sums: Sequence["SumSide | None"], at: int) -> Fraction:
    """Return by how much of the larger a side differs from the one before it.

    It tells in which style a wrong sum is written: "1.200 € + 850 € = 2.150 €" has 2.050 for 2.150, not 851.2 for 2.15.
    """
    before, own = sums[at - 1], sums[at]
    if before is None or own is None:
        return Fraction(1)
    difference = abs(before.bounds.low - own.bounds.low)
    return difference / max(abs(before.bounds.low), abs(own.bounds.low), difference)


def _holding(sums: Sequence["SumSide | None"], step: str, number: int) -> CheckedEquation | None:
    """Return an equation that holds, from its first side that was read to its last; None where none were compared."""
    read = [one for one in sums if one is not None]
    if not any(shows(own, before) for before, own in pairwise(read)):
        return None
    start, end = read[0].side.start, read[-1].side.end
    return CheckedEquation(step=number, start=start, end=end, quote=step[start:end], holds=True)


def _is_known(sums: Sequence["SumSide | None"]) -> bool:
    """True if two sides beside each other were read."""
    return any(one is not None and other is not None for one, other in pairwise(sums))


def _first_fault(
    sums: Sequence["SumSide | None"], words: frozenset[str], *, strictly: bool
) -> int | None:
    """Return the place of the first side that equals none of those before it, None if there is none.

    The second style of numbers excuses an equation only by making it true: `strictly`.
    """

    def is_equal(own: SumSide, before: SumSide) -> bool:
        if strictly:
            return shows(own, before)
        return agree(own, before, words)

    for at in range(1, len(sums)):
        before, own = sums[at - 1], sums[at]
        if before is None or own is None:
            continue
        earlier = [one for one in sums[:at] if one is not None]
        if not any(is_equal(own, one) for one in earlier):
            return at
    return None


def _fault(
    sums: Sequence["SumSide | None"], at: int, style: Style, step: str, number: int
) -> CheckedEquation | None:
    """Return what is wrong at a side, with the value of the side before it in its place."""
    before, own = sums[at - 1], sums[at]
    if before is None or own is None:
        return None
    value = value_of(before.tree)
    later = sums[at:]
    shown = next((one.literal for one in later if one is not None and one.literal), None)
    expected = None
    if value is not None:
        expected = _written(value, shown, style, sums)
        if shown is not None and not shown.is_percent and _adds_shares(before):
            expected = f"{write_number(value * 100, shown.text, style, money=False)}%"
    last = sums[-1]
    fix = None
    if expected is not None and last is not None and all(one is not None for one in later):
        prefix = _currency_before(last.side)
        fix = Fix(start=own.side.start, end=last.side.end, text=prefix + expected)
        if last.literal is not None and last.literal.unit and "%" not in expected:
            fix = replace(fix, text=fix.text + _unit_behind(last.side, step))
    return CheckedEquation(
        step=number,
        start=before.side.start,
        end=own.side.end,
        quote=step[before.side.start : own.side.end],
        holds=False,
        expected=expected,
        fix=fix,
    )


def _adds_shares(side: SumSide) -> bool:
    """True for "60% + 5%", whose value is shown in percent, whatever stands behind it: 65%, not 0.65."""
    are_shares = all(number.is_percent for number in numbers_in(side.tree))
    return are_shares and isinstance(side.tree, Operation) and side.tree.operator in "+-"


def _written(
    value: Fraction, shown: Plain | None, style: Style, sums: Sequence["SumSide | None"]
) -> str:
    """Return a value as the result is written; a fraction of whole numbers stays one."""
    if shown is None:
        return f"{value.numerator}/{value.denominator}" if value.denominator != 1 else f"{value}"
    if shown.is_percent:
        is_of_hundred = shown.value >= 1 and 2 < value < 1000
        in_percent = value if is_of_hundred else value * 100
        return f"{write_number(in_percent, shown.text, style, money=False)}%"
    is_money = any(side is not None and side.units & CURRENCIES for side in sums)
    return write_number(value, shown.text, style, money=is_money)


def _currency_before(side: Side) -> str:
    """Return the sign of a currency that stands before a result."""
    first = next((token for token in side.tokens if token.text not in "-−–("), None)
    if first is None or first.kind is not TokenKind.CURRENCY:
        return ""
    return first.text


def _unit_behind(side: Side, step: str) -> str:
    """Return what stands behind the number of a result, with the blank before it."""
    numbers = [at for at, token in enumerate(side.tokens) if token.kind is TokenKind.NUMBER]
    if not numbers or numbers[-1] == len(side.tokens) - 1:
        return ""
    place = side.start - side.tokens[0].start
    return step[place + side.tokens[numbers[-1]].end : side.end]
