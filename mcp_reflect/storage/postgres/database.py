"""The bank on a PostgreSQL server: a pool of connections, on which transactions of one tenant run."""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumper
from psycopg_pool import ConnectionPool, PoolTimeout

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.errors import BankBusyError, BankError, BankReadOnlyError
from mcp_reflect.log import Log
from mcp_reflect.storage import repository
from mcp_reflect.storage.postgres.faults import MOST_CONNECTIONS, is_down, is_lost, meaning_of
from mcp_reflect.storage.postgres.schema import (
    BYPASSES_ROW_SECURITY,
    ROLE,
    SCHEMA,
    AnyConnection,
    first_value,
    upgrade,
)
from mcp_reflect.storage.postgres.transactions import PostgresTransaction, row_factory
from mcp_reflect.storage.postgres.translation import migrations
from mcp_reflect.storage.repository import READS, Mode, Opened, Writing

WAIT_SECONDS: Final = 4.0
"""How long a call waits for a server that is down, or that starts again."""

_TRIES_OF_HOOK: Final = 3
"""How many times its own patience a caller with little of it, such as a hook, waits for a lost server."""

_RECONNECT_SECONDS: Final = 0.25
"""How long the pool tries to connect; alone it would wait for 1, 2 and 4 s between tries."""

_BRIEF_WAIT_SECONDS: Final = 0.1
"""How long a brief write waits for a row that another transaction changes."""

_PAUSE_SECONDS: Final = 0.05
"""The longest pause before another try; it is random, so that those who met do not meet again."""

_OLDEST_SERVER: Final = 14
"""The oldest release of PostgreSQL on which the bank is tested."""

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
"""Takes a lock by its name until the transaction ends."""

_UNREADABLE: Final = "="
"""What is no address: psycopg refuses it."""

_Result = TypeVar("_Result")

_SNAPSHOT: Final = sql.SQL("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
_BEGIN: Final[dict[Mode, sql.SQL]] = {
    "read": _SNAPSHOT,
    "long read": _SNAPSHOT,
    # Each statement sees what was committed before it: so a transaction that waited for the tenant's lock sees all of
    # the one before.
    "write": sql.SQL("BEGIN ISOLATION LEVEL READ COMMITTED"),
    "brief": sql.SQL("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off"),
}
# A lost connection is noticed within about 4 s: by the system for what was sent (milliseconds), else by probes (seconds).
_TIMEOUTS: Final = {
    "connect_timeout": 3,
    "tcp_user_timeout": 4000,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 2,
}


class _UpgradedError(Exception):
    """Another process upgraded the schema since this one opened the bank."""


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
        self._pool: ConnectionPool[AnyConnection] | None = None

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
        """Return the result of `work` in a transaction of a tenant, which is committed."""

        def transact(connection: AnyConnection, opened: Opened) -> _Result:
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

        seconds = self.busy_seconds
        if mode in READS:
            seconds = WAIT_SECONDS
        return await self._repeat(transact, seconds)

    async def truncate_log(self) -> None:
        """Do nothing: PostgreSQL overwrites the bytes of erased rows after its next vacuum."""

    @property
    def pool_state(self) -> dict[str, int]:
        """The figures of psycopg's pool, such as `pool_size` and `requests_waiting`; empty before the first use."""
        if self._pool is None:
            return {}
        return self._pool.get_stats()

    # Tries.

    async def _repeat(
        self, work: Callable[[AnyConnection, Opened], _Result], seconds: float
    ) -> _Result:
        """Return the result of `work` on a connection, tried again where another try may help.

        That is for `seconds` where other transactions are in the way, and for a shorter time where the connection is
        lost. After another process has upgraded the schema, the bank is opened anew.
        """
        began = time.monotonic()
        end_if_busy = began + seconds
        end_if_lost = began + min(WAIT_SECONDS, _TRIES_OF_HOOK * self.busy_seconds)
        while True:
            try:
                return await self._in_thread(work)
            except _UpgradedError:
                self._opened = None
            except (errors.SerializationFailure, errors.DeadlockDetected) as error:
                if time.monotonic() >= end_if_busy:
                    raise BankBusyError(
                        f"The bank {self.url} is held by other processes. Try again."
                    ) from error
            except psycopg.Error as error:  # of the pool too
                if not is_lost(error) or time.monotonic() >= end_if_lost:
                    raise await self._explained(error) from error
            await self._pause(_PAUSE_SECONDS)

    async def _explained(self, error: psycopg.Error) -> Exception:
        """Return an error of the server or the pool as ours; after one of a server that is down, it is opened anew."""
        if isinstance(error, PoolTimeout):
            error = await asyncio.to_thread(self._reason_of, error)
        if is_down(error):
            self._opened = None
        password = self._parameters().get("password")
        return meaning_of(error, self.url, password and str(password))

    def _reason_of(self, error: PoolTimeout) -> psycopg.Error:
        """Return why the pool had no connection in time: the server's own error, or the pool's if the server answers."""
        try:
            psycopg.connect(**self._parameters()).close()
        except psycopg.Error as server_error:
            return server_error
        return error

    async def _in_thread(self, work: Callable[[AnyConnection, Opened], _Result]) -> _Result:
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
        """Return the result of `work`, which runs in a thread of this bank with the context of the caller.

        A caller that is cancelled waits for its end all the same: nothing is written after this has returned.
        """
        context = copy_context()
        running = asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: context.run(work)
        )
        try:
            return await asyncio.shield(running)
        finally:
            await asyncio.wait([running])

    def _begin(self, connection: AnyConnection, mode: Mode, tenant: str, opened: Opened) -> None:
        """Begin a transaction of a tenant, which row-level security then shows that tenant's rows alone.

        All is sent in one round trip, except for the lock of a write. _UpgradedError if the schema has another version
        than when the bank was opened.
        """
        lock_seconds = self.busy_seconds
        if mode == "brief":
            lock_seconds = _BRIEF_WAIT_SECONDS
        set_tenant = sql.SQL(
            "{begin}; SET LOCAL lock_timeout = {milliseconds}; "
            "SELECT set_config('mcp_reflect.tenant', {tenant}, true), "
            "(SELECT version FROM schema_version)"
        ).format(
            begin=_BEGIN[mode],
            milliseconds=sql.Literal(int(1000 * lock_seconds)),
            tenant=sql.Literal(tenant.replace("\0", "")),
        )
        cursor = connection.execute(set_tenant)
        while cursor.nextset():  # the last statement has the row
            pass
        row = cursor.fetchone()
        if row is None:
            raise _UpgradedError
        _tenant, version = row
        if version != opened.schema:
            raise _UpgradedError
        if mode == "write":
            connection.execute(_LOCK, (f"{SCHEMA} {tenant}",))

    # Opening.

    def _prepare(self) -> Opened:
        """Connect, make or upgrade the schema, and make the pool; return the bank's state."""
        parameters = self._parameters()
        with psycopg.Connection[Any].connect(**parameters) as connection:
            server = connection.info.server_version // 10000
            if server < _OLDEST_SERVER:
                raise BankError(
                    f"The bank {self.url} is on PostgreSQL {server}. Use {_OLDEST_SERVER} or newer."
                )
            with connection.transaction():
                connection.execute(_LOCK, (SCHEMA,))
                upgrade(connection, self.url)
            version = int(first_value(connection, f"TABLE {SCHEMA}.schema_version"))
            bypasses_row_security = bool(first_value(connection, BYPASSES_ROW_SECURITY))
        newest, _script = migrations()[-1]
        read_only: str | None = None
        if version > newest:
            read_only = f"its schema {version} is newer than this release's. Upgrade mcp-reflect-server to write it"
        if self._pool is None:
            self._pool = _new_pool(parameters, takes_role=bypasses_row_security)
        return Opened(schema=version, engine=f"PostgreSQL {server}", read_only=read_only)

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters to connect with. An error about them does not repeat them: one is the password."""
        address = self.url.whole
        if address.count("@") > 1:
            address = _UNREADABLE  # the end of the password would be taken for the host, and shown
        try:
            of_address = conninfo_to_dict(address)
        except psycopg.ProgrammingError:
            fix = "Write it as postgresql://USER:PASSWORD@HOST:5432/DATABASE, with signs of the password as %XX."
            raise BankError(
                f"MCP_REFLECT_BANK is not the address of a PostgreSQL database. {fix}"
            ) from None
        own: dict[str, Any] = {"autocommit": True, "row_factory": row_factory}
        return {"application_name": "mcp-reflect", **_TIMEOUTS, **of_address, **own}


def _new_pool(parameters: dict[str, Any], *, takes_role: bool) -> ConnectionPool[AnyConnection]:
    """Return the pool of a process; it opens connections when they are needed."""
    # What the pool would log comes as our error.
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
    return ConnectionPool(
        kwargs=parameters,
        configure=partial(_configure, takes_role=takes_role),
        min_size=0,
        max_size=MOST_CONNECTIONS,
        reconnect_timeout=_RECONNECT_SECONDS,
        open=True,
    )


def _configure(connection: AnyConnection, *, takes_role: bool) -> None:
    """Prepare a new connection of the pool; a superuser takes the role for which row-level security holds."""
    # Each text and each number is sent as one type, so that a prepared statement serves all calls.
    connection.adapters.register_dumper(str, StrDumper)
    connection.adapters.register_dumper(int, Int8Dumper)
    connection.execute(f"SET search_path TO {SCHEMA}, public".encode())
    if takes_role:
        connection.execute(f"SET ROLE {ROLE}")
