"""Equations as programs, calculators and ledgers write them."""

from itertools import product
from typing import Final

from mcp_reflect.evidence.expressions import Negative, Operation, Plain, TokenKind, numbers_in
from mcp_reflect.evidence.sum_sides import SumSide, terms_in

_WIDTHS: Final = (8, 16, 32, 64)  # bits of a number in a program
_MOST_ENTRIES: Final = 6  # of a ledger, whose signs are tried
_DEGREES: Final = 360
_LETTERS: Final = 26


def is_keyed_in(before: SumSide, own: SumSide) -> bool:
    """True for "5 + 3 = 8 × 2 = 16": the keys of a calculator, where a side goes on from the result before it."""
    if own.literal is not None or own.side.tokens[0].kind is TokenKind.OPEN:
        return False
    first = numbers_in(own.tree)[0]
    value = before.bounds.exact
    return value is not None and not first.is_percent and first.value == value


def is_bitwise(before: SumSide, own: SumSide) -> bool:
    """True for "5 ^ 3 = 6" in a program."""
    tree = before.tree
    if not isinstance(tree, Operation) or tree.operator != "^":
        return False
    if any(token.kind is TokenKind.POWER or token.text == "**" for token in before.side.tokens):
        return False
    numbers, shown = numbers_in(tree), own.bounds.exact
    if len(numbers) != 2 or shown is None or any(one.value.denominator != 1 for one in numbers):
        return False
    return int(numbers[0].value) ^ int(numbers[1].value) == shown


def is_clear_bitwise(before: SumSide, own: SumSide) -> bool:
    """True for "6 ^ 3 = 5", but not for "8 ^ 2 = 10", since whoever adds in the place of a power writes that."""
    total = sum(number.value for number in numbers_in(before.tree))
    return own.bounds.exact != total and is_bitwise(before, own)


def is_wrapped(before: SumSide, own: SumSide) -> bool:
    """True for "255 + 1 = 0" and "127 + 1 = -128": a number of so many bits begins again."""
    value, shown = before.bounds.exact, own.bounds.exact
    if value is None or shown is None or own.literal is None:
        return False
    return any(
        (value - shown) % 2**width == 0 and -(2 ** (width - 1)) <= shown < 2**width
        for width in _WIDTHS
    )


def is_just_wrapped(before: SumSide, own: SumSide) -> bool:
    """True for "255 + 1 = 0" and "127 + 1 = -128": one step behind the largest number, so that it is no chance."""
    value = before.bounds.exact
    steps_behind = {2**bits for width in _WIDTHS for bits in (width - 1, width)}
    return value in steps_behind and is_wrapped(before, own)


def is_on_the_compass(before: SumSide, own: SumSide) -> bool:
    """True for "350 + 20 = 10" degrees: behind the last degree comes the first."""
    return _is_around(before, own, _DEGREES)


def is_on_the_alphabet(before: SumSide, own: SumSide) -> bool:
    """True for "25 + 3 = 2" where letters are shifted: behind the last letter comes the first."""
    return _is_around(before, own, _LETTERS)


def _is_around(before: SumSide, own: SumSide, size: int) -> bool:
    value, shown = before.bounds.exact, own.bounds.exact
    if value is None or shown is None or own.literal is None:
        return False
    return (value - shown) % size == 0 and 0 <= shown < size


def is_joined_text(before: SumSide, own: SumSide) -> bool:
    """True for "12 + 30 = 1230": texts that a program puts side by side."""
    tree, shown = before.tree, own.literal
    if not isinstance(tree, Operation) or tree.operator != "+" or shown is None:
        return False
    terms = terms_in(tree)
    return all(isinstance(term, Plain) for term in terms) and shown.text == "".join(
        number.text for number in numbers_in(tree)
    )


def is_signed_otherwise(before: SumSide, own: SumSide) -> bool:
    """True for "-2^2 = 4": the minus may belong to the base."""
    tree = before.tree
    has_power = isinstance(tree, Negative) and isinstance(tree.inner, Operation)
    value, shown = before.bounds.exact, own.bounds.exact
    return has_power and value is not None and value == -(shown or 0)


def is_in_a_ledger(before: SumSide, own: SumSide) -> bool:
    """True for "(1,200) + 200 = (1,000)": parentheses stand for a minus, at some of the numbers.

    Without any at a number before the result, they stand for nothing: "40 + 20 = (20)".
    """
    kinds = [token.kind for token in own.side.tokens if token.kind is not TokenKind.CURRENCY]
    numbers = numbers_in(before.tree)
    shown = own.bounds.exact
    if kinds != [TokenKind.OPEN, TokenKind.NUMBER, TokenKind.CLOSE] or len(numbers) > _MOST_ENTRIES:
        return False
    if all(token.kind is not TokenKind.OPEN for token in before.side.tokens):
        return False
    is_sum = all(isinstance(term, Plain | Negative) for term in terms_in(before.tree))
    balances = (
        sum(sign * number.value for sign, number in zip(signs, numbers, strict=True))
        for signs in product((1, -1), repeat=len(numbers))
    )
    return is_sum and shown is not None and -shown in balances
