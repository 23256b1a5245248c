"""The limits on bodies, requests and connections over HTTP: what only waits makes way."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
import uvicorn

from mcp_reflect.limits import DEFAULT
from mcp_reflect.server import http
from mcp_reflect.server.http import Connection, Message, Receive, RequestLimits, Send


async def _answered(
    app: RequestLimits, *pieces: bytes, length: bytes = b"3", path: str = "/mcp"
) -> tuple[int, bytes]:
    """The status and body of the answer to a request whose body comes in `pieces`, and never ends where none is b""."""
    left = list(pieces)
    sent: list[Message] = []

    async def receive() -> Message:
        if not left:
            await anyio.sleep_forever()
        piece = left.pop(0)
        return {"type": "http.request", "body": piece, "more_body": piece != b""}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"content-length", length)]
    await app({"type": "http", "path": path, "headers": headers}, receive, send)
    return sent[0]["status"], sent[1]["body"]


async def _echo(_: Message, receive: Receive, send: Send) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def test_a_body_that_does_not_come_is_refused_by_the_limits_name() -> None:
    status, said = await _answered(RequestLimits(_echo, DEFAULT, seconds=0.01), b"{")
    assert (status, said[:42]) == (408, b"body: it did not come within 0.01 s, or to")
    assert await _answered(RequestLimits(_echo, DEFAULT), b"{", b"}", b"") == (200, b"{}")


async def test_unfinished_bodies_hold_so_many_bytes_and_the_longest_awaited_makes_way() -> None:
    app, piece = RequestLimits(_echo, DEFAULT), b"x" * (4 << 20)
    answers: list[int] = []

    async def send_half() -> None:
        answers.append((await _answered(app, piece))[0])

    async with anyio.create_task_group() as group:
        for _ in range(http.MOST_UNFINISHED_BYTES // len(piece) + 3):
            group.start_soon(send_half)
        await anyio.wait_all_tasks_blocked()
        assert answers == [408] * 3
        assert await _answered(app, b"y", b"") == (200, b"y")
        group.cancel_scope.cancel()


async def test_more_requests_than_may_be_open_are_refused_by_the_limits_name() -> None:
    inside: list[tuple[int, bytes]] = []

    async def asks_again(scope: Message, receive: Receive, send: Send) -> None:
        if not inside:
            inside.append(await _answered(app, b""))
        await _echo(scope, receive, send)

    app = RequestLimits(asks_again, replace(DEFAULT, max_http_requests=1))
    assert await _answered(app, b"x", b"") == (200, b"x")
    assert inside == [(503, b"requests: 1 are open already. Close one first.")]
    assert await _answered(app, b"y", b"") == (200, b"y")


async def test_a_body_that_is_too_large_is_413_announced_or_not() -> None:
    app = RequestLimits(_echo, DEFAULT, seconds=1)
    assert (await _answered(app, length=b"9" * 30))[0] == 413
    assert (await _answered(app, *[b"x" * (1 << 20)] * 5, b""))[0] == 413
    assert await _answered(app, b"x", b"") == (200, b"x")


async def test_a_body_that_logs_in_is_413_over_8_kib() -> None:
    app = RequestLimits(_echo, DEFAULT, seconds=1)
    fields = b"a=1&" * 3_000
    assert (await _answered(app, fields, b"", path="/login"))[0] == 413
    assert (await _answered(app, length=b"9000", path="/login"))[0] == 413
    assert await _answered(app, b"token=x", b"", path="/login") == (200, b"token=x")
    assert (await _answered(app, fields, b"", path="/api/hook"))[0] == 200


@asynccontextmanager
async def _serving(connection: type[Connection], seconds: int) -> AsyncGenerator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        about: Any = {
            "http": connection,
            "timeout_keep_alive": seconds,
            "lifespan": "off",
            "log_level": "critical",
        }
        server = uvicorn.Server(uvicorn.Config(_echo, **about))
        task = asyncio.create_task(server.serve([listener]))
        async with asyncio.timeout(20):
            yield listener.getsockname()
        server.should_exit = True
        await task


@pytest.mark.parametrize(
    "sent", [b"", b"POST /mcp HTTP/1.1\r\nHost: x\r\n"], ids=["nothing", "half of a head"]
)
async def test_a_connection_on_which_no_request_comes_is_closed(sent: bytes) -> None:
    async with _serving(Connection, 1) as place:
        reader, writer = await asyncio.open_connection(*place)
        writer.write(sent)
        assert await reader.read() == b""
        writer.close()


async def test_the_oldest_connection_that_waits_makes_way_for_another() -> None:
    class Few(Connection):
        most = 1

    async with _serving(Few, 60) as place:
        oldest, writer = await asyncio.open_connection(*place)
        _, other = await asyncio.open_connection(*place)
        assert await oldest.read() == b""
        writer.close()
        other.close()
