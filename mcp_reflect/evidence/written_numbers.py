"""Numbers as people write them: read by the signs that part their digits, and written anew in the style of another.

`1.500` is one and a half in one country and fifteen hundred in another, so that a number has a value only under a
`Style`. What fits no style is no number.
"""

import re
from enum import Enum
from fractions import Fraction
from typing import Final

MOST_DIGITS: Final = 24
_MOST_DECIMALS: Final = 12  # decimals that are looked at or added
_MOST_EXACT_DECIMALS: Final = 4  # decimals of a value that is written whole
"""Digits of a number that is read: longer ones are no plain numbers."""

_PLAIN: Final = re.compile(r"\d{1,24}")


class Style(Enum):
    """How digits are parted: the sign before the decimals, and the one between groups of three digits."""

    POINT = (".", ",")
    COMMA = (",", ".")

    @property
    def decimal(self) -> str:
        """The sign before the decimals."""
        return self.value[0]

    @property
    def group(self) -> str:
        """The sign between groups of three digits."""
        return self.value[1]


def read_number(text: str, style: Style) -> Fraction | None:
    """Return the value of a number without a sign, None if it is not written in this style."""
    whole, mark, decimals = text.partition(style.decimal)
    if mark and not _PLAIN.fullmatch(decimals):
        return None
    if style is Style.COMMA and len(decimals) > 3 and decimals.endswith("000"):
        return None  # "16,0000" is a slip of the hand
    digits = _without_groups(whole, style)
    if digits is None or len(digits) + len(decimals) > MOST_DIGITS:
        return None
    return Fraction(int(digits + decimals), 10 ** len(decimals))


def _without_groups(whole: str, style: Style) -> str | None:
    """Return the digits before the decimals; groups hold three digits each, and the first one to three."""
    if whole == "":
        return "0"  # ".25"
    if _PLAIN.fullmatch(whole):
        # "0930" is a time, "010" an octal number, "007" a name.
        if whole != "0" and whole[0] == "0":
            return None
        return whole
    group_mark = next((mark for mark in (style.group, "'", "’") if mark in whole), None)
    if group_mark is None:
        return None
    first, *groups = whole.split(group_mark)
    is_grouped = (
        1 <= len(first) <= 3
        and first[0] != "0"
        and all(len(group) == 3 and group.isdecimal() for group in groups)
        and first.isdecimal()
    )
    if not is_grouped:
        return None
    return first + "".join(groups)


def decimals_in(text: str, style: Style) -> int:
    """Return the count of decimals that a number shows."""
    return len(text.partition(style.decimal)[2])


def write_number(value: Fraction, like: str, style: Style, *, money: bool) -> str:
    """Return a value in the style of another number: its signs, its groups, and as many decimals as it needs.

    A number that shows decimals keeps their count, unless that would lose all but one digit: 0.0018, not 0.002.
    """
    count = _decimals_for(value, decimals_in(like, style), money=money)
    scaled = abs(value) * 10**count
    rounded = int(scaled + Fraction(1, 2))
    digits = str(rounded).rjust(count + 1, "0")
    whole = digits
    decimals = ""
    if count:
        whole = digits[:-count]
        decimals = digits[-count:]
    group = _group_mark(whole, like, style)
    if group:
        whole = _grouped(whole, group)
    if value < 0 and rounded:
        whole = f"-{whole}"
    if decimals:
        return f"{whole}{style.decimal}{decimals}"
    return whole


def _group_mark(whole: str, like: str, style: Style) -> str:
    """Return what parts the groups of a number: what the other number has; a comma in one of five digits; else nothing."""
    if "'" in like:
        return "'"
    is_long = len(whole) > 4 and style is Style.POINT
    if style.group in like or is_long:
        return style.group
    return ""


def _grouped(whole: str, mark: str) -> str:
    """Return digits in groups of three, from the right: "1234567" -> "1,234,567"."""
    head = len(whole) % 3
    groups = [whole[index : index + 3] for index in range(head, len(whole), 3)]
    if head:
        groups.insert(0, whole[:head])
    return mark.join(groups)


def _decimals_for(value: Fraction, shown: int, *, money: bool) -> int:
    """Return how many decimals a value is written with, where the number in its place shows so many.

    | the value                      | decimals                                                     | example            |
    |--------------------------------|--------------------------------------------------------------|--------------------|
    | is whole                       | as shown                                                     | 12.00 for "11.00"  |
    | is money                       | as shown, at least two                                       | 12.50 for "12"     |
    | ends within four decimals      | as shown, or all that it has                                 | 0.125 for "0.1"    |
    | never ends, none are shown     | two                                                          | 3.33 for "3"       |
    | never ends, and is below 1     | as shown, or so many that two digits are left                | 0.0018 for "0.002" |
    | never ends, and is larger      | as shown                                                     | 3.3 for "3.5"      |
    """
    if value.denominator == 1:
        return shown
    if money:
        return max(shown, 2)
    exact = _exact_decimals(value)
    if exact is not None and exact <= _MOST_EXACT_DECIMALS:
        return max(shown, exact)
    if shown == 0:
        return 2
    if abs(value) >= 1:
        return shown
    decimals = shown
    while abs(value) * 10**decimals < 10 and decimals < shown + _MOST_DECIMALS:
        decimals += 1
    return decimals


def _exact_decimals(value: Fraction) -> int | None:
    """Return the decimals that show a value whole, 3 for 1/8; None where they would not end within twelve."""
    for decimals in range(_MOST_DECIMALS + 1):
        if (value * 10**decimals).denominator == 1:
            return decimals
    return None
