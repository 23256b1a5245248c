"""Waiting for another process's write to end.

SQLite's own busy handler asks ever more seldom, down to ten times a second, while who has only just come
asks at once: under load the longest waiter comes last. Here everybody asks after a random moment, and the
longer one has waited the sooner, so that nobody starves.
"""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mcp_reflect.clock import Clock

_LONGEST_PAUSE: Final = 0.006  # seconds, for who has just come; a short write takes about as long
_SHORTEST_PAUSE: Final = 0.001

_Answer = TypeVar("_Answer")


async def patiently(attempt: Callable[[], Awaitable[_Answer]], seconds: float) -> _Answer:
    """What `attempt` answers, asked again while the file is locked; its error after `seconds`."""
    start = time.monotonic()
    while True:
        try:
            return await attempt()
        except sqlite3.OperationalError as error:
            waited = time.monotonic() - start
            if not locked(error) or waited >= seconds:
                raise
        await asyncio.sleep(pause(waited))


def pause(waited: float) -> float:
    """How long to pause before asking again, in seconds: random, and shorter the longer one has `waited`."""
    longest = max(_LONGEST_PAUSE / (1 + waited), _SHORTEST_PAUSE)
    return longest * (1 + Clock().random(1)[0]) / 256


def locked(error: sqlite3.Error) -> bool:
    """Whether the error says that another connection is in the way, and nothing worse."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
