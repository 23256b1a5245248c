"""Servers killed with SIGKILL at random moments under load: what they acknowledged is there, and the next one serves.

A short form runs with the suite; `pytest -m chaos` runs 300 kills.
"""

import os
import random
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.stdio import ServerDiedError
from benchmarks.writers import RefusedError, Writer, Written, lost, sound
from tests.processes.servers import server, told

SERVERS = 2
LONGEST_LIFE = 0.6  # seconds of work before a kill

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


def storm(bank: Path, kills: int, seed: int) -> tuple[list[Written], list[str]]:
    """Kill servers that write until `kills` have died; what was acknowledged, and what was refused."""
    chance = random.Random(seed)
    written: list[Written] = []
    refused: list[str] = []
    for generation in range(-(-kills // SERVERS)):
        running = [server(bank) for _ in range(SERVERS)]
        writers = [Writer(one, f"g{generation}s{number}") for number, one in enumerate(running)]
        threads = [threading.Thread(target=_work, args=(writer, refused)) for writer in writers]
        for thread in threads:
            thread.start()
        while not all(writer.written for writer in writers) and any(thread.is_alive() for thread in threads):
            time.sleep(0.01)
        for one in running:
            time.sleep(chance.random() * LONGEST_LIFE / SERVERS)
            os.kill(one.pid, signal.SIGKILL)
        for thread in threads:
            thread.join()
        for one in running:
            one.close()
        written += [one for writer in writers for one in writer.written]
        assert lost(bank, written[-2000:]) == []
    return written, refused


def _work(writer: Writer, refused: list[str]) -> None:
    with suppress(ServerDiedError, BrokenPipeError):
        while True:
            try:
                writer.write()
            except RefusedError as error:
                refused.append(str(error))


def _holds(bank: Path, kills: int) -> None:
    written, refused = storm(bank, kills, seed=kills)
    assert (lost(bank, written), refused) == ([], [])
    with server(bank) as after:
        told(after, "store_lesson", {"mistake": "Was killed in the middle", "correction": "Start again"})
        assert told(after, "recall_lessons", {"task": "was killed in the middle"})["lessons"]
    assert sound(bank)
    print(f"{kills} kills: {len(written)} acknowledged writes, none lost, none refused, integrity ok")  # noqa: T201


def test_what_was_acknowledged_outlives_four_kills(bank_path: Path) -> None:
    _holds(bank_path, 4)


@pytest.mark.chaos
def test_what_was_acknowledged_outlives_300_kills(bank_path: Path) -> None:
    _holds(bank_path, 300)
