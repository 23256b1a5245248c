"""Another try, after a pause, where the fault may pass by itself."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from mcp_reflect.clock import Clock
from mcp_reflect.llm.errors import LLMError
from mcp_reflect.llm.protocol import LLM, Reply, Request

Sleep = Callable[[float], Awaitable[None]]


class Retry:
    """Tries up to `attempts` times while the error is retryable and the request's time allows.

    Before try n + 1 it pauses a random time between 0 and `first_pause` * 2^(n-1) seconds, at most
    `longest_pause`, and never less than the endpoint asked for. A pause that would reach past
    `request.timeout` is not begun: the error is raised at once. Each try gets the time that is left.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        clock: Clock | None = None,
        sleep: Sleep = asyncio.sleep,
        attempts: int = 3,
        first_pause: float = 0.5,
        longest_pause: float = 8.0,
    ) -> None:
        self._llm = llm
        self._clock = clock or Clock()
        self._sleep = sleep
        self._attempts = attempts
        self._first_pause = first_pause
        self._longest_pause = longest_pause

    async def complete(self, request: Request) -> Reply:
        """The first reply that comes, or the error of the last try."""
        deadline = self._clock.now() + request.timeout
        attempt = 1
        while True:
            try:
                return await self._llm.complete(replace(request, timeout=self._left(deadline, request)))
            except LLMError as error:
                pause = self._pause(attempt, error.retry_after)
                if not error.retryable or attempt >= self._attempts or pause >= self._left(deadline, request):
                    raise
            await self._sleep(pause)
            attempt += 1

    def _left(self, deadline: float, request: Request) -> float:
        """Seconds until the deadline: above 0, and never more than were given should the clock be set back."""
        return min(request.timeout, max(0.001, deadline - self._clock.now()))

    def _pause(self, attempt: int, asked: float | None) -> float:
        widest = min(self._longest_pause, self._first_pause * 2 ** (attempt - 1))
        chance = int.from_bytes(self._clock.random(8)) / 2**64
        return max(asked or 0.0, widest * chance)
