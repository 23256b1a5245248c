"""The file of a bank: made private, opened, switched to a log, migrated, copied, and set aside if it is damaged."""

import codecs
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankDamagedError, BankError, BankReadOnlyError, NotABankError
from mcp_reflect.storage.queries import migrations_in
from mcp_reflect.storage.repository import Opened

APPLICATION_ID = 0x4D435052  # "MCPR": tells our file from any other SQLite database
# The files of a database; the main file is moved last, so that no process begins a new one beside its log.
ENDINGS = ("-wal", "-shm", "-journal", "")

# A file with another ending that is not a database was named by mistake, and is left alone.
_DATABASE_ENDINGS: Final = (".db", ".db3", ".sqlite", ".sqlite3", ".bank")

_Kind = TypeVar("_Kind", bound=sqlite3.Connection)

# A file as the system identifies it: device and inode. While a server runs, the file at a path can be replaced.
Identity: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFile(Opened):
    """The state of a file. `alone`: SQLite cannot create a log beside it, and so reads it without locks, as it was."""

    engine: str = f"SQLite {sqlite3.sqlite_version}"
    identity: Identity | None
    alone: bool = False


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


def migrations() -> tuple[tuple[int, str], ...]:
    """Return every migration as (version, SQL), oldest first."""
    return migrations_in(Path(__file__).with_name("migrations"))


def statements(script: str) -> list[str]:
    """Return the statements of a migration one by one, so that they can share a transaction."""
    result = [""]
    for line in script.splitlines(keepends=True):
        result[-1] += line
        if sqlite3.complete_statement(result[-1]):
            result.append("")
    return result[:-1]


def newest() -> int:
    """Return the schema version that this release writes."""
    return migrations()[-1][0]


def newer(version: int) -> str:
    """Return the reason why a bank of a newer release is only read."""
    return f"its schema {version} is newer than this release's {newest()}. Upgrade mcp-reflect-server to write it"


def connect(
    path: Path,
    *,
    read_only: bool = False,
    alone: bool = False,
    wait: float = 5.0,
    kind: type[_Kind] = sqlite3.Connection,
) -> _Kind:
    """Connect to a file that exists; a statement waits `wait` seconds for others. See OpenedFile for `alone`.

    SQLite checkpoints by itself after a commit, without the write lock; before 3.51.3 that can lose pages
    (https://sqlite.org/wal.html#walresetbug), so `checkpoint` does it.
    """
    address = f"{path.as_uri()}?mode={'ro' if read_only else 'rw'}{'&immutable=1' if alone else ''}"
    connection = sqlite3.connect(
        address, uri=True, timeout=wait, isolation_level=None, factory=kind
    )
    connection.row_factory = sqlite3.Row
    if not read_only:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        # A log that is restarted is cut, so that its size says how long it is.
        connection.execute("PRAGMA journal_size_limit = 0")
    return connection


def connect_to_read(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Return a connection that can read a file, and whether that is `alone`."""
    connection = connect(path, read_only=not _may_write(path))
    try:
        number_of(connection, "user_version")  # opens the log
    except sqlite3.OperationalError:
        connection.close()
        if log_bytes(path):
            raise
        return connect(path, read_only=True, alone=True), True
    return connection, False


def number_of(connection: sqlite3.Connection, pragma: str) -> int:
    """Return a number that SQLite keeps in a file, such as `user_version`."""
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


@contextmanager
def write_lock(connection: sqlite3.Connection) -> Generator[None]:
    """Run the block in one transaction under the write lock; roll it back if it fails."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Let only one process at a time make or move a bank in `folder`, if files can be locked."""
    with ExitStack() as held:
        with suppress(
            ImportError, OSError
        ):  # a file system without locks: SQLite's own would fail too, and say so
            import fcntl  # noqa: PLC0415 - not on Windows, which does not let an open file be moved

            opened = os.open(folder, os.O_RDONLY)
            held.callback(os.close, opened)
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield


def prepare(path: Path, busy_seconds: float) -> OpenedFile:
    """Make or upgrade the file at `path`. Many processes may do this at once.

    Raises NotABankError for a file that is something else (it stays as it is), BankDamagedError for one that should be
    set aside, OSError or sqlite3.Error: it is locked while another process switches it to a log.
    """
    _refuse_links(path)
    _make_private(path)
    _refuse_foreign(path)
    if not _may_write(path):
        return _read_only(path, "the file or its folder may not be written")
    if not _use_wal(path, busy_seconds):
        return _read_only(path, "the disk is full. Free some space")
    with closing(connect(path, wait=busy_seconds)) as connection:
        version = version_of(connection, path)
        if version < newest():
            upgrade(connection, path)
        reason = newer(version) if version > newest() else None
        return OpenedFile(schema=max(version, newest()), identity=identity(path), read_only=reason)


def _read_only(path: Path, reason: str) -> OpenedFile:
    """Open a file that cannot be written, for reading."""
    connection, alone = connect_to_read(path)
    with closing(connection):
        if not (version := version_of(connection, path)):
            raise NotABankError(
                f"{path} is empty and may not be written. Set MCP_REFLECT_BANK to another file."
            )
        return OpenedFile(schema=version, identity=identity(path), read_only=reason, alone=alone)


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _refuse_links(path: Path) -> None:
    """Refuse a bank, or a log of it, that is a link: who planted it has SQLite write into another file."""
    for file in (beside(path, ending) for ending in ENDINGS):
        if file.is_symlink():
            fix = f"Set MCP_REFLECT_BANK to the file itself: {file.resolve()}"
            if file != path:
                fix = "Remove it"
            raise NotABankError(f"{file} is a link, which a bank must not be. {fix}.")


def _make_private(path: Path) -> None:
    """Make an empty file that only this user can read, or remove the rights of others, before it is used."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)
    if not path.is_file():  # a folder, a FIFO (opening it would block), a device
        raise NotABankError(
            f"The bank {path} cannot be used: it is not a regular file. Set MCP_REFLECT_BANK to a file."
        )
    for file in (beside(path, ending) for ending in ENDINGS if os.name == "posix"):
        with suppress(OSError):
            if (mode := file.stat().st_mode) & 0o077:
                file.chmod(mode & 0o700)


def _refuse_foreign(path: Path) -> None:
    """Refuse what is not a bank, without locks or a log, so that not a byte of it changes."""
    try:
        with closing(connect(path, read_only=True, alone=True)) as connection:
            version_of(connection, path)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_NOTADB:
            return  # half of a log may be in the file: then opening it adds the rest, or says what is wrong
        is_named_so = path.suffix.lower() in _DATABASE_ENDINGS
        if (not is_named_so and not log_bytes(path)) or _is_of_another_kind(path):
            raise NotABankError(
                f"{path} is not an SQLite database; it was left as it is. Set MCP_REFLECT_BANK to another file."
            ) from error
        raise BankDamagedError(
            f"The bank {path} does not begin like an SQLite database."
        ) from error


_HEAD_BYTES: Final = 4096
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_OTHER_KINDS: Final = (
    *(b"\xff\xfe", b"\xfe\xff"),  # text in UTF-16
    *(b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"%PDF", b"PK\x03\x04", b"\x1f\x8b", b"\x7fELF", b"MZ"),
)
"""How other kinds of files begin."""


def _is_of_another_kind(path: Path) -> bool:
    """Return whether a file that does not begin like a database is a text, or says what else it is.

    Damage leaves blocks of zeros or of other files, and no whole text.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(_OTHER_KINDS):
        return True
    with suppress(UnicodeDecodeError):
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
        return bool(text) and not _CONTROL.search(text)
    return False


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema version of a bank, 0 for an empty file; NotABankError for any other database.

    Raises BankReadOnlyError if the schema of a newer release lacks a column that this release reads.
    """
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    version = number_of(connection, "user_version")
    if tables and number_of(connection, "application_id") != APPLICATION_ID:
        raise NotABankError(
            f"{path} is a database of another program; it was left as it is. Set MCP_REFLECT_BANK to another file."
        )
    if version > newest():
        columns = "SELECT made.name, held.name FROM sqlite_master AS made, pragma_table_info(made.name) AS held"
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as ours:
            upgrade(ours, None)
            if not set(ours.execute(columns)) <= {
                (row[0], row[1]) for row in connection.execute(columns)
            }:
                raise BankReadOnlyError(
                    f"The bank {path} cannot be read any more: {newer(version)}"
                )
    return version


def upgrade(connection: sqlite3.Connection, path: Path | None) -> None:
    """Apply the missing migrations in one transaction under the write lock, after a copy beside `path`, if given."""
    connection.execute("PRAGMA synchronous = FULL")
    with write_lock(connection):
        version = number_of(connection, "user_version")  # another process may have been first
        if (
            path is not None
            and 0 < version < newest()
            and not (copy := beside(path, f".schema-{version}")).exists()
        ):
            copy_to(path, copy)
        for number, script in migrations():
            if number > version:
                for statement in statements(script):
                    connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {max(version, newest())}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def copy_to(path: Path, copy: Path, stop: Callable[[], bool] | None = None) -> None:
    """Copy what is committed in the bank at `path` to a new file `copy`, whole or not at all, for this user alone.

    Servers may write meanwhile, and others may copy. Every row is read, so a damaged bank is not copied. `stop` ends
    the copying with an error when it returns True. Raises FileExistsError if `copy` exists, OSError or sqlite3.Error.
    """
    if os.path.lexists(copy):
        raise FileExistsError(copy)
    part = beside(copy, f".part-{os.getpid()}-{time.time_ns()}")
    part.touch(mode=0o600, exist_ok=False)
    try:
        with closing(connect_to_read(path)[0]) as source:
            source.set_progress_handler(stop, 1000)
            source.execute("VACUUM INTO ?", (str(part),))
        try:
            os.link(part, copy)
        except OSError:  # a file system without hard links, or another process has made it
            if os.path.lexists(copy):
                raise FileExistsError(copy) from None
            part.rename(copy)
    finally:
        part.unlink(missing_ok=True)


# The write-ahead log, with which readers and writers do not wait for each other.

LONG_LOG_BYTES: Final = 1000 * (4096 + 24)  # where SQLite would make a checkpoint by itself


# How SQLite says that it cannot map memory beside a file whose folder may be written.
_NO_SHARED_MEMORY: Final = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR_SHMMAP,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMLOCK,
)
_SHARED_MEMORY_BYTES: Final = 32768  # the least that SQLite asks for


def _use_wal(path: Path, busy_seconds: float) -> bool:
    """Switch the file to a write-ahead log; False if the disk is full.

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
    """Move the log into the file while `holding` keeps other writers out; return True if readers allowed all of it.

    Raises sqlite3.OperationalError if another process holds the write lock.
    """
    with write_lock(holding), closing(connect(path, wait=0)) as moving:
        busy, frames, moved = moving.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return not busy and frames == moved


def empty_log(holding: sqlite3.Connection, path: Path) -> bool:
    """Do the same, and overwrite the log if all of it was moved: erased bytes are gone. Returns True if so."""
    if not checkpoint(holding, path):
        return False
    with write_lock(
        holding
    ):  # the first write after it restarts the log, and cuts it: page 1, unchanged
        holding.execute(f"PRAGMA user_version = {number_of(holding, 'user_version')}")
    return True


# A damaged file is moved away with its log, and never deleted; the next use begins a new bank.

ASIDE = ".damaged-"  # part of the name of a file that was set aside, before the time
COPY: Final = ".copy-"  # part of the name of a daily copy, before its date


def stamped(path: Path, word: str, now: float) -> Path:
    """Return a new name beside `path` with a word and the time `now` in seconds since 1970."""
    return beside(
        path, f"{word}{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}-{Clock().random(4).hex()}"
    )


def set_aside(path: Path, damaged: Identity | None, now: float) -> tuple[Path | None, Path | None]:
    """Move the file `damaged` and its log away from `path`, and put the newest sound daily copy there.

    Returns where the file is now, and the copy; None if there is none. Another process may have been first, or the
    error may have been temporary: then nothing is moved. Raises OSError.
    """
    with _alone(path.parent):
        if damaged is None or identity(path) != damaged or not is_damaged(path):
            return None, None
        aside, copy = stamped(path, ASIDE, now), sound_copy(path)
        for ending in ENDINGS:
            if beside(path, ending).exists():
                beside(path, ending).rename(beside(aside, ending))
        if copy is not None:
            copy_to(copy, path)
        return aside, copy


def is_damaged(path: Path) -> bool:
    """True if SQLite finds a fault in the file. Reads all of it."""
    with closing(sqlite3.connect(path, timeout=10)) as connection:
        try:
            faults = connection.execute("PRAGMA integrity_check(1)").fetchall()
            if connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'lesson_terms'"
            ).fetchone():
                connection.execute(
                    "INSERT INTO lesson_terms (lesson_terms) VALUES ('integrity-check')"
                )
        except sqlite3.OperationalError:
            return False  # locked, or not readable: nothing is known
        except sqlite3.DatabaseError:
            return True
    return faults != [("ok",)]


def check_copy(file: Path) -> None:
    """Raise BankError unless `file` is a sound bank that this release can read."""
    if not file.is_file():
        raise BankError(f"There is no file {file}. Name a copy that `mcp-reflect backup` made.")
    if is_damaged(file):
        raise BankDamagedError(f"{file} is damaged; nothing was restored. Name another copy.")
    with closing(connect(file, read_only=True)) as connection:
        version = version_of(connection, file)
    if not version:
        raise NotABankError(f"{file} is not a bank. Name a copy that `mcp-reflect backup` made.")
    if version > newest():
        raise BankError(f"{file} cannot be restored: {newer(version)}")


def sound_copy(path: Path) -> Path | None:
    """Return the newest daily copy of the bank at `path` that is whole and can be upgraded, None if there is none."""
    for copy in reversed(all_copies(path)):
        with suppress(BankError):
            check_copy(copy)
            return copy
    return None


def all_aside(path: Path) -> list[Path]:
    """Return the files that were set aside from `path`, oldest first."""
    files = (file for file in path.parent.iterdir() if file.name.startswith(path.name + ASIDE))
    return sorted(file for file in files if not file.name.endswith(ENDINGS[:3]))


def all_copies(path: Path) -> list[Path]:
    """Return the daily copies of the bank at `path`, oldest first."""
    name = re.compile(re.escape(path.name + COPY) + r"\d{4}-\d{2}-\d{2}")
    return sorted(
        file for file in path.parent.iterdir() if name.fullmatch(file.name) and file.is_file()
    )
