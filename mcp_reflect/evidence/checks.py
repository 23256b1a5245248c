"""All exact checks of a work, by step."""

from collections.abc import Sequence

from mcp_reflect.evidence.exact import CheckedEquation
from mcp_reflect.evidence.sums import check_sums
from mcp_reflect.evidence.unknowns import check_unknowns


def check_steps(steps: Sequence[str], goal: str = "") -> tuple[CheckedEquation, ...]:
    """Return the equations that were computed, by their place in the work; those that hold and those that do not."""
    equations = [*check_sums(steps, goal), *check_unknowns(steps, goal)]
    return tuple(
        sorted(equations, key=lambda checked: (checked.step, checked.start, checked.holds))
    )
