"""The bank's file before anybody uses it: made private, switched to WAL, upgraded under a lock."""

import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from mcp_reflect.bank.sqlite.queries import migrations, statements
from mcp_reflect.errors import NotABankError

APPLICATION_ID = 0x4D435052  # "MCPR": tells our file from any other SQLite database
_HEADER = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True)
class Opened:
    """What was found: the schema's version, the journal mode, and why the file cannot be written, if so."""

    schema: int
    journal_mode: str
    read_only: str | None = None


def newest() -> int:
    """The schema version that this release writes."""
    return migrations()[-1][0]


def prepare(path: Path, busy_seconds: float) -> Opened:
    """Make or upgrade the file at `path`. Runs in a worker thread; many processes may do it at once.

    Raises NotABankError for a file that is something else (left as it is), OSError or sqlite3.Error.
    """
    _make_private(path)
    _refuse_foreign(path)
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        return _look(path, "the file or its folder may not be written")
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
    try:
        _check_ours(connection, path)
        version = _number(connection, "user_version")
        if version > newest():
            return Opened(version, _mode(connection), _newer(version))
        mode = _use_wal(connection, busy_seconds)
        if version < newest():
            _upgrade(connection, path)
        return Opened(newest(), mode)
    finally:
        connection.close()


def _make_private(path: Path) -> None:
    """Make an empty file that only this user can read, before SQLite writes a byte into it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        with path.open("rb") as file:
            head = file.read(len(_HEADER))
        if head and head != _HEADER:
            raise NotABankError(
                f"{path} is not an SQLite database; it was left as it is. Set MCP_REFLECT_BANK to another file."
            ) from None


def _refuse_foreign(path: Path) -> None:
    """Look into the file as it lies there, without locks or a log: not a byte of another program's changes.

    What a log beside the file may still add is looked at when it is opened.
    """
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        _check_ours(connection, path)
    except sqlite3.OperationalError:
        pass  # half of a log is in the file: opening it brings the rest
    finally:
        connection.close()


def _look(path: Path, reason: str) -> Opened:
    """A file that cannot be written, opened for reading alone."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        _check_ours(connection, path)
        version = _number(connection, "user_version")
        if version == 0:
            raise NotABankError(f"{path} is empty and may not be written. Set MCP_REFLECT_BANK to another file.")
        return Opened(version, _mode(connection), reason)
    finally:
        connection.close()


def _check_ours(connection: sqlite3.Connection, path: Path) -> None:
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and _number(connection, "application_id") != APPLICATION_ID:
        raise NotABankError(
            f"{path} is a database of another program; it was left as it is. Set MCP_REFLECT_BANK to another file."
        )


def _newer(version: int) -> str:
    return f"its schema {version} is newer than this release's {newest()}. Upgrade mcp-reflect-server to write it"


def _use_wal(connection: sqlite3.Connection, busy_seconds: float) -> str:
    """Switch to WAL; stays with a rollback journal where the file system cannot share memory.

    SQLite does not wait for others in this statement, so we do.
    """
    end = time.monotonic() + busy_seconds
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)


def _upgrade(connection: sqlite3.Connection, path: Path) -> None:
    """Apply what is missing in one transaction, under the write lock, after a backup."""
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _number(connection, "user_version")  # another process may have been first
        if 0 < version < newest():
            _back_up(path, version)
        for number, script in migrations():
            if number > version:
                for statement in statements(script):
                    connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {max(version, newest())}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _back_up(path: Path, version: int) -> None:
    """Copy what is committed to `bank.db.schema-N`, private as the bank is, once for each version."""
    copy = path.with_name(f"{path.name}.schema-{version}")
    if copy.exists():
        return
    part = copy.with_name(f"{copy.name}.part")
    os.close(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600))
    source, target = sqlite3.connect(path), sqlite3.connect(part)
    try:
        source.backup(target)
    finally:
        source.close()
        target.close()
    part.replace(copy)


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _mode(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])
