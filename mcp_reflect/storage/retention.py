"""Retention: rows that only help a later call are dropped some time after their last use."""

from typing import Final, Literal, TypeAlias

from mcp_reflect.storage.sqlite.statements import Writing

Retained: TypeAlias = Literal["recall", "search", "session", "step", "warning", "critique_session"]

_MAX_DROPPED: Final = 40  # rows of a kind that one write drops: far more than it adds, and quickly done
_DAY: Final = 86_400.0


class Retention:
    """Drops old rows while new ones are written, so that no single write has much to drop."""

    def __init__(self, days: float) -> None:
        """Keep rows for `days` after their last use; 0 keeps them forever."""
        self._seconds = days * _DAY

    def drop_old(self, writing: Writing, now: float, *kinds: Retained) -> None:
        """Drop the oldest expired rows of `kinds`; `now` is in seconds since 1970."""
        if self._seconds:
            for kind in kinds:
                writing.run(f"{kind}_drop_old", {"before": now - self._seconds, "most": _MAX_DROPPED})
