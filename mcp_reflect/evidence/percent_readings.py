"""What a result in percent may say other than the plain value: a change, or several changes one after another."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import repeat
from math import prod
from typing import Final

from mcp_reflect.evidence.expressions import Negative, Operation, Tree, WrittenNumber, numbers_in
from mcp_reflect.evidence.sum_sides import SumSide, terms_in
from mcp_reflect.evidence.sum_words import words_for
from mcp_reflect.evidence.tokens import TokenKind

_MOST_TIMES: Final = 366  # that one change is repeated


def is_change(computed: SumSide, result: SumSide) -> bool:
    """True for "120 / 100 = 20%" and "80 / 100 = -20%": the result says by how much, not how much."""
    ratio = computed.bounds.exact
    return ratio is not None and _is_size_of(result, abs(ratio - 1))


def is_clear_change(computed: SumSide, result: SumSide) -> bool:
    """True for "250 / 200 = +25%", "80 / 100 = -20%" and "1.02^12 = 26.8%", but not for "30 / 120 = 75%".

    More than all of it, or a result with its sign, says a change without a word.
    """
    ratio = computed.bounds.exact
    is_growth = ratio is not None and ratio > 1
    return (is_growth or _begins_with_a_sign(result)) and is_change(computed, result)


def is_share_of_difference(computed: SumSide, result: SumSide) -> bool:
    """True for "250 - 200 = 25%", but not for "50% - 25% = 50%": of plain amounts only a change is in percent."""
    are_amounts = not any(number.is_percent for number in numbers_in(computed.tree))
    return are_amounts and is_relative_difference(computed, result)


def is_relative_difference(computed: SumSide, result: SumSide) -> bool:
    """True for "5% - 4% = 25%": the difference as a share of the one or of the other."""
    tree = computed.tree
    if not isinstance(tree, Operation) or tree.operator != "-":
        return False
    if not isinstance(tree.left, WrittenNumber) or not isinstance(tree.right, WrittenNumber):
        return False
    amounts = (tree.left.value, tree.right.value)
    difference = abs(tree.left.value - tree.right.value)
    return any(amount and _is_size_of(result, difference / abs(amount)) for amount in amounts)


def is_compound(computed: SumSide, result: SumSide) -> bool:
    """True for "-20% + 25% = 0%", "30% + 30% = 51%" off and "12 × 1% = 12.68%": changes one after another multiply."""
    changes = [float(change) for change in _changes_in(computed.tree)]
    if len(changes) < 2:
        return False
    growth = prod(1 + change for change in changes) - 1
    discount = 1 - prod(1 - change for change in changes)
    return _is_size_of(result, abs(growth)) or _is_size_of(result, abs(discount))


def is_clear_compound(computed: SumSide, result: SumSide) -> bool:
    """True for "+50% - 50% = -25%", "10% - 10% = -1%" and "5% × 3 = 15.76%", but not for "20% + 5% = 26%".

    A result that is one off is a slip as well. Signs before the changes, a loss, or digits that no plain sum of the
    changes has, say that they were multiplied.
    """
    shown = result.literal
    most_decimals = max((number.decimals for number in numbers_in(computed.tree)), default=0)
    has_more_digits = shown is not None and shown.decimals > most_decimals
    says_it = has_more_digits or _begins_with_a_sign(computed) or _begins_with_a_sign(result)
    return says_it and is_compound(computed, result)


def is_in_points(computed: SumSide, result: SumSide) -> bool:
    """True for "60% - 45% = 15 points": the difference of two shares, counted in hundredths.

    A sum has no points, "60% + 5% = 65 points", but any result may lack its percent sign: "60% + 5% = 65".
    """
    tree = computed.tree
    if not isinstance(tree, Operation) or tree.operator not in "+-":
        return False
    value = computed.bounds.exact
    are_shares = all(number.is_percent for number in numbers_in(tree))
    if not are_shares or value is None or result.bounds.exact != value * 100:
        return False
    if not result.units:
        return True
    return tree.operator == "-" and result.units <= words_for("scored")


def _begins_with_a_sign(side: SumSide) -> bool:
    """Return whether a plus or a minus stands before the first number: "+25%"."""
    return side.written.tokens[0].kind is TokenKind.OPERATOR


def is_rounded_hundred(computed: SumSide, result: SumSide) -> bool:
    """True for "33 + 33 + 33 = 100%": shares that were rounded are all of it."""
    shown = result.literal
    if shown is None or not shown.is_percent or shown.value != 100:
        return False
    shares = terms_in(computed.tree)
    total = computed.bounds.exact
    if total is None or len(shares) < 3:
        return False
    if any(isinstance(share, WrittenNumber) and share.is_percent for share in shares):
        total *= 100
    most_rounded = Fraction(len(shares), 2)  # each share by one half at most
    return abs(total - 100) <= most_rounded


def _is_size_of(result: SumSide, share: Fraction | float) -> bool:
    """True if a result is a share in percent, by as many digits as it shows, whatever its sign."""
    shown = result.literal
    if shown is None or not shown.is_percent:
        return False
    return abs(share * 100 - shown.value) < Fraction(1, 10**shown.decimals)


def _changes_in(tree: Tree) -> Iterator[Fraction]:
    """Yield the changes of "10% - 5%" with their signs, and of "3 × 10%" each one; none where a term is none."""
    terms = list(_signed_terms(tree, 1))
    if terms and all(number.is_percent for number, _ in terms):
        yield from (sign * number.value / 100 for number, sign in terms)
        return
    if not isinstance(tree, Operation) or tree.operator != "*":
        return
    for times, change in ((tree.left, tree.right), (tree.right, tree.left)):
        if not isinstance(times, WrittenNumber) or not isinstance(change, WrittenNumber):
            continue
        is_count = not times.is_percent and times.value.denominator == 1
        if change.is_percent and is_count and times.value <= _MOST_TIMES:
            yield from repeat(change.value / 100, int(times.value))


def _signed_terms(tree: Tree, sign: int) -> Iterator[tuple[WrittenNumber, int]]:
    """Yield the numbers of a sum with 1 or -1: "10% - (5% - 2%)" gives 10, -5 and 2; nothing for what is no sum."""
    match tree:
        case WrittenNumber():
            yield tree, sign
        case Negative():
            yield from _signed_terms(tree.inner, -sign)
        case Operation(operator="+" | "-"):
            yield from _signed_terms(tree.left, sign)
            yield from _signed_terms(tree.right, sign if tree.operator == "+" else -sign)
        case _:
            return
