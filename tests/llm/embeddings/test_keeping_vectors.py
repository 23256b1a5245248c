"""Vectors in the bank: who gets one, when, and what takes it away again."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.llm.embedders import UNRELATED
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.retrieval.model_vectors import BATCH, Embeddings
from mcp_reflect.storage.retrieval.vectors import middle, packed
from tests.held_clock import HeldClock
from tests.llm.embeddings.concepts import embeddings, inputs, served, setting, vector
from tests.llm.loopback import Answer, HangUp, Loopback, Received, Step

SLOW = {
    "mistake": "The report query was sluggish",
    "correction": "Read from the replica",
    "keywords": ["postgres"],
}
MAIL = {"mistake": "Sent the newsletter twice", "correction": "Check the outbox"}
CAKE = {"mistake": "Opened the oven early", "correction": "Wait for the cake"}


@asynccontextmanager
async def engine_at(
    server: Loopback, settings: Settings, clock: HeldClock, **more: Any
) -> AsyncGenerator[Engine]:
    """An engine whose lessons the server embeds."""
    named = replace(
        settings, embeddings=more.pop("embeddings", setting(server)), embeddings_seconds=5.0, **more
    )
    async with Engine(named, clock=clock) as engine:
        yield engine


def meaning(engine: Engine) -> Embeddings:
    assert engine.bank.embeddings is not None
    return engine.bank.embeddings


async def caught_up(engine: Engine) -> int:
    """How many lessons got a vector, now that nothing else goes on."""
    return sum([done async for done in meaning(engine).embed_all()])


async def told(engine: Engine) -> dict[str, Any]:
    """What stats say of embeddings."""
    found = (await engine.get_stats())["embeddings"]
    assert isinstance(found, dict)
    return found


def kept(path: Path) -> dict[str, bytes]:
    """The vectors in the file, by what their lessons say."""
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute(
            "SELECT text, vector FROM vectors JOIN lessons ON lessons.row = lesson WHERE embedder > 1"
        ).fetchall()
    return dict(rows)


def asked_for(server: Loopback) -> list[str]:
    """Every lesson's text that the server was sent, without the probes."""
    return [
        text for received in server.received for text in inputs(received) if text not in UNRELATED
    ]


def of_length_1(numbers: Sequence[float]) -> list[float]:
    length = sum(number**2 for number in numbers) ** 0.5
    return [number / length for number in numbers]


async def test_each_lesson_gets_the_middle_of_all_that_it_says_and_of_its_mistake_once(
    settings: Settings, clock: HeldClock, bank_path: Path
) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        await engine.store_lesson(**SLOW, symptoms=["timeout of the database"])
        await engine.store_lesson(**MAIL)
        assert await caught_up(engine) == 2
        assert await caught_up(engine) == 0
        state = await told(engine)
    slow = "The report query was sluggish. Read from the replica\ntimeout of the database\npostgres"
    assert asked_for(server) == [
        slow,
        "Sent the newsletter twice. Check the outbox",
        SLOW["mistake"],
        MAIL["mistake"],
    ]
    between = middle(
        of_length_1(vector(slow)), of_length_1(vector("The report query was sluggish"))
    )
    assert kept(bank_path)[slow.partition("\n")[0]] == packed(between)
    assert (state["lessons"], state["with_vector"]) == (2, 2)
    assert state["embedder"] == f"openai:concepts@{server.url}/v1"


async def test_a_secret_does_not_leave_the_machine(settings: Settings, clock: HeldClock) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        await engine.store_lesson(
            mistake="Logged in with password=hunter2-4711", correction="Use a token"
        )
        await caught_up(engine)
        await engine.recall(task="log in with password=hunter2-4711")
    assert not [text for text in asked_for(server) if "hunter2" in text]
    assert len(asked_for(server)) == 3


async def test_an_edit_embeds_again_retiring_takes_the_vector_along_and_restoring_brings_one(
    settings: Settings, clock: HeldClock, bank_path: Path
) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        slow = (await engine.store_lesson(**SLOW)).lesson_id
        mail = (await engine.store_lesson(**MAIL)).lesson_id
        await caught_up(engine)
        await engine.edit_lesson(slow, {"correction": "Add an index"})
        await engine.forget_lesson(lesson_id=mail, reason="a test")
        assert kept(bank_path) == {}
        assert await caught_up(engine) == 1
        assert list(kept(bank_path)) == ["The report query was sluggish. Add an index"]
        await engine.bank.lessons.set_state(
            engine.scopes.own,
            mail,
            (await engine.bank.lessons.get(engine.scopes.own, slow)).state,
            "",
        )
        assert await caught_up(engine) == 1
        assert len(kept(bank_path)) == 2
        await engine.bank.lessons.erase(engine.scopes.own, slow)
        assert list(kept(bank_path)) == ["Sent the newsletter twice. Check the outbox"]


async def test_a_lesson_that_takes_the_place_of_an_erased_one_gets_its_own_vector(
    settings: Settings, clock: HeldClock, bank_path: Path
) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        first = (await engine.store_lesson(**SLOW)).lesson_id
        await caught_up(engine)
        await engine.bank.lessons.erase(engine.scopes.own, first)
        await engine.store_lesson(**MAIL)
        assert await caught_up(engine) == 1
        assert len(kept(bank_path)) == 1


async def test_what_counts_a_lesson_as_used_or_stronger_does_not_embed_it_again(
    settings: Settings, clock: HeldClock
) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        stored = await engine.store_lesson(**SLOW)
        await caught_up(engine)
        assert (await engine.store_lesson(**SLOW)).status == "merged"
        await engine.record_outcome(success=True, lesson_ids=[stored.lesson_id])
        assert await caught_up(engine) == 0


async def test_lessons_of_projects_that_this_server_may_not_read_are_not_sent(
    settings: Settings, clock: HeldClock
) -> None:
    async with served() as server:
        async with Engine(replace(settings, project="private"), clock=clock) as engine:
            await engine.store_lesson(**CAKE)
        async with engine_at(server, settings, clock) as engine:
            await engine.store_lesson(**SLOW)
            await engine.store_lesson(**MAIL, project="other")
            assert await caught_up(engine) == 2
            await engine.store_lesson(
                mistake="Used the wrong secret", correction="Ask", visibility="global"
            )
            assert await caught_up(engine) == 1
    assert not [text for text in asked_for(server) if "oven" in text]


async def test_many_lessons_are_embedded_in_batches_and_an_interrupted_run_goes_on_where_it_was(
    settings: Settings, clock: HeldClock
) -> None:
    async with served() as server:
        async with engine_at(server, settings, clock) as engine:
            lessons = (
                (number, {"mistake": f"Mistake {number}", "correction": "Mend it"})
                for number in range(2 * BATCH + 5)
            )
            assert [len(batch) async for batch in engine.import_lessons(lessons)] == [2 * BATCH + 5]
            async with aclosing(meaning(engine).embed_all()) as working:
                assert await anext(working) == BATCH
        async with engine_at(server, settings, clock) as engine:
            assert await caught_up(engine) == BATCH + 5
    assert sorted(asked_for(server)) == sorted(
        f"Mistake {number}{rest}" for number in range(2 * BATCH + 5) for rest in ("", ". Mend it")
    )


async def test_another_model_embeds_everything_anew_and_the_one_before_is_still_there(
    settings: Settings, clock: HeldClock
) -> None:
    async with served() as server:
        async with engine_at(server, settings, clock) as engine:
            await engine.store_lesson(**SLOW)
            assert await caught_up(engine) == 1
        async with engine_at(
            server, settings, clock, embeddings=setting(server, "newer")
        ) as engine:
            assert (await told(engine))["with_vector"] == 0
            assert await caught_up(engine) == 1
        async with engine_at(server, settings, clock) as engine:
            assert await caught_up(engine) == 0


async def test_two_processes_share_the_work_and_no_lesson_is_embedded_twice(
    settings: Settings, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_reflect.storage.retrieval.model_vectors.WAIT_SECONDS", 60)
    async with (
        served() as server,
        engine_at(server, settings, clock) as first,
        engine_at(server, settings, clock) as second,
    ):
        for number in range(40):
            await first.store_lesson(mistake=f"Mistake {number}x{number * 7}", correction="Mend it")
        await meaning(first).close()
        working = meaning(first).embed_all()
        assert await anext(working) == BATCH
        assert await caught_up(second) == 8
        assert [done async for done in working] == []
        await second.store_lesson(**MAIL)
        assert await caught_up(second) == 1
    assert len(asked_for(server)) == len(set(asked_for(server))) == 2 * 41


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (HangUp(), "no reply from"),
        (Answer(status=401, body={"error": {"message": "who are you"}}), "HTTP 401: who are you"),
        (Answer(status=500), "HTTP 500"),
        (embeddings([[1.0], [1.0]]), "gave 2 vectors for 8 texts"),
    ],
)
async def test_an_embedder_that_fails_leaves_the_lessons_for_later_and_stats_say_why(
    settings: Settings, clock: HeldClock, step: Step, problem: str
) -> None:
    async with served(step) as server, engine_at(server, settings, clock) as engine:
        await engine.store_lesson(**SLOW)
        assert await caught_up(engine) == 0
        state = await told(engine)
        assert problem in state["problem"]
        assert state["with_vector"] == 0
        clock.time += 60
        assert await caught_up(engine) == 1
        assert "problem" not in await told(engine)


async def test_a_model_that_changed_its_dimensions_behind_its_name_is_another_model(
    settings: Settings, clock: HeldClock, bank_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_reflect.storage.retrieval.model_vectors.WAIT_SECONDS", 60)

    def longer(received: Received) -> Step:
        return embeddings([[*vector(text), 1.0, 1.0] for text in inputs(received)])

    async with engine_and_server(settings, clock, longer) as (engine, server):
        await engine.store_lesson(**SLOW)
        await caught_up(engine)
        await engine.store_lesson(**MAIL)
        assert await caught_up(engine) == 2
        assert server.received
    with closing(sqlite3.connect(bank_path)) as db:
        assert db.execute(
            "SELECT dims, count(*) FROM vectors JOIN embedders ON id = embedder WHERE id > 1 GROUP BY dims"
        ).fetchall() == [
            (22, 1),
            (24, 2),
        ]


@asynccontextmanager
async def engine_and_server(
    settings: Settings, clock: HeldClock, later: Callable[[Received], Step]
) -> AsyncGenerator[tuple[Engine, Loopback]]:
    """An engine whose model answers twice as ever (a probe and a batch), and then as `later` says."""
    times = iter(range(100))

    def embed(received: Received) -> Step:
        early = next(times) < 2
        return embeddings([vector(text) for text in inputs(received)]) if early else later(received)

    async with served(embed=embed) as server, engine_at(server, settings, clock) as engine:
        yield engine, server


async def test_a_lesson_that_changes_while_it_is_embedded_does_not_keep_the_old_vector(
    settings: Settings, clock: HeldClock, bank_path: Path
) -> None:
    class Editing:
        """Edits the lesson in the moment that it is asked for its vector."""

        name = "editing:1"

        async def embed(self, texts: Any) -> list[list[float]]:
            whole, *_ = texts
            if "sluggish" in whole and "index" not in whole:
                clock.time += 1
                await engine.edit_lesson(stored.lesson_id, {"correction": "Add an index"})
                await meaning(engine).close()
            return [[1.0, float("index" in whole)] for _ in texts]

    async with Engine(settings, clock=clock, embedder=Editing()) as engine:
        stored = await engine.store_lesson(**SLOW)
        await caught_up(engine)
        await caught_up(engine)
    assert list(kept(bank_path)) == ["The report query was sluggish. Add an index"]
    assert next(iter(kept(bank_path).values()))[4:] == packed([1.0, 1.0])[4:]


async def test_a_write_wakes_the_keeper_and_so_does_the_first_recall_of_a_process(
    settings: Settings, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_reflect.storage.retrieval.model_vectors.WAIT_SECONDS", 0)
    async with served() as server, engine_at(server, settings, clock) as engine:
        await engine.store_lesson(**SLOW)
        await asyncio.wait([task for task in [meaning(engine).task] if task])
        assert (await told(engine))["with_vector"] == 1
        async with Engine(settings, clock=clock) as without:
            await without.store_lesson(**MAIL)
    async with served() as server, engine_at(server, settings, clock) as engine:
        await engine.recall(task="an unrelated thing")
        await asyncio.wait([task for task in [meaning(engine).task] if task])
        assert (await told(engine))["with_vector"] == 2


async def test_by_default_each_lesson_has_its_word_vector_at_once(engine: Engine) -> None:
    await engine.store_lesson(**SLOW)
    assert engine.bank.embeddings is None
    assert (await engine.get_stats())["embeddings"] == {
        "embedder": "words",
        "lessons": 1,
        "with_vector": 1,
    }


async def test_switched_off_no_vectors_are_compared(settings: Settings, clock: HeldClock) -> None:
    async with Engine(replace(settings, embeddings="off"), clock=clock) as engine:
        await engine.store_lesson(**SLOW)
        assert (await engine.get_stats())["embeddings"] == "off"
        found = await engine.recall(task="a sluggish report query")
        assert (found.mode, "meaning" in found.lessons[0].why) == ("lexical", False)
