"""Which file lies at a path, and the rule that only one process may go on with what it has open.

A path is only a name: while a server runs, its file can be removed, moved or replaced. SQLite goes on with
the one that it has, and what is written there is lost; so each use compares.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from mcp_reflect.errors import BankError

Identity: TypeAlias = tuple[int, int]
"""A file as the system knows it: device and inode."""

_OPENED: Final[set[Identity]] = set()
"""Files that this process has opened with SQLite, ever."""

_INHERITED: Final[set[Identity]] = set()
"""Those that the process had open which this one was forked from."""


def identity(path: Path) -> Identity | None:
    """The file at `path`; none where there is none, or where it cannot be looked at."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def beside(path: Path, ending: str) -> Path:
    """The file that SQLite keeps beside a database: `-wal`, `-shm` or `-journal`."""
    return path.with_name(path.name + ending)


def has_log(path: Path) -> bool:
    """Whether there is a log with something in it beside the file."""
    try:
        return beside(path, "-wal").stat().st_size > 0
    except OSError:
        return False


def hollow(path: Path) -> bool:
    """Whether there is a file without a byte in it: never a bank that was opened, which begins with a header."""
    try:
        return not path.stat().st_size
    except OSError:
        return False


def emptied(path: Path) -> bool:
    """Whether the file has nothing in it beside a log that has: SQLite would throw the log away."""
    return hollow(path) and has_log(path)


def note_opened(found: Identity | None) -> None:
    """Remember that SQLite has this file open in this process."""
    if found is not None:
        _OPENED.add(found)


def is_opened(found: Identity | None) -> bool:
    """Whether this process has had SQLite open that file.

    Opening and closing it past SQLite would drop the locks that SQLite holds on it.
    """
    return found in _OPENED


def refuse_inherited(path: Path, found: Identity | None) -> None:
    """BankError in a process that was forked while that file was open: SQLite's locks do not survive it."""
    if found in _INHERITED:
        raise BankError(
            f"The bank {path} was open when this process was forked, and cannot be used in it. "
            "Open it after the fork, or start the process anew (spawn)."
        )


def _forked() -> None:
    _INHERITED.update(_OPENED)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """Only one process at a time makes a bank in `folder`, or moves one; where files can be locked at all."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, which does not let an open file be moved
    except ImportError:
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks: SQLite's own would fail too, and say so
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
