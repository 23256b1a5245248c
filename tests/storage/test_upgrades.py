"""Two releases on one bank: a migration while servers run, one that is killed, and an index that is made again."""

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import BankReadOnlyError
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.retrieval.index import ANALYZER, document
from mcp_reflect.storage.retrieval.terms import terms_of
from mcp_reflect.storage.retrieval.vectors import word_vector
from mcp_reflect.storage.sqlite.files import newest
from tests.clients.forked import forked_server, run_forked
from tests.clients.stdio import RawClient, ServerDiedError
from tests.clients.writers import RefusedError, Writer, lost, sound
from tests.server.servers import LESSON, server, told

NEXT = newest() + 1

# The release after this one: it has one more migration, which takes a column away and adds a table.
NEXT_RELEASE = f"""
import os, signal, sys
from mcp_reflect.storage.sqlite import files
MIGRATION = '''
CREATE TABLE moods (id TEXT PRIMARY KEY) STRICT;
-- half way
ALTER TABLE lessons ADD COLUMN mood TEXT;
ALTER TABLE lessons RENAME COLUMN why TO because;
'''
ours = files.migrations()
files.migrations = lambda: (*ours, ({NEXT}, MIGRATION))
"""
UPGRADE = f"""{NEXT_RELEASE}
from pathlib import Path
print(files.prepare(Path(sys.argv[1]), 30).schema)
"""
KILLED_INSIDE = f"""{NEXT_RELEASE}
from pathlib import Path
split = files.statements
def killed(script):
    for statement in split(script):
        if "half way" in statement:
            os.kill(os.getpid(), signal.SIGKILL)
        yield statement
files.statements = killed
files.prepare(Path(sys.argv[1]), 30)
"""


def run(script: str, bank: Path) -> subprocess.CompletedProcess[str]:
    return run_forked([str(bank)], code=script, seconds=60)


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as looking:
        assert looking.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return looking.execute("PRAGMA user_version").fetchone()[0]


def test_a_server_goes_on_recalling_or_says_why_it_cannot_when_a_newer_one_upgrades_the_bank(
    bank_path: Path,
) -> None:
    with server(bank_path) as old:
        stored = told(old, "store_lesson", LESSON)
        assert run(UPGRADE, bank_path).stdout.split() == [str(NEXT)]
        refused = old.call_tool("store_lesson", {**LESSON, "mistake": "Wrote into another schema"})
        assert refused["isError"]
        assert f"its schema {NEXT} is newer than this release's {newest()}" in str(
            refused["content"]
        )
        read = old.call_tool("recall_lessons", {"task": "deploy on a Friday"})
        assert "Upgrade mcp-reflect-server" in str(
            read["content"]
        )  # it asks for a column that is not there any more
    with closing(sqlite3.connect(bank_path)) as looking:
        (kept,) = looking.execute("SELECT id, mood FROM lessons").fetchall()
    assert (short_id(kept[0]), kept[1]) == (stored["lesson_id"], None)
    assert version_of(bank_path.with_name(f"bank.db.schema-{newest()}")) == newest()


async def test_a_write_that_waited_for_the_upgrade_writes_no_row(
    settings: Settings, bank_path: Path
) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(**LESSON)
        with closing(sqlite3.connect(bank_path)) as other:
            other.execute(f"PRAGMA user_version = {NEXT}")
        with pytest.raises(BankReadOnlyError, match="Upgrade mcp-reflect-server to write it"):
            await engine.store_lesson(
                mistake="Written by the old release", correction="Upgrade the server first"
            )
        assert len((await engine.recall(task="deploy on a Friday")).lessons) == 1
        with closing(sqlite3.connect(bank_path)) as other:
            other.execute(f"PRAGMA user_version = {newest()}")
        assert (
            await engine.store_lesson(mistake="The bank is ours again", correction="Write")
        ).status == "stored"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_an_upgrade_that_is_killed_half_way_is_undone_and_done_by_the_next_start(
    bank_path: Path,
) -> None:
    with server(bank_path) as old:
        told(old, "store_lesson", LESSON)
    assert run(KILLED_INSIDE, bank_path).returncode == -signal.SIGKILL
    with server(bank_path) as old:
        assert told(old, "recall_lessons", {"task": "deploy on a Friday"})["lessons"]
        told(old, "store_lesson", {**LESSON, "mistake": "Deployed at night"})
    assert version_of(bank_path) == newest()
    assert run(UPGRADE, bank_path).stdout.split() == [str(NEXT)]
    with closing(sqlite3.connect(bank_path)) as looking:
        assert looking.execute("SELECT count(*), count(mood) FROM lessons").fetchone() == (2, 0)


async def test_a_backup_that_cannot_be_made_stops_the_upgrade(
    settings: Settings, bank_path: Path
) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(**LESSON)
    bank_path.with_name(f"bank.db.schema-{newest()}").symlink_to("nowhere")
    done = run(UPGRADE, bank_path)
    assert (done.returncode, version_of(bank_path)) == (1, newest())


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_what_two_old_servers_had_acknowledged_when_a_newer_one_upgraded_is_in_the_upgraded_bank(
    bank_path: Path,
) -> None:
    """Under load: the old ones write until the new schema refuses them, and spoil nothing in it."""
    running = [forked_server(bank_path) for _ in range(2)]
    writers = [Writer(one, f"old{number}") for number, one in enumerate(running)]
    refused: list[str] = []

    def work(writer: Writer, one: RawClient) -> None:
        one.open()
        with suppress(ServerDiedError):
            while len(refused) < 6:
                try:
                    writer.write()
                except RefusedError as error:
                    refused.append(str(error))

    threads = [
        threading.Thread(target=work, args=pair) for pair in zip(writers, running, strict=True)
    ]
    for thread in threads:
        thread.start()
    while not all(len(writer.written) > 2 for writer in writers):
        assert any(thread.is_alive() for thread in threads)
    assert run(UPGRADE, bank_path).stdout.split() == [str(NEXT)]
    for thread in threads:
        thread.join(60)
    for one in running:
        one.close()
    assert all("Upgrade mcp-reflect-server" in said for said in refused)
    assert (
        lost(bank_path, [one for writer in writers for one in writer.written]),
        version_of(bank_path),
    ) == ([], NEXT)
    assert sound(bank_path)


STALE = {
    "mistake": "Deployed with a stale kubeconfig",
    "correction": "Fetch the credentials before it",
}
TABLES = {name: f"SELECT * FROM {name}" for name in ("features", "terms", "sizes")}  # noqa: S608


def index_as_before(bank: Path) -> None:
    """Give each entry the terms of another stemmer, and no vector."""
    with closing(sqlite3.connect(bank)) as connection, connection:
        connection.execute("DELETE FROM vectors")
        connection.execute("UPDATE terms SET term = term || '_0'")
        for row, scope, terms in connection.execute(
            "SELECT row, scope, terms FROM features"
        ).fetchall():
            before = json.dumps({f"{term}_0": count for term, count in json.loads(terms).items()})
            connection.execute(
                "INSERT INTO lesson_terms (lesson_terms, rowid, terms) VALUES ('delete', ?, ?)",
                (row, document(scope, terms)),
            )
            connection.execute(
                "INSERT INTO lesson_terms (rowid, terms) VALUES (?, ?)",
                (row, document(scope, before)),
            )
            connection.execute(
                "UPDATE features SET terms = ?, analyzer = 0 WHERE row = ?", (before, row)
            )


def index_of(bank: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(bank)) as looking:
        looking.execute("INSERT INTO lesson_terms (lesson_terms) VALUES ('integrity-check')")
        vectors = looking.execute("SELECT lesson, vector FROM vectors ORDER BY lesson").fetchall()
        return {name: sorted(looking.execute(sql)) for name, sql in TABLES.items()} | {
            "vectors": vectors
        }


async def test_a_lesson_that_an_older_release_indexed_is_found_by_the_first_recall(
    settings: Settings, bank_path: Path
) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(**STALE)
    new = index_of(bank_path)
    index_as_before(bank_path)
    async with Engine(settings) as engine:
        (hit,) = (await engine.recall(task="the kubeconfig is stale")).lessons
        assert "stale" in hit.why
    assert index_of(bank_path) == new


async def test_servers_that_open_an_old_bank_at_once_index_each_lesson_once(
    settings: Settings, bank_path: Path
) -> None:
    async with Engine(settings) as engine:
        lines = [
            {**STALE, "mistake": f"Deployed with a stale kubeconfig to cluster{number}"}
            for number in range(120)
        ]
        async for _ in engine.import_lessons(enumerate(lines, 1)):
            pass
    new = index_of(bank_path)
    index_as_before(bank_path)
    engines = [Engine(settings) for _ in range(3)]
    await asyncio.gather(*(engine.recall(task="the kubeconfig is stale") for engine in engines))
    for engine in engines:
        await engine.close()
    async with Engine(
        settings
    ) as engine:  # the ones before may have been closed before all was indexed
        while (
            await engine.bank.db.row(
                "index_outdated", {"version": ANALYZER, "limit": 1, "tenant": "local"}
            )
        ) is not None:
            await engine.recall(task="the kubeconfig is stale")
    assert index_of(bank_path) == new


async def test_an_old_bank_that_can_only_be_read_is_recalled_from(
    settings: Settings, bank_path: Path
) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(**STALE)
    with closing(sqlite3.connect(bank_path)) as connection, connection:
        connection.execute("UPDATE features SET analyzer = 0")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute(
            f"PRAGMA user_version = {version + 1}"
        )  # of a newer release: it is only read
    async with Engine(settings) as engine:
        assert len((await engine.recall(task="the kubeconfig is stale")).lessons) == 1


def test_a_change_of_the_analysis_has_a_version_of_its_own() -> None:
    """Where this fails, raise ANALYZER: banks that were indexed before are indexed anew then."""
    text = (
        "Cancelling pipelines' retries in src/app/parse_invoice_date.py (E4012) wasn't déjà: 部署"
    )
    packed = word_vector(text)
    assert packed is not None
    assert (ANALYZER, " ".join(terms_of(text)), packed[4:16].hex()) == (
        3,
        "cancel pipelin retr in src_app_parse_invoice_date_py src app pars invoic dat py e4012 wasnt deja 部署",
        "5e81ffc4fdfce537fee77321",
    )
