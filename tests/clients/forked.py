"""Our command in processes forked off one that has imported everything: real ones, at a twentieth of a start's work.

Most of a start is imports. Tests of what processes do together need many processes and no imports; how a host starts
ours is tested apart. Nothing is open in the process that they come from: each opens the bank itself, and dies alone.
"""

import os
import signal
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fcntl import ioctl
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any, Final, Self

from tests.clients.stdio import RawClient

_CONTEXT: Final = get_context("forkserver")
_SERVICES: Final = (
    "engine",
    "critique",
    "reflect",
    "lessons",
    "replan",
    "triggers",
    "transcripts",
    "warnings",
)
_COMMANDS: Final = ("commands", "place", "hook", "lessons", "reports", "team", "transfer")
_IMPORTED: Final = [
    "anyio._backends._asyncio",
    "tests.clients.forked",
    *(f"mcp_reflect.cli.{name}" for name in _COMMANDS),
    *(f"mcp_reflect.server.{name}" for name in ("app", "catalog", "sampling", "team")),
    *(f"mcp_reflect.services.{name}" for name in _SERVICES),
    "mcp_reflect.evidence.verifying",
    "mcp_reflect.storage.postgres.database",  # if psycopg is there
    "tests.clients.warm",
]
_ROOT: Final = Path(__file__).parents[2]


class Forked:
    """A process of `mcp-reflect WORDS`, with the face of `subprocess.Popen` that clients need.

    `env` comes beside this process's environment; `errors` is where its stderr goes, this process's by default;
    `folder` is where it works. `code` runs in place of the command, as with `python -c CODE WORDS`.
    """

    def __init__(
        self,
        words: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        *,
        errors: IO[bytes] | None = None,
        folder: Path = _ROOT,
        code: str = "",
    ) -> None:
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        ends = (to_read, from_write, errors.fileno() if errors else 2)
        whole = {**os.environ, **(env or {})}
        self._process = _fork(_Start(code, list(words), whole, str(folder)), ends)
        os.close(to_read)
        os.close(from_write)
        self.stdin: IO[bytes] = os.fdopen(to_write, "wb", buffering=0)
        self.stdout: IO[bytes] = os.fdopen(from_read, "rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process's number."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """How it ended, negative for a signal; null while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; TimeoutExpired after `timeout` seconds."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self._process.exitcode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._process.kill()

    def close(self) -> None:
        """Close its pipes, and end it if it runs."""
        self.stdin.close()
        self.stdout.close()
        self.kill()
        self.wait()


class ForkedAtTerminal:
    """A process of `mcp-reflect WORDS` whose stdin, stdout and stderr are a terminal that it alone has."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str], terminal: int) -> None:
        start = _Start("", list(words), dict(env), str(_ROOT), has_terminal=True)
        self._process = _fork(start, (terminal, terminal, terminal))

    def leave(self) -> int:
        """Wait for its end, and return how it ended, negative for a signal."""
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode


def forked_server(bank: Path, *, timeout: float = 60.0, **env: str) -> RawClient:
    """A server on `bank` that has not been spoken to yet."""
    settings = {"MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": "app", **env}
    return forked_server_in(_ROOT, timeout=timeout, **settings)


def forked_server_in(folder: Path, *, timeout: float = 60.0, **env: str) -> RawClient:
    """A server that works in a folder, on the bank and in the project of the environment or of the folder."""
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the client
    return RawClient(Forked(env=env, errors=errors, folder=folder), errors, timeout)


def run_forked(
    words: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    given: str = "",
    *,
    folder: Path = _ROOT,
    seconds: float = 600,
    code: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run `mcp-reflect WORDS`, or `code`, with `given` on its stdin to its end, as `subprocess.run` would.

    A command that has not ended after `seconds` is killed, and its status is that of a process that a signal ended.
    """
    with (
        tempfile.TemporaryFile() as errors,
        Forked(words, env, errors=errors, folder=folder, code=code) as process,
    ):
        killing = threading.Timer(seconds, process.kill)
        killing.start()
        process.stdin.write(given.encode())
        process.stdin.close()
        out = process.stdout.read().decode()
        status = process.wait()
        killing.cancel()
        errors.seek(0)
        return subprocess.CompletedProcess(words, status, out, errors.read().decode())


class _Handed:
    """An open file that goes along to the new process."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._handed: Any = None

    def __getstate__(self) -> Any:
        return DupFd(self._fd)

    def __setstate__(self, handed: Any) -> None:
        self._handed = handed

    def taken(self) -> int:
        """Its number in the new process."""
        return self._handed.detach()


@dataclass(frozen=True)
class _Start:
    """What a forked process runs: some code, or the command if there is none; and its surroundings."""

    code: str
    words: list[str]
    env: dict[str, str]
    folder: str
    has_terminal: bool = False


def _fork(start: _Start, ends: Sequence[int]) -> ForkServerProcess:
    """Start a process with these files as its stdin, stdout and stderr."""
    _CONTEXT.set_forkserver_preload(_IMPORTED)
    handed = [_Handed(fd) for fd in ends]
    process = _CONTEXT.Process(target=_run, args=(start, handed), daemon=True)
    process.start()
    return process


def _run(start: _Start, ends: list[_Handed]) -> None:
    """What the new process does: the files become its stdin, stdout and stderr, and it runs what it was started for."""
    from mcp_reflect.cli import main  # noqa: PLC0415 - imported already where this was forked off

    for place, end in enumerate(ends):
        taken = end.taken()
        os.dup2(taken, place)
        os.close(taken)
    if start.has_terminal:  # Ctrl-C at it is a signal to this process
        os.setsid()
        ioctl(0, termios.TIOCSCTTY, 0)
    encoding = start.env.get("PYTHONIOENCODING")  # as Python opens them at its start
    sys.stdin, sys.stdout, sys.stderr = (
        open(place, mode, closefd=False, encoding=encoding)  # noqa: SIM115
        for place, mode in enumerate("rww")
    )
    os.chdir(start.folder)
    os.environ.clear()
    os.environ.update(start.env)
    if start.code:
        sys.argv = ["-c", *start.words]
        exec(start.code, {"__name__": "__main__"})  # noqa: S102 - a test's own code
    else:
        sys.exit(main(start.words))
