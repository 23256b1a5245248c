"""A bank on PostgreSQL: made once, a tenant to itself, the same ranking as a file, right with several writers."""

import asyncio
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli.main import main
from mcp_reflect.config import ServerUrl, Settings
from mcp_reflect.errors import BankError, NotFoundError
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.repository import Writing
from tests.held_clock import HeldClock

LESSON = {"mistake": "Ran deployctl push before deployctl migrate", "correction": "Run deployctl migrate first"}
CASES = Path(__file__).parent / "cases"


def engine_on(bank: ServerUrl | Path, tenant: str = "local", **options: Any) -> Engine:
    return Engine(Settings(bank=bank, project="app"), tenant_id=tenant, **options)


def test_an_address_is_shown_without_its_password() -> None:
    bank = ServerUrl("postgresql://me:s3cr3t-w0rd@db.example:5433/team?sslpassword=other")
    assert str(bank) == repr(bank) == "postgresql://me@db.example:5433/team"
    assert "s3cr3t" not in repr(Settings(bank=bank))
    assert "ss" not in str(ServerUrl("postgresql://me:pa/ss@h/db")).removeprefix("postgresql")


async def test_a_server_that_is_down_is_named_and_not_waited_for() -> None:
    pytest.importorskip("psycopg_pool")
    began = time.monotonic()
    async with engine_on(ServerUrl("postgresql://me:s3cr3t-w0rd@127.0.0.1:9/team")) as engine:
        with pytest.raises(
            BankError, match=r"postgresql://me@127.0.0.1:9/team does not answer. Start the server"
        ) as told:
            await engine.recall(task="deploy")
    assert "s3cr3t" not in str(told.value)
    assert time.monotonic() - began < 25  # after 5 s; a pool of connections waits for 30 s


def test_commands_never_show_the_password(
    server_bank: ServerUrl, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_REFLECT_BANK", server_bank.whole.replace("//owner@", "//owner:s3cr3t-w0rd@"))
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "app")
    assert main(["doctor", "--json"]) == 0
    assert "PostgreSQL" in json.loads(said := capsys.readouterr().out)["engine"]
    assert main(["doctor"]) == 0
    assert main(["backup", str(tmp_path / "copy.db")]) == 2
    assert main(["restore", "--yes", str(tmp_path / "copy.db")]) == 2
    out, err = capsys.readouterr()
    assert ("pg_dump" in err, "pg_restore" in err) == (True, True)
    assert "s3cr3t" not in said + out + err


async def test_an_address_that_cannot_be_read_is_not_repeated() -> None:
    pytest.importorskip("psycopg_pool")
    async with engine_on(ServerUrl("postgresql://me:s3cr3t@w0rd:x@h/db")) as engine:
        with pytest.raises(BankError, match="Write it as postgresql://") as told:
            await engine.bank.open()
    assert "s3cr3t" not in str(told.value)
    assert "w0rd" not in str(told.value)


def test_a_query_of_sqlite_is_translated() -> None:
    pytest.importorskip("psycopg_pool")
    from mcp_reflect.storage.postgres.database import translated  # noqa: PLC0415 - psycopg may not be there

    written = """-- What it is: a comment.
        SELECT '50%' FROM lessons INDEXED BY lessons_by_digest
        WHERE +tenant = :tenant AND id IN (SELECT value FROM json_each(:ids)) AND a::text = 'x'
          AND :kind NOT IN (SELECT value FROM json_each(:shared))"""
    assert (
        translated(written).split()
        == (
            "SELECT '50%%' FROM lessons WHERE tenant = %(tenant)s AND id = ANY(%(ids)s) AND a::text = 'x' "
            "AND %(kind)s <> ALL(%(shared)s)"
        ).split()
    )


async def test_the_server_understands_every_query(server_bank: ServerUrl) -> None:
    import psycopg  # noqa: PLC0415 - the fixture skips the test without it

    from mcp_reflect.storage.postgres.database import statements  # noqa: PLC0415 - same

    async with engine_on(server_bank) as engine:
        await engine.bank.open()
    refused: list[str] = []
    with psycopg.connect(server_bank.whole, autocommit=True) as connection:
        connection.execute("SET search_path TO mcp_reflect, public")
        for name, written in statements().items():
            text = written
            for number, key in enumerate(dict.fromkeys(re.findall(rb"%\((\w+)\)s", text)), 1):
                text = text.replace(b"%%(%s)s" % key, b"$%d" % number)
            try:
                connection.execute(b"PREPARE " + name.encode() + b" AS " + text.replace(b"%%", b"%").rstrip(b";"))
            except psycopg.errors.AmbiguousParameter:
                pass  # a call sends the type with the value
            except psycopg.Error as error:
                refused.append(f"{name}: {error}")
    assert not refused


async def test_replicas_that_start_at_once_make_one_schema(server_bank: ServerUrl) -> None:
    import psycopg  # noqa: PLC0415 - the fixture skips the test without it

    from mcp_reflect.storage.postgres.database import migrations  # noqa: PLC0415 - same

    with psycopg.connect(server_bank.whole, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS mcp_reflect CASCADE")
    engines = [engine_on(server_bank) for _ in range(4)]
    opened = await asyncio.gather(*(engine.bank.open() for engine in engines))
    assert {(one.schema, one.read_only) for one in opened} == {(len(migrations()), None)}
    assert "PostgreSQL" in opened[0].engine
    for engine in engines:
        await engine.close()


async def test_a_newer_schema_is_read_and_not_written(server_bank: ServerUrl) -> None:
    import psycopg  # noqa: PLC0415 - the fixture skips the test without it

    async with engine_on(server_bank) as engine:
        await engine.store_lesson(**LESSON)
        with psycopg.connect(server_bank.whole, autocommit=True) as connection:
            connection.execute("UPDATE mcp_reflect.schema_version SET version = version + 1")
            try:
                assert (await engine.recall(task="deployctl push")).lessons
                with pytest.raises(BankError, match="newer than this release's"):
                    await engine.store_lesson(mistake="Another one", correction="Do something else")
            finally:
                connection.execute("UPDATE mcp_reflect.schema_version SET version = version - 1")


async def test_a_statement_without_its_scope_sees_and_changes_nothing_of_another_tenant(server_bank: ServerUrl) -> None:
    async with engine_on(server_bank, "north") as north, engine_on(server_bank, "south") as south:
        own = await north.store_lesson(**LESSON, symptoms=["E4012: no such column"])
        await south.store_lesson(mistake="Cut the onions first", correction="Heat the pan first")
        with pytest.raises(NotFoundError):
            await south.bank.lessons.get(south.scopes.own, own.lesson_id)
        import psycopg  # noqa: PLC0415 - the fixture skips the test without it

        tables = "lessons features terms sizes vectors versions outcomes links recalls".split()
        with psycopg.connect(server_bank.whole) as connection:
            rows = {name: connection.execute(f"TABLE mcp_reflect.{name}".encode()).fetchall() for name in tables}
            assert not any(rows.values())  # no tenant is set
            connection.execute("SELECT set_config('mcp_reflect.tenant', 'south', true)")
            assert connection.execute("SELECT DISTINCT tenant FROM mcp_reflect.lessons").fetchall() == [("south",)]
            assert connection.execute("UPDATE mcp_reflect.lessons SET mistake = 'x'").rowcount == 1
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                connection.execute("INSERT INTO mcp_reflect.steps VALUES ('north', 'p', 'r', 0, 1, 0)")

        def borrow(tx: Writing) -> None:
            tx.run("lesson_erase", {"id": own.lesson_id, "tenant": "north"})

        await south.bank.db.write("south", borrow)
        assert await north.bank.lessons.get(north.scopes.own, own.lesson_id)


async def test_a_superuser_takes_a_role_for_which_rows_are_secured(server_bank: ServerUrl) -> None:
    root = ServerUrl(server_bank.whole.replace("//owner@", "//postgres@"))
    async with engine_on(server_bank, "north") as north, engine_on(root, "south") as south:
        own = await north.store_lesson(**LESSON)
        await south.store_lesson(mistake="Cut the onions first", correction="Heat the pan first")
        # Without row-level security, this query by ids alone finds the rows of every tenant.
        taken = await south.bank.db.rows("lesson_ids_taken", {"ids": [own.lesson_id], "tenant": "south"})
        assert taken == []


async def test_tenants_may_have_lessons_with_the_same_ids(server_bank: ServerUrl) -> None:
    async with engine_on(server_bank, "north") as north, engine_on(server_bank, "south") as south:
        own = await north.store_lesson(**LESSON)
        lines = [(1, line) async for line in north.bank.transfer.export("north", "app")]
        from mcp_reflect import services  # noqa: PLC0415 - loads all services

        results = await services.lessons.import_own(south.context, lines)
        assert [one.status for one in results] == ["restored"]
        assert await north.bank.lessons.get(north.scopes.own, own.lesson_id)
        recalled = await south.recall(task="deployctl push")
        assert [hit.id for hit in recalled.lessons] == [own.lesson_id]


async def test_the_ranking_is_that_of_a_file(server_bank: ServerUrl, tmp_path: Path) -> None:
    lines = [json.loads(line) for name in ("recall_others", "recall_lessons") for line in _lines(name)]
    texts = [(number, {key: line[key] for key in ("mistake", "correction")}) for number, line in enumerate(lines, 1)]
    tasks = [text["mistake"].split(";")[0] for _, text in texts[::3]] + ["deploy the shop", "the build is slow"]
    orders: list[list[list[tuple[str, float]]]] = []
    for bank in (server_bank, tmp_path / "bank.db"):
        async with engine_on(bank, clock=HeldClock()) as engine:
            async for batch in engine.import_lessons(texts):
                assert {one.status for one in batch} <= {"stored", "quarantined"}
        async with engine_on(bank, clock=HeldClock()) as engine:
            found = [(await engine.recall(task=task, limit=8)).lessons for task in tasks]
            orders.append([[(hit.text, hit.score) for hit in hits] for hits in found])
    assert sum(map(len, orders[0])) > len(tasks)
    assert orders[0] == orders[1]


def _lines(name: str) -> list[str]:
    return (CASES / f"{name}.jsonl").read_text("utf-8").splitlines()


async def test_writers_in_several_engines_make_one_lesson_of_the_same_words(server_bank: ServerUrl) -> None:
    engines = [engine_on(server_bank) for _ in range(4)]
    calls = [engine.store_lesson(**LESSON) for engine in engines for _ in range(5)]
    other = [
        engine.store_lesson(mistake=f"Forgot part {n}{n}{n}", correction=f"Do {n}{n}{n}")
        for n, engine in enumerate(engines)
    ]
    stored = await asyncio.gather(*calls, *other)
    same = stored[: len(calls)]
    assert len({one.lesson_id for one in same}) == 1
    lesson = await engines[0].bank.lessons.get(engines[0].scopes.own, same[0].lesson_id)
    assert lesson.strength == len(calls)
    assert len(await engines[0].bank.lessons.latest(engines[0].scopes.own)) == 1 + len(other)
    for engine in engines:
        await engine.close()


async def test_a_connection_that_the_server_ends_costs_no_call(server_bank: ServerUrl) -> None:
    import psycopg  # noqa: PLC0415 - the fixture skips the test without it

    root = server_bank.whole.replace("//owner@", "//postgres@")
    async with engine_on(server_bank) as engine:
        await engine.store_lesson(**LESSON)
        with psycopg.connect(root, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mcp-reflect' "
                "AND datname = current_database()"
            )
        assert (await engine.store_lesson(**LESSON)).status == "merged"
        assert (await engine.recall(task="deployctl push")).lessons


def test_nothing_of_psycopg_is_loaded_for_a_bank_in_a_file(tmp_path: Path) -> None:
    script = (
        "import asyncio, pathlib, sys\nfrom mcp_reflect import Engine, Settings\n"
        "async def main():\n"
        "    async with Engine(Settings(bank=pathlib.Path(sys.argv[1]), project='app')) as engine:\n"
        "        await engine.recall(task='x')\n"
        "asyncio.run(main())\nprint([name for name in sys.modules if 'psycopg' in name or 'postgres' in name])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "b.db")], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
