"""How long other calls wait while the server reads one that is very large: python -m benchmarks.pauses.

A server over stdio gets a large `critique`, and then pings until its answer is there, each 5 ms after the answer to the
one before. A ping that lies behind the large line waits until the line is read, whatever the server does, so pings are
sent from the moment when the server has taken the line from the pipe. One line a case: the longest wait and the median
of pings, in milliseconds. Over stdio a line of more than 4 MiB is refused.
"""

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.clients.stdio import RawServer

_EVERY: Final = 0.005  # seconds between an answer and the next ping
_LOOK: Final = 0.001
_ANSWER: Final = 1_000_000  # the id of the large call
_LINE: Final = "test_shop.py::test_price[{}] PASSED 12 rows, 3.5 ms, checksum 8f14e45f\n"


def cases() -> dict[str, dict[str, Any]]:
    """Return large calls by their names."""
    work = {
        "goal": "Repair the shop's tests",
        "response": "All 40 tests pass. The build takes 3 seconds.",
    }
    megabyte = "".join(map(_LINE.format, range(13_500)))
    many = [
        {"tool": f"pytest part_{place}", "content": "3 passed in 0.1s", "exit_code": 0}
        for place in range(10_000)
    ]
    return {
        "20 results of 1 MB": {
            **work,
            "tool_results": [{"tool": "pytest -v", "content": megabyte}] * 20,
        },
        "10,000 results": {**work, "tool_results": many},
        "a claim of 50,000 characters": {
            **work,
            "response": "All tests pass " + "and pass again " * 3_300,
        },
    }


def waits(server: RawServer, arguments: Mapping[str, Any]) -> list[float]:
    """Call `critique`, and return how long each ping beside it took, in milliseconds."""
    call = {"name": "critique", "arguments": arguments}
    line = (
        json.dumps(
            {"jsonrpc": "2.0", "id": _ANSWER, "method": "tools/call", "params": call}
        ).encode()
        + b"\n"
    )
    sent: dict[int, float] = {}
    took: list[float] = []
    done = threading.Event()

    def write() -> None:
        server.send_raw(line)
        while not done.is_set():
            sent[number := len(sent) + 1] = time.perf_counter()
            server.send_raw(
                json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}).encode() + b"\n"
            )
            done.wait(_EVERY)
            while len(took) < len(sent) and not done.is_set():
                done.wait(_LOOK)  # each ping waits for itself alone, not for those before it

    writer = threading.Thread(target=write)
    writer.start()
    left = True
    while left or len(took) < len(sent):
        message = server.next_message()
        number = message.get("id")
        if number == _ANSWER:
            left = False
            done.set()
            writer.join()
        elif isinstance(number, int):
            took.append((time.perf_counter() - sent[number]) * 1_000)
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        env = {"MCP_REFLECT_BANK": str(Path(folder) / "bank.db"), "MCP_REFLECT_LOG_LEVEL": "error"}
        with RawServer((sys.executable, "-m", "mcp_reflect"), env=env, timeout=120) as server:
            server.open()
            server.call_tool(
                "critique", {"goal": "Add", "response": "1 + 1 = 2"}
            )  # what it imports, it has imported
            for name, arguments in cases().items():
                found = [waits(server, arguments) for _ in range(rounds)]
                most = ", ".join(f"{max(took):.0f}" for took in found)
                pings = [wait for took in found for wait in took]
                print(
                    f"{name:30} longest {most} ms; {len(pings)} pings, median {statistics.median(pings):.1f} ms"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
