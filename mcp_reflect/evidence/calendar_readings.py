"""Numbers that stand for places in an order: a day, a time, a year, a page, a version, or the score of a match."""

from datetime import date, timedelta
from typing import Final

from mcp_reflect.evidence.equations import words_for
from mcp_reflect.evidence.expressions import Operation, Plain, Tree, numbers_in
from mcp_reflect.evidence.sum_sides import SumSide

_YEARS: Final = range(1500, 2200)
_LEAST_AGE: Final = 10
_MINUTES: Final = 60  # of an hour
_DAY: Final = 24 * _MINUTES
_POINTS_OF_A_WIN: Final = (0, 2, 3)  # for who lost and who won
_MOST_DAYS: Final = 366
_COMMON_YEAR: Final = 2023
_LEAP_YEAR: Final = 2024


def is_range(before: SumSide, own: SumSide) -> bool:
    """True for "12 - 15 = 4": from 12 to 15, not 12 minus 15."""
    between = _two_numbers(before.tree, "-")
    if between is None:
        return False
    is_minus = any(token.text == "−" for token in before.side.tokens)
    shown = own.bounds.exact
    difference = between[1].value - between[0].value
    if difference <= 0 or is_minus or shown is None or shown <= 0:
        return False
    # A plain number counts what lies between; with a word behind it may be anything: "chapters 3 - 5 = 60 pages".
    return bool(own.units) or shown in (difference, difference + 1) or own.literal is None


def is_working_day(before: SumSide, own: SumSide) -> bool:
    """True for "9 - 5 = 8 hours", from nine in the morning to five in the afternoon, and for "22 - 6 = 8 hours"."""
    between = _two_numbers(before.tree, "-")
    clock = words_for("clock")
    if between is None or not own.units & (clock | {"hour"}) or not before.units <= clock:
        return False  # "22 hours - 6 hours" are no times of a day
    begins, ends = between[0].value, between[1].value
    return any(
        max(begins, ends) <= half_or_whole_day
        and own.bounds.exact == ends + half_or_whole_day - begins
        for half_or_whole_day in (12, 24)
    )


def is_score(before: SumSide, own: SumSide) -> bool:
    """True for "3-1 = 3 points" and "0-0 = 1 point": the end of a match, written without blanks."""
    between = _two_numbers(before.tree, "-")
    is_tight = not any(token.apart for token in before.side.tokens[1:])
    if between is None or not is_tight or own.units.isdisjoint(words_for("scored")):
        return False
    if between[0].value == between[1].value:
        return own.bounds.exact == 1
    return own.bounds.exact in _POINTS_OF_A_WIN


def is_count_of_years(before: SumSide, own: SumSide) -> bool:
    """True for "2025 - 1999 = 25": an age before the birthday of that year is one less."""
    between = _two_numbers(before.tree, "-")
    value, shown = before.bounds.exact, own.bounds.exact
    if between is None or value is None or shown is None:
        return False
    are_years = all(number.value in _YEARS for number in between) and own.units <= words_for("ages")
    return are_years and value >= _LEAST_AGE and value - shown == 1


def is_on_the_clock(before: SumSide, own: SumSide) -> bool:
    """True for "22 h + 5 h = 3 h" and "11 + 3 = 2 pm": hours begin again after twenty-four, or after twelve.

    The sum begins with a time of the day: 40 h is none. Hours with an "h" are counted to twenty-four.
    """
    value, shown = before.bounds.exact, own.bounds.exact
    units = own.units | before.units
    if value is None or shown is None or not units & words_for("clock"):
        return False
    around = 24 if units <= {"h"} else 12
    starts_on_the_clock = numbers_in(before.tree)[0].value <= 24
    return starts_on_the_clock and 0 <= shown <= 24 and (value - shown) % around == 0


def is_in_minutes(before: SumSide, own: SumSide) -> bool:
    """True for "8.45 + 0.30 = 9.15" and "23.50 + 0.45 = 0.35": hours and minutes with a point between."""
    parts = _parts_of_a_sum(before, own)
    if parts is None or any(minutes >= _MINUTES for _, minutes in parts):
        return False
    shows_two_digits = all(one.decimals == 2 for one in numbers_in(before.tree))
    first, second, said = (hours * _MINUTES + minutes for hours, minutes in parts)
    later = {first + second, first - second}
    return shows_two_digits and (said in later or said in {one % _DAY for one in later})


def is_minutes_later(before: SumSide, own: SumSide) -> bool:
    """True for "20.15 + 1.50 = 22.05": hours of a day, with minutes by two digits, and nothing says that it is money."""
    parts = _parts_of_a_sum(before, own)
    if parts is None or before.units or own.units - {"in"}:  # "= 4.15 in the log"
        return False
    return all(hours <= 24 for hours, _ in parts) and is_in_minutes(before, own)


def is_version(before: SumSide, own: SumSide) -> bool:
    """True for "1.9 + 0.1 = 1.10": the second number of a version counts on behind nine."""
    parts = _parts_of_a_sum(before, own)
    if parts is None:
        return False
    first, second, said = parts
    return said == (first[0] + second[0], first[1] + second[1])


def is_next_version(before: SumSide, own: SumSide) -> bool:
    """True for "1.9 + 0.1 = 1.10": nobody writes a plain sum of tenths with hundredths that are nothing."""
    parts = _parts_of_a_sum(before, own)
    if parts is None or before.units or own.units:
        return False
    return parts[1] == (0, 1) and is_version(before, own)


def is_date(before: SumSide, own: SumSide) -> bool:
    """True for "28/11 + 5 = 3/12" and "11/28 + 7 = 12/5": a day and a month, and so many days.

    Not for "3/4 + 5 = 8/4", since whoever adds a fraction wrongly writes just this.
    """
    start, end = _two_numbers(_left_of(before.tree), "/"), _two_numbers(own.tree, "/")
    if start is None or end is None or start[1].value == end[1].value:
        return False
    return is_other_date(before, own)


def is_other_date(before: SumSide, own: SumSide) -> bool:
    """True for any day and month with so many days between: "due 3/4 + 5 = 8/4"."""
    tree = before.tree
    if not isinstance(tree, Operation) or tree.operator not in "+-":
        return False
    start, end = _two_numbers(tree.left, "/"), _two_numbers(own.tree, "/")
    days = tree.right
    if start is None or end is None or not isinstance(days, Plain) or days.value > _MOST_DAYS:
        return False
    count = int(days.value) if tree.operator == "+" else -int(days.value)
    return any(
        _day_after(_date_of(start, year, day_first), count) == _month_and_day(end, day_first)
        for year in (_COMMON_YEAR, _LEAP_YEAR)
        for day_first in (True, False)
    )


def _left_of(tree: Tree) -> Tree:
    if isinstance(tree, Operation):
        return tree.left
    return tree


def _two_numbers(tree: Tree, operator: str) -> tuple[Plain, Plain] | None:
    """Return the numbers of "12 - 15"; None for any other tree, or one in parentheses."""
    if not isinstance(tree, Operation) or tree.operator != operator or tree.in_parentheses:
        return None
    if not isinstance(tree.left, Plain) or not isinstance(tree.right, Plain):
        return None
    return tree.left, tree.right


def _parts_of_a_sum(before: SumSide, own: SumSide) -> list[tuple[int, int]] | None:
    """Return what stands before and behind the point of two numbers and their result; None where one has no point."""
    terms = _two_numbers(before.tree, "+") or _two_numbers(before.tree, "-")
    if terms is None or own.literal is None:
        return None
    texts = [number.text.split(".") for number in (*terms, own.literal)]
    if any(len(text) != 2 or not all(map(str.isdecimal, text)) for text in texts):
        return None
    return [(int(whole), int(part)) for whole, part in texts]


def _month_and_day(numbers: tuple[Plain, Plain], day_first: bool) -> tuple[int, int]:
    first, second = (int(number.value) for number in numbers)
    return (second, first) if day_first else (first, second)


def _date_of(numbers: tuple[Plain, Plain], year: int, day_first: bool) -> date | None:
    """Return a day and a month in a year; None where they are none, such as 30/2."""
    month, day = _month_and_day(numbers, day_first)
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


def _day_after(start: date | None, days: int) -> tuple[int, int] | None:
    if start is None:
        return None
    end = start + timedelta(days=days)
    return end.month, end.day
