"""What SQLite's errors mean to the person who runs the server."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mcp_reflect.errors import BankBusyError, BankError, BankReadOnlyError, NotABankError

# A part of SQLite's message → the error, and what to do about it.
_MEANINGS: tuple[tuple[str, type[BankError], str], ...] = (
    ("locked", BankBusyError, "is held by another process. Try again, or end the process that holds it"),
    ("readonly", BankReadOnlyError, "cannot be written. Give this user the right to write it, or set MCP_REFLECT_BANK"),
    ("disk is full", BankError, "has no room: the disk is full. Free some space; nothing was lost"),
    ("not a database", NotABankError, "is not an SQLite database. Set MCP_REFLECT_BANK to another file"),
    ("malformed", BankError, "is damaged. Run mcp-reflect doctor"),
    ("unable to open", BankError, "cannot be opened. Check that its folder exists and may be written"),
    ("disk I/O error", BankError, "cannot be read or written: the disk reports an error"),
)


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Turn SQLite's and the file system's errors into ours, with the path and what to do."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # our own fault: the door should have refused the value
    except sqlite3.Error as error:
        for part, kind, meaning in _MEANINGS:
            if part in str(error):
                raise kind(f"The bank {path} {meaning}.") from error
        raise
    except OSError as error:
        raise BankError(
            f"The bank {path} cannot be used: {error.strerror or error}. "
            "Set MCP_REFLECT_BANK to a file that this user may write."
        ) from error
