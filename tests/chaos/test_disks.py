"""Disks and file systems that refuse: a clear error, recalls as far as can be, and recovery without a restart."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite.backup import backup
from tests.server.servers import LESSON, ROOT, server, started_server, told

TASK = {"task": "deploy on a Friday"}
# Mounting changes the machine: only a machine that is there for tests.
MAY_CHANGE_THE_MACHINE = (
    sys.platform == "linux" and os.geteuid() == 0 and bool(os.environ.get("CI"))
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if (
        not MAY_CHANGE_THE_MACHINE
        or subprocess.run(mounted, capture_output=True, check=False).returncode
    ):
        pytest.skip("a small disk is mounted by root, if CI is set")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def _fill(file: Path) -> None:
    with file.open("ab", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))


def test_a_full_disk_is_told_and_recalls_go_on_and_room_is_all_it_needs(small_disk: Path) -> None:
    with server(small_disk / "bank.db") as running:
        stored = told(running, "store_lesson", LESSON)
        with pytest.raises(OSError, match="No space"):
            _fill(small_disk / "filler")
        said = ""
        for number in range(30):
            long = {
                "mistake": f"Filled the disk {number} " + "x" * 4000,
                "correction": "Free some space",
            }
            result = running.call_tool("store_lesson", long)
            if result.get("isError"):
                said = str(result["content"])
                break
        assert "cannot grow: the disk is full. Free some space and try again" in said
        assert [hit["id"] for hit in told(running, "recall_lessons", TASK)["lessons"]] == [
            stored["lesson_id"]
        ]
        (small_disk / "filler").unlink()
        told(running, "store_lesson", {**LESSON, "mistake": "Filled the disk"})


def test_who_starts_on_a_full_disk_recalls_and_room_is_all_it_needs(small_disk: Path) -> None:
    with server(small_disk / "bank.db") as running:
        told(running, "store_lesson", LESSON)
    with pytest.raises(OSError, match="No space"):
        _fill(small_disk / "filler")
    with server(small_disk / "bank.db") as running:
        assert told(running, "recall_lessons", TASK)["lessons"]
        said = str(
            running.call_tool("store_lesson", {**LESSON, "mistake": "Filled the disk"})["content"]
        )
        assert "the disk is full. Free some space" in said
        (small_disk / "filler").unlink()
        stored = told(
            running, "store_lesson", {"mistake": "Filled the disk", "correction": "Free some space"}
        )
        found = told(running, "recall_lessons", {"task": "filled the disk"})["lessons"]
        assert [hit["id"] for hit in found] == [stored["lesson_id"]]


def test_a_disk_that_is_only_read_can_be_copied_and_what_others_write_later_is_seen(
    small_disk: Path,
) -> None:
    with server(small_disk / "bank.db") as running:
        told(running, "store_lesson", LESSON)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with server(small_disk / "bank.db") as running:
        assert told(running, "recall_lessons", TASK)["lessons"]
        copy = small_disk.parent / "copy.db"
        assert backup(small_disk / "bank.db", copy) > 0
        subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
        with server(small_disk / "bank.db") as other:
            told(
                other,
                "store_lesson",
                {"mistake": "Filled the disk", "correction": "Free some space"},
            )
        assert told(running, "recall_lessons", {"task": "filled the disk"})["lessons"]
        stored = told(
            running, "store_lesson", {"mistake": "Lost the key", "correction": "Hang the key up"}
        )
        found = told(running, "recall_lessons", {"task": "lost the key"})["lessons"]
        assert [hit["id"] for hit in found] == [stored["lesson_id"]]
    with server(copy) as copied:
        assert told(copied, "recall_lessons", TASK)["lessons"]


AS_NOBODY = """
import asyncio, os, sys
os.setgid(65534); os.setuid(65534)
from pathlib import Path
from mcp_reflect.services.engine import Engine
from mcp_reflect.errors import BankError
from mcp_reflect.config import Settings

async def main():
    async with Engine(Settings(bank=Path(sys.argv[1]), project="app")) as engine:
        for call in (engine.store_lesson(mistake="a b", correction="c d"), engine.recall(task="deploy on a Friday")):
            try:
                print(len((await call).lessons))
            except BankError as error:
                print(error)

asyncio.run(main())
"""


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can become another user"
)
@pytest.mark.parametrize(
    ("file", "folder", "write", "read"),
    [
        (0o600, 0o700, "Permission denied", "Permission denied"),
        (0o600, 0o755, "cannot be", "cannot be"),
        (0o644, 0o755, "can only be read: the file or its folder may not be written", "1"),
    ],
)
def test_who_has_no_right_is_told_or_reads(
    bank_path: Path, file: int, folder: int, write: str, read: str
) -> None:
    for above in (
        bank_path.parent.parent,
        bank_path.parent.parent.parent,
        bank_path.parent.parent.parent.parent,
    ):
        if above.is_relative_to("/tmp/pytest-of-root"):  # noqa: S108 - where pytest keeps a user's folders
            above.chmod(0o755)
    with server(bank_path) as running:
        told(running, "store_lesson", LESSON)
    bank_path.chmod(file)
    bank_path.parent.chmod(folder)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(bank_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if "ModuleNotFoundError" in done.stderr or "Permission denied: " in done.stderr:
        pytest.skip("another user cannot run this checkout")
    said = done.stdout.splitlines()
    assert write in said[0]
    assert read in said[1]


WITHOUT_SHARED_MEMORY = """
import asyncio, ctypes, sys
lib = ctypes.CDLL(sys.argv[2])
lib.sqlite3_vfs_find.restype = ctypes.c_void_p
lib.sqlite3_vfs_register(ctypes.c_void_p(lib.sqlite3_vfs_find(b"unix-dotfile")), 1)
from pathlib import Path
from mcp_reflect.errors import BankError
from mcp_reflect.services.engine import Engine
from mcp_reflect.config import Settings

async def main():
    async with Engine(Settings(bank=Path(sys.argv[1]), project="app")) as engine:
        try:
            await engine.store_lesson(mistake="Used a network drive", correction="Use a disk")
        except BankError as error:
            print(error)

asyncio.run(main())
"""


def shared_sqlite() -> str | None:
    """The library that Python's own module has loaded, where it is one apart."""
    import sqlite3  # noqa: PLC0415 - loads it

    del sqlite3
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    return next((line.split()[-1] for line in lines if "libsqlite3.so" in line), None)


@pytest.mark.parametrize("made_elsewhere", [False, True])
def test_where_no_memory_can_be_shared_the_bank_is_refused(
    bank_path: Path, *, made_elsewhere: bool
) -> None:
    library = shared_sqlite()
    if library is None:
        pytest.skip("Python brings its own SQLite")
    if made_elsewhere:
        with server(bank_path) as running:
            told(running, "store_lesson", LESSON)
    command = [sys.executable, "-c", WITHOUT_SHARED_MEMORY, str(bank_path), library]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "is on a drive where processes cannot share memory" in done.stdout, done.stderr


def test_a_suspended_writer_is_told_and_recalls_go_on(bank_path: Path) -> None:
    with server(bank_path) as running:
        told(running, "store_lesson", LESSON)
    holding = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(bank_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert holding.stdout is not None
        assert holding.stdout.readline() == "held\n"
        os.kill(holding.pid, signal.SIGSTOP)
        with started_server(bank_path, command=(sys.executable, "-c", HASTY)) as running:
            assert told(running, "recall_lessons", TASK)["lessons"]
            said = str(
                running.call_tool("store_lesson", {**LESSON, "mistake": "Waited for a sleeper"})[
                    "content"
                ]
            )
            assert "is held by another process. Try again, or end the process that holds it" in said
            os.kill(holding.pid, signal.SIGCONT)
            holding.communicate("now\n", timeout=60)
            told(running, "store_lesson", {**LESSON, "mistake": "Waited for a sleeper"})
    finally:
        holding.kill()
        holding.wait()


# The server, which waits for a writer for less time than its client waits for it.
HASTY = """
from dataclasses import replace
from mcp_reflect.config import Settings
from mcp_reflect.server.app import build

build(replace(Settings.from_env(), bank_busy_seconds=0.3)).run("stdio")
"""

HOLDING = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
c.execute("ROLLBACK")
"""


class BackwardClock(Clock):
    """A clock that is set back by a day at each look."""

    def __init__(self) -> None:
        self._now = 2_000_000_000.0

    def now(self) -> float:
        self._now -= 86_400
        return self._now


async def test_a_clock_that_is_set_back_loses_and_mixes_up_nothing(bank_path: Path) -> None:
    async with Engine(Settings(bank=bank_path, project="app"), clock=BackwardClock()) as engine:
        ids = [
            (
                await engine.store_lesson(
                    mistake=f"Mistake number {number}x", correction=f"Mend {number}x"
                )
            ).lesson_id
            for number in range(5)
        ]
        found = await engine.recall(task="Mistake number 3x", limit=5)
        assert ids[3] in [hit.id for hit in found.lessons]
        assert min(hit.age_days for hit in found.lessons) >= 0
        updated = (await engine.record_outcome(success=True, recall_id=found.recall_id)).updated
        assert {one.id for one in updated} == {hit.id for hit in found.lessons}
        assert len(set(ids)) == 5
