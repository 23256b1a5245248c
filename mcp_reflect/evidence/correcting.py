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
from mcp_reflect.evidence.equations import MOST_READ
from mcp_reflect.evidence.exact import Fix
from mcp_reflect.evidence.written_numbers import Style, read_number

_MOST_ROUNDS: Final = 40
_MOST_CHARACTERS: Final = 30_000  # that all rounds may read together
_DIGITS: Final = r"\d+(?:[.,'’]\d+)*(?!\w)"
_NUMBER: Final = re.compile(rf"(?<![\w.]){_DIGITS}")
_NEGATIVE: Final = re.compile(rf"(?<![\w.)])[-−]{_DIGITS}")
_LIST_MARK: Final = re.compile(r"(?m)^\s*(?:[Ss]tep\s+)?\d{1,3}[.):]\s|\b[Ss]tep \d{1,3}\b")


@dataclass(frozen=True, slots=True)
class _Change:
    """A value that was corrected in a step, from a place on."""

    step: int
    place: int


def correct_steps(steps: Sequence[str], goal: str = "") -> tuple[str, ...]:
    """Return the steps with every false equation and all that follows from it corrected; else as they are.

    Each round corrects the first false equation. ("2 + 2 = 5", "5 × 3 = 15") gives ("2 + 2 = 4", "4 × 3 = 12"). With a
    third step "So she has 16 left." nothing is corrected, because the 16 may rest on the wrong 5.
    """
    given = tuple(steps)
    if sum(map(len, given)) > MOST_READ:
        return given
    current = given
    first: _Change | None = None
    rounds = min(_MOST_ROUNDS, _MOST_CHARACTERS // max(1, sum(map(len, given))))
    for _ in range(rounds):
        fault = next((one for one in check_steps(current, goal) if not one.holds), None)
        if fault is None:
            if first is None or _is_complete(current, goal, first):
                return current
            return given
        if fault.fix is None or len(current) < fault.step:
            return given
        first = first or _Change(fault.step, fault.fix.start)
        corrected = _with_fix(current, fault.step, fault.fix, goal)
        if corrected == current:
            return given
        current = corrected
    return given


def _with_fix(steps: tuple[str, ...], number: int, fix: Fix, goal: str) -> tuple[str, ...]:
    """Return the steps with a value in the place of a wrong one, there and wherever it was used later.

    ("2 + 2 = 5", "5 × 3 = 15") with 4 for the 5 gives ("2 + 2 = 4", "4 × 3 = 15"); the next round corrects the 15.
    A value that stands in the goal, or before the mistake, stays in later text, because it may have another origin.
    """
    at = number - 1
    step = steps[at]
    text_before = step[: fix.start]
    text_behind = step[fix.end :]
    later_texts = [text_behind, *steps[at + 1 :]]
    wrong = _last_number(step[fix.start : fix.end])
    right = _last_number(fix.text)
    values_before = _values("\n".join((goal, *steps[:at], text_before)))
    if wrong is not None and right is not None and _value(wrong) not in values_before:
        later_texts = [_replaced(text, wrong, right) for text in later_texts]
    corrected = text_before + fix.text + later_texts[0]
    return (*steps[:at], corrected, *later_texts[1:])


def _last_number(text: str) -> str | None:
    """Return the last number of a text, with its minus where one is glued to it."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return None
    start = found[-1].start()
    is_negative = (
        start > 0 and text[start - 1] in "-−" and not text[: start - 1].rstrip()[-1:].isdigit()
    )
    if is_negative:
        start -= 1
    return text[start : found[-1].end()]


def _replaced(text: str, old: str, new: str) -> str:
    """Return a text with a new number in the place of an old one, wherever its value stands."""
    wanted = _value(old)
    pattern = _NUMBER
    if old[0] in "-−":
        pattern = _NEGATIVE

    def replace_wanted(number: re.Match[str]) -> str:
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
    found = {_value(one[0]) for one in _NUMBER.finditer(text)}
    return found | {-value for value in found if value is not None}


def _is_complete(steps: Sequence[str], goal: str, first: _Change) -> bool:
    """True if each later number is given, stands before the mistake, or is part of an equation that holds."""
    at = first.step - 1
    known = _values("\n".join((goal, *steps[:at], steps[at][: first.place])))
    checked = [equation for equation in check_steps(steps, goal) if equation.holds]
    for equation in checked:
        known |= _values(equation.quote)
    start = first.place  # in later steps every number counts
    for place in range(at, len(steps)):
        in_step = [equation for equation in checked if equation.step == place + 1]
        without_mark = _LIST_MARK.sub(lambda mark: " " * len(mark[0]), steps[place])
        for number in _NUMBER.finditer(without_mark, start):
            is_computed = any(one.start <= number.start() < one.end for one in in_step)
            if not is_computed and _value(number[0]) not in known:
                return False
        start = 0
    return True
