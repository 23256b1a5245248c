"""Good calls over HTTP beside 1,000 hostile connections: `python -m benchmarks.hostile_http [--files N]`.

A server as a process, with a limit on open files (`ulimit -n`) where `--files` says one. Hostile are unfinished bodies
of almost 4 MB, heads that never end, connections that send nothing, and JSON that is nested 100,000 deep; with
`--bodies N`, N unfinished bodies alone. Beside them, recalls of a client that keeps one connection, and of one that
opens another for each call. Printed are the answers to the hostile ones, the server's memory before, with and after
them, and how long the good calls took.
"""

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

EACH: Final = 250
CALLS: Final = 100
HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "recall_lessons",
}
CLIENT: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
RECALL: Final = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "recall_lessons",
            "arguments": {"task": "deploy the shop"},
            "_meta": CLIENT,
        },
    }
).encode()


def recall(connection: HTTPConnection) -> int:
    """Return the status of a recall."""
    connection.request("POST", "/mcp", RECALL, HEADERS)
    response = connection.getresponse()
    content = response.read()
    return response.status if b"recall_id" in content else -response.status


def timed(address: str, *, keep: bool) -> tuple[list[float], int]:
    """Return the seconds of good calls, and how many had to be sent again or failed."""
    seconds: list[float] = []
    failed = 0
    connection = HTTPConnection(address, timeout=30)
    for _ in range(CALLS):
        if not keep:
            connection.close()
        began = time.perf_counter()
        try:
            failed += recall(connection) != 200
        except (OSError, HTTPException):
            failed += 1
            connection.close()
        seconds.append(time.perf_counter() - began)
    connection.close()
    return sorted(seconds), failed


def hostile(host: str, port: int, kind: int) -> socket.socket:
    """Return an open connection that has sent what its kind sends."""
    connection = socket.create_connection((host, port), timeout=30)
    head = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\n" + "".join(
        f"{k}: {v}\r\n" for k, v in HEADERS.items()
    )
    deep = b"[" * 100_000
    with suppress(OSError):
        match kind:
            case 0:
                connection.sendall(
                    head.encode() + b"Content-Length: 4000000\r\n\r\n" + b"x" * 3_900_000
                )
            case 1:
                connection.sendall(head.encode())
            case 2:
                pass
            case _:
                connection.sendall(
                    head.encode() + f"Content-Length: {len(deep)}\r\n\r\n".encode() + deep
                )
    return connection


def status(connection: socket.socket) -> str:
    """Return the status of what came back, if anything did."""
    connection.settimeout(0.05)
    try:
        return connection.recv(100).split(b" ", 2)[1].decode()
    except TimeoutError:
        return "open"
    except (OSError, IndexError):
        return "closed"


def memory(process: int) -> str:
    """Return the most memory that a process has had."""
    line = next(
        line
        for line in Path(f"/proc/{process}/status").read_text().split("\n")
        if line.startswith("VmHWM")
    )
    return f"{int(line.split()[1]) // 1024} MB at most"


def main() -> int:
    """Print every figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, help="the server's limit on open files")
    parser.add_argument(
        "--bodies", type=int, help="so many unfinished bodies, and nothing else that is hostile"
    )
    options = parser.parse_args()
    files: int | None = options.files
    kinds: list[int] = (
        [0] * options.bodies if options.bodies else [place % 4 for place in range(4 * EACH)]
    )
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )
    limit = f"ulimit -n {files}; " if files else ""
    with tempfile.TemporaryDirectory() as folder:
        command = ["sh", "-c", f"{limit}exec {sys.executable} -m mcp_reflect serve --http 0"]
        env = {
            **os.environ,
            "MCP_REFLECT_BANK": f"{folder}/bank.db",
            "MCP_REFLECT_MAX_CALLS_PER_MINUTE": "0",
        }
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None  # noqa: S101 - asked for above
            address: str = urlsplit(str(server.stdout.readline()).strip()).netloc
            host, port = address.split(":")
            try:
                _print_calls("alone", address)
                print("memory before:", memory(server.pid))
                connections = [hostile(host, int(port), kind) for kind in kinds]
                print("memory with them:", memory(server.pid))
                _print_calls(f"beside {len(kinds)} hostile connections", address)
                for kind, name in enumerate(
                    ("unfinished bodies", "unfinished heads", "silent", "deep JSON")
                ):
                    found = [
                        status(one)
                        for one, own in zip(connections, kinds, strict=True)
                        if own == kind
                    ]
                    print(f"{name}:", dict(Counter(found)))
                for connection in connections:
                    connection.close()
                time.sleep(1)
                print("memory after:", memory(server.pid))
                _print_calls("afterwards", address)
            finally:
                server.kill()
    return 0


def _print_calls(when: str, address: str) -> None:
    for keep in (True, False):
        seconds, failed = timed(address, keep=keep)
        name = "one connection" if keep else "a connection each"
        middle, longest = 1000 * seconds[len(seconds) // 2], 1000 * seconds[-1]
        print(
            f"{when}, {name}: {failed} of {CALLS} failed, median {middle:.0f} ms, longest {longest:.0f} ms"
        )


if __name__ == "__main__":
    sys.exit(main())
