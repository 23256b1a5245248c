"""Servers forked off a process that has imported everything: real processes, at a twentieth of a start's work.

A storm that kills hundreds of servers would spend its time on their imports. Nothing is open in the process
that they come from: each opens the bank itself, and dies alone.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing import get_context
from multiprocessing.reduction import DupFd
from pathlib import Path
from subprocess import TimeoutExpired
from typing import IO, Any, Final

from benchmarks.stdio import RawClient

_CONTEXT: Final = get_context("forkserver")
_CHECKERS: Final = ("arithmetic.checker", "code", "dates", "evidence.checker", "units")
_IMPORTED: Final = [
    "anyio._backends._asyncio",
    "benchmarks.forked",
    *(f"mcp_reflect.services.{name}" for name in ("engine", "critique", "reflect", "lessons", "replan")),
    *(f"mcp_reflect.server.{name}" for name in ("app", "catalog", "sampling")),
    *(f"mcp_reflect.checkers.{name}" for name in _CHECKERS),
]


class Forked:
    """A process that serves over two pipes, with the face of `subprocess.Popen` that a client needs."""

    def __init__(self, env: Mapping[str, str], errors: IO[bytes]) -> None:
        _CONTEXT.set_forkserver_preload(_IMPORTED)
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        ends = [_Handed(fd) for fd in (to_read, from_write, errors.fileno())]
        self._process = _CONTEXT.Process(target=_serve, args=(dict(env), ends), daemon=True)
        self._process.start()
        os.close(to_read)
        os.close(from_write)
        self.stdin: IO[bytes] | None = os.fdopen(to_write, "wb", buffering=0)
        self.stdout: IO[bytes] | None = os.fdopen(from_read, "rb", buffering=0)

    @property
    def pid(self) -> int:
        """The process's number."""
        assert self._process.pid is not None  # noqa: S101 - started above
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """How it ended, negative for a signal; null while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; TimeoutExpired after `timeout` seconds."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise TimeoutExpired("a forked server", timeout or 0)
        return self._process.exitcode

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._process.kill()


def forked_server(bank: Path, timeout: float = 60.0) -> RawClient:
    """A server on `bank` that has not been spoken to yet."""
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the client
    env = {"MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": "app"}
    return RawClient(Forked(env, errors), errors, timeout)


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


def _serve(env: dict[str, str], ends: list[_Handed]) -> None:
    """What the new process does: the pipes become its stdin, stdout and stderr, and it serves."""
    from mcp_reflect.server.app import build  # noqa: PLC0415 - imported already where this was forked off

    for place, end in enumerate(ends):
        taken = end.taken()
        os.dup2(taken, place)
        os.close(taken)
    sys.stdin, sys.stdout, sys.stderr = (open(place, mode, closefd=False) for place, mode in enumerate("rww"))  # noqa: SIM115 - numbers, open to the end
    os.environ.update(env)
    build().run()
