"""The correction of a false equation, and of what was computed from it: all of it, or nothing.

A number that stands in later text and comes from nowhere that is known may rest on the wrong one. Then nothing is
corrected: a half-corrected work looks right and is not.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from mcp_reflect.evidence.checks import check_steps
from mcp_reflect.evidence.exact import CheckedEquation, Fix
from mcp_reflect.evidence.sum_words import MOST_READ
from mcp_reflect.evidence.written_numbers import Style, read_number

_MOST_ROUNDS: Final = 40  # corrections of one work
_MOST_CHARACTERS: Final = 30_000  # characters that all rounds may read together
_DIGITS: Final = r"\d+(?:[.,'’]\d+)*(?!\w)"
_NUMBER: Final = re.compile(rf"(?<![\w.]){_DIGITS}")
_NEGATIVE: Final = re.compile(rf"(?<![\w.)])[-−]{_DIGITS}")
_LIST_MARK: Final = re.compile(r"(?m)^\s*(?:[Ss]tep\s+)?\d{1,3}[.):]\s|\b[Ss]tep \d{1,3}\b")


@dataclass(frozen=True, slots=True)
class _Correction:
    """Where a value was corrected first: the number of the step, from 1, and the offset in it."""

    step: int
    offset: int


def correct_steps(steps: Sequence[str], goal: str = "") -> tuple[str, ...]:
    """Return the steps with every false equation and all that follows from it corrected; else as they are.

    Each round corrects the first false equation. ("2 + 2 = 5", "5 × 3 = 15") gives ("2 + 2 = 4", "4 × 3 = 12"). With a
    third step "So she has 16 left." nothing is corrected, because the 16 may rest on the wrong 5.
    """
    original = tuple(steps)
    size = sum(map(len, original))
    if size > MOST_READ:
        return original
    current = original
    first: _Correction | None = None
    rounds = min(_MOST_ROUNDS, _MOST_CHARACTERS // max(1, size))
    for _ in range(rounds):
        fault = _first_false(current, goal)
        if fault is None:
            if first is None or _is_complete(current, goal, first):
                return current
            return original
        if fault.fix is None or len(current) < fault.step:
            return original
        if first is None:
            first = _Correction(fault.step, fault.fix.start)
        corrected = _with_fix(current, fault.step, fault.fix, goal)
        if corrected == current:
            return original
        current = corrected
    return original


def _first_false(steps: Sequence[str], goal: str) -> CheckedEquation | None:
    """Return the first equation that is false, None where all hold."""
    for equation in check_steps(steps, goal):
        if not equation.holds:
            return equation
    return None


def _with_fix(steps: tuple[str, ...], number: int, fix: Fix, goal: str) -> tuple[str, ...]:
    """Return the steps with a value in the place of a wrong one, there and wherever it was used later.

    ("2 + 2 = 5", "5 × 3 = 15") with 4 for the 5 gives ("2 + 2 = 4", "4 × 3 = 15"); the next round corrects the 15.
    A value that stands in the goal, or before the mistake, stays in later text, because it may have another origin.
    """
    index = number - 1
    step = steps[index]
    text_before = step[: fix.start]
    text_behind = step[fix.end :]
    later_texts = [text_behind, *steps[index + 1 :]]
    wrong = _last_number(step[fix.start : fix.end])
    right = _last_number(fix.text)
    values_before = _values("\n".join((goal, *steps[:index], text_before)))
    if wrong is not None and right is not None and _value(wrong) not in values_before:
        later_texts = [_replaced(text, wrong, right) for text in later_texts]
    corrected = text_before + fix.text + later_texts[0]
    return (*steps[:index], corrected, *later_texts[1:])


def _last_number(text: str) -> str | None:
    """Return the last number of a text, with its minus: "-5" of "so x = -5", and "5" of "12 -5", where it subtracts."""
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return None
    last = numbers[-1]
    start = last.start()
    if start == 0 or text[start - 1] not in "-−":
        return last[0]
    is_subtracted = text[: start - 1].rstrip()[-1:].isdigit()
    if is_subtracted:
        return last[0]
    return text[start - 1 : last.end()]


def _replaced(text: str, old: str, new: str) -> str:
    """Return a text with a new number in the place of an old one, wherever its value stands."""
    wanted = _value(old)
    pattern = _NUMBER
    if old[0] in "-−":
        pattern = _NEGATIVE

    def replace_wanted(number: re.Match[str]) -> str:
        """Return what stands in the place of a number: the new one for the old one, else itself."""
        if _value(number[0]) == wanted:
            return new
        return number[0]

    return pattern.sub(replace_wanted, text)


def _value(text: str) -> Fraction | None:
    """Return the value of a number in the style that reads it, with a decimal point before a decimal comma."""
    plain = text.lstrip("-−")
    value = read_number(plain, Style.POINT)
    if value is None:
        value = read_number(plain, Style.COMMA)
    if value is not None and text[:1] in ("-", "−"):
        return -value
    return value


def _values(text: str) -> set[Fraction | None]:
    """Return the values of the numbers in a text, each with either sign, since a minus may stand apart from it."""
    values = {_value(number[0]) for number in _NUMBER.finditer(text)}
    return values | {-value for value in values if value is not None}


def _is_complete(steps: Sequence[str], goal: str, first: _Correction) -> bool:
    """Return whether nothing behind the first correction may still rest on the wrong value.

    That is so where each later number stands in the goal or before the mistake, or in an equation that holds.
    """
    first_index = first.step - 1
    text_before = "\n".join((goal, *steps[:first_index], steps[first_index][: first.offset]))
    equations = [equation for equation in check_steps(steps, goal) if equation.holds]
    known_values = _values(text_before)
    for equation in equations:
        known_values |= _values(equation.quote)
    offset = first.offset  # in later steps every number counts
    for index in range(first_index, len(steps)):
        in_step = [equation for equation in equations if equation.step == index + 1]
        without_list_mark = _LIST_MARK.sub(lambda mark: " " * len(mark[0]), steps[index])
        for number in _NUMBER.finditer(without_list_mark, offset):
            is_computed = any(one.start <= number.start() < one.end for one in in_step)
            if not is_computed and _value(number[0]) not in known_values:
                return False
        offset = 0
    return True
