"""The bank's file, shared with other processes: transactions, and SQLite's errors in plain words."""

import asyncio
import errno
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import aiosqlite

from mcp_reflect.errors import BankBusyError, BankDamagedError, BankError, BankReadOnlyError
from mcp_reflect.log import Log
from mcp_reflect.storage.sqlite.connections import Connections, Use
from mcp_reflect.storage.sqlite.files import beside, checkpoint, empty_log, identity, log_is_long, patiently, races
from mcp_reflect.storage.sqlite.schema import Opened, newer, newest, number_of
from mcp_reflect.storage.sqlite.statements import Reading, Transaction, Values, Writing, on_thread

# What SQLite's errors mean to the person who runs the server.


_FULL: Final = "has no room: the disk is full. Free some space and try again; what was stored before is kept"
_DISK: Final = "cannot be read or written: the disk reports an error. Look at the disk; then try again"

# SQLite's result codes (sqlite.org/rescode.html) → the error, and what to do about it.
_MEANINGS: Final[dict[int, tuple[type[BankError], str]]] = {
    sqlite3.SQLITE_BUSY: (BankBusyError, "is held by another process. Try again, or end the process that holds it"),
    sqlite3.SQLITE_PROTOCOL: (BankBusyError, "is held by other processes. Try again"),
    sqlite3.SQLITE_READONLY: (
        BankReadOnlyError,
        "cannot be written. Give this user the right to write it, or set MCP_REFLECT_BANK",
    ),
    sqlite3.SQLITE_FULL: (BankError, _FULL),
    sqlite3.SQLITE_CORRUPT: (BankDamagedError, "is damaged"),
    sqlite3.SQLITE_NOTADB: (BankDamagedError, "is damaged: its beginning is not an SQLite database's"),
    sqlite3.SQLITE_CANTOPEN: (BankError, "cannot be opened. Check that its folder exists and may be written"),
    sqlite3.SQLITE_PERM: (BankError, "may not be opened by this user. Give this user the right to it"),
    sqlite3.SQLITE_IOERR: (BankError, _DISK),
    sqlite3.SQLITE_NOMEM: (BankError, "cannot be used: this machine has no memory left. Try again"),
}
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Turn SQLite's and the file system's errors into ours, with the path and what to do."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # our own fault: the door should have refused the value
    except sqlite3.Error as error:
        kind, meaning = meaning_of(error)
        if kind is None:
            raise
        raise kind(f"The bank {path} {meaning}.") from error
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise BankError(f"The bank {path} {_FULL}.") from error
        raise BankError(
            f"The bank {path} cannot be used: {error.strerror or error}. "
            "Set MCP_REFLECT_BANK to a file that this user may write."
        ) from error


def meaning_of(error: sqlite3.Error) -> tuple[type[BankError] | None, str]:
    """The class of error and the words for one of SQLite's; none for what only a fault of ours can cause."""
    code = getattr(error, "sqlite_errorcode", None)  # not there where Python itself raised it
    return (None, "") if code is None else _MEANINGS.get(code & 0xFF, (None, ""))


# Who holds the bank's write lock, where the system tells (Linux).


_LOCKS: Final = Path("/proc/locks")
_WRITE_LOCK: Final = {"-shm": ("120", "120"), "": ("1073741824", "1073741825")}
"""The bytes that SQLite locks to write: in the shared memory of a log, or in the file itself
(sqlite.org/walformat.html and fileformat2.html, the lock-byte page)."""


def holder(path: Path) -> str:
    """The process that is writing the bank at `path`, and whether it is suspended; empty where nobody tells."""
    with suppress(OSError, ValueError, IndexError):
        for ending, (first, last) in _WRITE_LOCK.items():
            found = identity(beside(path, ending))
            if found is None:
                continue
            for line in _LOCKS.read_text().splitlines():
                if "WRITE" not in line:
                    continue
                pid, file, begin, end = line[line.index("WRITE") :].split()[1:5]
                if int(file.split(":")[2]) == found[1] and begin >= first and end <= last and len(begin) == len(first):
                    return _named(pid)
    return ""


def _named(pid: str) -> str:
    name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    suspended = ", which is suspended" if rest.split()[0] in ("T", "t") else ""
    return f"process {pid} ({name}{suspended})"


# The bank's file, shared with any number of other processes, and written through one door.
#
# What is acknowledged is on disk, in the file that lies at the bank's path. Readers never wait for a writer.


COUNTING_WAIT_SECONDS: Final = 0.01  # about as long as a short write; what comes of a longer one is counted later
_LONG_WRITE: Final = 0.05  # seconds; after one, others are let in before this process writes again
_LET_OTHERS_IN: Final = 0.015  # seconds; longer than a waiter pauses, see `waiting`
_Found = TypeVar("_Found")

_MOST_CHANGES: Final = 3  # files that may follow each other at the path while a write begins


class Database:
    """One bank file. Every method raises BankError where the file cannot be used."""

    def __init__(
        self, path: Path, *, busy_seconds: float = 30.0, log: Log | None = None, sets_aside: bool = True
    ) -> None:
        self.path = path
        self.busy_seconds = busy_seconds
        self._file = Connections(path, busy_seconds, log or Log())
        self._sets_aside = sets_aside
        self._watched: list[tuple[frozenset[str], Callable[[], None]]] = []
        self._writing = asyncio.Lock()
        self._counting = asyncio.Lock()
        self._rest_until = 0.0

    async def opened(self) -> Opened:
        """Open the file (make it, upgrade it); says its schema, journal mode and whether it can be written."""
        async with self._explained():
            return await self._file.opened()

    async def close(self) -> None:
        """Close every connection; what was acknowledged is on disk already."""
        await self._file.close()

    async def set_aside(self) -> BankDamagedError:
        """Put the file, found to be damaged, out of the way; what to tell of it. The next use begins a new bank."""
        with explained(self.path):
            return await self._file.set_aside(BankDamagedError(f"The bank {self.path} is damaged."), None)

    async def rows(self, name: str, values: Values) -> list[sqlite3.Row]:
        """The rows of a named query. Readers never wait for a writer.

        In a bank of a newer release a row may lack a column: asking for that one raises BankReadOnlyError.
        """
        async with self._explained("read"):
            opened = await self._file.opened()
            found, schema = await on_thread(
                await self._file.get("read"),
                lambda connection: ((reading := Reading(connection)).rows(name, values), reading.schema()),
            )
            if schema != opened.schema:
                opened = await self._file.looked_again()
            return found if opened.schema <= newest() else [_newer_row(row, self.path, schema) for row in found]

    async def row(self, name: str, values: Values) -> sqlite3.Row | None:
        """The first row of a named query, or none."""
        found = await self.rows(name, values)
        return found[0] if found else None

    async def look(self, work: Callable[[Reading], _Found]) -> _Found:
        """What `work` makes of named queries, all as of one moment. It runs outside the event loop."""

        def at_once(connection: sqlite3.Connection) -> _Found:
            reading = Reading(connection)
            with reading.snapshot():
                try:
                    return work(reading)
                except LookupError:  # a row without a column that this release asks for
                    if (schema := reading.schema()) <= newest():
                        raise
                    raise BankReadOnlyError(_outgrown(self.path, schema)) from None

        async with self._explained("read"):
            await self._file.opened()
            return await on_thread(await self._file.get("read"), at_once)

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[Transaction]:
        """A transaction that is on disk when the block ends, and undone where the block fails or is cancelled.

        Raises BankReadOnlyError, BankBusyError (after `busy_seconds`) or BankError.
        """
        async with self._writing:
            await asyncio.sleep(max(self._rest_until - time.monotonic(), 0))
            start = time.monotonic()
            async with self._transaction("write", self.busy_seconds) as connection:
                start = time.monotonic()
                tx = Transaction(connection)
                yield tx
            await self._checkpoint("write")
            if time.monotonic() - start > _LONG_WRITE:
                self._rest_until = time.monotonic() + _LET_OTHERS_IN
        for names, told in self._watched:
            if names & tx.ran:
                told()

    def watch(self, names: frozenset[str], told: Callable[[], None]) -> None:
        """Call `told` after each transaction of this process that ran one of these statements."""
        self._watched.append((names, told))

    @asynccontextmanager
    async def count(self) -> AsyncGenerator[Transaction]:
        """A transaction for ledgers: gives up with BankBusyError after 10 ms rather than keep a reader waiting."""
        async with self._counting:
            async with self._transaction("count", COUNTING_WAIT_SECONDS) as connection:
                yield Transaction(connection)
            await self._checkpoint("count")

    async def count_at_once(self, work: Callable[[Writing], _Found]) -> _Found:
        """What `work` makes of such a transaction, begun and ended within one change of threads."""
        async with self._counting, self._explained("count"):
            opened = await self._file.opened()
            if not opened.read_only:
                connection = await self._file.get("count")
                counted = await patiently(
                    lambda: on_thread(connection, lambda held: self._counted(held, opened.schema, work)),
                    COUNTING_WAIT_SECONDS,
                )
                if counted:
                    await self._checkpoint("count")
                    return counted[0]
        async with self.count() as tx:  # which says why it cannot be, or looks at the file anew
            return await tx.at_once(work)

    def _counted(
        self, connection: sqlite3.Connection, schema: int, work: Callable[[Writing], _Found]
    ) -> tuple[_Found] | None:
        """A whole transaction on the connection's own thread; null where the file or its schema is another by now."""
        try:
            if _begin(connection) != schema or self._file.moved("count"):
                connection.rollback()
                return None
            found = work(Writing(connection, set()))
            self._refuse_moved("count")
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        self._refuse_moved("count")
        return (found,)

    async def truncate_log(self) -> None:
        """Move the log into the file and empty it, as far as readers let it: erased bytes are gone."""
        async with self._writing, self._explained("write"):
            connection = await self._file.get("write")
            if races():
                emptied = partial(on_thread, connection, lambda held: empty_log(held, self.path))
                await asyncio.shield(patiently(emptied, self.busy_seconds))
            else:
                await connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")

    async def _checkpoint(self, use: Use) -> None:
        """Move a long log into the file, where SQLite does not do it well by itself; later, where that fails."""
        if not races() or not log_is_long(self.path):
            return
        with suppress(sqlite3.Error, OSError, BankError):  # what was written is on disk; the next write tries again
            connection = await self._file.get(use)
            await on_thread(connection, lambda held: checkpoint(held, self.path))

    @asynccontextmanager
    async def _transaction(self, use: Use, seconds: float) -> AsyncGenerator[aiosqlite.Connection]:
        async with self._explained(use):
            connection = await self._begun(use, seconds)
            try:
                yield connection
                self._refuse_moved(use)
                await asyncio.shield(patiently(connection.commit, self.busy_seconds))
            except BaseException:
                await asyncio.shield(connection.rollback())
                raise
            self._refuse_moved(use)

    async def _begun(self, use: Use, seconds: float) -> aiosqlite.Connection:
        """A connection in a transaction, on the file at the path and in the schema that this release writes."""
        for _ in range(_MOST_CHANGES):
            opened = await self._file.opened()
            if opened.read_only and use == "write":
                opened = await self._file.looked_again()  # a person may have given the right to write
            if opened.read_only:
                raise BankReadOnlyError(f"The bank {self.path} can only be read: {opened.read_only}")
            connection = await self._file.get(use)
            try:
                schema = await patiently(lambda held=connection: on_thread(held, _begin), seconds)
                if schema == opened.schema and not self._file.moved(use):
                    return connection
            except BaseException:
                # A cancelled BEGIN still runs on the connection's own thread, before this: undo it as well.
                await asyncio.shield(connection.rollback())
                raise
            await asyncio.shield(connection.rollback())
            await self._file.looked_again()
        raise BankError(f"The bank {self.path} becomes another file again and again. Try again when that has ended.")

    def _refuse_moved(self, use: Use) -> None:
        if self._file.moved(use):
            raise BankError(
                f"The bank {self.path} was removed or replaced while this was written; it may not have been kept. "
                "Try again."
            )

    @asynccontextmanager
    async def _explained(self, use: Use | None = None) -> AsyncGenerator[None]:
        try:
            with explained(self.path):
                yield
        except BankBusyError as error:
            raise BankBusyError(_with_holder(str(error), holder(self.path))) from error
        except BankDamagedError as error:
            if not self._sets_aside:
                raise
            with explained(self.path):
                raise await asyncio.shield(self._file.set_aside(error, use)) from error
        except sqlite3.OperationalError as error:
            # It asked for what this schema does not have: the bank was upgraded under a running server.
            version = await self._file.schema()
            if version <= newest():
                raise
            raise BankReadOnlyError(_outgrown(self.path, version)) from error


def _outgrown(path: Path, schema: int) -> str:
    return f"The bank {path} cannot be read any more: {newer(schema)}"


class _NewerRow(dict[str, Any]):
    """A row of a bank that a newer release has made: what it does not have any more is told."""

    def __init__(self, row: sqlite3.Row, told: str) -> None:
        super().__init__(zip(row.keys(), row, strict=True))
        self._told = told

    def __missing__(self, name: str) -> Any:
        raise BankReadOnlyError(self._told)


def _newer_row(row: sqlite3.Row, path: Path, schema: int) -> sqlite3.Row:
    return cast("sqlite3.Row", _NewerRow(row, _outgrown(path, schema)))


def _with_holder(text: str, found: str) -> str:
    return text.replace("another process", found, 1) if found else text


def _begin(connection: sqlite3.Connection) -> int:
    """Begin to write; the version of the schema that is written in."""
    connection.execute("BEGIN IMMEDIATE")
    return number_of(connection, "user_version")
