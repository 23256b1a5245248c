"""The write-ahead log of a bank's file, with which readers and writers do not wait for each other."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from mcp_reflect.errors import BankError
from mcp_reflect.storage.sqlite.file_access import connect, number_of, write_lock

LONG_LOG_BYTES: Final = 1000 * (4096 + 24)
"""1,000 pages with their headers: where SQLite would make a checkpoint by itself."""

_NO_SHARED_MEMORY: Final = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR_SHMMAP,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMLOCK,
)
"""How SQLite says that it cannot map memory beside a file."""

_SHARED_MEMORY_BYTES: Final = 32_768
"""The least memory that SQLite asks for."""


def use_write_ahead_log(path: Path, busy_seconds: float) -> bool:
    """Switch the file to a write-ahead log, as it stays then; return False if the disk is full.

    BankError if processes cannot map memory together, as on network drives: the log needs that.
    """
    try:
        with closing(connect(path, wait=busy_seconds)) as connection:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # maps the memory
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode not in _NO_SHARED_MEMORY:
            raise
        if shutil.disk_usage(path.parent).free < _SHARED_MEMORY_BYTES:
            return False
        mode = "none"
    if mode != "wal":
        raise BankError(
            f"The bank {path} is on a drive where processes cannot share memory, as on network drives. Set "
            "MCP_REFLECT_BANK to a file on a disk of this machine, or use a bank on PostgreSQL."
        )
    return True


def checkpoint(holding: sqlite3.Connection, path: Path) -> bool:
    """Move the log into the file; return whether all of it was moved: a reader may still need the file as it was.

    The connection `holding` keeps other writers out meanwhile, and another one moves the log. Raises
    sqlite3.OperationalError if another process holds the write lock.
    """
    with write_lock(holding), closing(connect(path, wait=0)) as moving:
        busy, frames, moved = moving.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return not busy and frames == moved


def empty_log(holding: sqlite3.Connection, path: Path) -> bool:
    """Do as `checkpoint`, and cut the log if all of it was moved, so that erased bytes are gone; return whether it was.

    The first write after a checkpoint begins the log anew and cuts it. Here that write is the schema's version, which
    stays the same.
    """
    if not checkpoint(holding, path):
        return False
    with write_lock(holding):
        holding.execute(f"PRAGMA user_version = {number_of(holding, 'user_version')}")
    return True
