"""The bank on a server: SQLite's queries in its SQL, a pool of connections, transactions of one tenant, and errors."""

import asyncio
import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, cast

import psycopg
from psycopg import Connection, Cursor, errors, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumper
from psycopg_pool import ConnectionPool, PoolTimeout

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.errors import BankBusyError, BankError, BankReadOnlyError, NotABankError
from mcp_reflect.log import Log
from mcp_reflect.storage import repository
from mcp_reflect.storage.queries import migrations_in, queries, queries_in
from mcp_reflect.storage.repository import READS, Mode, Opened, Writing
from mcp_reflect.storage.rows import Row
from mcp_reflect.storage.values import Bound, Values

_FOLDER: Final = Path(__file__).parent

_COMMENT: Final = re.compile(r"--[^\n]*")
_IN_LIST: Final = re.compile(r"\b(NOT )?IN \(SELECT value FROM json_each\((:\w+)\)\)")
# What is for SQLite's planner alone.
_HINT: Final = re.compile(r"(?<=\s)\+(?=\w+ (?:=|<>|IN)\s)| INDEXED BY \w+")
_PARAMETER: Final = re.compile(r"(?<!:):(\w+)")


def translated(query: str) -> str:
    """Return a query that was written for SQLite as psycopg takes it: its parameters, lists and hints."""
    query = _COMMENT.sub("", query).replace("%", "%%")
    query = _IN_LIST.sub(_as_array, query)
    return _PARAMETER.sub(r"%(\1)s", _HINT.sub("", query)).strip()


def _as_array(in_list: re.Match[str]) -> str:
    """Return the condition that a value is in a list, or is not, as PostgreSQL has it of an array."""
    is_negated, parameter = in_list.groups()
    if is_negated:
        return f"<> ALL({parameter})"
    return f"= ANY({parameter})"


@cache
def statements() -> dict[str, bytes]:
    """Return the SQL of each named query."""
    written = queries() | queries_in(_FOLDER / "queries")
    return {name: translated(text).encode() for name, text in written.items()}


def migrations() -> tuple[tuple[int, str], ...]:
    """Return every migration as (version, SQL), oldest first."""
    return migrations_in(_FOLDER / "migrations")


class PostgresRow:
    """A row: its values in order, or by the name of a column."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[str, int], values: Sequence[Any]) -> None:
        self._places = places
        self._values = values

    def __getitem__(self, key: Any, /) -> Any:
        if isinstance(key, str):
            return self._values[self._places[key]]
        return self._values[key]

    def __iter__(self) -> Any:
        return iter(self._values)

    def keys(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._places)


def row_factory(cursor: Cursor[Any]) -> Callable[[Sequence[Any]], PostgresRow]:
    """Return what makes a row of the values that a cursor reads."""
    places = {column.name: place for place, column in enumerate(cursor.description or ())}
    return lambda values: PostgresRow(places, values)


def sent(value: Any) -> Any:
    """Return a value as the schema has it: 0 and 1 for truth, plain texts without NUL, lists as arrays."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return str(value).replace("\0", "")
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return [sent(one) for one in cast("Iterable[Any]", value)]
    return value


class PostgresTransaction(Writing):
    """Runs named SQL on a connection."""

    def __init__(self, connection: Connection[PostgresRow], log: Log) -> None:
        super().__init__(log)
        self.connection = connection

    def rows(self, name: str, values: Values) -> list[Row]:
        """Return the rows of a named query."""
        return list(self._run(name, values).fetchall())

    def execute(self, name: str, values: Bound) -> int:
        """Run a named statement with values that are redacted; return the number of changed rows."""
        return self._run(name, values).rowcount

    def execute_many(self, name: str, rows: Iterable[Bound]) -> None:
        """Run a named statement once for each of `rows`; the server is not asked for none."""
        rows_to_send = [_sent_values(values) for values in rows]
        if rows_to_send:
            self.connection.cursor().executemany(statements()[name], rows_to_send)

    def matching(self, groups: Sequence[Sequence[str]]) -> str:
        """Return the condition that a row has at least one term of each group; the index holds hashes of terms."""
        return " & ".join(_any_of(group) for group in groups)

    def _run(self, name: str, values: Values) -> Cursor[PostgresRow]:
        """Run a named query or statement; return the cursor with its rows or their number."""
        return self.connection.execute(statements()[name], _sent_values(values))


def _sent_values(values: Values) -> dict[str, Any]:
    """Return the values of a statement as the schema has them."""
    return {name: sent(value) for name, value in values.items()}


def _any_of(terms: Sequence[str]) -> str:
    """Return the part of a search that a row has one of these terms."""
    hashes = [sha256(term.encode()).hexdigest()[:16] for term in terms]
    return "(" + " | ".join(f"'{one}'" for one in hashes) + ")"


MOST_CONNECTIONS: Final = 10  # of one process
WAIT_SECONDS: Final = 4.0  # for a server that is down, or that starts again
_RECONNECT_SECONDS: Final = 0.25
"""Of one try of the pool, which alone would wait for 1, 2 and 4 s between tries."""

_BRIEF_WAIT_SECONDS: Final = 0.1  # of a brief write, for a row that another transaction changes
_PAUSE_SECONDS: Final = 0.05
"""The longest before another try; random, so that those who met do not meet again."""

_OLDEST: Final = 14
_SCHEMA: Final = "mcp_reflect"
_ROLE: Final = "mcp_reflect_service"
"""The role that a superuser takes: row-level security does not hold for superusers."""

_Result = TypeVar("_Result")
_Connection: TypeAlias = psycopg.Connection[Any]

_SNAPSHOT: Final = sql.SQL("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
_BEGIN: Final[dict[Mode, sql.SQL]] = {
    "read": _SNAPSHOT,
    "long read": _SNAPSHOT,
    # Each statement sees what was committed before it: so a transaction that waited for the tenant's lock sees all of
    # the one before.
    "write": sql.SQL("BEGIN ISOLATION LEVEL READ COMMITTED"),
    "brief": sql.SQL("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off"),
}
# A lost connection is noticed: by the system for what was sent, else by probes.
_PATIENCE: Final = {
    "connect_timeout": 3,
    "tcp_user_timeout": 4000,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 2,
}
# psycopg's errors by SQLSTATE → ours, and what to do about it.
_MEANINGS: Final[tuple[tuple[type[psycopg.Error], type[BankError], str], ...]] = (
    (
        errors.LockNotAvailable,
        BankBusyError,
        "has a table or a tenant that another transaction holds. Try again, or end that one (pg_locks names it)",
    ),
    (
        errors.ReadOnlySqlTransaction,
        BankReadOnlyError,
        "is read-only: it is a replica, or set so. Name the primary",
    ),
    (
        errors.DiskFull,
        BankError,
        "cannot grow: the server's disk is full. Free some space and try again",
    ),
    (
        errors.TooManyConnections,
        BankBusyError,
        "has no connection left for this process. Try again, or raise max_connections",
    ),
    (errors.InvalidPassword, BankError, "refuses the password. Correct it in MCP_REFLECT_BANK"),
    (
        errors.InvalidAuthorizationSpecification,
        BankError,
        "refuses this user. Correct it in MCP_REFLECT_BANK",
    ),
    (errors.InvalidCatalogName, BankError, "does not exist. Make it: createdb"),
    (
        errors.UndefinedTable,
        BankReadOnlyError,
        "lacks a table of this release. Upgrade mcp-reflect-server",
    ),
    (
        errors.UndefinedColumn,
        BankReadOnlyError,
        "lacks a column of this release. Upgrade mcp-reflect-server",
    ),
)
_NO_CONNECTION: Final = (
    "has no connection left for this process. Try again, or raise max_connections"
)
_TOO_MANY: Final = ("too many clients", "too many connections", "remaining connection slots")
_DOWN: Final = "does not answer. Start the server, or correct MCP_REFLECT_BANK; nothing of this call was stored"


class _UpgradedError(Exception):
    """Another process upgraded the schema."""


class PostgresDatabase(repository.Database):
    """One bank on a server, which many processes share; see storage/repository.py.

    Each transaction sets its tenant, and row-level security shows and takes that tenant's rows alone. Transactions that
    write take the tenant's lock first, so that what they read stays true, except brief ones.
    """

    def __init__(
        self, url: ServerUrl, *, busy_seconds: float = 30.0, log: Log | None = None
    ) -> None:
        super().__init__(busy_seconds, log)
        self.url = url
        self._opened: Opened | None = None
        self._process = os.getpid()
        self._threads = ThreadPoolExecutor(MOST_CONNECTIONS, "bank")
        self._pool: ConnectionPool[_Connection] | None = None

    async def opened(self) -> Opened:
        """Connect (make the schema, upgrade it); return its state."""
        return await self._repeat(lambda _, opened: opened, WAIT_SECONDS)

    async def close(self) -> None:
        """Close every connection; what was acknowledged is kept already."""
        await asyncio.to_thread(self._threads.shutdown)
        if self._pool is not None:
            await asyncio.to_thread(self._pool.close)

    async def _transact(
        self, mode: Mode, tenant: str, work: Callable[[Writing], _Result]
    ) -> _Result:
        def transact(connection: _Connection, opened: Opened) -> _Result:
            if mode not in READS and opened.read_only:
                raise BankReadOnlyError(f"The bank {self.url} can only be read: {opened.read_only}")
            self._begin(connection, mode, tenant, opened)
            result = work(PostgresTransaction(connection, self._log))
            try:
                connection.commit()
            except psycopg.OperationalError as error:
                if mode in READS or not connection.closed:
                    raise
                raise BankError(
                    f"The bank {self.url} was lost during a write, which may have been stored. Look before you retry."
                ) from error
            return result

        return await self._repeat(transact, WAIT_SECONDS if mode in READS else self.busy_seconds)

    async def truncate_log(self) -> None:
        """Do nothing: PostgreSQL overwrites the bytes of erased rows after its next vacuum."""

    @property
    def pool_state(self) -> dict[str, int]:
        """The figures of psycopg's pool, such as `pool_size` and `requests_waiting`; empty before the first use."""
        return self._pool.get_stats() if self._pool else {}

    def _reason_of(self, error: PoolTimeout) -> psycopg.Error:
        """Return why the pool had no connection in time: the server's own error, or the pool's if the server answers."""
        try:
            psycopg.connect(**self._parameters()).close()
        except psycopg.Error as own:
            return own
        return error

    # Tries.

    async def _repeat(
        self, work: Callable[[_Connection, Opened], _Result], seconds: float
    ) -> _Result:
        """Return the result of `work` on a connection, tried again for `seconds` where another try may help."""
        began = time.monotonic()
        # A hook, whose patience is a quarter of a second, gives up after three of them.
        end, lost = began + seconds, began + min(WAIT_SECONDS, 3 * self.busy_seconds)
        while True:
            try:
                return await self._in_thread(work)
            except _UpgradedError:
                self._opened = None
            except (errors.SerializationFailure, errors.DeadlockDetected) as error:
                if time.monotonic() >= end:
                    raise BankBusyError(
                        f"The bank {self.url} is held by other processes. Try again."
                    ) from error
            except psycopg.Error as error:  # of the pool too
                if not _is_lost(error) or time.monotonic() >= lost:
                    reason = error
                    if isinstance(error, PoolTimeout):
                        reason = await asyncio.to_thread(self._reason_of, error)
                    raise self._meaning(reason) from error
            await self._pause(_PAUSE_SECONDS)

    async def _in_thread(self, work: Callable[[_Connection, Opened], _Result]) -> _Result:
        """Run `work` in a thread on a connection of the pool, which it waits for half a second."""
        self._refuse_fork(self.url, self._process)
        async with self._opening:
            if self._opened is None:
                self._opened = await self._wait_for(self._prepare)
        opened = self._opened

        def run() -> _Result:
            assert self._pool is not None  # noqa: S101 - made by `_prepare`
            with self._pool.connection(timeout=2 * _RECONNECT_SECONDS) as connection:
                return work(connection, opened)

        return await self._wait_for(run)

    async def _wait_for(self, work: Callable[[], _Result]) -> _Result:
        context = copy_context()
        running = asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: context.run(work)
        )
        try:
            return await asyncio.shield(running)
        finally:
            await asyncio.wait(
                [running]
            )  # also if this is cancelled: nothing is written after it has returned

    def _begin(self, connection: _Connection, mode: Mode, tenant: str, opened: Opened) -> None:
        """Begin a transaction of a tenant. One round trip, except for a lock."""
        wait = int(1000 * (_BRIEF_WAIT_SECONDS if mode == "brief" else self.busy_seconds))
        set_tenant = sql.SQL(
            "{begin}; SET LOCAL lock_timeout = {wait}; SELECT set_config('mcp_reflect.tenant', {tenant}, true), "
            "(SELECT version FROM schema_version)"
        ).format(
            begin=_BEGIN[mode],
            wait=sql.Literal(wait),
            tenant=sql.Literal(tenant.replace("\0", "")),
        )
        cursor = connection.execute(set_tenant)
        while cursor.nextset():
            pass
        row = cursor.fetchone()
        if row is None or row[1] != opened.schema:
            raise _UpgradedError
        if mode == "write":
            connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"{_SCHEMA} {tenant}",)
            )

    # Opening.

    def _prepare(self) -> Opened:
        """Connect, make or upgrade the schema, and make the pool; return the bank's state."""
        parameters = self._parameters()
        with _Connection.connect(**parameters) as connection:
            server = connection.info.server_version // 10000
            if server < _OLDEST:
                raise BankError(
                    f"The bank {self.url} is on PostgreSQL {server}. Use {_OLDEST} or newer."
                )
            with connection.transaction():
                connection.execute(
                    "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (_SCHEMA,)
                )
                _upgrade(connection, self.url)
            schema, read_only = int(_one(connection, f"TABLE {_SCHEMA}.schema_version")[0]), None
            if schema > migrations()[-1][0]:
                read_only = f"its schema {schema} is newer than this release's. Upgrade mcp-reflect-server to write it"
            bypasses = _one(connection, _BYPASSES)[0]
        if self._pool is None:
            logging.getLogger("psycopg.pool").setLevel(
                logging.CRITICAL
            )  # what it logs comes as our error
            self._pool = ConnectionPool(
                kwargs=parameters,
                configure=partial(_configure, bypasses=bypasses),
                min_size=0,
                max_size=MOST_CONNECTIONS,
                reconnect_timeout=_RECONNECT_SECONDS,
                open=True,
            )
        return Opened(schema=schema, engine=f"PostgreSQL {server}", read_only=read_only)

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters to connect with. An error about them does not repeat them: one is the password."""
        try:
            # With a second @, the end of the password would be taken for the host, and shown.
            readable = self.url.whole if self.url.whole.count("@") < 2 else "="
            named = {"application_name": "mcp-reflect", **_PATIENCE, **conninfo_to_dict(readable)}
        except psycopg.ProgrammingError:
            fix = "Write it as postgresql://USER:PASSWORD@HOST:5432/DATABASE, with signs of the password as %XX."
            raise BankError(
                f"MCP_REFLECT_BANK is not the address of a PostgreSQL database. {fix}"
            ) from None
        return {**named, "autocommit": True, "row_factory": row_factory}

    def _meaning(self, error: psycopg.Error) -> Exception:
        """Return an error of the server as ours; one that only a fault of ours can cause stays."""
        for kind, own, meaning in _MEANINGS:
            if isinstance(error, kind):
                return own(f"The bank {self.url} {meaning}.")
        if not isinstance(error, psycopg.OperationalError):
            return error
        if isinstance(error, PoolTimeout):
            fix = f"All {MOST_CONNECTIONS} are in use by this process. Try again, or end what holds them"
            return BankBusyError(
                f"The bank {self.url} has no connection left for this call. {fix}."
            )
        if any(sign in str(error) for sign in _TOO_MANY):
            return BankBusyError(f"The bank {self.url} {_NO_CONNECTION}.")
        self._opened = None
        lines = [line for line in str(error).strip().splitlines() if line[:1] != "\t"] or [
            ""
        ]  # a tab: its advice
        reason = lines[-1].replace(str(self._parameters().get("password") or lines), "***")
        return BankError(f"The bank {self.url} {_DOWN}. ({reason})")


_BYPASSES: Final = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
_GRANT: Final = f"""
    DO $$ BEGIN CREATE ROLE {_ROLE} NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
    GRANT USAGE ON SCHEMA {_SCHEMA} TO {_ROLE};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {_SCHEMA} TO {_ROLE}"""


def _upgrade(connection: _Connection, url: ServerUrl) -> None:
    """Apply the missing migrations; nobody else does it meanwhile."""
    found = _one(connection, "SELECT to_regnamespace(%s) IS NOT NULL", _SCHEMA)[0]
    if not found:
        connection.execute(f"CREATE SCHEMA {_SCHEMA}")
    connection.execute(f"SET LOCAL search_path TO {_SCHEMA}, public")
    tables = _one(
        connection, "SELECT count(*) FROM pg_class WHERE relnamespace = %s::regnamespace", _SCHEMA
    )[0]
    if tables and not _one(connection, "SELECT to_regclass('schema_version') IS NOT NULL")[0]:
        raise NotABankError(
            f"{url} has a schema {_SCHEMA} of another program; it was left as it is."
        )
    connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
    version = _one(connection, "SELECT coalesce(max(version), 0) FROM schema_version")[0]
    for number, script in migrations():
        if number > version:
            connection.execute(script.encode())
    if version < migrations()[-1][0]:
        connection.execute("DELETE FROM schema_version")
        connection.execute("INSERT INTO schema_version VALUES (%s)", (migrations()[-1][0],))
    bypasses = _one(connection, _BYPASSES)[0]
    if bypasses:  # each time: the role is the server's, and another user may have made these tables
        connection.execute(_GRANT)


def _configure(connection: _Connection, *, bypasses: bool) -> None:
    # Each text and each number is sent as one type, so that a prepared statement serves all calls.
    connection.adapters.register_dumper(str, StrDumper)
    connection.adapters.register_dumper(int, Int8Dumper)
    connection.execute(f"SET search_path TO {_SCHEMA}, public".encode())
    if bypasses:
        connection.execute(f"SET ROLE {_ROLE}")


def _one(connection: _Connection, query: str, *values: object) -> PostgresRow:
    row = connection.execute(query.encode(), values or None).fetchone()
    return row or PostgresRow({}, ())


def _is_lost(error: psycopg.Error) -> bool:
    """True if the connection is lost or refused for now, so that another try may help."""
    if isinstance(error, errors.ConnectionTimeout) or not isinstance(
        error, psycopg.OperationalError
    ):
        return False
    if error.sqlstate is not None:
        return error.sqlstate.startswith(("08", "57P"))
    text = str(error)
    return (
        "FATAL" not in text or "the database system is" in text or "terminating connection" in text
    )
