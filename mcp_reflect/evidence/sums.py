"""Equations between plain numbers: computed exactly, and called wrong only where no reading of them holds.

A reading is a way in which people write the same thing: a decimal comma, a result rounded for display, a percentage, a
range, the keys of a calculator. If any of them makes the equation true, nothing is said.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice, pairwise
from typing import Final, NamedTuple

from mcp_reflect.evidence.computing import value_of
from mcp_reflect.evidence.equations import Equation, Side, equations_in
from mcp_reflect.evidence.exact import CheckedEquation, Fix
from mcp_reflect.evidence.expressions import Operation, WrittenNumber, numbers_in
from mcp_reflect.evidence.sum_comparing import shows
from mcp_reflect.evidence.sum_readings import agree
from mcp_reflect.evidence.sum_sides import CURRENCIES, SumSide, read_sides
from mcp_reflect.evidence.sum_words import is_another_arithmetic, words_of_a_work
from mcp_reflect.evidence.tokens import TokenKind
from mcp_reflect.evidence.written_numbers import Style, write_number

_MOST_EQUATIONS: Final = 60  # equations of a step
_MOST_OF_A_WORK: Final = 250  # equations of all steps: more take longer than a caller waits


def check_sums(steps: Sequence[str], goal: str = "") -> Iterator[CheckedEquation]:
    """Yield the equations between plain numbers of each step, as far as they can be computed."""
    words = words_of_a_work(steps, goal)
    if is_another_arithmetic(words):
        return
    rounded: set[Fraction] = set()
    count = 0
    for number, step in enumerate(steps, start=1):
        for equation in islice(equations_in(step), _MOST_EQUATIONS):
            count += 1
            if count > _MOST_OF_A_WORK:
                return
            origin = _Origin(step_number=number, step=step)
            checked = _check(equation, origin, rounded, words)
            if checked is not None:
                yield checked
            rounded |= _rounded_results(equation)


def _rounded_results(equation: Equation) -> set[Fraction]:
    """Return the results that an equation shows with fewer digits than they have."""
    sides = read_sides(equation, Style.POINT)
    return {
        shown.literal.value
        for computed, shown in pairwise(sides)
        if computed is not None
        and shown is not None
        and shown.literal is not None
        and shown.bounds.exact != computed.bounds.exact
        and shows(shown, computed)
    }


class _Origin(NamedTuple):
    """The step in which an equation stands, with its number from 1."""

    step_number: int
    step: str


class _UnequalSide(NamedTuple):
    """A side that equals none before it: its index, the side before it, and the side itself."""

    side_index: int
    computed: SumSide
    result: SumSide

    @property
    def size(self) -> Fraction:
        """By how much of the larger one both sides differ, in 0..1."""
        computed, result = self.computed.bounds.low, self.result.bounds.low
        difference = abs(computed - result)
        return difference / max(abs(computed), abs(result), difference)


def _check(
    equation: Equation, origin: _Origin, rounded: set[Fraction], words: frozenset[str]
) -> CheckedEquation | None:
    """Return what comes out of an equation; None where it is not read, or where its readings disagree.

    `words` are those of the work, which may say that it is meant otherwise: "degrees", "alphabet".

    It is read in each style of numbers, since the "." of "1.500" parts thousands in one and decimals in the other:

    | the styles that read two sides beside each other | what is said                                                   |
    |--------------------------------------------------|----------------------------------------------------------------|
    | none                                             | nothing                                                        |
    | find no fault                                    | it holds                                                       |
    | find a fault in one of them, and none in another | nothing: its writer may have meant the other                   |
    | find a fault in each                             | it is wrong, in the style in which the fault is the smallest   |

    The smallest fault tells the style: "1.200 € + 850 € = 2.150 €" has 2.050 for 2.150, not 851.2 for 2.15.
    """
    readings = {style: read_sides(equation, style, rounded) for style in Style}
    known_styles = [style for style, sides in readings.items() if _is_known(sides)]
    if not known_styles:
        return None
    first_style = known_styles[0]
    faults: dict[Style, _UnequalSide] = {}
    for style in known_styles:
        fault = _first_fault(readings[style], words, strictly=style is not first_style)
        if fault is not None:
            faults[style] = fault
    if not faults:
        return _holding(readings[first_style], origin)
    if len(faults) < len(known_styles):
        return None
    style = min(faults, key=lambda style: faults[style].size)
    return _wrong(readings[style], faults[style], style, origin)


def _holding(sides: Sequence[SumSide | None], origin: _Origin) -> CheckedEquation | None:
    """Return an equation that holds, from its first side that was read to its last; None where none were compared."""
    read = [side for side in sides if side is not None]
    if not any(shows(result, computed) for computed, result in pairwise(read)):
        return None
    start, end = read[0].written.start, read[-1].written.end
    return CheckedEquation(
        step=origin.step_number, start=start, end=end, quote=origin.step[start:end], holds=True
    )


def _is_known(sides: Sequence[SumSide | None]) -> bool:
    """Return whether two sides beside each other were read."""
    return any(side is not None and after is not None for side, after in pairwise(sides))


def _first_fault(
    sides: Sequence[SumSide | None], words: frozenset[str], *, strictly: bool
) -> _UnequalSide | None:
    """Return the first side that equals none of those before it, None if there is none.

    `strictly` is for a second style of numbers: it excuses an equation only by making it true, and by no other reading.
    """

    def is_equal(result: SumSide, computed: SumSide) -> bool:
        """Return whether two sides agree, in any reading or strictly."""
        if strictly:
            return shows(result, computed)
        return agree(result, computed, words)

    for index, (computed, result) in enumerate(pairwise(sides), start=1):
        if computed is None or result is None:
            continue
        earlier = [side for side in sides[:index] if side is not None]
        if not any(is_equal(result, side) for side in earlier):
            return _UnequalSide(index, computed, result)
    return None


def _wrong(
    sides: Sequence[SumSide | None], fault: _UnequalSide, style: Style, origin: _Origin
) -> CheckedEquation:
    """Return an equation that is wrong, with the value that comes out; where the result is read, as its correction."""
    later = sides[fault.side_index :]
    expected = _expected(sides, fault, style)
    last = sides[-1]
    fix: Fix | None = None
    if expected is not None and last is not None and None not in later:
        text = _currency_before(last.written) + expected
        if last.literal is not None and last.literal.unit and "%" not in expected:
            text += _unit_behind(last.written, origin.step)
        fix = Fix(start=fault.result.written.start, end=last.written.end, text=text)
    start, end = fault.computed.written.start, fault.result.written.end
    return CheckedEquation(
        step=origin.step_number,
        start=start,
        end=end,
        quote=origin.step[start:end],
        holds=False,
        expected=expected,
        fix=fix,
    )


def _expected(sides: Sequence[SumSide | None], fault: _UnequalSide, style: Style) -> str | None:
    """Return the value of the side before a fault, written as the result is; None where it has none.

    The sum of shares is in percent, also where the result lacks its sign: 65% of "60% + 5% = 66", not 0.65.
    """
    value = value_of(fault.computed.tree)
    if value is None:
        return None
    literals = [side.literal for side in sides[fault.side_index :] if side is not None]
    shown = next(filter(None, literals), None)
    if shown is not None and not shown.is_percent and _adds_shares(fault.computed):
        return f"{write_number(value * 100, shown.text, style, money=False)}%"
    return _written(value, shown, style, sides)


def _adds_shares(side: SumSide) -> bool:
    """True for "60% + 5%", whose value is shown in percent, whatever stands behind it: 65%, not 0.65."""
    are_shares = all(number.is_percent for number in numbers_in(side.tree))
    return are_shares and isinstance(side.tree, Operation) and side.tree.operator in "+-"


def _written(
    value: Fraction, shown: WrittenNumber | None, style: Style, sides: Sequence[SumSide | None]
) -> str:
    """Return a value as the result (`shown`) is written: its decimals, its percent sign, two decimals for money.

    Where the result is no single number, the value stays a fraction: "2/3".
    """
    if shown is None:
        return str(value)
    if shown.is_percent:
        is_of_hundred = shown.value >= 1 and 2 < value < 1000
        in_percent = value if is_of_hundred else value * 100
        return f"{write_number(in_percent, shown.text, style, money=False)}%"
    is_money = any(side is not None and side.units & CURRENCIES for side in sides)
    return write_number(value, shown.text, style, money=is_money)


def _currency_before(side: Side) -> str:
    """Return the sign of a currency that stands before a result."""
    first = next((token for token in side.tokens if token.text not in "-−–("), None)
    if first is None or first.kind is not TokenKind.CURRENCY:
        return ""
    return first.text


def _unit_behind(side: Side, step: str) -> str:
    """Return what stands behind the number of a result, with the blank before it."""
    numbers = [token for token in side.tokens if token.kind is TokenKind.NUMBER]
    if not numbers or numbers[-1] is side.tokens[-1]:
        return ""
    start_of_sentence = side.start - side.tokens[0].start
    return step[start_of_sentence + numbers[-1].end : side.end]
