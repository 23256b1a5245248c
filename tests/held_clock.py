"""A clock that stands still until it is told the time. Its chance is a counter, so ids sort in the order of making."""

from mcp_reflect.clock import Clock


class HeldClock(Clock):
    """The real clock's three methods, held."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.time = now
        self.drawn = 0

    def now(self) -> float:
        return self.time

    def random(self, size: int) -> bytes:
        self.drawn += 1
        return self.drawn.to_bytes(size)
