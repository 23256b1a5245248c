"""A clock that stands still."""

from mcp_reflect.clock import Clock


class FrozenClock(Clock):
    """Stands at `at` seconds since 1970."""

    def __init__(self, at: float = 1_000_000.0) -> None:
        self.at = at

    def now(self) -> float:
        return self.at
