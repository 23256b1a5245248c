"""Recognises the puzzle in the goal and follows the steps through it."""

from collections.abc import Callable, Iterable, Iterator

from mcp_reflect.critique.checks.checker import Finding, Work
from mcp_reflect.critique.checks.state.brackets import check_brackets
from mcp_reflect.critique.checks.state.ordering import check_ordering
from mcp_reflect.critique.checks.state.sorting import check_sorting
from mcp_reflect.critique.checks.state.swaps import check_swaps

_PUZZLES: tuple[Callable[[Work], Iterable[Finding]], ...] = (check_brackets, check_swaps, check_sorting, check_ordering)
_LONGEST_GOAL = 30_000


class StateChecker:
    """Speaks only of steps whose puzzle it recognises in the goal."""

    name = "state"

    def check(self, work: Work) -> Iterator[Finding]:
        """The findings of the first puzzle that has any."""
        if len(work.goal) > _LONGEST_GOAL:
            return
        for puzzle in _PUZZLES:
            found = list(puzzle(work))
            if found:
                yield from found
                return
