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

# Which file lies at a path, and the rule that only one process may go on with what it has open.
#
# A path is only a name: while a server runs, its file can be removed, moved or replaced. SQLite goes on with
# the one that it has, and what is written there is lost; so each use compares.


Identity: TypeAlias = tuple[int, int]
"""A file as the system knows it: device and inode."""

_OPENED: Final[set[Identity]] = set()
"""Files that this process has opened with SQLite, ever."""

_INHERITED: Final[set[Identity]] = set()
"""Those that the process had open which this one was forked from."""


def identity(path: Path) -> Identity | None:
    """The file at `path`; none where there is none, or where it cannot be looked at."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def beside(path: Path, ending: str) -> Path:
    """The file that SQLite keeps beside a database: `-wal`, `-shm` or `-journal`."""
    return path.with_name(path.name + ending)


def has_log(path: Path) -> bool:
    """Whether there is a log with something in it beside the file."""
    try:
        return beside(path, "-wal").stat().st_size > 0
    except OSError:
        return False


def hollow(path: Path) -> bool:
    """Whether there is a file without a byte in it: never a bank that was opened, which begins with a header."""
    try:
        return not path.stat().st_size
    except OSError:
        return False


def emptied(path: Path) -> bool:
    """Whether the file has nothing in it beside a log that has: SQLite would throw the log away."""
    return hollow(path) and has_log(path)


def note_opened(found: Identity | None) -> None:
    """Remember that SQLite has this file open in this process."""
    if found is not None:
        _OPENED.add(found)


def is_opened(found: Identity | None) -> bool:
    """Whether this process has had SQLite open that file.

    Opening and closing it past SQLite would drop the locks that SQLite holds on it.
    """
    return found in _OPENED


def refuse_inherited(path: Path, found: Identity | None) -> None:
    """BankError in a process that was forked while that file was open: SQLite's locks do not survive it."""
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
    """Only one process at a time makes a bank in `folder`, or moves one; where files can be locked at all."""
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
# SQLite's own busy handler asks ever more seldom, down to ten times a second, while who has only just come
# asks at once: under load the longest waiter comes last. Here everybody asks after a random moment, and the
# longer one has waited the sooner, so that nobody starves.


_LONGEST_PAUSE: Final = 0.006  # seconds, for who has just come; a short write takes about as long
_SHORTEST_PAUSE: Final = 0.001

_Answer = TypeVar("_Answer")


async def patiently(attempt: Callable[[], Awaitable[_Answer]], seconds: float) -> _Answer:
    """What `attempt` answers, asked again while the file is locked; its error after `seconds`."""
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
    """How long to pause before asking again, in seconds: random, and shorter the longer one has `waited`."""
    longest = max(_LONGEST_PAUSE / (1 + waited), _SHORTEST_PAUSE)
    return longest * (1 + Clock().random(1)[0]) / 256


def locked(error: sqlite3.Error) -> bool:
    """Whether the error says that another connection is in the way, and nothing worse."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


# The journal of a bank's file: a write-ahead log, or a rollback journal where memory cannot be shared.
#
# Readers and writers do not wait for each other with the log. It needs a file that processes map into their
# memory together; network drives and some containers' file systems cannot do that.


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


# Moving the log into the bank's file, so that no other process can begin the log anew meanwhile.
#
# SQLite before 3.51.3 has a race: a checkpoint reads where the log ends; before it looks how much of it is in the
# file
# already, another connection commits and begins the log anew; the checkpoint then notes the old end for the new log,
# and
# a later one passes over pages that never reached the file (https://sqlite.org/wal.html#walresetbug; the mending
# compares the log's salts once more). SQLite checkpoints by itself after commits, without the write lock. Only who
# holds
# that lock can begin the log anew, so with such a version nothing is left to SQLite: a checkpoint is made by a second
# connection while the first one holds the write lock. When the last connection closes, SQLite checkpoints by itself,
# but
# then it is alone with the file.


_MENDED: Final = ((3, 44, 6), (3, 50, 7), (3, 51, 3))  # in two older lines too
LONG_BYTES: Final = 1000 * (4096 + 24)  # of a log: where SQLite would make a checkpoint by itself


def races(version: tuple[int, int, int] = sqlite3.sqlite_version_info) -> bool:
    """Whether a version of SQLite can lose pages where two connections write and checkpoint at once."""
    line = next((mended for mended in _MENDED if mended[:2] == version[:2]), _MENDED[-1])
    return version < line


def mended_in() -> str | None:
    """The version of SQLite from which on there is no such race; null where the one in use has none."""
    return ".".join(map(str, _MENDED[-1])) if races() else None


def by_hand(connection: sqlite3.Connection) -> None:
    """Have a connection that writes leave checkpoints to us, where SQLite's own are not safe."""
    if races():
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        # A log that begins anew is cut where its last frame ends, so that its size tells how long it is.
        connection.execute("PRAGMA journal_size_limit = 0")


def log_is_long(path: Path) -> bool:
    """Whether the log of the bank at `path` is so long that it should be moved into the file."""
    try:
        return beside(path, "-wal").stat().st_size >= LONG_BYTES
    except OSError:
        return False


def checkpoint(holding: sqlite3.Connection, path: Path) -> bool:
    """Move the log into the file, as far as readers let it, while `holding` keeps other writers out.

    In one go on the thread of `holding`, so that nobody who gives up waiting can let others in halfway. Returns whether
    all of the log is in the file. Raises sqlite3.OperationalError where somebody else holds the write lock.
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
    """Move the log into the file, and cut what is left of it away, as far as readers let it. Raises as `checkpoint`."""
    if not checkpoint(holding, path):
        return
    with write_lock(holding):
        # The first write after it begins the log anew, and cuts it: page 1, with what stands there.
        version = holding.execute("PRAGMA user_version").fetchone()[0]
        holding.execute(f"PRAGMA user_version = {int(version)}")


# A damaged file is moved out of the way, with its log, and never deleted; the next use begins a new bank.


ASIDE = ".damaged-"
"""What stands in the name of a file that was set aside, before the time."""

ENDINGS = ("-wal", "-shm", "-journal", "")
"""What belongs to a database; the file itself goes last, so that nobody begins a new one beside its log."""


def set_aside(path: Path, damaged: Identity | None, stamp: str) -> Path | None:
    """Move the file `damaged` and its log away from `path`; where it is now, none where it need not move.

    Another process may have been first, or the damage may have been a moment's.
    Raises OSError where it cannot be moved.
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
    """`path` with `ending`, and a number where that is taken."""
    found = beside(path, ending)
    number = 2
    while found.exists():
        found = beside(path, f"{ending}-{number}")
        number += 1
    return found


def is_damaged(path: Path) -> bool:
    """Whether SQLite finds fault with the file. Reads all of it."""
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
            return False  # locked, or cannot be read at all: nothing is known
        except sqlite3.DatabaseError:
            return True
    return found != [("ok",)]


def all_aside(path: Path) -> list[Path]:
    """The files that were set aside from `path`, oldest first."""
    found = (one for one in path.parent.iterdir() if one.name.startswith(f"{path.name}{ASIDE}"))
    return sorted(one for one in found if not one.name.endswith(("-wal", "-shm", "-journal")))


COPY: Final = ".copy-"
"""Part of the name of a daily copy, before its date."""


def all_copies(path: Path) -> list[Path]:
    """Return the daily copies of the bank at `path`, oldest first."""
    name = re.compile(re.escape(path.name + COPY) + r"\d{4}-\d{2}-\d{2}")
    return sorted(file for file in path.parent.iterdir() if name.fullmatch(file.name) and file.is_file())


def note_rescued(aside: Path, path: Path) -> Path:
    """Name a file that was set aside from `path` as one that was looked through; where it is then."""
    if not aside.name.startswith(f"{path.name}{ASIDE}"):
        return aside
    done = free_name(aside.with_name(aside.name.replace(ASIDE, ".rescued-")), "")
    for ending in ENDINGS:
        if beside(aside, ending).exists():
            beside(aside, ending).rename(beside(done, ending))
    return done


def left_aside(aside: Path | None, error: BankDamagedError) -> BankDamagedError:
    """What to tell of it."""
    if aside is None:
        return BankDamagedError(f"{error} It may have been set aside by another server a moment ago: try once more.")
    return BankDamagedError(
        f"{error} It was set aside as {aside}, and nothing of it was deleted; nothing of this call was stored. "
        "The next call begins a new bank. `mcp-reflect doctor --rescue` brings over what can still be read."
    )
