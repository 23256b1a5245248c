"""The journal of a bank's file: a write-ahead log, or a rollback journal where memory cannot be shared.

Readers and writers do not wait for each other with the log. It needs a file that processes map into their
memory together; network drives and some containers' file systems cannot do that.
"""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from mcp_reflect.bank.sqlite.identity import beside
from mcp_reflect.bank.sqlite.waiting import locked

_NO_SHARED_MEMORY: Final = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)


def use_wal(path: Path, busy_seconds: float) -> str:
    """Switch the file to a write-ahead log, once; returns the journal mode that it has then.

    SQLite does not wait for others in this statement, so we do.
    """
    end = time.monotonic() + busy_seconds
    while True:
        try:
            return _switched(path, busy_seconds)
        except sqlite3.OperationalError as error:
            if not locked(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)


def _switched(path: Path, busy_seconds: float) -> str:
    with closing(sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)) as connection:
        try:
            mode = _mode(connection)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # maps the memory
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _NO_SHARED_MEMORY:
                raise
            mode = ""
        if mode in ("wal", "delete"):
            return mode if mode == "wal" or not _shares_memory(path) else _mode(connection, "WAL")
    return _without_log(path, busy_seconds)


def _shares_memory(path: Path) -> bool:
    """Whether a log works beside `path`, tried on an empty file: a failure would leave the bank's own half switched."""
    probe = beside(path, f".probe-{os.getpid()}")
    try:
        os.close(os.open(probe, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(probe, isolation_level=None)) as connection:
            mode = _mode(connection, "WAL")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return mode == "wal"
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in _NO_SHARED_MEMORY:
            return False
        raise
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            beside(probe, ending).unlink(missing_ok=True)


def _without_log(path: Path, busy_seconds: float) -> str:
    """Take a file that came from elsewhere with its log back to a rollback journal, which needs no shared memory."""
    with closing(sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        return _mode(connection, "DELETE")


def _mode(connection: sqlite3.Connection, wanted: str = "") -> str:
    return str(connection.execute(f"PRAGMA journal_mode{f' = {wanted}' if wanted else ''}").fetchone()[0])
