"""Moving the log into the bank's file, so that no other process can begin the log anew meanwhile.

SQLite before 3.51.3 has a race: a checkpoint reads where the log ends; before it looks how much of it is in the file
already, another connection commits and begins the log anew; the checkpoint then notes the old end for the new log, and
a later one passes over pages that never reached the file (https://sqlite.org/wal.html#walresetbug; the mending
compares the log's salts once more). SQLite checkpoints by itself after commits, without the write lock. Only who holds
that lock can begin the log anew, so with such a version nothing is left to SQLite: a checkpoint is made by a second
connection while the first one holds the write lock. When the last connection closes, SQLite checkpoints by itself, but
then it is alone with the file.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from mcp_reflect.bank.sqlite.identity import beside, identity
from mcp_reflect.bank.sqlite.statements import write_lock

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
