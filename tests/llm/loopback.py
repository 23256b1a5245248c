"""A real HTTP server on loopback that plays a script: one step for each request, faults included."""

import asyncio
import json
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from mcp_reflect.models.common import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as it came in; header names are in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole HTTP response."""

    status: int = 200
    body: "Json | bytes" = None
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Drop:
    """Sends the headers and half of a body, then closes the connection."""


@dataclass(frozen=True, slots=True)
class HangUp:
    """Closes the connection without a word."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Says nothing until the client goes away."""


@dataclass(frozen=True, slots=True)
class Trickle:
    """Sends a body byte by byte without end, until the client goes away."""


@dataclass(frozen=True, slots=True)
class Flood:
    """Sends a body of a megabyte at a time without end, until the client goes away."""


Step = Answer | Drop | HangUp | Hang | Trickle | Flood


class Loopback:
    """Plays `steps` in order and keeps what it received. It fails on a request too many and on a step left over.

    With `answer`, it is asked for the step of each request that comes when `steps` are at their end.
    `arrived` is set when a request has come in whole; `client_left` waits until the client of an endless
    step has gone away.
    """

    def __init__(self, *steps: Step, answer: Callable[[Received], Step] | None = None) -> None:
        self._steps = list(steps)
        self._answer = answer
        self._unexpected: list[Received] = []
        self._handlers: set[asyncio.Task[None]] = set()
        self.received: list[Received] = []
        self.arrived = asyncio.Event()
        self._gone = asyncio.Event()
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self._server.close()
        if self._handlers:
            await asyncio.wait(self._handlers, timeout=60)
        await self._server.wait_closed()
        if kind is None:
            assert not self._unexpected, f"unexpected request to {self._unexpected[0].path}"
            assert not self._steps, f"steps left over: {self._steps}"

    async def client_left(self) -> None:
        async with asyncio.timeout(60):
            await self._gone.wait()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        task.add_done_callback(self._handlers.discard)
        try:
            with suppress(ConnectionError):
                await self._serve(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _read(reader)
        if not self._steps and self._answer is not None:
            self._steps.append(self._answer(request))
        if not self._steps:
            self._unexpected.append(request)
            await _send(writer, Answer(status=418))
            return
        self.received.append(request)
        step = self._steps.pop(0)
        self.arrived.set()
        match step:
            case Answer():
                await _send(writer, step)
            case Drop():
                writer.write(
                    _head(200, {"content-type": "application/json", "content-length": "1000"})
                )
                writer.write(b'{"id": "half of a')
                await writer.drain()
            case HangUp():
                pass
            case Hang():
                await reader.read()
                self._gone.set()
            case Trickle():
                await self._endless(reader, writer, b" ", pause=0.005)
            case Flood():
                await self._endless(reader, writer, b" " * 1_000_000, pause=0)

    async def _endless(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        piece: bytes,
        *,
        pause: float,
    ) -> None:
        writer.write(
            _head(200, {"content-type": "application/json", "content-length": "100000000000"})
        )
        left = asyncio.ensure_future(reader.read())
        try:
            while not left.done():
                writer.write(piece)
                await writer.drain()
                await asyncio.wait({left}, timeout=pause)
        finally:
            left.cancel()
            await asyncio.wait({left})
            self._gone.set()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(
        path=head[0].split(" ")[1], headers=headers, body=json.loads(body) if body else {}
    )


async def _send(writer: asyncio.StreamWriter, answer: Answer) -> None:
    body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        **answer.headers,
    }
    writer.write(_head(answer.status, headers) + body)
    await writer.drain()


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [
        f"HTTP/1.1 {status} -",
        *(f"{name}: {value}" for name, value in headers.items()),
        "connection: close",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def refused_url() -> str:
    """An address on loopback where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"
