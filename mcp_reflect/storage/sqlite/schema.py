"""Opening a bank's file: made private, switched to WAL, migrated under a lock."""

import errno
import os
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_reflect.errors import BankDamagedError, BankError, NotABankError
from mcp_reflect.storage.sqlite.files import (
    Identity,
    alone,
    beside,
    by_hand,
    emptied,
    has_log,
    hollow,
    identity,
    is_opened,
    note_opened,
    use_wal,
)
from mcp_reflect.storage.sqlite.statements import migrations, statements, write_lock

APPLICATION_ID = 0x4D435052  # "MCPR": tells our file from any other SQLite database
_HEADER: Final = b"SQLite format 3\x00"
_FULL: Final = "the disk is full. Free some space"
_DATABASE_ENDINGS: Final = (".db", ".db3", ".sqlite", ".sqlite3", ".bank")
"""Endings of databases: a file with another one that is no database was named by mistake, and is left alone."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The state of a file: the schema's version, the journal mode, and why the file cannot be written, if so.

    `frozen` is the file's time in ns and its bytes if it lies in a folder that takes no log: SQLite then reads it
    without looking again.
    """

    schema: int
    journal_mode: str
    identity: Identity
    read_only: str | None = None
    frozen: tuple[int, int] | None = None


def thawed(path: Path, opened: Opened) -> bool:
    """True if a frozen file should be examined anew: it changed, has a log, or may be written now."""
    return opened.frozen is not None and (_as_of(path) != opened.frozen or has_log(path) or _may_write(path))


def newest() -> int:
    """Return the schema version that this release writes."""
    return migrations()[-1][0]


def uri(path: Path, *, read_only: bool = False, frozen: object = False) -> str:
    """Return the address by which SQLite opens a file that exists, and makes none."""
    return f"{path.as_uri()}?mode={'ro' if read_only else 'rw'}{'&immutable=1' if frozen else ''}"


def prepare(path: Path, busy_seconds: float) -> Opened:
    """Make or upgrade the file at `path`. Many processes may do this at once.

    Raises NotABankError for a file that is something else (it stays as it is), BankDamagedError for one that should be
    set aside, OSError or sqlite3.Error.
    """
    _make_private(path)
    found = identity(path)
    if found is None:
        raise BankError(f"The bank {path} was removed in this moment. Try again.")
    if emptied(path):
        raise BankDamagedError(f"The bank {path} is empty beside its log.")
    if not is_opened(found):
        _check_header(path)
    note_opened(found)
    _refuse_foreign(path)
    if not _may_write(path):
        return _look(path, found, "the file or its folder may not be written")
    try:
        mode = use_wal(path, busy_seconds)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_FULL or hollow(path) or has_log(path):
            raise
        return _look(path, found, _FULL)  # not even the log's shared memory fits on the disk: the file can be read
    with closing(sqlite3.connect(uri(path), uri=True, timeout=busy_seconds, isolation_level=None)) as connection:
        check_ours(connection, path)
        by_hand(connection)
        version = number_of(connection, "user_version")
        if version < 0:
            raise NotABankError(
                f"{path} has the schema version {version}, which no release writes; it was left as it is. "
                "Restore a copy, or set MCP_REFLECT_BANK to another file."
            )
        if version > newest():
            return Opened(version, mode, found, newer(version))
        if version < newest():
            upgrade(connection, path)
        return Opened(newest(), mode, found)


def newer(version: int) -> str:
    """Return the reason why a bank of a newer release is only read."""
    return f"its schema {version} is newer than this release's {newest()}. Upgrade mcp-reflect-server to write it"


def clear_logs(path: Path) -> None:
    """Move a log that belongs to no file any more away from `path`, before another file is put there.

    SQLite would read it into the new file. Processes that have it open keep it.
    """
    beside(path, "-shm").unlink(missing_ok=True)
    for ending in ("-wal", "-journal"):
        log = beside(path, ending)
        if log.exists() and not log.stat().st_size:
            log.unlink()
        elif log.exists():
            log.rename(beside(path, f".left-{time.time_ns()}{ending}"))


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _as_of(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _make_private(path: Path) -> None:
    """Make an empty file that only this user can read, or remove the rights of others, before it is used."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists():
        if not path.is_file():  # a folder, a FIFO (opening it would block), a device
            raise NotABankError(
                f"The bank {path} cannot be used: it is not a regular file. Set MCP_REFLECT_BANK to a file."
            )
        for ending in ("", "-wal", "-shm", "-journal"):
            _close_to_others(beside(path, ending))
        return
    with alone(path.parent):
        if path.exists():
            return
        clear_logs(path)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _close_to_others(file: Path) -> None:
    """Remove the rights of the group and others from a file that this user owns."""
    if os.name != "posix":
        return
    with suppress(OSError):
        status = file.stat()
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            file.chmod(status.st_mode & 0o700)


def _check_header(path: Path) -> None:
    """Refuse a file without the header of a database. Never done while SQLite has the file open: see `is_opened`."""
    with path.open("rb") as file:
        head = file.read(len(_HEADER))
    if head in (b"", _HEADER):
        return
    if path.suffix.lower() not in _DATABASE_ENDINGS and not has_log(path):
        raise NotABankError(
            f"{path} is not an SQLite database; it was left as it is. Set MCP_REFLECT_BANK to another file."
        )
    raise BankDamagedError(f"The bank {path} does not begin as an SQLite database does.")


def _refuse_foreign(path: Path) -> None:
    """Refuse another program's database, without locks or a log, so that not a byte of it changes.

    The content of a log beside the file is checked when it is opened.
    """
    # Half of a log may be in the file: then opening it adds the rest, or says what is wrong.
    with (
        closing(sqlite3.connect(uri(path, read_only=True, frozen=True), uri=True)) as connection,
        suppress(sqlite3.DatabaseError),
    ):
        check_ours(connection, path)


def _look(path: Path, found: Identity, reason: str) -> Opened:
    """Open a file that cannot be written, for reading."""
    try:
        return _looked(path, found, reason, frozen=False)
    except sqlite3.OperationalError:
        if has_log(path):
            raise
        return _looked(path, found, reason, frozen=True)


def _looked(path: Path, found: Identity, reason: str, *, frozen: bool) -> Opened:
    as_of = _as_of(path)
    with closing(sqlite3.connect(uri(path, read_only=True, frozen=frozen), uri=True)) as connection:
        check_ours(connection, path)
        version = number_of(connection, "user_version")
        if version <= 0:
            raise NotABankError(
                f"{path} has no bank's schema and may not be written. Set MCP_REFLECT_BANK to another file."
            )
        mode = "none" if frozen else str(connection.execute("PRAGMA journal_mode").fetchone()[0])
        return Opened(version, mode, found, reason, as_of if frozen else None)


def check_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Raise NotABankError for a database of another program."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and number_of(connection, "application_id") != APPLICATION_ID:
        raise NotABankError(
            f"{path} is a database of another program; it was left as it is. Set MCP_REFLECT_BANK to another file."
        )


def upgrade(connection: sqlite3.Connection, path: Path | None) -> None:
    """Apply the missing migrations in one transaction under the write lock, after a copy beside `path`, if given."""
    connection.execute("PRAGMA synchronous = FULL")
    with write_lock(connection):
        version = number_of(connection, "user_version")  # another process may have been first
        if path is not None and 0 < version < newest():
            _back_up(path, version)
        for number, script in migrations():
            if number > version:
                for statement in statements(script):
                    connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {max(version, newest())}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _back_up(path: Path, version: int) -> None:
    """Copy what is committed to `bank.db.schema-N`, private as the bank is, once for each version."""
    copy = path.with_name(f"{path.name}.schema-{version}")
    if not copy.exists():
        copy_to(path, copy)


def copy_to(path: Path, copy: Path) -> None:
    """Copy what is committed in the bank at `path` to a new file `copy`, whole or not at all, for this user alone.

    Servers may write meanwhile, and others may copy. Raises FileExistsError where `copy` is there, OSError or
    sqlite3.Error.
    """
    part = copy.with_name(f"{copy.name}.part-{os.getpid()}-{time.time_ns()}")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        with closing(_reading(path)) as source, closing(sqlite3.connect(part)) as target:
            source.backup(target)
            # A copy is one file, also where it is only read later.
            target.execute("PRAGMA journal_mode = DELETE")
        publish(part, copy)
    finally:
        part.unlink(missing_ok=True)


def publish(part: Path, copy: Path) -> None:
    """Give a finished file its name, and never overwrite another file."""
    try:
        os.link(part, copy)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if copy.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(copy)) from None
        part.rename(copy)


def _reading(path: Path) -> sqlite3.Connection:
    """Return a connection that can read the bank, even if no file beside it may be written."""
    ways = [uri(path)] if _may_write(path) else [uri(path, read_only=True)]
    if not has_log(path):
        ways.append(uri(path, read_only=True, frozen=True))
    for way in ways:
        connection = sqlite3.connect(way, uri=True)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            connection.close()
            if way == ways[-1]:
                raise
        else:
            return connection
    raise AssertionError  # the last way returns or raises


def number_of(connection: sqlite3.Connection, pragma: str) -> int:
    """Return a number that SQLite keeps in a file, such as `user_version`."""
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
