"""The file of a bank: made private, recognized as a bank, upgraded, copied.

database.py and backup.py open it by `prepare`; damaged.py sets it aside when it is damaged.
"""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from mcp_reflect.errors import BankDamagedError, BankReadOnlyError, NotABankError
from mcp_reflect.storage.queries import migrations_in
from mcp_reflect.storage.sqlite.file_access import (
    OpenedFile,
    beside,
    connect,
    connect_to_read,
    identity,
    log_bytes,
    may_write,
    number_of,
    write_lock,
)
from mcp_reflect.storage.sqlite.other_kinds import is_of_another_kind
from mcp_reflect.storage.sqlite.write_ahead_log import use_write_ahead_log

APPLICATION_ID: Final = 0x4D435052
"""The letters "MCPR", which tell our file from any other SQLite database."""

ENDINGS: Final = ("-wal", "-shm", "-journal", "")
"""The endings of a database's files; the main one is moved last, so that no process begins a new one beside its log."""

_DATABASE_ENDINGS: Final = (".db", ".db3", ".sqlite", ".sqlite3", ".bank")
"""A file with another ending that is no database was named by mistake, and is left alone."""

_RIGHTS_OF_OTHERS: Final = 0o077
_RIGHTS_OF_OWNER: Final = 0o700
_STEPS_BETWEEN_STOPS: Final = 1000
"""Steps of SQLite's machine, after which a copy may be stopped."""

_PRIMARY_CODE: Final = 0xFF
"""The part of SQLite's result code that names the kind of error (sqlite.org/rescode.html)."""


def migrations() -> tuple[tuple[int, str], ...]:
    """Return every migration as (version, SQL), oldest first."""
    return migrations_in(Path(__file__).with_name("migrations"))


def statements(script: str) -> list[str]:
    """Return the statements of a migration one by one, each with the line end behind its semicolon.

    So they can share a transaction: Python's `executescript` would commit before it begins. No line of a migration ends
    one statement and begins the next.
    """
    complete: list[str] = []
    current = ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            complete.append(current)
            current = ""
    return complete


def newest() -> int:
    """Return the schema version that this release writes."""
    return migrations()[-1][0]


def newer(version: int) -> str:
    """Return the reason why a bank of a newer release, with this version of the schema, is only read."""
    return f"its schema {version} is newer than this release's {newest()}. Upgrade mcp-reflect-server to write it"


def prepare(path: Path, busy_seconds: float) -> OpenedFile:
    """Make or upgrade the file at `path`. Many processes may do this at once.

    Raises NotABankError for a file that is something else (it stays as it is), BankDamagedError for one that should be
    set aside, OSError or sqlite3.Error: it is locked while another process switches it to a log.
    """
    _refuse_links(path)
    _make_private(path)
    _refuse_foreign(path)
    if not may_write(path):
        return _read_only(path, "the file or its folder may not be written")
    if not use_write_ahead_log(path, busy_seconds):
        return _read_only(path, "the disk is full. Free some space")
    with closing(connect(path, wait=busy_seconds)) as connection:
        version = version_of(connection, path)
        if version < newest():
            upgrade(connection, path)
        read_only: str | None = None
        if version > newest():
            read_only = newer(version)
        schema = max(version, newest())
        return OpenedFile(schema=schema, identity=identity(path), read_only=read_only)


def _read_only(path: Path, reason: str) -> OpenedFile:
    """Return the state of a file that can only be read, for the `reason`; NotABankError if it is empty."""
    connection, is_immutable = connect_to_read(path)
    with closing(connection):
        version = version_of(connection, path)
        if not version:
            raise NotABankError(
                f"{path} is empty and may not be written. Set MCP_REFLECT_BANK to another file."
            )
        return OpenedFile(
            schema=version, identity=identity(path), read_only=reason, immutable=is_immutable
        )


def _refuse_links(path: Path) -> None:
    """Raise NotABankError if the bank, or a log of it, is a symbolic link.

    Whoever planted one could have SQLite write into any file of this user.
    """
    for file in _all_files(path):
        if file.is_symlink():
            fix = f"Set MCP_REFLECT_BANK to the file itself: {file.resolve()}"
            if file != path:
                fix = "Remove it"
            raise NotABankError(f"{file} is a link, which a bank must not be. {fix}.")


def _make_private(path: Path) -> None:
    """Make an empty file that only this user can read, or take the rights of others from the one that is there."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)
    if not path.is_file():  # a folder, a FIFO (opening it would block), a device
        raise NotABankError(
            f"The bank {path} cannot be used: it is not a regular file. Set MCP_REFLECT_BANK to a file."
        )
    if os.name != "posix":
        return
    for file in _all_files(path):
        with suppress(OSError):  # most are not there
            mode = file.stat().st_mode
            if mode & _RIGHTS_OF_OTHERS:
                file.chmod(mode & _RIGHTS_OF_OWNER)


def _all_files(path: Path) -> list[Path]:
    """Return the paths of the bank's file and of those that SQLite keeps beside it."""
    return [beside(path, ending) for ending in ENDINGS]


def _refuse_foreign(path: Path) -> None:
    """Raise NotABankError for a file that is no bank, or BankDamagedError for one that was a bank.

    It is read without locks or a log, so that not a byte of somebody else's file changes.
    """
    try:
        with closing(connect(path, read_only=True, immutable=True)) as connection:
            version_of(connection, path)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & _PRIMARY_CODE != sqlite3.SQLITE_NOTADB:
            return  # half of a log may be in the file: then opening it adds the rest, or says what is wrong
        is_named_as_database = path.suffix.lower() in _DATABASE_ENDINGS
        looks_like_ours = is_named_as_database or log_bytes(path) > 0
        if not looks_like_ours or is_of_another_kind(path):
            raise NotABankError(
                f"{path} is not an SQLite database; it was left as it is. Set MCP_REFLECT_BANK to another file."
            ) from error
        raise BankDamagedError(
            f"The bank {path} does not begin like an SQLite database."
        ) from error


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema version of a bank, 0 for an empty file; NotABankError for any other database.

    Raises BankReadOnlyError if the schema of a newer release lacks a column that this release reads.
    """
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    version = number_of(connection, "user_version")
    if tables and number_of(connection, "application_id") != APPLICATION_ID:
        raise NotABankError(
            f"{path} is a database of another program; it was left as it is. Set MCP_REFLECT_BANK to another file."
        )
    if version > newest() and not _own_columns() <= _columns_of(connection):
        raise BankReadOnlyError(f"The bank {path} cannot be read any more: {newer(version)}")
    return version


def _own_columns() -> set[tuple[str, str]]:
    """Return the tables and columns that this release reads, as its migrations make them in memory."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        upgrade(connection, None)
        return _columns_of(connection)


def _columns_of(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Return the names of all tables of a database, each with every column."""
    rows = connection.execute(
        "SELECT entry.name, info.name FROM sqlite_master AS entry, pragma_table_info(entry.name) AS info"
    )
    return {(table, column) for table, column in rows}


def upgrade(connection: sqlite3.Connection, path: Path | None) -> None:
    """Apply the missing migrations in one transaction under the write lock.

    The bank of an older release is copied before that, to a file beside `path`; None makes no copy.
    """
    connection.execute("PRAGMA synchronous = FULL")
    with write_lock(connection):
        version = number_of(connection, "user_version")  # another process may have been first
        if path is not None and 0 < version < newest():
            copy = beside(path, f".schema-{version}")
            if not copy.exists():
                copy_to(path, copy)
        for number, script in migrations():
            if number > version:
                for statement in statements(script):
                    connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {max(version, newest())}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def copy_to(path: Path, copy: Path, stop: Callable[[], bool] | None = None) -> None:
    """Copy what is committed in the bank at `path` to a new file `copy`, whole or not at all, for this user alone.

    Servers may write meanwhile, and others may copy. Every row is read, so a damaged bank is not copied. `stop` is asked
    now and then, and ends the copying with an error when it returns True. Raises FileExistsError if `copy` exists,
    OSError or sqlite3.Error.
    """
    if os.path.lexists(copy):
        raise FileExistsError(copy)
    # SQLite writes a file of this process alone, which gets its name when it is whole.
    part = beside(copy, f".part-{os.getpid()}-{time.time_ns()}")
    part.touch(mode=0o600, exist_ok=False)
    try:
        with closing(connect_to_read(path).connection) as source:
            source.set_progress_handler(stop, _STEPS_BETWEEN_STOPS)
            source.execute("VACUUM INTO ?", (str(part),))
        _name_copy(part, copy)
    finally:
        part.unlink(missing_ok=True)


def _name_copy(part: Path, copy: Path) -> None:
    """Give a whole copy its name, which nobody else's file may have: a hard link fails then, where a move would not."""
    try:
        os.link(part, copy)
    except OSError:  # a file system without hard links, or another process has made it
        if os.path.lexists(copy):
            raise FileExistsError(copy) from None
        part.rename(copy)
