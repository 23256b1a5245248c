"""Measures that make another value together than their sum: resistors side by side, speeds there and back, forces."""

from collections.abc import Callable, Sequence
from math import hypot
from typing import Final

from mcp_reflect.evidence.equations import words_for
from mcp_reflect.evidence.expressions import Operation, Plain, Tree, numbers_in
from mcp_reflect.evidence.sum_sides import SumSide, terms_in


def _side_by_side(values: Sequence[float]) -> float:
    """Resistors in parallel, capacitors in a row, pipes that fill a tank."""
    return 1 / sum(1 / value for value in values)


def _there_and_back(values: Sequence[float]) -> float:
    """The mean of speeds over the same way."""
    return len(values) * _side_by_side(values)


def _at_right_angles(values: Sequence[float]) -> float:
    """Forces and ways at right angles, errors that do not depend on each other."""
    return hypot(*values)


_TOGETHER: Final[tuple[Callable[[Sequence[float]], float], ...]] = (
    _side_by_side,
    _there_and_back,
    _at_right_angles,
)


def is_put_together_otherwise(before: SumSide, own: SumSide) -> bool:
    """True for "100 Ω + 100 Ω = 50 Ω" and "(60 + 40) / 2 = 48 km/h" where the unit is one of those."""
    units = {number.unit for side in (before, own) for number in numbers_in(side.tree)}
    return not units.isdisjoint(words_for("put together")) and is_put_together_by_words(before, own)


def is_put_together_by_words(before: SumSide, own: SumSide) -> bool:
    """True for "6 + 3 = 2" where the work tells of resistors."""
    shown = own.literal
    values = _values_put_together(before.tree)
    if shown is None or len(values) < 2:
        return False
    return any(
        abs(together(values) - float(shown.value)) <= 0.5 / 10**shown.decimals
        for together in _TOGETHER
    )


def _values_put_together(tree: Tree) -> list[float]:
    """Return the numbers of a sum, or of a mean, where all are more than nothing."""
    if isinstance(tree, Operation) and tree.operator == "/" and isinstance(tree.right, Plain):
        tree = tree.left
    if not isinstance(tree, Operation) or tree.operator != "+":
        return []
    terms = terms_in(tree)
    numbers = [term for term in terms if isinstance(term, Plain) and term.value > 0]
    if len(numbers) != len(terms):
        return []
    return [float(number.value) for number in numbers]
