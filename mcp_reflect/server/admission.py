"""How many calls a server takes: so many a minute, and so many at the same time. What is more is refused at once."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from mcp_reflect.config import PREFIX, Limits
from mcp_reflect.errors import InputError

_MINUTE: Final = 60.0  # seconds


class Admission:
    """A bucket of calls that fills up evenly over a minute, and a count of those at work.

    `now` gives seconds of a clock that never goes back.
    """

    def __init__(self, limits: Limits, now: Callable[[], float] = time.monotonic) -> None:
        self._a_minute = limits.max_calls_per_minute
        self._at_once = limits.max_calls_at_once
        self._now = now
        self._left = float(self._a_minute)
        self._filled = now()
        self._at_work = 0

    @contextmanager
    def call(self, error: Callable[[str], Exception] | None = None) -> Generator[None]:
        """One call. Where there is no room for it, InputError, or the `error` that the protocol wants for it."""
        try:
            self._take()
        except InputError as refused:
            raise (error(str(refused)) if error else refused) from None
        self._at_work += 1
        try:
            yield
        finally:
            self._at_work -= 1

    def _take(self) -> None:
        if self._at_once and self._at_work >= self._at_once:
            fault = f"{self._at_work} are being worked on already"
            raise InputError("calls", fault, f"Wait for one to be answered ({PREFIX}MAX_CALLS_AT_ONCE).")
        if not self._a_minute:
            return
        now = self._now()
        self._left = min(self._left + (now - self._filled) * self._a_minute / _MINUTE, self._a_minute)
        self._filled = now
        if self._left < 1:
            seconds = (1 - self._left) * _MINUTE / self._a_minute
            fault = f"there were more than {self._a_minute} in a minute"
            raise InputError("calls", fault, f"Wait {seconds:.1f} s ({PREFIX}MAX_CALLS_PER_MINUTE).")
        self._left -= 1
