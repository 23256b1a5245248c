"""Numbers that are counted otherwise than in tens: in another base, in a circle, in parts, with some counted twice."""

from math import prod
from typing import Final

from mcp_reflect.evidence.expressions import Operation, Plain, numbers_in
from mcp_reflect.evidence.sum_sides import SumSide, terms_in

_BASES: Final = (2, 8, 12, 16)
_DAYS_OF_A_WEEK: Final = 7
_MONTHS: Final = 12
_HALF_DAY: Final = 12
_LAST_HOUR: Final = 24
_DAYS_OF_A_MONTH: Final = (28, 29, 30, 31)
_PARTS: Final = (3, 6, 8, 12, 14, 16, 20)
"""Outs of an inning, balls of an over, pints, inches, pounds, ounces and shillings, of the next larger."""

_LOTS: Final = range(2, 7)
_FLOAT_DIGITS: Final = 2**24
_CONTRACTION: Final = 10
_MOST_SCORED: Final = 300


def is_in_another_base(before: SumSide, own: SumSide) -> bool:
    """True for "18 + 8 = 20" in base 16 and "11 + 1 = 100" in base 2."""
    tree, shown = before.tree, own.literal
    if not isinstance(tree, Operation) or tree.operator not in "+-*" or shown is None:
        return False
    numbers = [*numbers_in(tree), shown]
    if any(not number.text.isascii() or not number.text.isdigit() for number in numbers):
        return False
    is_flat = tree.operator != "-" and len(numbers) == len(terms_in(tree)) + 1
    is_pair = isinstance(tree.left, Plain) and isinstance(tree.right, Plain)
    if not is_flat and not is_pair:
        return False
    return any(_holds_in_base(tree.operator, numbers, base) for base in _BASES)


def _holds_in_base(operator: str, numbers: list[Plain], base: int) -> bool:
    try:
        *values, said = (int(number.text, base) for number in numbers)
    except ValueError:  # a digit that the base has not
        return False
    match operator:
        case "+":
            return sum(values) == said
        case "-":
            return values[0] - sum(values[1:]) == said
        case _:
            return prod(values) == said


def is_of_bits(before: SumSide, own: SumSide) -> bool:
    """True for "1 + 1 = 0", "1 + 1 = 1" and "1 + 1 = 10": nobody adds one and one wrongly, so it is logic."""
    shown = own.literal
    are_bits = all(number.text in ("0", "1") for number in numbers_in(before.tree))
    return (
        are_bits and not before.units and shown is not None and shown.text in ("0", "1", "10", "11")
    )


def is_remainder(before: SumSide, own: SumSide) -> bool:
    """True for "8 + 7 = 3": what is left of a value, for some divisor larger than the rest."""
    value, shown = before.bounds.exact, own.bounds.exact
    if value is None or shown is None or value.denominator != 1 or shown < 0:
        return False
    return abs(value - shown) > shown


def is_day_of_the_week(before: SumSide, own: SumSide) -> bool:
    """True for "4 + 10 = 0", a Sunday."""
    return _is_around(before, own, _DAYS_OF_A_WEEK, 0, _DAYS_OF_A_WEEK)


def is_month_of_the_year(before: SumSide, own: SumSide) -> bool:
    """True for "11 + 3 = 2", February."""
    return _is_around(before, own, _MONTHS, 0, _MONTHS)


def is_hour_of_the_day(before: SumSide, own: SumSide) -> bool:
    """True for "22 + 9 = 7", seven in the morning."""
    starts_on_the_clock = numbers_in(before.tree)[0].value <= _LAST_HOUR
    return starts_on_the_clock and _is_around(before, own, _HALF_DAY, 0, _LAST_HOUR)


def is_day_of_the_month(before: SumSide, own: SumSide) -> bool:
    """True for "15 + 30 = 14", of the next month."""
    starts_on_a_day = numbers_in(before.tree)[0].value <= max(_DAYS_OF_A_MONTH)
    return starts_on_a_day and any(
        _is_around(before, own, days, 1, days) for days in _DAYS_OF_A_MONTH
    )


def _is_around(before: SumSide, own: SumSide, size: int, least: int, most: int) -> bool:
    """True for a sum whose result begins again behind `size`."""
    tree, value, shown = before.tree, before.bounds.exact, own.bounds.exact
    if not isinstance(tree, Operation) or tree.operator not in "+-":
        return False
    if value is None or shown is None or not least <= shown <= most:
        return False
    return (value - shown) % size == 0


def is_in_parts(before: SumSide, own: SumSide) -> bool:
    """True for "4.3 + 2.4 = 7.1" overs of six balls, "7.9 + 0.10 = 8.3" of sixteen ounces, and "15 + 8 = 1.3"."""
    tree, shown = before.tree, own.literal
    if not isinstance(tree, Operation) or tree.operator not in "+-" or shown is None:
        return False
    if not isinstance(tree.left, Plain) or not isinstance(tree.right, Plain):
        return False
    sign = 1 if tree.operator == "+" else -1
    for size in _PARTS:
        first, second, said = (_in_parts(one, size) for one in (tree.left, tree.right, shown))
        if first is not None and second is not None and said == first + sign * second:
            return True
    return False


def _in_parts(number: Plain, size: int) -> int | None:
    """Return how many parts "4.3" is, and "8" alone; None where its second number is no count of parts."""
    whole, point, part = number.text.rpartition(".")
    if not part.isdecimal() or (point and not whole.isdecimal()):
        return None
    if not point:
        return int(part)
    if int(part) >= size:
        return None
    return int(whole) * size + int(part)


def is_counted_with_both_ends(before: SumSide, own: SumSide) -> bool:
    """True for "4 + 5 = 8": intervals of music share a note."""
    value, shown = before.bounds.exact, own.bounds.exact
    shared = len(terms_in(before.tree)) - 1
    return value is not None and shown is not None and shared > 0 and value - shown == shared


def is_union(before: SumSide, own: SumSide) -> bool:
    """True for "5 + 4 = 8": what is in both is counted once."""
    value, shown = before.bounds.exact, own.bounds.exact
    numbers = numbers_in(before.tree)
    if value is None or shown is None or len(terms_in(before.tree)) < 2:
        return False
    return max(number.value for number in numbers) <= shown < value


def is_contracted(before: SumSide, own: SumSide) -> bool:
    """True for "50 + 50 = 96": liquids that take less room together."""
    value, shown = before.bounds.exact, own.bounds.exact
    return value is not None and shown is not None and 0 < value - shown <= value / _CONTRACTION


def is_rounded_before(before: SumSide, own: SumSide) -> bool:
    """True for "40 + 30 = 80", to the nearest ten: each number was rounded by itself."""
    value, shown = before.bounds.exact, own.literal
    terms = terms_in(before.tree)
    if value is None or shown is None or len(terms) < 2:
        return False
    steps = [_step_of(number) for number in (*numbers_in(before.tree), shown) if number.value]
    return bool(steps) and abs(value - shown.value) * 2 <= min(steps) * (len(terms) + 1)


def _step_of(number: Plain) -> float:
    """Return the worth of the last digit that is no zero of a whole number: 10 for 40, and 0.1 for 1.4."""
    digits = number.text.replace(",", "").replace(" ", "")
    if number.decimals:
        return 10.0**-number.decimals
    return float(10 ** (len(digits) - len(digits.rstrip("0"))))


def is_lost_by_a_float(before: SumSide, own: SumSide) -> bool:
    """True for "16777216 + 1 = 16777216": a float keeps twenty-four binary digits."""
    value, shown = before.bounds.exact, own.bounds.exact
    if value is None or shown is None or abs(value) < _FLOAT_DIGITS:
        return False
    return abs(value - shown) * _FLOAT_DIGITS <= abs(value)


def is_read_from_the_left(before: SumSide, own: SumSide) -> bool:
    """True for "2 + 3 * 4 = 20" on a pocket calculator, which takes one key after another."""
    texts = [token.text for token in before.side.tokens]
    numbers = numbers_in(before.tree)
    if any(text in "()" for text in texts) or len(numbers) > _PARTS[-1]:
        return False
    signs = [text for text in texts if text in ("+", "-", "−", "*", "×", "/", "÷")]
    if len(signs) != len(numbers) - 1:
        return False
    total = numbers[0].value
    for sign, number in zip(signs, numbers[1:], strict=True):
        if sign == "+":
            total += number.value
        elif sign in "-−":
            total -= number.value
        elif sign in "*×":
            total *= number.value
        elif number.value:
            total /= number.value
    return own.bounds.exact == total


def is_end_of_a_match(before: SumSide, own: SumSide) -> bool:
    """True for "3 - 2 = 5 goals", "10-6 = .625" of a record, and "1 - 1 = 1 point"."""
    tree, shown = before.tree, own.literal
    if not isinstance(tree, Operation) or tree.operator != "-" or shown is None:
        return False
    numbers = [number.value for number in numbers_in(tree)]
    total = sum(numbers)
    if len(numbers) != 2 or not 0 < total <= _MOST_SCORED:
        return False
    is_share = abs(shown.value - numbers[0] / total) * 1000 < 1
    return is_share or shown.value == total or shown.value in (0, 1, 2, 3)


def is_nim_sum(before: SumSide, own: SumSide) -> bool:
    """True for "5 + 3 = 6": an exclusive or, written as a sum."""
    tree, shown = before.tree, own.bounds.exact
    numbers = [number.value for number in numbers_in(tree)]
    if not isinstance(tree, Operation) or tree.operator != "+" or len(numbers) != 2:
        return False
    if any(value.denominator != 1 for value in numbers):
        return False
    return int(numbers[0]) ^ int(numbers[1]) == shown


def is_larger_one(before: SumSide, own: SumSide) -> bool:
    """True for "3 + 5 = 5", where a sum is the larger of two."""
    tree, shown = before.tree, own.bounds.exact
    if not isinstance(tree, Operation) or tree.operator != "+" or shown is None:
        return False
    return shown in (
        max(one.value for one in numbers_in(tree)),
        min(one.value for one in numbers_in(tree)),
    )


def is_paid_in_part(before: SumSide, own: SumSide) -> bool:
    """True for "3 * 4 = 8": three for the price of two."""
    tree, shown = before.tree, own.bounds.exact
    if not isinstance(tree, Operation) or tree.operator != "*" or shown is None:
        return False
    if not isinstance(tree.left, Plain) or not isinstance(tree.right, Plain):
        return False
    pairs = ((tree.left.value, tree.right.value), (tree.right.value, tree.left.value))
    return any(shown == (count - count // lot) * price for count, price in pairs for lot in _LOTS)
