"""The server over HTTP, as a process: for this machine alone, with the same answers in both eras."""

import json
import signal
import socket
from collections.abc import Generator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mcp import Client

from benchmarks.forked import Forked, run_forked
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
