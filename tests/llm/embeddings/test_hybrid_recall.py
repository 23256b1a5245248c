"""Recall by words and meaning together; whatever the embedder does, recall answers."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import Recall
from mcp_reflect.services.engine import Engine
from tests.held_clock import HeldClock
from tests.llm.embeddings.concepts import embeddings, inputs, served, setting, vector
from tests.llm.embeddings.test_keeping_vectors import CAKE, MAIL, SLOW, caught_up, engine_at, meaning, told
from tests.llm.loopback import Answer, Drop, Hang, HangUp, Received, Step

NO_WORD_IN_COMMON = "our sql table crawls"  # SLOW says: report query was sluggish, read from the replica, postgres


async def stored(engine: Engine) -> dict[str, str]:
    """The ids of three lessons that have their vectors."""
    ids = {
        name: (await engine.store_lesson(**lesson)).lesson_id
        for name, lesson in (("slow", SLOW), ("mail", MAIL), ("cake", CAKE))
    }
    await caught_up(engine)
    return ids


def shown(found: Recall) -> list[str]:
    """The ids of what fits strongly."""
    return [hit.id for hit in found.lessons if hit.fit == "strong"]


async def test_a_lesson_is_found_that_shares_no_word_with_the_task_and_says_why(
    settings: Settings, clock: HeldClock
) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        ids = await stored(engine)
        found = await engine.recall(task=NO_WORD_IN_COMMON)
        assert shown(found) == [ids["slow"]]
        assert "close in meaning" in found.lessons[0].why
        assert "shares" not in found.lessons[0].why
        assert shown(await engine.recall(task="send a letter to the outbox")) == [ids["mail"]]
    async with Engine(settings, clock=clock) as engine:
        assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == []


async def test_what_means_nothing_near_finds_nothing(settings: Settings, clock: HeldClock) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        await stored(engine)
        assert shown(await engine.recall(task="negotiate a lease with the landlord")) == []


async def test_a_lesson_that_has_no_vector_yet_is_found_by_its_words(settings: Settings, clock: HeldClock) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        await stored(engine)
        fresh = await engine.store_lesson(mistake="Rotated the certificate late", correction="Set a reminder")
        await meaning(engine).close()
        assert (await told(engine))["with_vector"] == 3
        assert shown(await engine.recall(task="rotate a certificate")) == [fresh.lesson_id]


async def test_an_edited_or_forgotten_lesson_is_not_found_by_what_it_meant(
    settings: Settings, clock: HeldClock
) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        ids = await stored(engine)
        assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == [ids["slow"]]
        await engine.forget_lesson(lesson_id=ids["slow"], reason="a test")
        assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == []
        assert shown(await engine.recall(task="flour and a recipe")) == [ids["cake"]]
        await engine.edit_lesson(ids["mail"], {"mistake": "The table crawls", "correction": "Ask the replica"})
        await caught_up(engine)
        assert shown(await engine.recall(task="a slow database, with much latency")) == [ids["mail"]]


async def test_another_process_s_vectors_are_seen_by_one_that_recalled_before(
    settings: Settings, clock: HeldClock
) -> None:
    async with (
        served() as server,
        engine_at(server, settings, clock) as first,
        engine_at(server, settings, clock) as second,
    ):
        await first.store_lesson(**CAKE)
        await caught_up(first)
        assert shown(await second.recall(task=NO_WORD_IN_COMMON)) == []
        slow = await first.store_lesson(**SLOW)
        await caught_up(first)
        assert shown(await second.recall(task=NO_WORD_IN_COMMON)) == [slow.lesson_id]


async def test_a_project_s_lessons_are_not_found_by_meaning_from_another(settings: Settings, clock: HeldClock) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        other = await engine.store_lesson(**SLOW, project="other")
        await caught_up(engine)
        assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == []
        assert shown(await engine.recall(task=NO_WORD_IN_COMMON, project="other")) == [other.lesson_id]


@pytest.mark.parametrize(
    "step",
    [
        HangUp(),
        Drop(),
        Hang(),
        Answer(status=401, body={"error": {"message": "who are you"}}),
        Answer(body=b'{"data": [{"embedding": [NaN]}]}'),
        embeddings([[1.0], [1.0]]),
        embeddings([[0.0] * 22]),
    ],
    ids=["hangs up", "breaks off", "is silent", "401", "NaN", "too many", "zero"],
)
async def test_a_recall_goes_by_words_where_the_embedder_fails_and_does_not_ask_again_for_a_while(
    settings: Settings, clock: HeldClock, step: Step
) -> None:
    failing = False

    def embed(received: Received) -> Step:
        return step if failing else embeddings([vector(text) for text in inputs(received)])

    async with served(embed=embed) as server:
        patient = replace(settings, embeddings=setting(server), embeddings_seconds=0.3)
        async with engine_at(server, settings, clock) as engine:
            ids = await stored(engine)
        async with Engine(patient, clock=clock) as engine:
            failing = True
            for _ in range(3):
                assert shown(await engine.recall(task="a sluggish report query")) == [ids["slow"]]
            before = len(server.received)
            assert (await told(engine))["problem"]
            failing = False
            clock.time += 30
            assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == [ids["slow"]]
            assert len(server.received) == before + 1
            assert "problem" not in await told(engine)


async def test_other_dimensions_than_the_bank_s_are_no_vectors_of_this_model(
    settings: Settings, clock: HeldClock
) -> None:
    longer = False

    def embed(received: Received) -> Step:
        return embeddings([[*vector(text), *([0.5] if longer else [])] for text in inputs(received)])

    async with served(embed=embed) as server, engine_at(server, settings, clock) as engine:
        ids = await stored(engine)
        longer = True
        assert shown(await engine.recall(task="a sluggish report query")) == [ids["slow"]]


async def test_a_new_model_recalls_by_words_until_lessons_have_its_vectors(
    settings: Settings, clock: HeldClock
) -> None:
    async with served() as server:
        async with engine_at(server, settings, clock) as engine:
            ids = await stored(engine)
        async with engine_at(server, settings, clock, embeddings=setting(server, "newer")) as engine:
            assert shown(await engine.recall(task="a sluggish report query")) == [ids["slow"]]
            await caught_up(engine)
            assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == [ids["slow"]]


OFF = """
import sys
from mcp_reflect.cli import main
main(["recall", "a flaky test"])
print([name for name in sys.modules if name.split(".")[0] in ("numpy", "tokenizers", "safetensors", "httpx2")
       or name == "mcp_reflect.llm.embedders"],
      file=sys.stderr)
"""


def test_a_recall_without_the_setting_imports_no_embedder(tmp_path: Path) -> None:
    env = {"MCP_REFLECT_BANK": str(tmp_path / "bank.db"), "MCP_REFLECT_PROJECT": "here", "PATH": ""}
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", OFF], cwd=root, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
