"""The source of time, ids and chance, in one place, so that a test can fix all of them."""

import os
import time
from datetime import UTC, datetime
from typing import Any, Final

DAY: Final = 86_400.0
"""Seconds."""

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
_PARTS = 1024  # of a millisecond, the unit of time in an id: ids made one after another sort so


def iso(seconds: float, *, exact: bool = False) -> str:
    """Return seconds since 1970 as ISO 8601 in UTC: 0 -> "1970-01-01T00:00:00+00:00"; `exact` is to the microsecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="auto" if exact else "seconds")


def dated(record: dict[str, Any]) -> dict[str, Any]:
    """Return a stored record with `created_at` and `updated_at` as ISO 8601 text in UTC."""
    times = {
        name: iso(record[name])
        for name in ("created_at", "updated_at")
        if isinstance(record.get(name), float)
    }
    return {**record, **times}


class Clock:
    """The real clock. A test passes its own with the same three methods."""

    _last_id_time = 0  # of the last id, in parts of a millisecond since 1970

    def now(self) -> float:
        """Return the seconds since 1970 (UTC)."""
        return time.time()

    def random(self, size: int) -> bytes:
        """Return `size` random bytes."""
        return os.urandom(size)

    def new_id(self, prefix: str) -> str:
        """Return an opaque id that sorts by time within its prefix: `les_`, 12 digits of time, 10 random ones."""
        time_now = int(self.now() * 1000 * _PARTS)
        # Two ids may be made within one part, and a machine's clock may be set back.
        self._last_id_time = max(time_now, self._last_id_time + 1)
        chance = int.from_bytes(self.random(8))
        return f"{prefix}_{_base32(self._last_id_time, 12)}{_base32(chance, 10)}"


def _base32(number: int, width: int) -> str:
    """Return the last `width` digits of a number in base 32, each of five bits, the highest first: (33, 3) -> "011"."""
    digits = ""
    for _ in range(width):
        digits = _ALPHABET[number & 31] + digits
        number >>= 5
    return digits
