"""Many servers on one bank: `python -m benchmarks.sharing`.

Starts 2 and then 8 servers on a bank whose file is not there yet, has each do 500 writes by a mix of
tools at once, and looks into the file for each write that was acknowledged. Prints how many were lost or
refused and how long the slowest took. Exits with 1 where one was lost, refused, or took more than 10 s.
"""

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.stdio import RawServer
from benchmarks.writers import RefusedError, Writer, lost, sound

SLOWEST_ALLOWED: Final = 10.0


class Storm(NamedTuple):
    """What became of the writes: `seconds` of all of them, sorted, and the time from the first to the last."""

    seconds: list[float]
    refused: list[str]
    lost: int
    sound: bool
    took: float


def storm(bank: Path, servers: int, writes: int) -> Storm:
    """`servers` servers, started at once on `bank`, do `writes` writes each."""
    running = [_server(bank) for _ in range(servers)]
    refused: list[str] = []
    writers = [Writer(one, f"w{number}") for number, one in enumerate(running)]
    ready = threading.Barrier(servers + 1)

    def work(server: RawServer, writer: Writer) -> None:
        server.open()
        ready.wait()
        for _ in range(writes):
            try:
                writer.write()
            except RefusedError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work, args=pair) for pair in zip(running, writers, strict=True)]
    for thread in threads:
        thread.start()
    ready.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - start
    for one in running:
        one.close()
    written = [one for writer in writers for one in writer.written]
    missing = len(lost(bank, written)) + servers * writes - len(refused) - len(written)
    return Storm(sorted(each for writer in writers for each in writer.seconds), refused, missing, sound(bank), took)


def _server(bank: Path) -> RawServer:
    env = {"MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": "app"}
    return RawServer((sys.executable, "-m", "mcp_reflect"), env=env, timeout=120)


def main() -> int:
    """Run the storms that the arguments name, and print a line for each."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--servers", type=int, nargs="+", default=[2, 8])
    words.add_argument("--writes", type=int, default=500)
    given = words.parse_args()
    failed = False
    for servers in given.servers:
        with tempfile.TemporaryDirectory() as folder:
            found = storm(Path(folder) / "data" / "bank.db", servers, given.writes)
        middle, late = (found.seconds[int(len(found.seconds) * share)] for share in (0.5, 0.99))
        print(
            f"{servers} servers × {given.writes} writes: lost {found.lost}, refused {len(found.refused)}, "
            f"p50 {middle * 1000:.0f} ms, p99 {late * 1000:.0f} ms, slowest {found.seconds[-1]:.2f} s, "
            f"{len(found.seconds) / found.took:.0f} writes a second, integrity {'ok' if found.sound else 'BROKEN'}"
        )
        for line in sorted(set(found.refused))[:5]:
            print(f"  refused: {line[:200]}")
        failed |= bool(found.lost or found.refused or not found.sound or found.seconds[-1] > SLOWEST_ALLOWED)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
