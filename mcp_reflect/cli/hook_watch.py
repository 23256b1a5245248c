"""The limit of time of a hook: what is done when it is over, so that no host waits for us.

The hook command reads this module before anything else, so it imports nothing that takes time.
"""

import _thread
import json
import os
import sys
from contextlib import suppress
from time import monotonic
from typing import Any, Final

_GRACE: Final = 1.5
"""Seconds after the limit in which what was not noted is written into a file; then faulthandler ends the process."""

_LATE_INPUT: Final = 1.0
"""Seconds after the limit in which a host that is slow may still say what it asks about."""


class Watch:
    """Ends the process after some seconds, whatever it waits for; `end` calls that off.

    Before, it calls `at_end`, which keeps what was not noted. Where the host has no answer yet, it prints what `unchecked`
    returns: a call that a person's enforced guard may meet must not pass because the machine is slow or the bank locked.

    A thread of Python counts the seconds. It would wait as long as a call into C holds the interpreter, so faulthandler
    ends the process some time later, which needs no interpreter.
    """

    def __init__(self, seconds: float) -> None:
        """Begin to watch: from now on this process ends after `seconds`, whatever it is doing."""
        import faulthandler  # noqa: PLC0415 - a module of the interpreter itself

        self.at_end: Any = None
        self.unchecked: Any = None
        self.began = monotonic()
        self._running = _thread.allocate_lock()
        self._running.acquire()
        self._reading = _thread.allocate_lock()
        self._reading.acquire()
        self._answering = _thread.allocate_lock()
        self._is_answered = False
        self._devnull = open(os.devnull, "w")  # noqa: PTH123, SIM115 - open until the end
        faulthandler.dump_traceback_later(seconds + _GRACE, exit=True, file=self._devnull)
        _thread.start_new_thread(self._wait, (seconds,))

    def within(self, seconds: float) -> None:
        """End the process after `seconds` from now, where that is sooner."""
        _thread.start_new_thread(self._wait, (seconds,))

    def seconds_taken(self) -> float:
        """Return how long this process has been watched."""
        return monotonic() - self.began

    def has_input(self) -> None:
        """Say that the host's input is read, and what is to be done at the end is known."""
        self._reading.release()

    def answer(self, answer: dict[str, Any] | None) -> None:
        """Print the answer to the host, in ASCII, whatever the console's encoding; only the first one counts.

        None is an answer as well: nothing is to be said. After it, a watch that runs out while the hook tidies up prints
        no refusal of a call that was allowed.
        """
        with self._answering:
            if answer and not self._is_answered:
                sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()
            self._is_answered = True

    def give_up(self) -> None:
        """Print what `unchecked` returns, unless the host has its answer already.

        It runs where something failed or took too long, so that no error of its own may come out of it.
        """
        with suppress(Exception):
            if self.unchecked is not None and not self._is_answered:
                self.answer(self.unchecked())

    def _wait(self, seconds: float) -> None:
        """End the process after some seconds, unless the hook ends before; runs in a thread of its own.

        `_running` is locked until the hook ends, `_reading` until its input is read.
        """
        if self._running.acquire(timeout=seconds):
            self._running.release()  # another thread may wait for the end as well
            return
        self._reading.acquire(timeout=_LATE_INPUT)
        self.give_up()
        with suppress(Exception):
            if self.at_end is not None:
                self.at_end()
        os._exit(0)

    def end(self) -> None:
        """Call the watch off: the hook is done."""
        import faulthandler  # noqa: PLC0415 - see above

        self.answer(None)
        faulthandler.cancel_dump_traceback_later()
        self._running.release()
        self._devnull.close()
