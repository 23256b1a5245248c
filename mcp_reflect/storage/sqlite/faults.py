"""Errors of SQLite and of the file system in plain words, with what a person can do about each."""

import errno
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mcp_reflect.errors import BankBusyError, BankDamagedError, BankError, BankReadOnlyError

_FULL: Final = (
    "cannot grow: the disk is full. Free some space and try again; what was stored before is kept"
)
_DISK: Final = (
    "cannot be read or written: the disk reports an error. Look at the disk; then try again"
)
# SQLite's result codes (sqlite.org/rescode.html) → the error, and what to do about it.
_MEANINGS: Final[dict[int, tuple[type[BankError], str]]] = {
    sqlite3.SQLITE_BUSY: (
        BankBusyError,
        "is held by another process. Try again, or end the process that holds it",
    ),
    sqlite3.SQLITE_PROTOCOL: (BankBusyError, "is held by other processes. Try again"),
    sqlite3.SQLITE_READONLY: (
        BankReadOnlyError,
        "cannot be written. Give this user the right or set MCP_REFLECT_BANK",
    ),
    sqlite3.SQLITE_FULL: (BankError, _FULL),
    sqlite3.SQLITE_CORRUPT: (BankDamagedError, "is damaged"),
    sqlite3.SQLITE_NOTADB: (
        BankDamagedError,
        "is damaged: its beginning is not an SQLite database's",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        BankError,
        "cannot be opened. Check that its folder exists and may be written",
    ),
    sqlite3.SQLITE_PERM: (
        BankError,
        "may not be opened by this user. Give this user the right to it",
    ),
    sqlite3.SQLITE_IOERR: (BankError, _DISK),
    sqlite3.SQLITE_NOMEM: (BankError, "cannot be used: this machine has no memory left. Try again"),
}
_FULL_ERRNOS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Turn errors of SQLite and the file system into ours, with the path and what to do."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # a fault of ours: the value should have been refused before
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)  # not there if Python itself raised it
        if code is None or code & 0xFF not in _MEANINGS:
            raise  # only a fault of ours can cause it
        kind, meaning = _MEANINGS[code & 0xFF]
        raise kind(f"The bank {path} {meaning}.") from error
    except OSError as error:
        if error.errno in _FULL_ERRNOS:
            raise BankError(f"The bank {path} {_FULL}.") from error
        raise BankError(
            f"The bank {path} cannot be used: {error.strerror or error}. "
            "Set MCP_REFLECT_BANK to a file that this user may write."
        ) from error
