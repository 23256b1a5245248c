"""How many names of secrets are read in full in one call, whatever number of texts it has.

To read what stands around a name takes some 60 microseconds, and thousands of texts may each have as many names as one
text may have. So all texts of a value, or of a call, share an allowance. A text that was read before is not read again,
and costs nothing. Beyond the allowance what stands around a name is cut unread.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

MOST_READ: Final = 3_000
"""Names that are read in one call; one counts each time that a view of its text shows it."""

MOST_CUES: Final = 2_000
"""Cues of secrets of several words behind which is read in one call."""

_FEW: Final = 3  # names of a text


class ReadingAllowance:
    """The names that may still be read. Threads of one call share it.

    It is no dataclass, since a hook with nothing to say loads it, and `dataclasses` takes longer than all that it does.
    """

    __slots__ = ("cues_left", "left", "of_text", "read")

    def __init__(self) -> None:
        self.left = MOST_READ
        self.cues_left = MOST_CUES
        self.of_text = (
            0  # names that each reading of the present text may have, also the reading after a cut
        )
        self.read = 0

    def begin_text(self, pieces: int) -> None:
        """Share what is left among the pieces of a text; behind the allowance a few names of a text are still read.

        A short text behind a long one is not to blame for it.
        """
        self.of_text = self.left // pieces
        if self.of_text < _FEW and self.read < 2 * MOST_READ:
            self.of_text = _FEW

    def may_read_cue(self) -> bool:
        """Count a cue; False where what stands behind it is not read any more."""
        self.cues_left -= 1
        return self.cues_left >= 0

    def spend(self, names: int) -> None:
        """Count names that were read."""
        self.read += names
        self.left = max(0, self.left - names)


_ALLOWANCE: Final[ContextVar[ReadingAllowance | None]] = ContextVar("allowance", default=None)


@contextmanager
def shared_allowance() -> Generator[ReadingAllowance]:
    """Share one allowance among all that is cleaned within; of several the outermost one counts."""
    outer = _ALLOWANCE.get()
    if outer is not None:
        yield outer
        return
    allowance = ReadingAllowance()
    before = _ALLOWANCE.set(allowance)
    try:
        yield allowance
    finally:
        _ALLOWANCE.reset(before)


def allowance_of_text() -> ReadingAllowance:
    """Return the allowance of the text that is read; a text that is read by itself has one of its own."""
    allowance = _ALLOWANCE.get()
    if allowance is None:
        allowance = ReadingAllowance()
        allowance.begin_text(1)
    return allowance
