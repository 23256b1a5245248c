"""A clock that stands still until somebody sleeps on it."""

from mcp_reflect.clock import Clock


class FrozenClock(Clock):
    """Starts at `at` seconds since 1970; `chance` in 0..1 is what every random number is of its range."""

    def __init__(self, at: float = 1_000_000.0, chance: float = 0.5) -> None:
        self.at = at
        self.chance = chance
        self.slept: list[float] = []

    def now(self) -> float:
        return self.at

    def random(self, size: int) -> bytes:
        return min(int(self.chance * 256**size), 256**size - 1).to_bytes(size)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
