"""The file of a bank: its identity, its journal and log, waiting for locks, and setting a damaged one aside."""

import asyncio
import os
import re
import sqlite3
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankDamagedError, BankError
from mcp_reflect.storage.sqlite.statements import write_lock

# The identity of a file. While a server runs, the file at a path can be removed, moved or replaced. SQLite continues
# with the file that it has open, and what is written there is lost; so each use compares.


Identity: TypeAlias = tuple[int, int]
"""A file as the system identifies it: device and inode."""

_OPENED: Final[set[Identity]] = set()
"""All files that this process has opened with SQLite."""

_INHERITED: Final[set[Identity]] = set()
"""The files that the parent of a forked process had open."""


def identity(path: Path) -> Identity | None:
    """Return the file at `path`; None if there is none, or if it cannot be examined."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def beside(path: Path, ending: str) -> Path:
    """Return the file that SQLite keeps beside a database: `-wal`, `-shm` or `-journal`."""
    return path.with_name(path.name + ending)


def has_log(path: Path) -> bool:
    """True if there is a log beside the file that is not empty."""
    try:
        return beside(path, "-wal").stat().st_size > 0
    except OSError:
        return False


def hollow(path: Path) -> bool:
    """True if there is an empty file; a bank that was opened has at least a header."""
    try:
        return not path.stat().st_size
    except OSError:
        return False


def emptied(path: Path) -> bool:
    """True if the file is empty beside a log that is not: SQLite would delete the log."""
    return hollow(path) and has_log(path)


def note_opened(found: Identity | None) -> None:
    """Note that this process opened this file with SQLite."""
    if found is not None:
        _OPENED.add(found)


def is_opened(found: Identity | None) -> bool:
    """True if this process has opened that file with SQLite.

    Opening and closing it by other means would drop the locks that SQLite holds on it.
    """
    return found in _OPENED


def refuse_inherited(path: Path, found: Identity | None) -> None:
    """Raise BankError in a process that was forked while that file was open: SQLite's locks do not survive a fork."""
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
    """Let only one process at a time make or move a bank in `folder`, if files can be locked."""
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


# Waiting for another process's write to end.
#
# SQLite's own busy handler tries less and less often, down to ten times a second, while a new process tries at once:
# under load the longest waiter comes last. Here everybody tries after a random pause, which gets shorter the longer it
# has waited, so that nobody starves.


_LONGEST_PAUSE: Final = 0.006  # seconds, at the beginning; a short write takes about as long
_SHORTEST_PAUSE: Final = 0.001

_Answer = TypeVar("_Answer")


async def patiently(attempt: Callable[[], Awaitable[_Answer]], seconds: float) -> _Answer:
    """Return the result of `attempt`, repeated while the file is locked; raise its error after `seconds`."""
    start = time.monotonic()
    while True:
        try:
            return await attempt()
        except sqlite3.OperationalError as error:
            waited = time.monotonic() - start
            if not locked(error) or waited >= seconds:
                raise
        await asyncio.sleep(pause(waited))


def pause(waited: float) -> float:
    """Return the seconds to pause before the next try: random, and shorter the longer the process has `waited`."""
    longest = max(_LONGEST_PAUSE / (1 + waited), _SHORTEST_PAUSE)
    return longest * (1 + Clock().random(1)[0]) / 256


def locked(error: sqlite3.Error) -> bool:
    """True if the error only says that another connection holds a lock."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


# The journal of a bank's file: a write-ahead log, or a rollback journal where memory cannot be shared.
#
# With the log, readers and writers do not wait for each other. It needs a file that processes map into their memory
# together, which network drives and some containers' file systems cannot do.


_NO_SHARED_MEMORY: Final = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)


def use_wal(path: Path, busy_seconds: float) -> str:
    """Switch the file to a write-ahead log, and return its journal mode.

    SQLite does not wait for others in this statement, so this does.
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
    """True if a log works beside `path`, tried on an empty file: a failure could leave the bank half switched."""
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
    """Switch a file that was copied here with its log to a rollback journal, which needs no shared memory."""
    with closing(sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        return _mode(connection, "DELETE")


def _mode(connection: sqlite3.Connection, wanted: str = "") -> str:
    return str(connection.execute(f"PRAGMA journal_mode{f' = {wanted}' if wanted else ''}").fetchone()[0])


# Moving the log into the bank's file, so that no other process can restart the log meanwhile.
#
# SQLite before 3.51.3 has a race: a checkpoint reads where the log ends; before it reads how much of it is in the file
# already, another connection commits and restarts the log; the checkpoint then notes the old end for the new log, and a
# later one skips pages that never reached the file (https://sqlite.org/wal.html#walresetbug; the fix compares the log's
# salts once more). SQLite checkpoints by itself after commits, without the write lock. Only the holder of that lock can
# restart the log, so with such a version a second connection makes checkpoints while the first one holds the write
# lock. When the last connection closes, SQLite checkpoints by itself, but then it is alone with the file.


_MENDED: Final = ((3, 44, 6), (3, 50, 7), (3, 51, 3))  # in two older lines too
LONG_BYTES: Final = 1000 * (4096 + 24)  # of a log: where SQLite would make a checkpoint by itself


def races(version: tuple[int, int, int] = sqlite3.sqlite_version_info) -> bool:
    """True if a version of SQLite can lose pages when two connections write and checkpoint at once."""
    line = next((mended for mended in _MENDED if mended[:2] == version[:2]), _MENDED[-1])
    return version < line


def mended_in() -> str | None:
    """Return the first version of SQLite without this race; None if the one in use has none."""
    return ".".join(map(str, _MENDED[-1])) if races() else None


def by_hand(connection: sqlite3.Connection) -> None:
    """Turn SQLite's own checkpoints off for a connection that writes, if they are not safe."""
    if races():
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        # A log that is restarted is cut at its last frame, so that its size says how long it is.
        connection.execute("PRAGMA journal_size_limit = 0")


def log_is_long(path: Path) -> bool:
    """True if the log of the bank at `path` is long enough to be moved into the file."""
    try:
        return beside(path, "-wal").stat().st_size >= LONG_BYTES
    except OSError:
        return False


def checkpoint(holding: sqlite3.Connection, path: Path) -> bool:
    """Move the log into the file, as far as readers allow, while `holding` keeps other writers out.

    This runs as one function on the thread of `holding`, so that a cancelled caller cannot let others in halfway.
    Returns True if all of the log is in the file. Raises sqlite3.OperationalError if another process holds the lock.
    """
    found = identity(path)
    holding.execute("BEGIN IMMEDIATE")
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=0, isolation_level=None)) as moving:
            by_hand(moving)
            if found is None or identity(path) != found:
                return False  # another file: `holding` keeps nobody out of that one
            busy, frames, moved = moving.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            return not busy and frames == moved
    finally:
        holding.execute("ROLLBACK")


def empty_log(holding: sqlite3.Connection, path: Path) -> None:
    """Move the log into the file and empty it, as far as readers allow. Raises as `checkpoint` does."""
    if not checkpoint(holding, path):
        return
    with write_lock(holding):
        # The first write after it restarts the log, and cuts it: page 1, unchanged.
        version = holding.execute("PRAGMA user_version").fetchone()[0]
        holding.execute(f"PRAGMA user_version = {int(version)}")


# A damaged file is moved away with its log, and never deleted; the next use begins a new bank.


ASIDE = ".damaged-"
"""Part of the name of a file that was set aside, before the time."""

ENDINGS = ("-wal", "-shm", "-journal", "")
"""The files of a database; the main file is moved last, so that nobody begins a new one beside its log."""


def set_aside(path: Path, damaged: Identity | None, stamp: str) -> Path | None:
    """Move the file `damaged` and its log away from `path`; return its new path, None if it did not have to move.

    Another process may have been first, or the error may have been temporary. Raises OSError if it cannot be moved.
    """
    with alone(path.parent):
        if damaged is None or identity(path) != damaged or not (hollow(path) or is_damaged(path)):
            return None
        aside = free_name(path, f"{ASIDE}{stamp}")
        for ending in ENDINGS:
            if beside(path, ending).exists():
                beside(path, ending).rename(beside(aside, ending))
        return aside


def free_name(path: Path, ending: str) -> Path:
    """Return `path` with `ending`, and a number if that name is taken."""
    found = beside(path, ending)
    number = 2
    while found.exists():
        found = beside(path, f"{ending}-{number}")
        number += 1
    return found


def is_damaged(path: Path) -> bool:
    """True if SQLite finds a fault in the file. Reads all of it."""
    if emptied(path):
        return True
    with closing(sqlite3.connect(path, timeout=10)) as looking:
        try:
            found = looking.execute("PRAGMA quick_check(1)").fetchall()
            indexes = looking.execute(
                "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE % USING fts5%'"
            ).fetchall()
            for (name,) in indexes:
                looking.execute(f'INSERT INTO "{name}" ("{name}") VALUES (\'integrity-check\')')  # noqa: S608 - its own name
        except sqlite3.OperationalError:
            return False  # locked, or not readable: nothing is known
        except sqlite3.DatabaseError:
            return True
    return found != [("ok",)]


def all_aside(path: Path) -> list[Path]:
    """Return the files that were set aside from `path`, oldest first."""
    found = (one for one in path.parent.iterdir() if one.name.startswith(f"{path.name}{ASIDE}"))
    return sorted(one for one in found if not one.name.endswith(("-wal", "-shm", "-journal")))


COPY: Final = ".copy-"
"""Part of the name of a daily copy, before its date."""


def all_copies(path: Path) -> list[Path]:
    """Return the daily copies of the bank at `path`, oldest first."""
    name = re.compile(re.escape(path.name + COPY) + r"\d{4}-\d{2}-\d{2}")
    return sorted(file for file in path.parent.iterdir() if name.fullmatch(file.name) and file.is_file())


def note_rescued(aside: Path, path: Path) -> Path:
    """Rename a file that was set aside from `path` as recovered; return its new path."""
    if not aside.name.startswith(f"{path.name}{ASIDE}"):
        return aside
    done = free_name(aside.with_name(aside.name.replace(ASIDE, ".rescued-")), "")
    for ending in ENDINGS:
        if beside(aside, ending).exists():
            beside(aside, ending).rename(beside(done, ending))
    return done


def left_aside(aside: Path | None, error: BankDamagedError) -> BankDamagedError:
    """Return the error that says where the damaged file is."""
    if aside is None:
        return BankDamagedError(f"{error} It may have been set aside by another server a moment ago: try once more.")
    return BankDamagedError(
        f"{error} It was set aside as {aside}, and nothing of it was deleted; nothing of this call was stored. "
        "The next call begins a new bank. `mcp-reflect doctor --rescue` recovers what can still be read."
    )
