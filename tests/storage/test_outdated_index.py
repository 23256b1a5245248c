"""A bank that an older release indexed: its lessons are indexed anew by themselves, once, whoever opens it."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.retrieval.index import ANALYZER, document, terms_of
from mcp_reflect.storage.retrieval.vectors import word_vector

LESSON = {"mistake": "Deployed with a stale kubeconfig", "correction": "Fetch the credentials before it"}
TABLES = {name: f"SELECT * FROM {name}" for name in ("features", "terms", "sizes")}  # noqa: S608


def index_as_before(bank: Path) -> None:
    """Give each entry the terms of another stemmer, and no vector."""
    with closing(sqlite3.connect(bank)) as connection, connection:
        connection.execute("DELETE FROM vectors")
        connection.execute("UPDATE terms SET term = term || '_0'")
        for row, scope, terms in connection.execute("SELECT row, scope, terms FROM features").fetchall():
            before = json.dumps({f"{term}_0": count for term, count in json.loads(terms).items()})
            connection.execute(
                "INSERT INTO lesson_terms (lesson_terms, rowid, terms) VALUES ('delete', ?, ?)",
                (row, document(scope, terms)),
            )
            connection.execute("INSERT INTO lesson_terms (rowid, terms) VALUES (?, ?)", (row, document(scope, before)))
            connection.execute("UPDATE features SET terms = ?, analyzer = 0 WHERE row = ?", (before, row))


def index_of(bank: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(bank)) as looking:
        looking.execute("INSERT INTO lesson_terms (lesson_terms) VALUES ('integrity-check')")
        vectors = looking.execute("SELECT lesson, vector FROM vectors ORDER BY lesson").fetchall()
        return {name: sorted(looking.execute(sql)) for name, sql in TABLES.items()} | {"vectors": vectors}


async def test_a_lesson_that_an_older_release_indexed_is_found_by_the_first_recall(
    settings: Settings, bank_path: Path
) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(**LESSON)
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
        lines = [{**LESSON, "mistake": f"Deployed with a stale kubeconfig to cluster{number}"} for number in range(120)]
        async for _ in engine.import_lessons(enumerate(lines, 1)):
            pass
    new = index_of(bank_path)
    index_as_before(bank_path)
    engines = [Engine(settings) for _ in range(3)]
    await asyncio.gather(*(engine.recall(task="the kubeconfig is stale") for engine in engines))
    for engine in engines:
        await engine.close()
    async with Engine(settings) as engine:  # the ones before may have been closed before all was indexed
        while (
            await engine.bank.db.row("index_outdated", {"version": ANALYZER, "limit": 1, "tenant": "local"})
        ) is not None:
            await engine.recall(task="the kubeconfig is stale")
    assert index_of(bank_path) == new


async def test_an_old_bank_that_can_only_be_read_is_recalled_from(settings: Settings, bank_path: Path) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(**LESSON)
    with closing(sqlite3.connect(bank_path)) as connection, connection:
        connection.execute("UPDATE features SET analyzer = 0")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute(f"PRAGMA user_version = {version + 1}")  # of a newer release: it is only read
    async with Engine(settings) as engine:
        assert len((await engine.recall(task="the kubeconfig is stale")).lessons) == 1


def test_a_change_of_the_analysis_has_a_version_of_its_own() -> None:
    """Where this fails, raise ANALYZER: banks that were indexed before are indexed anew then."""
    text = "Cancelling pipelines' retries in src/app/parse_invoice_date.py (E4012) wasn't déjà: 部署"
    packed = word_vector(text)
    assert packed is not None
    assert (ANALYZER, " ".join(terms_of(text)), packed[4:16].hex()) == (
        2,
        "cancel pipelin retr in src_app_parse_invoice_date_py src app pars invoic dat py e4012 wasnt deja 部署",
        "5e81ffc4fdfce537fee77321",
    )
