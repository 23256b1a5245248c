"""Labels of numbers: where two sides count in different units, a plain sum proves nothing."""

from mcp_reflect.critique.checks.arithmetic.syntax import Parsed


def other_units(left: Parsed, right: Parsed) -> bool:
    """Whether the sides mix units of one kind (hours and minutes), or a weak label stands alone."""
    return left.weak and not right.labels
