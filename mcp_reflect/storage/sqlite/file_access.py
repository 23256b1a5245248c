"""Access to a database's file: a connection to read or write it, its write lock, and the files that lie beside it."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from mcp_reflect.storage.repository import Opened

_Kind = TypeVar("_Kind", bound=sqlite3.Connection)

Identity: TypeAlias = tuple[int, int]
"""A file as the system identifies it, (device, inode): while a server runs, another file may come to its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFile(Opened):
    """The state of a file; `identity` tells whether another file is at its path later.

    `immutable` is SQLite's word for a file that is read without locks and without a log: that is so where neither the
    file nor its folder can be written.
    """

    engine: str = f"SQLite {sqlite3.sqlite_version}"
    identity: Identity | None
    immutable: bool = False


class ReadingConnection(NamedTuple):
    """A connection that can read a file, and whether it takes the file as immutable (`OpenedFile`)."""

    connection: sqlite3.Connection
    is_immutable: bool


def identity(path: Path) -> Identity | None:
    """Return the file at `path`; None if there is none, or if it cannot be examined."""
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


def beside(path: Path, ending: str) -> Path:
    """Return the file that SQLite keeps beside a database: `-wal`, `-shm` or `-journal`."""
    return path.with_name(path.name + ending)


def log_bytes(path: Path) -> int:
    """Return the size of the log beside the file, 0 if there is none."""
    with suppress(OSError):
        return beside(path, "-wal").stat().st_size
    return 0


def connect(
    path: Path,
    *,
    read_only: bool = False,
    immutable: bool = False,
    wait: float = 5.0,
    kind: type[_Kind] = sqlite3.Connection,
) -> _Kind:
    """Connect to a file that exists; a statement waits `wait` seconds for a lock of others.

    See OpenedFile for `immutable`; `kind` is the class of the connection. SQLite moves its log into the file by itself after
    a commit (a checkpoint), without the write lock; before 3.51.3 that can lose pages
    (https://sqlite.org/wal.html#walresetbug), so it is told not to, and `checkpoint` does it.
    """
    access = "mode=rw"
    if read_only:
        access = "mode=ro"
    if immutable:
        access += "&immutable=1"
    connection = sqlite3.connect(
        f"{path.as_uri()}?{access}", uri=True, timeout=wait, isolation_level=None, factory=kind
    )
    connection.row_factory = sqlite3.Row
    if not read_only:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        # A log that is restarted is cut, so that its size says how long it is.
        connection.execute("PRAGMA journal_size_limit = 0")
    return connection


def connect_to_read(path: Path) -> ReadingConnection:
    """Return a connection that can read a file, with its log where SQLite can open one.

    Where it cannot, the file is taken as immutable; but if there is a log with data, which has to be read as well, the
    error is raised.
    """
    connection = connect(path, read_only=not may_write(path))
    try:
        number_of(connection, "user_version")  # opens the log
    except sqlite3.OperationalError:
        connection.close()
        if log_bytes(path):
            raise
        immutable_file = connect(path, read_only=True, immutable=True)
        return ReadingConnection(immutable_file, is_immutable=True)
    return ReadingConnection(connection, is_immutable=False)


def number_of(connection: sqlite3.Connection, pragma: str) -> int:
    """Return a number that SQLite keeps in a file, such as `user_version`."""
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


@contextmanager
def write_lock(connection: sqlite3.Connection) -> Generator[None]:
    """Run the block in one transaction under the write lock; roll it back if it fails."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


def may_write(path: Path) -> bool:
    """Return whether a file can be written: SQLite also makes files beside it, so its folder counts, too."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
