"""A person at a real terminal: a pty of the size we want, lines typed when the prompt is there."""

import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from fcntl import ioctl

from tests.clients.forked import ForkedAtTerminal

MOST_SECONDS = 60.0
OURS = (sys.executable, "-m", "mcp_reflect")


class StartedAtTerminal:
    """A program that was really started at a terminal, in a session of its own."""

    def __init__(self, command: Sequence[str], env: dict[str, str], terminal: int) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=env,
            start_new_session=True,
        )

    def leave(self) -> int:
        """Wait for the end; the exit code."""
        return self._process.wait(MOST_SECONDS)


class Person:
    """Runs `mcp-reflect` in a pty. Everything that is shown collects in `screen`.

    It is forked off this process; with a `program`, that is started with the words behind it.
    """

    def __init__(
        self,
        words: Sequence[str],
        env: dict[str, str],
        *,
        columns: int = 100,
        program: Sequence[str] = (),
    ) -> None:
        self.screen = ""
        self._terminal, inside = pty.openpty()
        ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        clean = {
            name: value
            for name, value in os.environ.items()
            if name not in ("COLUMNS", "LINES", "NO_COLOR")
        }
        full = {**clean, "TERM": "xterm", **env}
        if program:
            self._process = StartedAtTerminal([*program, *words], full, inside)
        else:
            self._process = ForkedAtTerminal(words, full, inside)
        os.close(inside)

    def until(self, text: str) -> str:
        """Wait for a text on the screen; what has come with it and before, since the last wait."""
        return self._read(text)

    def types(self, line: str, until: str) -> str:
        """Type a line, and wait for a text that comes of it."""
        return self.presses(f"{line}\n", until)

    def presses(self, keys: str, until: str) -> str:
        """Press keys, and wait for a text that comes of them."""
        os.write(self._terminal, keys.encode())
        return self._read(until)

    def leaves(self) -> int:
        """Wait for the end; the exit code."""
        self._read(None)
        os.close(self._terminal)
        return self._process.leave()

    def _read(self, text: str | None) -> str:
        come, end = "", time.monotonic() + MOST_SECONDS
        while text is None or text not in come:
            ready, _, _ = select.select([self._terminal], [], [], max(end - time.monotonic(), 0))
            assert ready, f"{text!r} did not come:\n{self.screen}"
            try:
                piece = os.read(self._terminal, 65536).decode(errors="replace")
            except OSError:  # Linux says so where the other side has gone
                piece = ""
            if not piece:
                assert text is None, f"{text!r} did not come:\n{self.screen}"
                break
            come += piece
            self.screen += piece
        return come
