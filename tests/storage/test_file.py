"""The bank's file: made, kept private, refused where it is none; removed, moved or replaced while a server runs."""

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError, NotABankError
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.spool import Spool, append, waiting
from mcp_reflect.storage.sqlite.file_access import OpenedFile
from mcp_reflect.storage.sqlite.files import APPLICATION_ID, migrations, newest, statements
from mcp_reflect.storage.values import scoped
from tests.clients.forked import Forked

LESSON: dict[str, Any] = {
    "mistake": "Ran the tests without the environment",
    "correction": "Activate the environment first",
}
STORING = """
import asyncio, sys
from pathlib import Path
from mcp_reflect.services.engine import Engine
from mcp_reflect.config import Settings
from tests.clients.forked import Forked

async def main() -> None:
    async with Engine(Settings(bank=Path(sys.argv[1]), project="app")) as engine:
        stored = await engine.store_lesson(mistake=f"Mistake of {sys.argv[2]}", correction="Mend it")
        print(stored.lesson_id)

asyncio.run(main())
"""


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    """An engine that makes its bank itself."""
    async with Engine(settings) as made:
        yield made


async def test_a_new_bank_has_the_newest_schema_and_says_that_it_is_ours(
    engine: Engine, bank_path: Path
) -> None:
    opened = await engine.bank.open()
    assert isinstance(opened, OpenedFile)
    assert (opened.schema, opened.read_only) == (newest(), None)
    with closing(sqlite3.connect(bank_path)) as other:
        assert other.execute("PRAGMA user_version").fetchone() == (migrations()[-1][0],)
        assert other.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_an_empty_file_becomes_a_bank(engine: Engine, bank_path: Path) -> None:
    bank_path.parent.mkdir()
    bank_path.touch()
    assert (await engine.store_lesson(**LESSON)).status == "stored"


async def test_nobody_else_may_read_the_bank_or_its_log(engine: Engine, bank_path: Path) -> None:
    await engine.store_lesson(**LESSON)
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in bank_path.parent.iterdir()}
    assert modes == {"bank.db": "0o600", "bank.db-wal": "0o600", "bank.db-shm": "0o600"}
    assert oct(bank_path.parent.stat().st_mode & 0o777) == "0o700"


def test_four_processes_that_start_at_once_make_one_bank(bank_path: Path) -> None:
    words = ("alpha", "beta", "gamma", "delta")
    processes = [Forked([str(bank_path), word], code=STORING) for word in words]
    ids = {process.stdout.read().decode().strip() for process in processes}
    assert [process.wait(timeout=60) for process in processes] == [0] * 4
    for process in processes:
        process.close()
    with closing(sqlite3.connect(bank_path)) as other:
        assert {row[0] for row in other.execute("SELECT id FROM lessons")} == ids
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert len(ids) == 4


KILLED = """
import os, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute('PRAGMA journal_mode = ' + sys.argv[2])
c.execute('CREATE TABLE theirs (a)')
c.execute('PRAGMA wal_checkpoint')
c.execute("INSERT INTO theirs VALUES ('precious')")
os._exit(0)
"""


def foreign(path: Path, *, mode: str) -> None:
    """A database of another program, as a process that was killed leaves it: with its log beside it."""
    path.parent.mkdir()
    subprocess.run([sys.executable, "-c", KILLED, str(path), mode], check=True)


@pytest.mark.parametrize("mode", ["delete", "wal"])
async def test_a_database_of_another_program_is_refused_and_not_a_byte_of_it_changes(
    engine: Engine, bank_path: Path, mode: str
) -> None:
    foreign(bank_path, mode=mode)
    before = {
        path.name: path.read_bytes()
        for path in bank_path.parent.iterdir()
        if not path.name.endswith("-shm")
    }
    with pytest.raises(
        NotABankError, match=f"{bank_path} is a database of another program; it was left as it is"
    ):
        await engine.store_lesson(**LESSON)
    after = {
        path.name: path.read_bytes()
        for path in bank_path.parent.iterdir()
        if not path.name.endswith("-shm")
    }
    assert after == before


async def test_a_file_that_was_never_to_be_a_database_is_refused_and_left_as_it_is(
    tmp_path: Path,
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("just some notes of mine\n")
    async with Engine(Settings(bank=notes, project="app")) as engine:
        with pytest.raises(
            NotABankError,
            match=r"is not an SQLite database; it was left as it is\. Set MCP_REFLECT",
        ):
            await engine.recall(task="anything")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert notes.read_text() == "just some notes of mine\n"


@pytest.mark.parametrize("place", [".", "file/bank.db", "file/deeper/bank.db"])
async def test_a_path_that_cannot_be_a_file_is_named_with_what_to_set(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    async with Engine(Settings(bank=tmp_path / place, project="app")) as engine:
        for call in (
            engine.store_lesson(**LESSON),
            engine.recall(task="anything"),
            engine.get_stats(),
        ):
            with pytest.raises(
                BankError, match=r"cannot be used: .*Set MCP_REFLECT_BANK to a file"
            ):
                await call
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_migration_ends_where_its_statements_end() -> None:
    for _, script in migrations():
        assert json.dumps("".join(statements(script))) == json.dumps(script)


@pytest.mark.skipif(sys.platform == "win32", reason="no rights of a group there")
async def test_a_bank_that_others_can_read_is_closed_to_them_on_opening(
    settings: Settings, bank_path: Path
) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(mistake="Forgot the key", correction="Take the key")
    bank_path.chmod(0o664)
    async with Engine(settings) as engine:
        await engine.recall(task="Forgot the key")
    assert bank_path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
@pytest.mark.parametrize("kind", ["device", "fifo", "folder"])
async def test_what_is_not_a_regular_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/null") if kind == "device" else tmp_path / "bank.db"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    async with asyncio.timeout(60), Engine(Settings(bank=path, project="app")) as engine:
        with pytest.raises(BankError, match="is not a regular file"):
            await engine.store_lesson(mistake="Forgot the key", correction="Take the key")
        with pytest.raises(BankError, match="is not a regular file"):
            await engine.recall(task="Forgot the key")


async def test_a_recall_does_not_wait_for_a_long_read_of_the_page(engine: Engine) -> None:
    await engine.store_lesson(**LESSON)
    begun, over = threading.Event(), threading.Event()

    def long_read(reading: Reading) -> int:
        begun.set()
        assert over.wait(20)
        return len(reading.rows("stats_lessons", scoped(engine.scopes.own)))

    reading = asyncio.create_task(engine.bank.db.look("local", long_read, long=True))
    await asyncio.to_thread(begun.wait, 20)
    assert (await asyncio.wait_for(engine.recall(task=LESSON["mistake"]), 20)).lessons
    assert not reading.done()
    over.set()
    assert await reading == 1


@pytest.mark.sqlite  # it takes away the rights on the file
async def test_a_bank_that_may_not_be_written_is_read_until_it_may(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(**LESSON)
    may = os.access

    def access(
        path: Any, mode: int, **options: Any
    ) -> bool:  # the system asks nobody's leave of root
        return mode != os.W_OK and may(path, mode, **options)

    monkeypatch.setattr(os, "access", access)
    async with Engine(settings) as engine:
        assert (await engine.recall(task=LESSON["mistake"])).lessons
        with pytest.raises(
            BankError, match="can only be read: the file or its folder may not be written"
        ):
            await engine.store_lesson(mistake="Forgot the key", correction="Take the key")
        monkeypatch.undo()
        await engine.store_lesson(mistake="Forgot the key", correction="Take the key")
        assert (await engine.get_stats())["lessons_stored"] == 2


async def test_an_empty_bank_that_may_not_be_written_is_refused(
    settings: Settings, bank_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank_path.parent.mkdir(parents=True)
    bank_path.touch()

    def access(*_arguments: Any, **_options: Any) -> bool:
        return False

    monkeypatch.setattr(os, "access", access)
    async with Engine(settings) as engine:
        with pytest.raises(
            BankError,
            match=r"is empty and may not be written. Set MCP_REFLECT_BANK to another file",
        ):
            await engine.recall(task="deploy the shop")


TASK = "test with an environment"
OTHER: dict[str, Any] = {
    "mistake": "Read the wrong configuration",
    "correction": "Name the configuration",
}


@pytest.fixture
async def before(settings: Settings) -> AsyncIterator[Engine]:
    """An engine that has read, written and counted."""
    async with Engine(settings) as engine:
        await engine.store_lesson(**LESSON)
        assert (await engine.recall(task=TASK)).lessons
        yield engine


def texts(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as looking:
        assert looking.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {row[0] for row in looking.execute("SELECT mistake FROM lessons")}


async def replace_bank(path: Path) -> None:
    async with Engine(Settings(bank=path.with_name("new.db"), project="app")) as other:
        await other.store_lesson(mistake="Forgot the third thing", correction="Write it down")
    path.with_name("new.db").replace(path)


@pytest.mark.parametrize("how", ["removed", "folder removed", "moved", "replaced"])
async def test_a_bank_that_went_away_is_told_once_and_the_next_call_uses_what_is_there(
    before: Engine, settings: Settings, bank_path: Path, how: str
) -> None:
    there: set[str] = set()
    match how:
        case "removed":
            bank_path.unlink()
        case "folder removed":
            shutil.rmtree(bank_path.parent)
        case "moved":
            bank_path.rename(bank_path.with_name("elsewhere.db"))
        case _:
            await replace_bank(bank_path)
            there = {"Forgot the third thing"}
    with pytest.raises(
        BankError,
        match="was removed or replaced while it was open; nothing of this call was stored",
    ):
        await before.store_lesson(**OTHER)
    await before.store_lesson(**OTHER)
    async with Engine(settings) as second:
        assert (await second.recall(task="read the configuration")).lessons
    assert texts(bank_path) == {OTHER["mistake"], *there}
    if how == "moved":
        assert texts(bank_path.with_name("elsewhere.db")) == {LESSON["mistake"]}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
async def test_a_forked_process_is_told_not_to_use_the_bank_that_was_open(
    before: Engine, settings: Settings
) -> None:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, _tried(before, settings).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as child_said:
        said = child_said.read()
    os.waitpid(child, 0)  # noqa: ASYNC222 - it has said all, and ends
    told = said.count(
        "was open when this process was forked, and cannot be used in it. Open it after the fork"
    )
    # SQLite's locks belong to the process: the whole file is refused in a child. A server knows the child's connections
    # from its parent's, so an engine of its own works there.
    assert told == (2 if isinstance(settings.bank, Path) else 1)
    assert (await before.recall(task=TASK)).lessons
    await before.store_lesson(**OTHER)


def _tried(engine: Engine, settings: Settings) -> str:
    """What a child hears that uses the engine it was born with, and then one of its own."""
    said = ""
    for used in (engine, Engine(settings)):
        try:
            asyncio.new_event_loop().run_until_complete(used.store_lesson(**OTHER))
        except BankError as error:
            said += str(error)
        except BaseException as error:  # noqa: BLE001 - it must not return into the test's own process
            said += repr(error)
    return said


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
@pytest.mark.parametrize("ending", ["", "-wal", "-journal"])
async def test_a_bank_or_a_log_that_is_a_link_is_refused_by_name(
    settings: Settings, bank_path: Path, tmp_path: Path, ending: str
) -> None:
    (real := tmp_path / "real.db").write_text("mine")
    bank_path.parent.mkdir(exist_ok=True)
    planted = bank_path.with_name(bank_path.name + ending)
    planted.symlink_to(real)
    async with Engine(settings) as engine:
        with pytest.raises(NotABankError, match=f"{planted} is a link"):
            await engine.store_lesson(**LESSON)
    assert real.read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
@pytest.mark.parametrize("plant", [os.mkfifo if hasattr(os, "mkfifo") else None, "link"])
def test_a_spool_that_is_a_link_or_a_pipe_is_refused_by_name(
    bank_path: Path, tmp_path: Path, plant: Any
) -> None:
    (real := tmp_path / "real").write_text("mine")
    bank_path.parent.mkdir(exist_ok=True)
    spool = Path(f"{bank_path}.spool")
    if plant == "link":
        spool.symlink_to(real)
    else:
        plant(spool)
    with pytest.raises(OSError, match="Remove it") as caught:
        append(str(bank_path), {"tool": "Bash"})
    assert caught.value.filename == str(spool)
    with pytest.raises(OSError, match="Remove it"):
        Spool(bank_path).take(10)
    assert waiting(str(bank_path)) == []
    assert real.read_text() == "mine"


@pytest.mark.parametrize(
    "content",
    [
        b"hello\n" * 100,
        "müde\n".encode() * 900,
        "notes".encode("utf-16"),
        b"%PDF-1.7\n\0\1",
        b"PK\x03\x04\0\0",
        b'{"memory": []}',
    ],
)
@pytest.mark.parametrize("name", ["notes.db", "x.sqlite"])
async def test_a_file_of_another_kind_stays_whatever_its_name_is(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (notes := tmp_path / name).write_bytes(content)
    async with Engine(Settings(bank=notes, project="app")) as engine:
        with pytest.raises(NotABankError, match="it was left as it is"):
            await engine.recall(task="anything")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert notes.read_bytes() == content
