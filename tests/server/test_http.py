"""The server over HTTP, as a process: for this machine alone, with the same answers in both eras."""

import json
import signal
import socket
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from mcp import Client

from benchmarks.forked import Forked, run_forked
from mcp_reflect.config import DEFAULT
from mcp_reflect.server.http import Message, Receive, RequestLimits, Send
from tests.conftest import Era
from tests.server.calls import told
from tests.server.servers import LESSON

OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
SENT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@contextmanager
def serving(bank: Path) -> Generator[tuple[str, Forked]]:
    env = {"MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": "app"}
    with Forked(("serve", "--http", "0"), env) as process:
        yield process.stdout.readline().decode().strip(), process


def answer(url: str, body: bytes, length: int | None = None, **headers: str) -> int:
    """The status of a request; `length` announces more than is sent."""
    sent = {**SENT, "Content-Length": str(length or len(body)), **headers}
    place = urlsplit(url)
    with closing(HTTPConnection(place.netloc, timeout=20)) as connection:
        connection.request("POST", place.path, body, sent)
        return connection.getresponse().status


async def test_both_eras_store_and_recall_over_http(bank_path: Path, era: Era) -> None:
    with serving(bank_path) as (url, process):
        async with Client(url, mode=era) as client:
            stored = await told(client, "store_lesson", LESSON)
            found = await told(client, "recall_lessons", {"task": "deploy on a Friday"})
            assert [hit["id"] for hit in found["lessons"]] == [stored["lesson_id"]]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in {0, -signal.SIGTERM}


def test_http_is_for_this_machine_and_its_own_pages_alone(bank_path: Path) -> None:
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OPENING}).encode()
    with serving(bank_path) as (url, _):
        assert urlsplit(url).hostname == "127.0.0.1"
        assert answer(url, hello) == 200
        assert answer(url, hello, Host="evil.example.com") == 421
        assert answer(url, hello, Host=f"{urlsplit(url).netloc}.evil.example.com") == 421
        assert answer(url, hello, Origin="http://evil.example.com") == 403
        assert answer(url, hello, Origin=f"http://{urlsplit(url).netloc}.evil.example.com") == 403
        assert answer(url, hello, Origin=f"http://{urlsplit(url).netloc}") == 200
        assert answer(url, b"[" * 100_000) == 400
        assert answer(url, hello, length=5 << 20) == 413


async def _answered(app: RequestLimits, *pieces: bytes, length: bytes = b"3") -> tuple[int, bytes]:
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

    await app({"type": "http", "headers": [(b"content-length", length)]}, receive, send)
    return sent[0]["status"], sent[1]["body"]


async def _echo(_: Message, receive: Receive, send: Send) -> None:
    whole = b""
    while (piece := await receive())["more_body"]:
        whole += piece["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": whole})


async def test_a_body_that_does_not_come_is_refused_by_the_limits_name() -> None:
    status, said = await _answered(RequestLimits(_echo, DEFAULT, seconds=0.01), b"{")
    assert (status, said) == (408, b"body: it did not come within 0.01 s. Send it at once.")
    assert await _answered(RequestLimits(_echo, DEFAULT), b"{", b"}", b"") == (200, b"{}")


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


@pytest.mark.parametrize("port", ["-1", "65536", "eighty"])
def test_a_port_that_is_none_is_refused(port: str) -> None:
    done = run_forked(("serve", "--http", port))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--http" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_another_has_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = run_forked(("serve", "--http", port))
    assert done.returncode == 2
    assert f"--http: 127.0.0.1:{port} cannot be used" in done.stderr
