"""Equations whose numbers stand for places in an order: a day, a time, a year, a page, or the score of a match.

As plain sums such equations look wrong: "22 - 6 = 8 hours" is right for who works from ten at night to six. Each function
takes the two sides of an equation, the one that is `computed` and its `result`. True means that the equation has such
a form, so that it may be right and nothing is held against it (`sum_readings`).
"""

from typing import Final, NamedTuple

from mcp_reflect.evidence.expressions import Operation, Tree, WrittenNumber, numbers_in
from mcp_reflect.evidence.sum_sides import CURRENCIES, SumSide
from mcp_reflect.evidence.sum_words import words_for

_YEARS: Final = range(1500, 2200)
_POINTS: Final = range(4)  # for one match
_MINUTES: Final = 60  # of an hour
_HOURS: Final = 24
_DAY: Final = _HOURS * _MINUTES


class _Pair(NamedTuple):
    """The numbers of "12 - 15" or "28/11"."""

    first: WrittenNumber
    second: WrittenNumber


def is_range(computed: SumSide, result: SumSide) -> bool:
    """True for "12 - 15 = 4" and "28/12 - 3/1 = 7": from the one to the other, which as a difference is below nothing."""
    tree, value, shown = computed.tree, computed.bounds.exact, result.bounds.exact
    if not isinstance(tree, Operation) or tree.operator != "-" or tree.in_parentheses:
        return False
    if any(token.text == "−" for token in computed.written.tokens):
        return False
    are_ends = all(
        isinstance(end, WrittenNumber) or _two_numbers(end, "/") for end in (tree.left, tree.right)
    )
    return are_ends and value is not None and value < 0 and (shown is None or shown > 0)


def is_working_day(computed: SumSide, result: SumSide) -> bool:
    """True for "9 - 5 = 8 hours" and "22 - 6 = 8 hours": from a time of the day to another.

    "22 hours - 6 hours" are no times of a day.
    """
    ends = _two_numbers(computed.tree, "-")
    if ends is None or computed.units or not result.units & words_for("hours"):
        return False
    return all(number.value <= _HOURS for number in ends)


def is_score(computed: SumSide, result: SumSide) -> bool:
    """True for "3 - 1 = 3 points", "0-0 = 1 point" and "3 - 2 = 5 goals": the end of a match, and what it gives."""
    score = _two_numbers(computed.tree, "-")
    if score is None or computed.units or result.units.isdisjoint(words_for("scored")):
        return False
    goals = score.first.value + score.second.value
    return result.bounds.exact in {*_POINTS, goals}


def is_counted_with_both_ends(computed: SumSide, result: SumSide) -> bool:
    """True for "2025 - 1999 = 25" years and "22 - 10 = 13 days": one more or less than lies between.

    An age before the birthday is one less, and who counts the first day and the last has one more.
    """
    ends = _two_numbers(computed.tree, "-")
    value, shown = computed.bounds.exact, result.bounds.exact
    if ends is None or value is None or shown is None:
        return False
    is_amount = bool(computed.units) or not result.units.isdisjoint(CURRENCIES)
    if is_amount:
        return False
    are_years = all(number.value in _YEARS for number in ends)
    is_counted = not result.units.isdisjoint(words_for("counted with both ends"))
    return abs(value - shown) == 1 and (are_years or is_counted)


def is_later_by_days(computed: SumSide, result: SumSide) -> bool:
    """True for "28/11 + 5 = 3/12": a day and a month, and so many days, by which the month changes.

    Not for "3/4 + 5 = 8/4", since whoever adds a fraction wrongly writes just this.
    """
    end = _two_numbers(result.tree, "/")
    start = _start_of_days(computed.tree)
    if start is None or end is None:
        return False
    return start.second.value != end.second.value


def is_day_of_a_month(computed: SumSide, result: SumSide) -> bool:
    """True for any day and month with so many days between: "due 3/4 + 5 = 8/4", "28/4 - 3/4 = 25"."""
    tree = computed.tree
    if not isinstance(tree, Operation) or tree.operator not in "+-":
        return False
    dates = [_two_numbers(side, "/") for side in (tree.left, tree.right, result.tree)]
    return sum(date is not None for date in dates) == 2


def is_minutes_later(computed: SumSide, result: SumSide) -> bool:
    """True for "20.15 + 1.50 = 22.05", "7.50 + 25 = 8.15", "3 × 1.30 = 4.30" and "1330 + 45 = 1415": hours and minutes.

    Nothing may say that it is money or a length: a unit stands at none of them.
    """
    if result.literal is None or computed.units or result.units - {"in"}:
        return False
    minutes, shown_minutes = _minutes_in(computed.tree), _minutes_of(result.literal)
    if minutes is None or shown_minutes is None:
        return False
    has_time = any(map(_minutes_of, numbers_in(computed.tree)))  # beside plain minutes
    return has_time and shown_minutes in {minutes, minutes % _DAY}


def is_sum_with_decimals(computed: SumSide, result: SumSide) -> bool:
    """True for "4.3 + 2.4 = 7.1" overs, "7.9 + 0.10 = 8.3" pounds, and release "1.9 + 0.1 = 2.0".

    What stands behind the point of such a number may be a part that is no tenth, where the work speaks of parts.
    """
    return max(_decimals_of_a_sum(computed, result), default=0) > 0


def is_sum_with_two_decimals(computed: SumSide, result: SumSide) -> bool:
    """True for "8.50 + 25 = 9.15" o'clock.

    The two digits behind the point may be minutes, where the work speaks of clocks.
    """
    return 2 in _decimals_of_a_sum(computed, result)


def _minutes_in(tree: Tree) -> int | None:
    """Return the minutes of a sum of times and minutes, or of a time by a number; None for any other calculation.

    "7.50 + 25" -> 495, which is 8.15
    """
    match tree:
        case WrittenNumber():
            minutes = _minutes_of(tree)
            if minutes is None and tree.value.denominator == 1:
                return int(tree.value)
            return minutes
        case Operation(operator="+" | "-" | "*"):
            left, right = _minutes_in(tree.left), _minutes_in(tree.right)
            if left is None or right is None:
                return None
            return {"+": left + right, "-": left - right, "*": left * right}[tree.operator]
        case _:
            return None


def _minutes_of(number: WrittenNumber) -> int | None:
    """Return the minutes of "20.15" and of "2015"; None for what is no time."""
    hours, minutes = number.text[:-2].removesuffix("."), number.text[-2:]
    is_long = "." in number.text or len(number.text) == 4
    if number.is_percent or not is_long or not (hours.isdecimal() and minutes.isdecimal()):
        return None
    if int(hours) > _HOURS or int(minutes) >= _MINUTES:
        return None
    return int(hours) * _MINUTES + int(minutes)


def _decimals_of_a_sum(computed: SumSide, result: SumSide) -> list[int]:
    """Return the decimals of two terms without a unit, and of their result."""
    terms = _two_numbers(computed.tree, "+") or _two_numbers(computed.tree, "-")
    if terms is None or computed.units:
        return []
    return [number.decimals for number in (*terms, *numbers_in(result.tree))]


def _start_of_days(tree: Tree) -> _Pair | None:
    """Return the "28" and "11" of "28/11 + 5"."""
    if not isinstance(tree, Operation) or tree.operator not in "+-":
        return None
    if not isinstance(tree.right, WrittenNumber) or tree.right.decimals:
        return None
    return _two_numbers(tree.left, "/")


def _two_numbers(tree: Tree, operator: str) -> _Pair | None:
    """Return the numbers of "12 - 15"; None for any other tree, or one in parentheses."""
    if not isinstance(tree, Operation) or tree.operator != operator or tree.in_parentheses:
        return None
    if not isinstance(tree.left, WrittenNumber) or not isinstance(tree.right, WrittenNumber):
        return None
    return _Pair(tree.left, tree.right)
