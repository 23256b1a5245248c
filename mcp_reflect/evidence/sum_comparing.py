"""Whether a side of an equation shows the value of another, exactly or rounded as numbers are shown."""

from fractions import Fraction
from itertools import chain
from typing import Final, TypeGuard

from mcp_reflect.evidence.computing import Bounds, bounds_of
from mcp_reflect.evidence.expressions import Operation, Tree, WrittenNumber, numbers_in
from mcp_reflect.evidence.sum_sides import CURRENCIES, SumSide, factors_by_unit
from mcp_reflect.evidence.sum_words import words_for
from mcp_reflect.evidence.units import dimension_of

_NEAR: Final = Fraction(1, 200)  # of a value: what is rounded to thousands differs by less
_THOUSANDS: Final = (10**3, 10**6, 10**9)
_FLOAT: Final = Fraction(1, 10**12)


def are_comparable(computed: SumSide, result: SumSide) -> bool:
    """Return whether two sides can be compared by their values; the first row that fits decides.

    | the sides                                                        | can be compared                                |
    |------------------------------------------------------------------|------------------------------------------------|
    | are single numbers both: "48 = 50"                               | no: nothing is computed                        |
    | are pairs of one kind: "2 x 4 = 1.5 x 3.5"                       | no: two sizes of a board, or two scores        |
    | are a number and percentages: "48 = 100% + 20%"                  | no                                             |
    | have units, which are the same: "$18 per day" for "$3 × 6"       | yes                                            |
    | have other units                                                 | only where one is a price: "8 hours × $15 = $120" |
    | have a result without the computed units: "500 + 700 = 1.2 kg"   | unless the scales may differ                   |
    """
    if computed.literal is not None and result.literal is not None:
        return False
    if _are_pairs(computed, result):
        return False
    if _is_all_percent(computed) != _is_all_percent(result) and computed.literal is not None:
        return False
    units = dimension_of(computed.tree)
    result_units = dimension_of(result.tree)
    if not units:
        is_in_millions = not words_for("scales").isdisjoint(result_units)
        return not is_in_millions and not _is_other_scale(computed, result)
    counted_units = {unit: power for unit, power in result_units.items() if power > 0}
    if units in (result_units, counted_units):
        return True
    return _is_price(computed, result, units, result_units)


def _is_price(
    computed: SumSide, result: SumSide, dimension: dict[str, int], result_dimension: dict[str, int]
) -> bool:
    """True where only the currency counts: "15 × $12.99 = 195", "$3 × $10 = $30" and "8 hours × $15 = $120".

    A thing that is counted may stand at the other factor, unless it is a measure of which the price is for another:
    "30 min × $20 = $10".
    """
    money = dimension.keys() & CURRENCIES
    if len(money) != 1 or any(power < 0 for power in dimension.values()):
        return False
    if not result_dimension:
        return dimension == dict.fromkeys(money, 1)
    return result_dimension == dict.fromkeys(money, 1) and not _is_other_scale(computed, result)


def _are_pairs(computed: SumSide, result: SumSide) -> bool:
    """True for "2 x 4 = 1.5 x 3.5", the sizes of a board by two names, and "2 - 2 = 4 - 3", a score and a later one."""
    first, second = computed.tree, result.tree
    if not _is_pair(first) or not _is_pair(second):
        return False
    return first.operator == second.operator and first.operator in ("*", "-")


def _is_pair(tree: Tree) -> TypeGuard[Operation]:
    """True for an operation on two plain numbers."""
    return (
        isinstance(tree, Operation)
        and isinstance(tree.left, WrittenNumber)
        and isinstance(tree.right, WrittenNumber)
    )


def _is_all_percent(side: SumSide) -> bool:
    """Return whether each number of a side is a percentage."""
    return all(number.is_percent for number in numbers_in(side.tree))


def _is_other_scale(computed: SumSide, result: SumSide) -> bool:
    """True for "500 + 700 = 1.2 kg": the numbers before a measure may be of a smaller one, or of thousands."""
    value = computed.bounds.exact
    shown = result.bounds.exact
    if not value or not shown:
        return False
    ratio = abs(max(value / shown, shown / value))
    if ratio in _THOUSANDS:
        return True
    table = factors_by_unit()
    factors = chain.from_iterable(table.get(unit, ()) for unit in result.units | computed.units)
    return any(abs(ratio / factor - 1) < Fraction(1, 30) for factor in factors)


def shows(shown: SumSide, computed: SumSide) -> bool:
    """True if a side is the value of another, exactly or rounded as numbers are shown."""
    if shown.bounds.meet(computed.bounds):
        return True
    number = shown.literal
    if number is None:
        return _may_be_equal_before_rounding(shown, computed)
    if _is_rounded(shown.bounds, computed.bounds, number, scale=1):
        return True
    # A result in percent stands for its hundredth, or for itself: "20 / 80 = 25%", "8/10 × 100 = 80%".
    return number.is_percent and _is_rounded(shown.bounds, computed.bounds, number, scale=100)


def _is_rounded(shown: Bounds, computed: Bounds, number: WrittenNumber, *, scale: int) -> bool:
    """True if a number that is shown may be a computed value, rounded as people round.

    `scale` is 100 where a number in percent stands for itself ("80%" for 80). The rules, from the surest on:
    - it lies within what rounded operands leave open, or differs as floating point does
    - a whole result is written whole, so that only thousands are rounded: "1,999 × 2 = 4,000", never "7 × 8 = 55"
    - any other differs by less than its last place: "10 / 3 = 3.33", "2 / 3 = 0.66" (cut off), not "10 / 3 = 3.5"
    - but not where the last place is all that it has, and far off: "0.002" for 0.0018
    """
    value_shown = shown.low * scale
    if computed.low <= value_shown <= computed.high:
        return True
    value = computed.low
    difference = min(abs(value_shown - computed.low), abs(value_shown - computed.high))
    if difference <= abs(value) * _FLOAT:
        return True
    is_plain = scale == 1 and not number.is_percent
    is_exactly_whole = computed.exact is not None and value.denominator == 1
    if is_plain and is_exactly_whole:
        is_in_thousands = number.text.replace(",", "").endswith("000")
        return is_in_thousands and difference <= abs(value) * _NEAR
    if difference >= _last_place(number, scale):
        return False
    return not _lost_its_digits(value_shown, difference, value, number)


def _last_place(number: WrittenNumber, scale: int) -> Fraction:
    """Return what one more in the last digit is worth: 1/100 of "3.33", 1/1000 of "33.3%", which is 0.333."""
    last_place = Fraction(1, 10**number.decimals)
    is_share = number.is_percent and scale == 1
    return last_place / 100 if is_share else last_place


def _lost_its_digits(
    value_shown: Fraction, difference: Fraction, value: Fraction, number: WrittenNumber
) -> bool:
    """True for 0.002 in the place of 0.0018: one digit is left, and it is far off."""
    has_one_digit = len(number.text.replace(".", "").replace(",", "").strip("0")) == 1
    is_small = abs(value_shown) < Fraction(1, 100)
    return is_small and has_one_digit and difference * 10 > abs(value)


def _may_be_equal_before_rounding(result: SumSide, computed: SumSide) -> bool:
    """True if two expressions are equal where numbers with decimals were rounded before they were written."""
    first = bounds_of(result.tree, round_all=True)
    second = bounds_of(computed.tree, round_all=True)
    return first is not None and second is not None and first.meet(second)
