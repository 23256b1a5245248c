"""Named SQL from .sql files, run on the thread that owns a connection."""

import asyncio
import json
import re
import sqlite3
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from mcp_reflect.errors import BankError
from mcp_reflect.log import Log
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.security.redact import clean, clean_text

# A query starts with `-- name: NAME` and a comment about its purpose. SQL is never built from strings: a query is
# looked up by its name, and values are bound.


_FOLDER = Path(__file__).parent
_HEAD = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def _all() -> dict[str, str]:
    queries: dict[str, str] = {}
    for file in sorted((_FOLDER / "queries").glob("*.sql")):
        parts = _HEAD.split(file.read_text(encoding="utf-8"))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            if name in queries:
                raise RuntimeError(f"{file.name} defines the query {name} a second time")
            queries[name] = _with_lesson_columns(body.strip())
    return queries


# Every field of Lesson is a column, so that a new field needs a migration and no query. These change by other means.
_FIXED: Final = ("id", "project", "kind", "source", "external_id", "reflection_id", "created_at", "tenant")
_COUNTED: Final = ("times_applied", "effectiveness", "wins", "losses", "proof")
_LESSON_COLUMNS: Final = (*(field.name for field in fields(Lesson)), "tenant", "digest")


def _with_lesson_columns(sql: str) -> str:
    changes = (f"{name} = :{name}" for name in _LESSON_COLUMNS if name not in (*_FIXED, *_COUNTED))
    return (
        sql.replace("/*columns*/", ", ".join(_LESSON_COLUMNS))
        .replace("/*values*/", ", ".join(f":{name}" for name in _LESSON_COLUMNS))
        .replace("/*changes*/", ", ".join(changes))
    )


def query(name: str) -> str:
    """Return the SQL of a named query; KeyError if there is none."""
    return _all()[name]


@cache
def reads(name: str) -> bool:
    """True if a named query only reads."""
    return re.match(r"(?:--.*\n)*SELECT\b", query(name)) is not None


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Return every migration as (version, SQL), oldest first; the version is the file's leading number."""
    files = sorted((_FOLDER / "migrations").glob("[0-9]*.sql"))
    return tuple((int(file.name.split("_")[0]), file.read_text(encoding="utf-8")) for file in files)


def statements(script: str) -> list[str]:
    """Return the statements of a migration one by one, so that they can share a transaction."""
    result: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            result.append(pending)
            pending = ""
    return result


Values = Mapping[str, Any]
_Result = TypeVar("_Result")


class Connection:
    """An SQLite connection with a thread of its own: a function runs any number of statements for one thread change."""

    def __init__(self, raw: sqlite3.Connection, executor: ThreadPoolExecutor) -> None:
        self._raw = raw
        self._executor = executor

    @classmethod
    async def open(cls, connect: Callable[[], sqlite3.Connection]) -> "Connection":
        """Connect on a new thread."""
        executor = ThreadPoolExecutor(1, "bank")
        try:
            return cls(await asyncio.get_running_loop().run_in_executor(executor, connect), executor)
        except BaseException:
            executor.shutdown(wait=False)
            raise

    async def run(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run `work` on the connection's thread; work that was begun ends, also if this is cancelled."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, self._raw)

    async def close(self) -> None:
        """Close the connection, after all that runs on it."""
        try:
            await self.run(sqlite3.Connection.close)
        finally:
            self._executor.shutdown(wait=False)


class _DamagedText(str):
    """A text of the bank that is not UTF-8, as far as it can be read."""

    __slots__ = ()


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return _DamagedText(value.decode(errors="replace"))


def log_damaged(row: sqlite3.Row) -> None:
    """Log that a damaged row was left out."""
    Log()("bank_record_damaged", "warning", record=_name_of(row))


def damaged_record(row: sqlite3.Row) -> BankError:
    """Return the error for a record that cannot be read."""
    return BankError(f"The record {_name_of(row)} is damaged. `mcp-reflect doctor --rescue` repairs what can be read.")


def _name_of(row: sqlite3.Row) -> str:
    return str(row["id"]) if "id" in row.keys() else f"of {row[0]}"  # noqa: SIM118 - a Row iterates its values


class Reading:
    """Named queries, run on the connection's thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, name: str, values: Values) -> list[sqlite3.Row]:
        """Return the rows of a named query. A row with a text that is not UTF-8 is logged and left out.

        BankError if a query by id (its name ends with `_by_id`) finds only such a row.
        """
        try:
            return self._select(name, values).fetchall()
        except sqlite3.OperationalError as error:
            if "decode to UTF-8" not in str(error):
                raise
        self._connection.text_factory = _text
        try:
            rows = self._select(name, values).fetchall()
        finally:
            self._connection.text_factory = str
        sound = [row for row in rows if not any(isinstance(value, _DamagedText) for value in row)]
        for row in rows:
            if row not in sound:
                log_damaged(row)
        if name.endswith("_by_id") and not sound:
            raise damaged_record(rows[0])
        return sound

    def schema(self) -> int:
        """Return the schema version of what is read."""
        return self._connection.execute("PRAGMA user_version").fetchone()[0]

    def numbers(self, name: str, values: Values) -> list[int]:
        """Return the integers of a named query that gives them as one JSON list."""
        return json.loads(self._select(name, values).fetchone()[0])

    def _select(self, name: str, values: Values) -> sqlite3.Cursor:
        """Run a query that only reads: writing needs a transaction."""
        if not reads(name):
            raise ValueError(f"the query {name} writes")
        return self._connection.execute(query(name), _plain(values))

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """Read everything in the block as of one moment."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")


class Writing(Reading):
    """The same, and named statements that write. Every text is redacted when it is bound."""

    def __init__(self, connection: sqlite3.Connection, ran: set[str]) -> None:
        super().__init__(connection)
        self._ran = ran

    def _select(self, name: str, values: Values) -> sqlite3.Cursor:
        return self._connection.execute(query(name), _plain(values))

    def run(self, name: str, values: Values) -> int:
        """Run a named statement; return the number of changed rows."""
        self._ran.add(name)
        return self._connection.execute(query(name), bound(values)).rowcount

    def run_many(self, name: str, rows: Iterable[Values]) -> None:
        """Run a named statement once for each of `rows`."""
        self._ran.add(name)
        self._connection.executemany(query(name), map(bound, rows))


class Reader(Protocol):
    """The database, or a transaction of it."""

    async def rows(self, name: str, values: Values) -> list[sqlite3.Row]: ...


class Transaction:
    """The one way to write. Every text is redacted when it is bound."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.ran: set[str] = set()

    async def run(self, name: str, values: Values) -> int:
        """Run a named statement; return the number of changed rows."""
        return await self.at_once(lambda writing: writing.run(name, values))

    async def run_many(self, name: str, rows: Iterable[Values]) -> None:
        """Run a named statement once for each of `rows`."""
        await self.at_once(lambda writing: writing.run_many(name, rows))

    async def rows(self, name: str, values: Values) -> list[sqlite3.Row]:
        """Return the rows of a named query, as this transaction sees them."""
        return await self.at_once(lambda writing: writing.rows(name, values))

    async def row(self, name: str, values: Values) -> sqlite3.Row | None:
        """Return the first row of a named query, None if there is none."""
        return next(iter(await self.rows(name, values)), None)

    async def look(self, work: Callable[[Reading], _Result]) -> _Result:
        """Return the result of `work`, which reads what this transaction sees."""
        return await self._connection.run(lambda raw: work(Reading(raw)))

    async def at_once(self, work: Callable[[Writing], _Result]) -> _Result:
        """Return the result of `work`, which reads and writes with one change of threads."""
        return await self._connection.run(lambda raw: work(Writing(raw, self.ran)))


@contextmanager
def write_lock(connection: sqlite3.Connection) -> Generator[None]:
    """Run the block in one transaction under the write lock; roll it back if it fails."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class Derived(str):
    """Text made of redacted words, such as the index's terms, which is not redacted again.

    The words are listed without their sentence: one beside `token` would be taken for a secret.
    """

    __slots__ = ()


class Bound(dict[str, Any]):
    """Values as they are written, made by `bound` alone: redacted already."""


_UNCHANGED: Final = frozenset({int, float, bool, bytes, type(None)})


def bound(values: Values) -> Bound:
    """Return values to write: every text redacted, structures as JSON."""
    if isinstance(values, Bound):
        return values
    return Bound({name: value if type(value) in _UNCHANGED else _bound(value) for name, value in values.items()})


def _bound(value: Any) -> Any:
    match value:
        case Derived():
            return str(value)
        case str():
            return clean_text(value)
        case dict() | list() | tuple():
            return json.dumps(clean(value), ensure_ascii=False)
        case _:
            return value


def _plain(values: Values) -> dict[str, Any]:
    """Return values that are only compared: structures as JSON, texts unchanged."""
    return {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | tuple) else value
        for name, value in values.items()
    }
