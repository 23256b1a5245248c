"""A team's service on this machine for benchmarks: replicas that can be killed, and clients of them.

Everything listens on loopback, and is ended when the context managers end.
"""

import json
import socket
import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.log import Log
from mcp_reflect.models.common import Scope
from mcp_reflect.projects import Scopes
from mcp_reflect.storage import lesson_records
from mcp_reflect.storage.bank import Bank
from tests.clients.forked import Forked

REQUEST_SECONDS: Final = 5.0  # after which a client turns to the other replica
_PAUSE_SECONDS: Final = 0.02  # where no replica listens
_START_SECONDS: Final = 90.0
_GIVE_UP_SECONDS: Final = 60.0
_AT_ONCE: Final = 5_000  # lessons written in one transaction


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
