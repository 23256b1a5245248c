"""An embedder that nobody waits for: asked for a moment, and after a failure not again for a while."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from mcp_reflect.clock import Clock
from mcp_reflect.embedding.protocol import Embedder, Vector
from mcp_reflect.llm.errors import LLMError, LLMSettingError, TimedOutError

FIRST_PAUSE: Final = 30.0  # seconds after a failure in which nobody asks again; doubled by each further one
LONGEST_PAUSE: Final = 900.0


class Patient:
    """Opens the embedder when it is first asked, and remembers what is wrong with it.

    `problem` says in one sentence why the last texts have no vectors, null while all is well.
    """

    def __init__(self, open_embedder: Callable[[], Embedder], clock: Clock) -> None:
        self._open = open_embedder
        self._clock = clock
        self._embedder: Embedder | None = None
        self._resting_until = 0.0
        self._pause = 0.0
        self.problem: str | None = None
        self.failures = 0

    @property
    def name(self) -> str | None:
        """The embedder's name, null where it was not opened yet, or cannot be."""
        return self._embedder.name if self._embedder else None

    def opened_name(self) -> str | None:
        """The embedder's name, which opens it; null where it cannot be opened, and `problem` says why."""
        try:
            return self._opened().name
        except LLMSettingError as error:
            self.problem = str(error)
            return None

    @property
    def resting(self) -> bool:
        """Whether it failed a short while ago, so that asking would only cost time."""
        return self._clock.now() < self._resting_until

    async def embed(self, texts: Sequence[str], seconds: float) -> Sequence[Vector] | None:
        """A unit vector for each text; null after `seconds` at the latest where there are none: see `problem`."""
        if self.resting:
            return None
        try:
            vectors = await self._asked(texts, seconds)
        except LLMError as error:
            self._failed(error)
            return None
        self.problem, self._pause, self._resting_until = None, 0.0, 0.0
        return vectors

    async def _asked(self, texts: Sequence[str], seconds: float) -> Sequence[Vector]:
        embedder = self._opened()
        try:
            async with asyncio.timeout(seconds):
                return await embedder.embed(texts)
        except TimeoutError:
            late = TimedOutError(embedder.name, f"no vectors within {seconds:g} s", "Run a faster one, or wait longer")
        raise late

    def _opened(self) -> Embedder:
        if self._embedder is None:
            self._embedder = self._open()
        return self._embedder

    def _failed(self, error: LLMError) -> None:
        self.problem = str(error)
        self.failures += 1
        wait = LONGEST_PAUSE if isinstance(error, LLMSettingError) else error.retry_after or 0.0
        self._pause = min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
        self._resting_until = self._clock.now() + max(self._pause, min(wait, LONGEST_PAUSE))
