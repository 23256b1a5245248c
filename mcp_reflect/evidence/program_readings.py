"""Equations as programs, calculators and ledgers write them."""

import struct
from collections.abc import Callable
from fractions import Fraction
from operator import add, mul, sub
from typing import Final

from mcp_reflect.evidence.expressions import Negative, Operation, Tree, WrittenNumber, numbers_in
from mcp_reflect.evidence.sum_sides import SumSide, terms_in
from mcp_reflect.evidence.tokens import TokenKind

_BEHIND_THE_LARGEST: Final = frozenset(
    2**bits for width in (8, 16, 32, 64) for bits in (width - 1, width)
)
"""One more than the largest number of so many bits, with a sign and without."""

_WHOLE_OPERATIONS: Final[dict[str, Callable[[int, int], int]]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": lambda value, divisor: value // divisor,
}
_FLOAT: Final = struct.Struct("<f")  # of 32 bits
_FLOAT_DIGITS: Final = 2**24  # such a float keeps no more
_LARGEST_FLOAT: Final = 2**127


def is_keyed_in(computed: SumSide, result: SumSide) -> bool:
    """True for "5 + 3 = 8 × 2 = 16": the keys of a calculator, where a side goes on from the result before it."""
    if result.literal is not None or result.written.tokens[0].kind is TokenKind.OPEN:
        return False
    first = numbers_in(result.tree)[0]
    value = computed.bounds.exact
    return value is not None and not first.is_percent and first.value == value


def is_bitwise(computed: SumSide, result: SumSide) -> bool:
    """True for "5 ^ 3 = 6" in a program, where `^` compares bits: 101 and 011 differ in 110. "5² = 27" is no such."""
    tree, shown = computed.tree, result.bounds.exact
    if not isinstance(tree, Operation) or tree.operator != "^" or shown is None:
        return False
    if any(
        token.kind is TokenKind.POWER or token.text == "**" for token in computed.written.tokens
    ):
        return False
    numbers = numbers_in(tree)
    if len(numbers) != 2 or any(one.value.denominator != 1 for one in numbers):
        return False
    return int(numbers[0].value) ^ int(numbers[1].value) == shown


def is_wrapped(computed: SumSide, result: SumSide) -> bool:
    """True for "255 + 1 = 0" and "127 + 1 = -128": behind the largest number of a program comes nothing, or the least."""
    value, shown = computed.bounds.exact, result.bounds.exact
    return value in _BEHIND_THE_LARGEST and shown in (0, -value)


def is_divided_whole(computed: SumSide, result: SumSide) -> bool:
    """True for "7 / 2 * 2 = 6" in a program, where what is left of a division is dropped."""
    whole = _whole_value(computed.tree)
    return whole is not None and whole == result.bounds.exact


def _whole_value(tree: Tree) -> int | None:
    """Return the value of a tree of whole numbers with divisions that drop what is left."""
    match tree:
        case WrittenNumber():
            return int(tree.value) if tree.value.denominator == 1 and not tree.is_percent else None
        case Operation(operator="+" | "-" | "*" | "/"):
            left, right = _whole_value(tree.left), _whole_value(tree.right)
            if left is None or right is None or (tree.operator == "/" and right == 0):
                return None
            return _WHOLE_OPERATIONS[tree.operator](left, right)
        case _:
            return None


def is_lost_by_a_float(computed: SumSide, result: SumSide) -> bool:
    """True for "16777216 + 1 = 16777216": a float keeps twenty-four binary digits, and shows just what it keeps."""
    value, shown = computed.bounds.exact, result.bounds.exact
    if value is None or shown is None or not _FLOAT_DIGITS < abs(value) < _LARGEST_FLOAT:
        return False
    (as_float,) = _FLOAT.unpack(_FLOAT.pack(value))
    return shown == Fraction(as_float)


def is_joined_text(computed: SumSide, result: SumSide) -> bool:
    """True for "12 + 30 = 1230": texts that a program puts side by side."""
    tree, shown = computed.tree, result.literal
    if not isinstance(tree, Operation) or tree.operator != "+" or shown is None:
        return False
    terms = terms_in(tree)
    return all(isinstance(term, WrittenNumber) for term in terms) and shown.text == "".join(
        number.text for number in numbers_in(tree)
    )


def is_signed_otherwise(computed: SumSide, result: SumSide) -> bool:
    """True for "-2^2 = 4": the minus may belong to the base."""
    tree = computed.tree
    has_power = isinstance(tree, Negative) and isinstance(tree.inner, Operation)
    value, shown = computed.bounds.exact, result.bounds.exact
    return has_power and value is not None and value == -(shown or 0)


def is_in_a_ledger(computed: SumSide, result: SumSide) -> bool:
    """True for "(1,200) + 200 = (1,000)": parentheses around a number alone stand for a minus.

    Without any before the result, they stand for nothing: "40 + 20 = (20)".
    """
    return _has_number_in_parentheses(computed) and _has_number_in_parentheses(result)


def _has_number_in_parentheses(side: SumSide) -> bool:
    """Return whether a number stands alone in parentheses: "(1,200)", also with a currency, "($1,200)"."""
    kinds = [token.kind for token in side.written.tokens if token.kind is not TokenKind.CURRENCY]
    entry = [TokenKind.OPEN, TokenKind.NUMBER, TokenKind.CLOSE]
    return any(kinds[index : index + 3] == entry for index in range(len(kinds) - 2))
