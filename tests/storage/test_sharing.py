"""Many processes, one file: who waits, who does not, and what a cancelled call leaves behind."""

import asyncio
import gc
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import BankBusyError
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.repository import Reading, Writing
from mcp_reflect.storage.sqlite.database import SqliteDatabase

LESSON: dict[str, Any] = {
    "mistake": "Deployed without the migration",
    "correction": "Run the migration, then deploy",
}
TASK = "deploy with a migration"


@contextmanager
def written_by_another(path: Path) -> Generator[None]:
    """Another process is in the middle of a write."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


async def applied(engine: Engine, lesson_id: str) -> int:
    return (await engine.bank.lessons.get(engine.scopes.own, lesson_id)).times_applied


async def test_what_one_engine_stores_another_recalls_that_was_open_before(
    settings: Settings,
) -> None:
    async with Engine(settings) as first, Engine(settings) as second:
        assert not (await second.recall(task=TASK)).lessons
        stored = await first.store_lesson(**LESSON)
        assert [hit.id for hit in (await second.recall(task=TASK)).lessons] == [stored.lesson_id]


async def test_a_recall_does_not_wait_for_a_writer_and_is_counted_later(
    engine: Engine, bank_path: Path
) -> None:
    stored = await engine.store_lesson(**LESSON)
    with written_by_another(bank_path):
        start = time.perf_counter()
        found = await engine.recall(task=TASK)
        assert time.perf_counter() - start < 25  # a writer is waited for 30 s
        assert [hit.id for hit in found.lessons] == [stored.lesson_id]
        assert await applied(engine, stored.lesson_id) == 0
    updated = (await engine.record_outcome(success=True, recall_id=found.recall_id)).updated
    assert [(one.id, one.times_applied) for one in updated] == [(stored.lesson_id, 1)]
    await engine.recall(task=TASK)
    assert await applied(engine, stored.lesson_id) == 2


async def test_a_recall_still_queued_is_counted_when_the_engine_closes(
    settings: Settings, bank_path: Path
) -> None:
    async with Engine(settings) as engine:
        stored = await engine.store_lesson(**LESSON)
        with written_by_another(bank_path):
            await engine.recall(task=TASK)
    async with Engine(settings) as engine:
        assert await applied(engine, stored.lesson_id) == 1


async def test_recalls_and_outcomes_at_once_count_nothing_twice(engine: Engine) -> None:
    stored = await engine.store_lesson(**LESSON)

    async def loop() -> None:
        found = await engine.recall(task=TASK)
        await engine.record_outcome(success=True, recall_id=found.recall_id)

    await asyncio.gather(*(loop() for _ in range(8)))
    assert await applied(engine, stored.lesson_id) == 8


async def test_a_write_says_what_is_in_its_way_when_its_patience_ends(bank_path: Path) -> None:
    hasty = Settings(bank=bank_path, project="app", bank_busy_seconds=0.05)
    async with Engine(hasty) as engine:
        await engine.bank.open()
        with (
            written_by_another(bank_path),
            pytest.raises(BankBusyError, match="is held by another process"),
        ):
            await engine.store_lesson(**LESSON)
        assert (await engine.store_lesson(**LESSON)).status == "stored"


async def test_a_write_waits_for_another_to_end(engine: Engine, bank_path: Path) -> None:
    await engine.bank.open()
    with written_by_another(bank_path):
        waiting = asyncio.create_task(engine.store_lesson(**LESSON))
        done, _ = await asyncio.wait([waiting], timeout=0.1)
        assert not done
    assert (await waiting).status == "stored"


async def test_a_write_whose_caller_is_cancelled_is_whole_or_not_there(
    settings: Settings, bank_path: Path
) -> None:
    """Cancelled after each number of turns of the loop: never half, and the next write works."""
    for turns in range(0, 40, 2):
        async with Engine(settings) as engine:
            before = await count(engine)
            event = {"type": "observation", "content": f"Error: no such table run_{turns}"}
            task = asyncio.create_task(
                engine.reflect(
                    task=f"Run {turns}", outcome="failure", events=[event], analysis=ANALYSIS
                )
            )
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            after = await count(engine)
            assert after == before or after == {name: number + 1 for name, number in before.items()}
            await engine.store_lesson(mistake=f"Mistake {turns}x7", correction="Mend it")
            assert (await count(engine))["reflections"] == after["reflections"]
    with closing(sqlite3.connect(bank_path)) as other:
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)


ANALYSIS: dict[str, Any] = {
    "reflection": "The table was not made",
    "strategy": "Make the table first",
}


async def count(engine: Engine) -> dict[str, Any]:
    stats = await engine.get_stats()
    return {"reflections": stats["total_reflections"], "strategies": stats["strategies_stored"]}


async def test_a_transaction_that_fails_writes_nothing(bank_path: Path) -> None:
    database = SqliteDatabase(bank_path)
    link = {"from_id": "a", "relation": "b", "to_kind": "c", "to_id": "d"}

    def fail(tx: Writing) -> None:
        tx.run("link_add", link)
        assert tx.rows("link_list", {"from_id": "a"})
        raise RuntimeError

    try:
        with pytest.raises(RuntimeError):
            await database.write("local", fail)
        assert not await database.rows("link_list", {"from_id": "a", "tenant": "local"})
        await database.write("local", lambda tx: tx.run("link_add", link))
        assert len(await database.rows("link_list", {"from_id": "a", "tenant": "local"})) == 1
    finally:
        await database.close()


async def test_a_read_whose_caller_is_cancelled_ends_and_the_next_one_works(
    bank_path: Path,
) -> None:
    database, begun = SqliteDatabase(bank_path), threading.Event()
    values = {"from_id": "a", "tenant": "local"}

    def read_for_ever(reading: Reading) -> None:
        while True:
            reading.rows("link_list", values)
            begun.set()

    try:
        call = asyncio.create_task(database.look("local", read_for_ever))
        await asyncio.to_thread(begun.wait, 30)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(call, 30)
        assert await database.rows("link_list", values) == []
    finally:
        await database.close()


async def test_a_read_that_is_cancelled_while_its_connection_opens_leaves_no_thread(
    bank_path: Path,
) -> None:
    for turns in range(12):
        database = SqliteDatabase(bank_path)
        call = asyncio.create_task(database.rows("link_list", {"from_id": "a", "tenant": "local"}))
        for _ in range(turns):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
        await database.close()
    assert [
        thread.name for thread in threading.enumerate() if "_connection_worker" in thread.name
    ] == []


FORGETTING = """
import asyncio, sys
from pathlib import Path
from mcp_reflect import Engine, Settings

engine = Engine(Settings(bank=Path(sys.argv[1]), project="app"))
asyncio.run(engine.store_lesson(mistake="Forgot to close", correction="Use a context manager"))
"""


def test_a_program_that_forgets_to_close_its_bank_ends(bank_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-W", "error", "-c", FORGETTING, str(bank_path)], check=True, timeout=60
    )
    with closing(sqlite3.connect(bank_path)) as other:
        assert other.execute("SELECT count(*) FROM lessons").fetchone() == (1,)


async def test_a_call_that_is_cancelled_and_fails_then_prints_nothing(
    bank_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database, begun, go_on = SqliteDatabase(bank_path), threading.Event(), threading.Event()

    def fail(_: Reading) -> None:
        begun.set()
        go_on.wait(30)
        raise sqlite3.OperationalError("database is locked")

    try:
        call = asyncio.create_task(database.look("local", fail))
        await asyncio.to_thread(begun.wait, 30)
        call.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await call
    finally:
        await database.close()
    del call
    gc.collect()
    assert "never retrieved" not in caplog.text
