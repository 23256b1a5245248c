"""The source of time, ids and chance, so that a test can fix them."""

import os
import time
from datetime import UTC, datetime
from typing import Any, Final

DAY: Final = 86_400.0
"""Seconds."""

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
_PARTS = 1024  # of a millisecond: two digits more, so that ids made one after another sort so


def iso(seconds: float, *, exact: bool = False) -> str:
    """Return seconds since 1970 as ISO 8601 in UTC, to the second, or `exact` to the microsecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="auto" if exact else "seconds")


def dated(record: dict[str, Any]) -> dict[str, Any]:
    """Return a stored record with its times as ISO 8601 text in UTC."""
    times = {
        name: iso(record[name])
        for name in ("created_at", "updated_at")
        if isinstance(record.get(name), float)
    }
    return {**record, **times}


class Clock:
    """The real clock. A test passes its own with the same three methods."""

    _moment = 0  # of the last id

    def now(self) -> float:
        """Seconds since 1970 (UTC)."""
        return time.time()

    def random(self, size: int) -> bytes:
        """`size` random bytes."""
        return os.urandom(size)

    def new_id(self, prefix: str) -> str:
        """Return an opaque id that sorts by time within its prefix: `les_` + 12 digits of microseconds + 10 random."""
        # A machine's clock may be set back, and ids made one after another must sort so.
        self._moment = moment = max(int(self.now() * 1000 * _PARTS), self._moment + 1)
        chance = int.from_bytes(self.random(8))
        return f"{prefix}_{_digits(moment, 12)}{_digits(chance, 10)}"


def _digits(number: int, width: int) -> str:
    return "".join(_ALPHABET[(number >> (5 * place)) & 31] for place in range(width - 1, -1, -1))
