"""What only helps to go on is dropped some time after it was last used: nobody comes back to it, and it grows."""

from typing import Final, Literal, TypeAlias

from mcp_reflect.bank.sqlite.statements import Writing

Kept: TypeAlias = Literal["recall", "search", "session", "step", "warning", "working"]

_MOST: Final = 40  # rows that one write drops of a kind: far more than it adds, and soon done
_DAY: Final = 86_400.0


class Keeping:
    """Drops old rows as new ones are written, so that no write ever has much to drop."""

    def __init__(self, days: float) -> None:
        """`days` is how long they are kept after their last use; 0 keeps them for ever."""
        self._seconds = days * _DAY

    def drop_old(self, writing: Writing, now: float, *kinds: Kept) -> None:
        """Drop the oldest rows of `kinds` whose time is over; `now` is in seconds since 1970."""
        if self._seconds:
            for kind in kinds:
                writing.run(f"{kind}_drop_old", {"before": now - self._seconds, "most": _MOST})
