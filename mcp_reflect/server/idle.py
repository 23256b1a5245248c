"""Dreaming at idle: some minutes after the last call, given up at once where a call comes.

A dream that is given up has changed nothing: it is applied in one short transaction at its end.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from mcp_reflect.errors import McpReflectError

if TYPE_CHECKING:
    from mcp_reflect.services.engine import Engine

Wait = Callable[[float], Awaitable[object]]


class Idle:
    """Begins a dream after `seconds` without a call (0: never). Waits by `wait`."""

    def __init__(self, engine: "Callable[[], Engine]", seconds: float, wait: Wait = asyncio.sleep) -> None:
        self._engine = engine
        self._seconds = seconds
        self._wait = wait
        self._calls = 0
        self._waiting: asyncio.Task[None] | None = None

    def call_began(self) -> None:
        """A call is there: give up dreaming, and do not wait for it to end."""
        self._calls += 1
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def call_ended(self) -> None:
        """A call is done: where it was the last one, wait for a quiet time."""
        self._calls -= 1
        if self._calls == 0 and self._seconds > 0:
            self._waiting = asyncio.create_task(self._dream_later())

    async def close(self) -> None:
        """Give up dreaming, and wait for that."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                await waiting

    async def _dream_later(self) -> None:
        await self._wait(self._seconds)
        from mcp_reflect.services.consolidate import dream, due  # noqa: PLC0415 - nothing of it before

        engine = self._engine()
        try:
            if await due(engine.context):
                await dream(engine.context, idle=True)
        except McpReflectError as error:  # another process dreams, or the bank is busy: another time
            engine.log("dream_failed", "info", error=type(error).__name__)
