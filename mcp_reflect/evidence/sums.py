"""Equations between plain numbers: computed exactly, and called wrong only where no reading of them holds.

A reading is a way in which people write the same thing: a decimal comma, a result rounded for display, a percentage, a
range, the keys of a calculator. If any of them makes the equation true, nothing is said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Final

from mcp_reflect.evidence.computing import Bounds, bounds_of, value_of
from mcp_reflect.evidence.equations import (
    Equation,
    Side,
    equations_in,
    is_of_another_arithmetic,
    words_for,
)
from mcp_reflect.evidence.exact import Checked, Fix
from mcp_reflect.evidence.expressions import (
    Negative,
    Operation,
    Plain,
    Sign,
    Tree,
    numbers_in,
    read_expression,
    unit_of,
)
from mcp_reflect.evidence.units import dimension_of, units_in
from mcp_reflect.evidence.written_numbers import Style, write_number

_MOST_EQUATIONS: Final = 60  # of a step
_CURRENCIES: Final = frozenset("usd eur gbp chf jpy inr cad aud".split())
_NEAR: Final = Fraction(1, 200)  # of a value: what is rounded to thousands differs by less
_FLOAT: Final = Fraction(1, 10**12)


@dataclass(frozen=True, slots=True)
class _Sum:
    """A side that was read, with its bounds."""

    side: Side
    tree: Tree
    bounds: Bounds

    @property
    def literal(self) -> Plain | None:
        """The number that the side is, where it is a single one."""
        inner = self.tree.inner if isinstance(self.tree, Negative) else self.tree
        return inner if isinstance(inner, Plain) else None

    @property
    def units(self) -> set[str]:
        return {unit for number in numbers_in(self.tree) for unit in units_in(number.unit)}


def check_sums(steps: Sequence[str], goal: str = "") -> Iterator[Checked]:
    """Yield the equations between plain numbers of each step, as far as they can be computed."""
    if is_of_another_arithmetic(goal):
        return
    rounded: set[Fraction] = set()
    for number, step in enumerate(steps, start=1):
        for _, equation in zip(range(_MOST_EQUATIONS), equations_in(step), strict=False):
            found = _check(equation, step, number, rounded)
            if found is not None:
                yield found
            rounded |= _rounded_results(equation)


def _rounded_results(equation: Equation) -> set[Fraction]:
    """Return the results that an equation shows with fewer digits than they have."""
    sums = _read(equation, Style.POINT)
    return {
        shown.literal.value
        for computed, shown in pairwise(sums)
        if computed is not None
        and shown is not None
        and shown.literal is not None
        and shown.bounds.exact != computed.bounds.exact
        and _shows(shown, computed)
    }


def _check(equation: Equation, step: str, number: int, rounded: set[Fraction]) -> Checked | None:
    """Return what comes out; None where the equation is not read, or may hold and may not."""
    readings = {style: _read(equation, style, rounded) for style in Style}
    known = [style for style, sums in readings.items() if _is_known(sums)]
    if not known:
        return None
    faults = {
        style: _first_fault(readings[style], strictly=style is not known[0]) for style in known
    }
    style, fault = known[0], faults[known[0]]
    if fault is None:
        is_sure = all(faults[one] is None for one in known)
        return _holding(readings[style], step, number) if is_sure else None
    if any(faults[one] is None for one in known):
        return None
    found = _fault(readings[style], fault, style, step, number)
    if len(known) > 1 and _is_ambiguous(found, readings[known[1]], faults[known[1]], step, number):
        return None
    return found


def _holding(sums: Sequence["_Sum | None"], step: str, number: int) -> Checked | None:
    """Return an equation that holds, from its first side that was read to its last; None where none were compared."""
    read = [one for one in sums if one is not None]
    if not any(_shows(own, before) for before, own in pairwise(read)):
        return None
    start, end = read[0].side.start, read[-1].side.end
    return Checked(step=number, start=start, end=end, quote=step[start:end], holds=True)


def _is_ambiguous(
    found: Checked | None, sums: list["_Sum | None"], at: int | None, step: str, number: int
) -> bool:
    """True where another style of numbers gives another result, and a point may part thousands."""
    other = _fault(sums, at or 0, Style.COMMA, step, number)
    if found is None or other is None or found.expected != other.expected:
        shown = [side.text for one in sums if one is not None for side in numbers_in(one.tree)]
        return any("." in text for text in shown)
    return False


def _is_known(sums: Sequence["_Sum | None"]) -> bool:
    """True if two sides beside each other were read."""
    return any(one is not None and other is not None for one, other in pairwise(sums))


def _read(
    equation: Equation,
    style: Style,
    rounded: set[Fraction] = frozenset(),  # type: ignore[assignment]
) -> list["_Sum | None"]:
    """Return the sides with their values; None for one that is not read."""
    found: list[_Sum | None] = []
    for at, side in enumerate(equation.sides):
        tree = read_expression(side.tokens, style)
        if tree is None or not _is_plain(tree):
            found.append(None)
            continue
        is_last = at == len(equation.sides) - 1
        if is_last and equation.unit_behind:
            tree = _with_unit(tree, equation.unit_behind)
        bounds = None if tree is None else bounds_of(tree, rounded=rounded)
        found.append(None if tree is None or bounds is None else _Sum(side, tree, bounds))
    return found


def _with_unit(tree: Tree, word: str) -> Tree | None:
    """Return a result with the word behind it as its unit; None if it has one already and this is another."""
    number = tree.inner if isinstance(tree, Negative) else tree
    if not isinstance(number, Plain):
        return tree
    if number.unit:  # "$18 every day"
        return None if word.lower() in words_for("scales") else tree
    if number.is_percent:
        return tree
    named = replace(number, unit=unit_of(word), text=number.text)
    return Negative(named) if isinstance(tree, Negative) else named


def _is_plain(tree: Tree) -> bool:
    """False for sums whose meaning needs more than their signs: a percentage added to an amount, units that differ."""
    units = {unit for number in numbers_in(tree) for unit in units_in(number.unit)}
    if units & words_for("scales") or any(map(_is_a_letter, units)):
        return False
    return _terms_are_alike(tree)


def _is_a_letter(unit: str) -> bool:
    """True for the x of "2x + 6", which is no unit."""
    return len(unit) == 1 and unit.isalpha() and unit not in _factors()


def _terms_are_alike(tree: Tree) -> bool:
    match tree:
        case Negative():
            return _terms_are_alike(tree.inner)
        case Operation(operator="+" | "-"):
            terms = _terms(tree)
            return _are_alike(terms) and all(map(_terms_are_alike, terms))
        case Operation():
            return _terms_are_alike(tree.left) and _terms_are_alike(tree.right)
        case _:
            return True


def _are_alike(terms: Sequence[Tree]) -> bool:
    """Only like things are added; a thing that is counted may be named once: "90 flowers - 40 = 50 flowers"."""
    kinds = {_kind(term) for term in terms}
    units = {unit for unit, _ in kinds if unit}
    if len({is_percent for _, is_percent in kinds}) > 1 or len(units) > 1:
        return False
    is_named_once = len(kinds) > 1
    return not is_named_once or units.isdisjoint(words_for("times"))


def _terms(tree: Tree) -> list[Tree]:
    if isinstance(tree, Operation) and tree.operator in "+-":
        return [*_terms(tree.left), *_terms(tree.right)]
    return [tree]


def _kind(term: Tree) -> tuple[str, bool]:
    """Return the unit of a term, and whether it is a percentage: only like things are added."""
    numbers = numbers_in(term)
    unit = next((number.unit for number in numbers if number.unit), "")
    is_percent = isinstance(term, Plain) and term.is_percent
    return unit, is_percent


def _first_fault(sums: Sequence["_Sum | None"], *, strictly: bool) -> int | None:
    """Return the place of the first side that equals none of those before it, None if there is none.

    The second style of numbers excuses an equation only by making it true: `strictly`.
    """
    for at in range(1, len(sums)):
        before, own = sums[at - 1], sums[at]
        if before is None or own is None:
            continue
        earlier = [one for one in sums[:at] if one is not None]
        agree = _shows if strictly else _agree
        if not any(agree(own, one) for one in earlier):
            return at
    return None


def _agree(own: _Sum, before: _Sum) -> bool:
    """True if the sides are equal in any way of reading them."""
    return (
        not _are_comparable(before, own)
        or _shows(own, before)
        or any(reading(before, own) for reading in _READINGS)
    )


def _are_comparable(before: _Sum, own: _Sum) -> bool:
    """False where units say that the sides count otherwise, or where both are numbers that nothing computes."""
    if before.literal is not None and own.literal is not None:
        return False
    if _is_all_percent(before) != _is_all_percent(own) and before.literal is not None:
        return False  # "48 = 100% + 20%"
    dimension, result = dimension_of(before.tree), dimension_of(own.tree)
    if dimension:
        # A currency stands at some of the factors: "15 × $12.99 = 195".
        is_money = dimension in [{currency: 1} for currency in _CURRENCIES]
        counted = {unit: power for unit, power in result.items() if power > 0}  # "= $18 per day"
        return dimension in (result, counted) or (not result and is_money)
    return not result.keys() & words_for("scales") and not _is_other_scale(before, own)


def _is_all_percent(one: _Sum) -> bool:
    return all(number.is_percent for number in numbers_in(one.tree))


def _is_other_scale(before: _Sum, own: _Sum) -> bool:
    """True for "500 + 700 = 1.2 kg": the numbers before a measure may be of a smaller one."""
    factors = [factor for unit in own.units for factor in _factors().get(unit, ())]
    value, shown = before.bounds.exact, own.bounds.exact
    if not factors or not value or not shown:
        return False
    ratio = max(value / shown, shown / value)
    return any(abs(ratio / factor - 1) < Fraction(1, 30) for factor in factors)


@cache
def _factors() -> dict[str, tuple[Fraction, ...]]:
    """Return the factors by which the numbers before a measure may be of another scale."""
    table: dict[str, tuple[Fraction, ...]] = {}
    for line in words_for("measures"):
        unit, *factors = line.split()
        table[unit] = tuple(map(Fraction, factors))
    return table


def _shows(shown: _Sum, computed: _Sum) -> bool:
    """True if a side is the value of another, exactly or rounded as numbers are shown."""
    if shown.bounds.meet(computed.bounds):
        return True
    number = shown.literal
    if number is None:
        return _may_be_equal_before_rounding(shown, computed)
    return any(
        _is_rounded(shown.bounds, computed.bounds, number, scale) for scale in _scales(number)
    )


def _scales(number: Plain) -> tuple[int, ...]:
    """A result in percent stands for its hundredth, or for itself: "20 / 80 = 25%", "8/10 × 100 = 80%"."""
    return (1, 100) if number.is_percent else (1,)


def _is_rounded(shown: Bounds, computed: Bounds, number: Plain, scale: int) -> bool:
    said = shown.low * scale
    if computed.low <= said <= computed.high:
        return True
    difference = min(abs(said - computed.low), abs(said - computed.high))
    value = computed.low
    if difference <= abs(value) * _FLOAT:
        return True
    last_place = Fraction(1, 10**number.decimals) / (100 if number.is_percent and scale == 1 else 1)
    if (
        value.denominator == 1
        and computed.exact is not None
        and scale == 1
        and not number.is_percent
    ):
        is_rounded_to_thousands = number.text.replace(",", "").endswith("000")
        return is_rounded_to_thousands and difference <= abs(value) * _NEAR
    if difference >= last_place:
        return False
    return not _lost_its_digits(said, difference, value, number)


def _lost_its_digits(said: Fraction, difference: Fraction, value: Fraction, number: Plain) -> bool:
    """True for 0.002 in the place of 0.0018: one digit is left, and it is far off."""
    has_one_digit = len(number.text.replace(".", "").replace(",", "").strip("0")) == 1
    is_small = abs(said) < Fraction(1, 100)
    return is_small and has_one_digit and difference * 10 > abs(value)


def _may_be_equal_before_rounding(own: _Sum, before: _Sum) -> bool:
    """True if two expressions are equal where numbers with decimals were rounded before they were written."""
    first = bounds_of(own.tree, round_all=True)
    second = bounds_of(before.tree, round_all=True)
    return first is not None and second is not None and first.meet(second)


def _is_range(before: _Sum, own: _Sum) -> bool:
    """True for "12 - 15 = 4": from 12 to 15, not 12 minus 15."""
    tree = before.tree
    if not isinstance(tree, Operation) or tree.operator != "-" or tree.in_parentheses:
        return False
    if not isinstance(tree.left, Plain) or not isinstance(tree.right, Plain):
        return False
    is_minus = any(token.text == "−" for token in before.side.tokens)
    goes_up = tree.left.value < tree.right.value
    shown = own.bounds.exact
    return goes_up and not is_minus and shown is not None and shown > 0


def _is_keyed_in(before: _Sum, own: _Sum) -> bool:
    """True for "5 + 3 = 8 × 2 = 16": the keys of a calculator, where a side goes on from the result before it."""
    if own.literal is not None or own.side.tokens[0].kind is Sign.OPEN:
        return False
    first = numbers_in(own.tree)[0]
    value = before.bounds.exact
    return value is not None and not first.is_percent and first.value == value


def _is_on_the_clock(before: _Sum, own: _Sum) -> bool:
    """True for "22 h + 5 h = 3 h": hours begin again after twelve or twenty-four."""
    value, shown = before.bounds.exact, own.bounds.exact
    if value is None or shown is None or not (own.units | before.units) & words_for("clock"):
        return False
    return value == shown or (value - shown) % 12 == 0


def _is_compound(before: _Sum, own: _Sum) -> bool:
    """True for "-20% + 25% = 0%": one change after another multiply."""
    terms = _terms(before.tree)
    shown = own.literal
    if shown is None or not shown.is_percent or len(terms) < 2:
        return False
    value = Fraction(1)
    for number, sign in _signed_terms(before.tree, 1):
        if not number.is_percent:
            return False
        value *= 1 + sign * number.value / 100
    said = (own.bounds.exact or Fraction(0)) * 100
    return abs((value - 1) * 100 - said) < Fraction(1, 10**shown.decimals)


def _signed_terms(tree: Tree, sign: int) -> Iterator[tuple[Plain, int]]:
    match tree:
        case Plain():
            yield tree, sign
        case Negative():
            yield from _signed_terms(tree.inner, -sign)
        case Operation(operator="+" | "-"):
            yield from _signed_terms(tree.left, sign)
            yield from _signed_terms(tree.right, sign if tree.operator == "+" else -sign)
        case _:
            return


def _is_bitwise(before: _Sum, own: _Sum) -> bool:
    """True for "5 ^ 3 = 6" in a program."""
    tree = before.tree
    if not isinstance(tree, Operation) or tree.operator != "^":
        return False
    if any(token.kind is Sign.POWER or token.text == "**" for token in before.side.tokens):
        return False
    numbers, shown = numbers_in(tree), own.bounds.exact
    if len(numbers) != 2 or shown is None or any(one.value.denominator != 1 for one in numbers):
        return False
    return int(numbers[0].value) ^ int(numbers[1].value) == shown


def _is_signed_otherwise(before: _Sum, own: _Sum) -> bool:
    """True for "-2^2 = 4": the minus may belong to the base."""
    tree = before.tree
    has_power = isinstance(tree, Negative) and isinstance(tree.inner, Operation)
    value, shown = before.bounds.exact, own.bounds.exact
    return has_power and value is not None and value == -(shown or 0)


_READINGS: Final = (
    _is_range,
    _is_keyed_in,
    _is_on_the_clock,
    _is_compound,
    _is_bitwise,
    _is_signed_otherwise,
)


def _fault(
    sums: Sequence["_Sum | None"], at: int, style: Style, step: str, number: int
) -> Checked | None:
    """Return what is wrong at a side, with the value of the side before it in its place."""
    before, own = sums[at - 1], sums[at]
    if before is None or own is None:
        return None
    value = value_of(before.tree)
    later = sums[at:]
    shown = next((one.literal for one in later if one is not None and one.literal), None)
    expected = None if value is None else _written(value, shown, style, sums)
    last = sums[-1]
    fix = None
    if expected is not None and last is not None and all(one is not None for one in later):
        prefix = _currency_before(last.side)
        fix = Fix(start=own.side.start, end=last.side.end, text=prefix + expected)
        if last.literal is not None and last.literal.unit and "%" not in expected:
            fix = replace(fix, text=fix.text + _unit_behind(last.side, step))
    return Checked(
        step=number,
        start=before.side.start,
        end=own.side.end,
        quote=step[before.side.start : own.side.end],
        holds=False,
        expected=expected,
        fix=fix,
    )


def _written(
    value: Fraction, shown: Plain | None, style: Style, sums: Sequence["_Sum | None"]
) -> str:
    """Return a value as the result is written; a fraction of whole numbers stays one."""
    if shown is None:
        return f"{value.numerator}/{value.denominator}" if value.denominator != 1 else f"{value}"
    units = {unit for one in sums if one is not None for unit in one.units}
    if shown.is_percent:
        is_of_hundred = value >= 1 and shown.value >= 1 and value < 1000 and value > 2
        return (
            write_number(value if is_of_hundred else value * 100, shown.text, style, money=False)
            + "%"
        )
    return write_number(value, shown.text, style, money=bool(units & _CURRENCIES))


def _currency_before(side: Side) -> str:
    """Return the sign of a currency that stands before a result."""
    first = next((token for token in side.tokens if token.text not in "-−–("), None)
    if first is None or first.kind is not Sign.CURRENCY:
        return ""
    return first.text


def _unit_behind(side: Side, step: str) -> str:
    """Return what stands behind the number of a result, with the blank before it."""
    numbers = [at for at, token in enumerate(side.tokens) if token.kind is Sign.NUMBER]
    if not numbers or numbers[-1] == len(side.tokens) - 1:
        return ""
    place = side.start - side.tokens[0].start
    return step[place + side.tokens[numbers[-1]].end : side.end]
