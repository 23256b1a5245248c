"""Other ways in which people write what looks like an equation: a range, the keys of a calculator, the clock."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from mcp_reflect.evidence.equations import words_for
from mcp_reflect.evidence.expressions import Negative, Operation, Plain, Sign, Tree, numbers_in
from mcp_reflect.evidence.sum_comparing import are_comparable, shows
from mcp_reflect.evidence.sum_sides import SumSide, terms_in


def _is_range(before: SumSide, own: SumSide) -> bool:
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


def _is_keyed_in(before: SumSide, own: SumSide) -> bool:
    """True for "5 + 3 = 8 × 2 = 16": the keys of a calculator, where a side goes on from the result before it."""
    if own.literal is not None or own.side.tokens[0].kind is Sign.OPEN:
        return False
    first = numbers_in(own.tree)[0]
    value = before.bounds.exact
    return value is not None and not first.is_percent and first.value == value


def _is_on_the_clock(before: SumSide, own: SumSide) -> bool:
    """True for "22 h + 5 h = 3 h": hours begin again after twelve or twenty-four."""
    value, shown = before.bounds.exact, own.bounds.exact
    if value is None or shown is None or not (own.units | before.units) & words_for("clock"):
        return False
    return value == shown or (value - shown) % 12 == 0


def _is_compound(before: SumSide, own: SumSide) -> bool:
    """True for "-20% + 25% = 0%": one change after another multiply."""
    terms = terms_in(before.tree)
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


def _is_bitwise(before: SumSide, own: SumSide) -> bool:
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


def _is_signed_otherwise(before: SumSide, own: SumSide) -> bool:
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


def agree(own: SumSide, before: SumSide) -> bool:
    """True if the sides are equal in any way of reading them."""
    return (
        not are_comparable(before, own)
        or shows(own, before)
        or any(reading(before, own) for reading in _READINGS)
    )
