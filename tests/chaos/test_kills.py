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
from typing import NamedTuple

import pytest

from tests.clients.forked import forked_server
from tests.clients.stdio import RawClient, ServerDiedError
from tests.clients.writers import RefusedError, Writer, Written, lost, sound
from tests.server.servers import server, told

LONGEST_LIFE = 0.5  # seconds of work before a kill
UNOPENED = 0.2  # the share of servers that are killed at a moment of their start, perhaps before they have the bank

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


class Storm(NamedTuple):
    """What became of it: kills done, writes acknowledged, what was refused, and how many were cut off in a call."""

    kills: int
    written: list[Written]
    refused: list[str]
    cut_off: int


def storm(bank: Path, kills: int, at_once: int) -> Storm:
    """Start `at_once` servers on `bank`, each with a writer that never rests, and kill each at a moment of its own.

    Then look for what was acknowledged; again until `kills` have died.
    """
    written: list[Written] = []
    refused: list[str] = []
    done = cut_off = 0
    while done < kills:
        lives = [
            _Life(forked_server(bank), f"{done}-{number}", refused)
            for number in range(min(at_once, kills - done))
        ]
        for life in lives:
            life.kill.join()
            life.work.join()
        fresh = [one for life in lives for one in life.writer.written]
        assert lost(bank, fresh) == []
        assert all(life.running.close() == -signal.SIGKILL for life in lives)
        written += fresh
        done += len(lives)
        cut_off += sum(life.cut_off for life in lives)
        assert sound(bank)
    return Storm(done, written, refused, cut_off)


class _Life:
    """A server, who writes on it, and who kills it."""

    def __init__(self, running: RawClient, name: str, refused: list[str]) -> None:
        self.running = running
        self.writer = Writer(running, name)
        self.cut_off = False
        self._refused = refused
        self._chance = random.Random(f"{name} lives")
        self._wrote = threading.Event()
        self.work = threading.Thread(target=self._work)
        self.kill = threading.Thread(target=self._kill)
        self.work.start()
        self.kill.start()

    def _work(self) -> None:
        with suppress(ServerDiedError, BrokenPipeError):
            self.running.open()
            while True:
                self.cut_off = True
                try:
                    self.writer.write()
                except RefusedError as error:
                    self._refused.append(str(error))
                self.cut_off = False
                self._wrote.set()
        self._wrote.set()

    def _kill(self) -> None:
        if self._chance.random() >= UNOPENED:
            self._wrote.wait()
        time.sleep(self._chance.random() * LONGEST_LIFE)
        os.kill(self.running.pid, signal.SIGKILL)


def _holds(bank: Path, kills: int, at_once: int) -> None:
    begun = time.monotonic()
    found = storm(bank, kills, at_once)
    assert (lost(bank, found.written), found.refused) == ([], [])
    assert found.written
    with server(bank) as after:
        told(
            after,
            "store_lesson",
            {"mistake": "Was killed in the middle", "correction": "Start again"},
        )
        assert told(after, "recall_lessons", {"task": "was killed in the middle"})["lessons"]
    assert sound(bank)
    print(  # noqa: T201
        f"{found.kills} kills, {found.cut_off} of them inside a call: {len(found.written)} acknowledged writes, none "
        f"lost or refused, integrity ok after each round, in {time.monotonic() - begun:.0f} s"
    )


def test_what_was_acknowledged_outlives_four_kills(bank_path: Path) -> None:
    _holds(bank_path, 4, at_once=2)


@pytest.mark.chaos
def test_what_was_acknowledged_outlives_300_kills(bank_path: Path) -> None:
    _holds(bank_path, 300, at_once=6)
