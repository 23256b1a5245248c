"""Units of an expression: which are left when those above and below a line cancel."""

from collections import Counter
from collections.abc import Mapping

from mcp_reflect.evidence.expressions import Negative, Operation, Tree, WrittenNumber


def units_in(unit: str) -> set[str]:
    """Return the plain units of one that may be put together: "mile/hour", "m^2"."""
    return set(_powers(unit))


def dimension_of(tree: Tree) -> dict[str, int]:
    """Return each unit of a value with its power: 9 platters × $11/platter is in dollars."""
    return {unit: power for unit, power in _dimension(tree).items() if power}


def _dimension(tree: Tree) -> Mapping[str, int]:
    """Return the units of a value with their powers; those of a sum are those of its first term that has some."""
    match tree:
        case WrittenNumber():
            return _powers(tree.unit)
        case Negative():
            return _dimension(tree.inner)
        case Operation(operator="*"):
            return _joined(tree, sign=1)
        case Operation(operator="/"):
            return _joined(tree, sign=-1)
        case Operation(operator="^", right=WrittenNumber(value=exponent)) if (
            exponent.denominator == 1
        ):
            return {unit: power * int(exponent) for unit, power in _dimension(tree.left).items()}
        case Operation():
            return _dimension(tree.left) or _dimension(tree.right)
        case _:
            return {}


def _joined(tree: Operation, *, sign: int) -> Counter[str]:
    """Return the powers of a product (`sign` 1), or of a quotient (-1), whose divisor's powers are taken away."""
    powers = Counter(_dimension(tree.left))
    for unit, power in _dimension(tree.right).items():
        powers[unit] += sign * power
    return powers


def _powers(unit: str) -> Counter[str]:
    """Return the plain units of a unit with their powers: 1 of mile and -1 of hour for "mile/hour", 2 of m for "m^2"."""
    powers = Counter[str]()
    numerator, _, denominator = unit.partition("/")
    for part, sign in ((numerator, 1), (denominator, -1)):
        name, _, power = part.partition("^")
        if name:
            powers[name] += sign * int(power or 1)
    return powers
