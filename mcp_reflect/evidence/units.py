"""Units of an expression: which are left when those above and below a line cancel."""

from collections import Counter
from collections.abc import Mapping

from mcp_reflect.evidence.expressions import Negative, Operation, Plain, Tree


def units_in(unit: str) -> set[str]:
    """Return the plain units of one that may be put together: "mile/hour", "m^2"."""
    return set(_powers(unit))


def dimension_of(tree: Tree) -> dict[str, int]:
    """Return each unit of a value with its power: 9 platters × $11/platter is in dollars."""
    return {unit: power for unit, power in _dimension(tree).items() if power}


def _dimension(tree: Tree) -> Mapping[str, int]:
    """Return the units of a value with their powers; those of a sum are those of its first term that has some."""
    match tree:
        case Plain():
            return _powers(tree.unit)
        case Negative():
            return _dimension(tree.inner)
        case Operation(operator="*"):
            return _joined(tree, sign=1)
        case Operation(operator="/"):
            return _joined(tree, sign=-1)
        case Operation(operator="^", right=Plain(value=exponent)) if exponent.denominator == 1:
            return {unit: power * int(exponent) for unit, power in _dimension(tree.left).items()}
        case Operation():
            return _dimension(tree.left) or _dimension(tree.right)
        case _:
            return {}


def _joined(tree: Operation, *, sign: int) -> Counter[str]:
    found = Counter(_dimension(tree.left))
    for unit, power in _dimension(tree.right).items():
        found[unit] += sign * power
    return found


def _powers(unit: str) -> Counter[str]:
    """Return the plain units of a unit with their powers."""
    found = Counter[str]()
    above, _, below = unit.partition("/")
    for name, sign in ((above, 1), (below, -1)):
        plain, _, power = name.partition("^")
        if plain:
            found[plain] += sign * int(power or 1)
    return found
