"""Every order of a few items that fits its constraints."""

from collections.abc import Iterator

from mcp_reflect.critique.checks.state.constraints import Constraint


def orders(size: int, constraints: list[Constraint], *, most: int) -> Iterator[tuple[int, ...]]:
    """Places by item, for each order that fits, up to `most` of them; `size` is at most 8."""
    search = _Search(size, most)
    if all(search.add(constraint) for constraint in constraints):
        yield from search.fill()


class _Search:
    """Fills the row place by place. A set of placed items that proved a dead end (2^8 at most) is not tried twice."""

    def __init__(self, size: int, most: int) -> None:
        self._size = size
        self._left = most
        self._before: list[set[int]] = [set() for _ in range(size)]
        self._fixed: dict[int, int] = {}
        self._line: list[int] = []
        self._dead: set[frozenset[int]] = set()

    def add(self, constraint: Constraint) -> bool:
        """False where the constraint puts an item on two places."""
        if constraint.other is not None:
            self._before[constraint.other].add(constraint.item)
            return True
        place = constraint.place
        return place is None or self._fixed.setdefault(constraint.item, place) == place

    def fill(self) -> Iterator[tuple[int, ...]]:
        """The orders that begin with what is placed so far."""
        if len(self._line) == self._size:
            self._left -= 1
            yield tuple(self._line.index(item) for item in range(self._size))
            return
        placed = frozenset(self._line)
        if placed in self._dead:
            return
        left = self._left
        for item in self._next(placed):
            self._line.append(item)
            yield from self.fill()
            self._line.pop()
            if self._left <= 0:
                return
        if self._left == left:
            self._dead.add(placed)

    def _next(self, placed: frozenset[int]) -> list[int]:
        place = len(placed)
        return [
            item
            for item in range(self._size)
            if item not in placed and self._before[item] <= placed and self._fixed.get(item, place) == place
        ]
