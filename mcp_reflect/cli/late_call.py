"""A call that worked or failed, as the spool keeps it, also where its hook has no time to look at it.

The quick hook reads this module, so that it imports nothing that takes time.
"""

import _thread
import os
from typing import Any, Final

from mcp_reflect.moments.payload import (
    error_of,
    output_ends,
    result_of,
    session_of,
    text_of,
    unpacked,
    was_only_started,
)
from mcp_reflect.places import BANK, PROJECT, bank_file

END_CHARS: Final = 6_000
"""Characters of an output in the spool, at either end."""

_SECRET_CHARS: Final = 4_000
"""Characters that are kept beyond a cut until secrets are taken out, so that one at the cut is seen whole."""


class LateCall:
    """A call whose hook has no time to look at it: it goes into the spool once, whoever asks first."""

    def __init__(self, event: str, sent: dict[str, Any]) -> None:
        self._event = event
        self._sent = sent
        self._is_kept = False
        self._keeping = _thread.allocate_lock()

    def prepare(self) -> None:
        """Import what redacts a call, before anything that is slow: where time runs out, it takes a moment to keep.

        All that follows needs it as well. On a busy machine the import alone takes longer than what is left at the end.
        """
        from mcp_reflect.security import gate  # noqa: PLC0415
        from mcp_reflect.storage import spool  # noqa: PLC0415

        del gate, spool

    def keep(self) -> None:
        """Put the call into the spool. A second thread waits for the first, and may then end the process."""
        with self._keeping:
            if not self._is_kept:
                _spool_unlooked(self._event, self._sent)
                self._is_kept = True


def spooled_record(event: str, sent: dict[str, Any], project: str | None) -> dict[str, Any]:
    """Return a call as the spool keeps it, with the ends of its output."""
    error, result = error_of(event, sent), text_of(result_of(sent))
    most = END_CHARS + _SECRET_CHARS
    return {
        "tool": sent.get("tool_name"),
        "arguments": unpacked(sent.get("tool_input")),
        "result": output_ends(result, most),
        "error": error and output_ends(error, most),
        "session": session_of(sent),
        "project": project,
    }


def _spool_unlooked(event: str, sent: dict[str, Any]) -> None:
    """Put a call into the spool without looking at it, since time is over: the process that records it looks."""
    from mcp_reflect.storage.spool import append  # noqa: PLC0415 - it imports the redaction

    bank = bank_file(os.environ.get(BANK))
    if bank is None or sent.get("is_interrupt") is True or was_only_started(sent):
        return
    record = spooled_record(event, sent, os.environ.get(PROJECT))
    append(bank, {**record, "folder": sent.get("cwd")}, most=END_CHARS)
