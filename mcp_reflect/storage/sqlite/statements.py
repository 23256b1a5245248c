"""Named queries from .sql files, run on the connection's own thread."""

import json
import re
import sqlite3
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import aiosqlite

from mcp_reflect.errors import BankError
from mcp_reflect.log import Log
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.security.redact import clean, clean_text

# Named queries, kept in .sql files beside this one.
#
# A query starts with `-- name: NAME` and a comment that says what it is for. SQL is never put together
# from strings: a query is looked up by its name, and values are bound.


_FOLDER = Path(__file__).parent
_HEAD = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def _all() -> dict[str, str]:
    found: dict[str, str] = {}
    for file in sorted((_FOLDER / "queries").glob("*.sql")):
        parts = _HEAD.split(file.read_text(encoding="utf-8"))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            if name in found:
                raise RuntimeError(f"{file.name} defines the query {name} a second time")
            found[name] = _with_lesson_columns(body.strip())
    return found


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
    """The SQL text of a named query; `KeyError` where there is none."""
    return _all()[name]


@cache
def reads(name: str) -> bool:
    """Whether a named query only reads."""
    return re.match(r"(?:--.*\n)*SELECT\b", query(name)) is not None


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Every migration as (version, SQL), oldest first; the version is the file's leading number."""
    files = sorted((_FOLDER / "migrations").glob("[0-9]*.sql"))
    return tuple((int(file.name.split("_")[0]), file.read_text(encoding="utf-8")) for file in files)


def statements(script: str) -> list[str]:
    """A migration's statements, one by one, so that they can share one transaction."""
    import sqlite3  # noqa: PLC0415 - already there by the time a migration runs

    found: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found


# Named queries and statements, run on the connection's own thread, where many cost no more changes than one.


Values = Mapping[str, Any]
_Found = TypeVar("_Found")


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
    """Named queries, run one after another on the connection's own thread: many cost no more than one."""

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
        """The version of the schema in which all this is read."""
        return self._connection.execute("PRAGMA user_version").fetchone()[0]

    def numbers(self, name: str, values: Values) -> list[int]:
        """The integers of a named query that gives them as one JSON list."""
        return json.loads(self._select(name, values).fetchone()[0])

    def _select(self, name: str, values: Values) -> sqlite3.Cursor:
        """Only what reads is run: what writes goes through the door of a transaction."""
        if not reads(name):
            raise ValueError(f"the query {name} writes")
        return self._connection.execute(query(name), _plain(values))

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """Everything in the block is read as of one moment."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")


class Writing(Reading):
    """The same, and named statements that write: every text bound here has passed the door (see `redaction`)."""

    def __init__(self, connection: sqlite3.Connection, ran: set[str]) -> None:
        super().__init__(connection)
        self._ran = ran

    def _select(self, name: str, values: Values) -> sqlite3.Cursor:
        return self._connection.execute(query(name), _plain(values))

    def run(self, name: str, values: Values) -> int:
        """Run a named statement; returns how many rows it changed."""
        self._ran.add(name)
        return self._connection.execute(query(name), bound(values)).rowcount

    def run_many(self, name: str, rows: Iterable[Values]) -> None:
        """Run a named statement once for each of `rows`."""
        self._ran.add(name)
        self._connection.executemany(query(name), map(bound, rows))


class Reader(Protocol):
    """The database, or a transaction of it."""

    async def rows(self, name: str, values: dict[str, Any]) -> list[sqlite3.Row]: ...


class Transaction:
    """The one way to write. Every text that is bound here has passed the door (see `redaction`)."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection
        self.ran: set[str] = set()

    async def run(self, name: str, values: Values) -> int:
        """Run a named statement; returns how many rows it changed."""
        return await self.at_once(lambda writing: writing.run(name, values))

    async def run_many(self, name: str, rows: Iterable[Values]) -> None:
        """Run a named statement once for each of `rows`."""
        await self.at_once(lambda writing: writing.run_many(name, rows))

    async def rows(self, name: str, values: Values) -> list[sqlite3.Row]:
        """The rows of a named query, as this transaction sees them."""
        return await self.at_once(lambda writing: writing.rows(name, values))

    async def row(self, name: str, values: Values) -> sqlite3.Row | None:
        """The first row of a named query, or none."""
        found = await self.rows(name, values)
        return found[0] if found else None

    async def look(self, work: Callable[[Reading], _Found]) -> _Found:
        """What `work` makes of named queries, as this transaction sees them."""
        return await on_thread(self._connection, lambda connection: work(Reading(connection)))

    async def at_once(self, work: Callable[[Writing], _Found]) -> _Found:
        """What `work` makes of named queries and statements, run one after another: one change of threads."""
        return await on_thread(self._connection, lambda connection: work(Writing(connection, self.ran)))


@contextmanager
def write_lock(connection: sqlite3.Connection) -> Generator[None]:
    """The block under the write lock, in one transaction: committed at its end, rolled back where it fails."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


async def on_thread(connection: aiosqlite.Connection, work: Callable[[sqlite3.Connection], _Found]) -> _Found:
    """Run `work` on the thread that owns the connection: one change of threads for any number of queries."""
    # aiosqlite has no public way to run more than one statement in one go.
    held: Any = connection
    return await held._execute(work, held._conn)  # noqa: SLF001


class Derived(str):
    """Text made of words that passed the door already, such as the index's terms.

    They stand side by side without their sentence: the door would take one beside `token` for a secret.
    """

    __slots__ = ()


_AS_IT_IS: Final = frozenset({int, float, bool, bytes, type(None)})


class Bound(dict[str, Any]):
    """Values as they are written: `bound` alone makes them, so they have passed the door and need not again."""


def bound(values: Values) -> Bound:
    """What is written: every text through the door, structures as JSON."""
    if isinstance(values, Bound):
        return values
    made = Bound(values)
    for name, value in values.items():
        if type(value) not in _AS_IT_IS:
            made[name] = _bound(value)
    return made


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
    """What is only compared: structures as JSON, texts as they are."""
    return {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | tuple) else value
        for name, value in values.items()
    }
