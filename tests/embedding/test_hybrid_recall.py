"""Recall by words and meaning together; whatever the embedder does, recall answers."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.config import Settings
from mcp_reflect.llm.embeddings.vector_index import PlainIndex, packed
from mcp_reflect.models.lesson import Recall
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.retrieval.candidates import LEAST_MEANING, MEANING, fused, meaning_part
from mcp_reflect.storage.retrieval.lexical import Match
from mcp_reflect.storage.retrieval.vectors import Asked
from tests.embedding.concepts import embeddings, inputs, served, setting, vector
from tests.embedding.test_keeping_vectors import CAKE, MAIL, SLOW, caught_up, engine_at, meaning, told
from tests.held_clock import HeldClock
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


def shown(found: Recall) -> tuple[str, list[str]]:
    return found.mode, [hit.id for hit in found.lessons]


async def test_a_lesson_is_found_that_shares_no_word_with_the_task_and_says_why(
    settings: Settings, clock: HeldClock
) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        ids = await stored(engine)
        found = await engine.recall(task=NO_WORD_IN_COMMON)
        assert shown(found) == ("hybrid", [ids["slow"]])
        assert "means something close" in found.lessons[0].why
        assert "shares" not in found.lessons[0].why
        assert shown(await engine.recall(task="send a letter to the outbox")) == ("hybrid", [ids["mail"]])
    async with Engine(settings, clock=clock) as engine:
        assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == ("lexical", [])


async def test_what_means_nothing_near_finds_nothing(settings: Settings, clock: HeldClock) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        await stored(engine)
        assert shown(await engine.recall(task="negotiate a lease with the landlord")) == ("hybrid", [])


async def test_a_lesson_that_has_no_vector_yet_is_found_by_its_words(settings: Settings, clock: HeldClock) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        await stored(engine)
        fresh = await engine.store_lesson(mistake="Rotated the certificate late", correction="Set a reminder")
        await meaning(engine).close()
        assert (await told(engine))["with_vector"] == 3
        assert shown(await engine.recall(task="rotate a certificate")) == ("hybrid", [fresh.lesson_id])


async def test_an_edited_or_forgotten_lesson_is_not_found_by_what_it_meant(
    settings: Settings, clock: HeldClock
) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        ids = await stored(engine)
        assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == ("hybrid", [ids["slow"]])
        await engine.forget_lesson(lesson_id=ids["slow"], reason="a test")
        assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == ("hybrid", [])
        assert shown(await engine.recall(task="flour and a recipe")) == ("hybrid", [ids["cake"]])
        await engine.edit_lesson(ids["mail"], {"mistake": "The table crawls", "correction": "Ask the replica"})
        await caught_up(engine)
        assert shown(await engine.recall(task="a slow database, with much latency")) == ("hybrid", [ids["mail"]])


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
        assert shown(await second.recall(task=NO_WORD_IN_COMMON)) == ("hybrid", [])
        slow = await first.store_lesson(**SLOW)
        await caught_up(first)
        assert shown(await second.recall(task=NO_WORD_IN_COMMON)) == ("hybrid", [slow.lesson_id])


async def test_a_project_s_lessons_are_not_found_by_meaning_from_another(settings: Settings, clock: HeldClock) -> None:
    async with served() as server, engine_at(server, settings, clock) as engine:
        other = await engine.store_lesson(**SLOW, project="other")
        await caught_up(engine)
        assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == ("hybrid", [])
        assert shown(await engine.recall(task=NO_WORD_IN_COMMON, project="other")) == ("hybrid", [other.lesson_id])


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
                assert shown(await engine.recall(task="a sluggish report query")) == ("lexical", [ids["slow"]])
            before = len(server.received)
            assert (await told(engine))["problem"]
            failing = False
            clock.time += 30
            assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == ("hybrid", [ids["slow"]])
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
        assert shown(await engine.recall(task="a sluggish report query")) == ("lexical", [ids["slow"]])


async def test_a_new_model_recalls_by_words_until_lessons_have_its_vectors(
    settings: Settings, clock: HeldClock
) -> None:
    async with served() as server:
        async with engine_at(server, settings, clock) as engine:
            ids = await stored(engine)
        async with engine_at(server, settings, clock, embeddings=setting(server, "newer")) as engine:
            assert shown(await engine.recall(task="a sluggish report query")) == ("lexical", [ids["slow"]])
            await caught_up(engine)
            assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == ("hybrid", [ids["slow"]])


async def test_too_many_vectors_to_compare_are_read_for_what_shares_words(
    settings: Settings, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_reflect.llm.embeddings.vector_index.MOST_NUMBERS_PLAINLY", 2 * 22)
    monkeypatch.setattr("mcp_reflect.storage.retrieval.vectors.open_index", PlainIndex)
    async with served() as server, engine_at(server, settings, clock) as engine:
        ids = await stored(engine)
        assert shown(await engine.recall(task=NO_WORD_IN_COMMON)) == ("hybrid", [])
        found = await engine.recall(task="a sluggish report query of the database")
        assert shown(found) == ("hybrid", [ids["slow"]])
        assert "means something close" in found.lessons[0].why
        assert "too many" in (await told(engine))["search"]


def asked(query: list[float], vectors: dict[int, list[float]], near: tuple[int, ...] = ()) -> Asked:
    index = PlainIndex(len(query))
    index.put((row, *packed(numbers)) for row, numbers in vectors.items())
    return Asked(query, 1, index, background=0.0, near=near)


# Scores that a float can tell apart when another is added to them.
rows = st.dictionaries(st.integers(1, 30), st.floats(0, 1).map(lambda score: round(score, 6)), min_size=1, max_size=12)


@given(words=rows, turned=st.randoms(use_true_random=False))
def test_the_order_of_what_is_found_does_not_depend_on_the_order_it_came_in(
    words: dict[int, float], turned: Any
) -> None:
    found = [Match(row, score, score, ("word",), 3) for row, score in words.items()]
    beside = asked([1.0, 0.0], {row: [1.0, row / 7] for row in range(1, 31, 2)}, near=(1, 3, 5))
    straight = fused(found, beside)
    turned.shuffle(found)
    assert fused(found, beside) == straight
    assert {match.row for match in straight} == {*words, 1, 3, 5}
    assert straight[0].score == 1.0
    assert all(0 <= match.score <= 1 for match in straight)
    assert [match.score for match in straight] == sorted((match.score for match in straight), reverse=True)


@given(words=rows)
def test_without_any_vector_the_order_is_that_of_words(words: dict[int, float]) -> None:
    found = sorted(
        (Match(row, score, score, ("word",), 3) for row, score in words.items()), key=lambda one: (-one.score, -one.row)
    )
    assert [match.row for match in fused(found, asked([1.0, 0.0], {}))] == [match.row for match in found]


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_more_alike_the_lessons_are_the_less_their_meaning_counts(one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert MEANING >= meaning_part(less) >= meaning_part(more) >= LEAST_MEANING


def test_among_lessons_that_mean_nearly_the_same_words_decide() -> None:
    found = [Match(1, 1.0, 0.9, ("kettle",), 2), Match(2, 0.3, 0.2, ("on",), 2)]
    vectors = {1: [0.8, 0.6], 2: [0.9, 0.436]}
    beside = asked([1.0, 0.0], vectors, near=(2, 1))
    assert [match.row for match in fused(found, beside)] == [2, 1]
    assert [match.row for match in fused(found, replace(beside, alike=0.6))] == [1, 2]


OFF = """
import sys
from mcp_reflect.cli import main
main(["recall", "a flaky test"])
print([name for name in sys.modules if name.split(".")[0] in ("numpy", "tokenizers", "safetensors", "httpx2")
       or name.startswith(("mcp_reflect.llm", "mcp_reflect.storage.retrieval.vectors"))], file=sys.stderr)
"""


def test_a_recall_without_the_setting_imports_nothing_of_it(tmp_path: Path) -> None:
    env = {"MCP_REFLECT_BANK": str(tmp_path / "bank.db"), "MCP_REFLECT_PROJECT": "here", "PATH": ""}
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", OFF], cwd=root, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
