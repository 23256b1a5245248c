"""A raw MCP client over stdio: JSON lines to a process and back, with no client library in between.

What it sends and reads is what is on the wire, so a benchmark times the server alone, and a test
sees every byte that the server writes.
"""

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self, TypeAlias, cast

from mcp_reflect.models.common import Json

Message: TypeAlias = dict[str, Json]

CLIENT: Message = {"name": "mcp-reflect-raw", "version": "1"}
META_PREFIX = "io.modelcontextprotocol/"


class Era(StrEnum):
    """How a client opens: with `initialize`, or with `server/discover` and an envelope on each request."""

    LEGACY = "2025-11-25"
    MODERN = "2026-07-28"


class ServerDiedError(Exception):
    """The server ended, or said nothing in time; the message carries its stderr."""


class RpcError(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, code: Json, message: Json) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Process(Protocol):
    """A process that speaks over two pipes: `subprocess.Popen`, or one that was forked off (see `forked`)."""

    @property
    def pid(self) -> int: ...
    @property
    def stdin(self) -> IO[bytes] | None: ...
    @property
    def stdout(self) -> IO[bytes] | None: ...
    @property
    def returncode(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def kill(self) -> None: ...


class RawClient:
    """A server process and the two pipes to it. Use it as a context manager, or call `close`.

    `errors` is the file that the process writes its stderr to; it is closed with the process. `notifications`
    collects what the server sent unasked; `received` counts the bytes it wrote.
    """

    def __init__(self, process: Process, errors: IO[bytes], timeout: float = 30.0) -> None:
        self.timeout = timeout
        self.notifications: list[Message] = []
        self.received = 0
        self._meta: Message = {}
        self._buffer = bytearray()
        self._last_id = 0
        self._errors = errors
        self._process = process
        self.stderr = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def envelope(self) -> Message:
        """What each request's params carry in the era that was opened."""
        return {"_meta": self._meta} if self._meta else {}

    def open(self, era: Era = Era.LEGACY) -> Message:
        """The handshake of an era, and the server's answer to it."""
        if era is Era.MODERN:
            self._meta = {
                f"{META_PREFIX}protocolVersion": era.value,
                f"{META_PREFIX}clientInfo": CLIENT,
                f"{META_PREFIX}clientCapabilities": {},
            }
            return self.request("server/discover")
        answer = self.request(
            "initialize", {"protocolVersion": era.value, "capabilities": {}, "clientInfo": CLIENT}
        )
        self.notify("notifications/initialized")
        return answer

    def request(self, method: str, params: Mapping[str, Json] | None = None) -> Message:
        """Send a request, and wait for its result."""
        self._last_id += 1
        self._send(
            {"jsonrpc": "2.0", "id": self._last_id, "method": method, **self._params(params)}
        )
        deadline = time.monotonic() + self.timeout
        while (message := self._receive(deadline)).get(
            "id"
        ) != self._last_id or "method" in message:
            self.notifications.append(message)
        if "error" in message:
            error = _object(message["error"])
            raise RpcError(error.get("code"), error.get("message"))
        return _object(message["result"])

    def next_message(self) -> Message:
        """The next message that the server sends, whatever it is."""
        return self._receive(time.monotonic() + self.timeout)

    def notify(self, method: str, params: Mapping[str, Json] | None = None) -> None:
        """Send a notification: nothing comes back."""
        self._send({"jsonrpc": "2.0", "method": method, **self._params(params)})

    def call_tool(self, name: str, arguments: Mapping[str, Json]) -> Message:
        """Call a tool. The result is as it came: `content`, `structuredContent`, `isError`."""
        return self.request("tools/call", {"name": name, "arguments": dict(arguments)})

    def send_raw(self, line: bytes) -> None:
        """Send bytes as they are, for what no honest client would send."""
        pipe = self._process.stdin
        assert pipe is not None
        view = memoryview(line)
        try:
            while view:
                view = view[pipe.write(view) or 0 :]
        except BrokenPipeError:
            raise self._died("closed its input") from None

    def close(self, within: float = 10.0) -> int:
        """Close the server's input, wait for its end, and return its exit code. A second call changes nothing."""
        process = self._process
        if not self._errors.closed:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            try:
                process.wait(within)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self._read_stderr()
            self._errors.close()
        assert process.returncode is not None
        return process.returncode

    def _params(self, params: Mapping[str, Json] | None) -> Message:
        if not self._meta:
            return {} if params is None else {"params": dict(params)}
        return {"params": {**(params or {}), "_meta": self._meta}}

    def _send(self, message: Message) -> None:
        self.send_raw(json.dumps(message).encode() + b"\n")

    def _receive(self, deadline: float) -> Message:
        """The next line from the server. A line that is no JSON object is an error: stdout is the protocol's."""
        pipe = self._process.stdout
        assert pipe is not None
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise self._died(f"said nothing for {self.timeout} s")
            chunk = os.read(pipe.fileno(), 1 << 20)
            if not chunk:
                raise self._died("closed its output")
            self.received += len(chunk)
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return _object(json.loads(line))

    def _died(self, what: str) -> ServerDiedError:
        self._read_stderr()
        return ServerDiedError(f"the server {what}; its stderr:\n{self.stderr[-4000:]}")

    def _read_stderr(self) -> None:
        self._errors.seek(0)
        self.stderr = self._errors.read().decode(errors="replace")


class RawServer(RawClient):
    """A server started by a command, as hosts start it; `started` is when, by `time.perf_counter`."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = 30.0,
    ) -> None:
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close, with the process
        self.started = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            bufsize=0,
        )
        super().__init__(process, errors, timeout)


def _object(value: Json) -> Message:
    if not isinstance(value, dict):
        raise TypeError(f"not a JSON object: {value!r:.200}")
    return cast("Message", value)
