"""What recall promises whatever compares meanings: the packaged words, a model of this process, or an endpoint."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.models.recall import Recall
from mcp_reflect.services.engine import Engine
from tests.held_clock import HeldClock
from tests.llm.embeddings.concepts import served, setting
from tests.llm.embeddings.test_hybrid_recall import shown as strong
from tests.llm.embeddings.test_keeping_vectors import CAKE, MAIL, caught_up, told
from tests.llm.embeddings.test_local_model import needs_the_extra
from tests.llm.embeddings.tiny_model import tiny_model
from tests.storage.test_quarantine import shown as every_hit
from tests.storage.test_quarantine import stored as stored_beside

EMBEDDERS = ("words", "local", "endpoint")
PASSWORD = {
    "mistake": "Put the password into the release notes",
    "correction": "Rotate the credential",
}
PASSWORD_OF_ANOTHER = {
    "mistake": "Mixed up the credential of two accounts",
    "correction": "Keep each password apart",
}
LESSONS = {"password": PASSWORD, "mail": MAIL, "cake": CAKE}
WITHOUT_A_SHARED_WORD = {
    "password": "login with a secret token",
    "mail": "send mail to a customer",
    "cake": "bake from a recipe with flour",
}
IN_NEAR_WORDS = {
    "password": "a password in the release notes",
    "mail": "sent a newsletter two times",
    "cake": "opened an oven too early",
}
UNRELATED = (
    "negotiate a lease with the landlord",
    "A violin string breaks when it is wound too tight",
    "Bees dance to tell where the flowers are",
)

each_embedder = pytest.mark.parametrize("kind", EMBEDDERS)


@asynccontextmanager
async def named(kind: str, settings: Settings, folder: Path) -> AsyncGenerator[Settings]:
    """Yield settings that name an embedder of this kind, which is there."""
    patient = replace(settings, embeddings_seconds=10.0)
    if kind == "words":
        yield replace(patient, embeddings="words")
    elif kind == "local":
        needs_the_extra()
        yield replace(patient, embeddings=f"local:{tiny_model(folder / 'model')}")
    else:
        async with served() as server:
            yield replace(patient, embeddings=setting(server))


async def embed(engine: Engine) -> None:
    """Give every lesson its vector; the packaged words gave it at the write."""
    if engine.bank.embeddings is not None:
        await caught_up(engine)


@asynccontextmanager
async def bank(
    kind: str, settings: Settings, clock: HeldClock, folder: Path
) -> AsyncGenerator[tuple[Engine, dict[str, str]]]:
    """Yield an engine with three lessons that have their vectors, and the ids of the lessons."""
    async with named(kind, settings, folder) as chosen, Engine(chosen, clock=clock) as engine:
        ids = {
            name: (await engine.store_lesson(**lesson)).lesson_id
            for name, lesson in LESSONS.items()
        }
        await embed(engine)
        yield engine, ids


def ids_of(found: Recall) -> list[str]:
    return [hit.id for hit in found.lessons]


@each_embedder
async def test_what_means_the_same_is_found_without_a_shared_word(
    kind: str, settings: Settings, clock: HeldClock, tmp_path: Path
) -> None:
    async with bank(kind, settings, clock, tmp_path) as (engine, ids):
        for name, task in WITHOUT_A_SHARED_WORD.items():
            found = await engine.recall(task=task)
            assert ids_of(found) == [ids[name]]
            assert found.mode == "hybrid"
            assert "in meaning" in found.lessons[0].why
            assert "shares" not in found.lessons[0].why


@each_embedder
async def test_what_is_said_in_near_words_fits_surely(
    kind: str, settings: Settings, clock: HeldClock, tmp_path: Path
) -> None:
    async with bank(kind, settings, clock, tmp_path) as (engine, ids):
        for name, task in IN_NEAR_WORDS.items():
            found = await engine.recall(task=task)
            assert strong(found) == [ids[name]]
            assert "shares" in found.lessons[0].why


@each_embedder
async def test_unrelated_tasks_draw_nothing(
    kind: str, settings: Settings, clock: HeldClock, tmp_path: Path
) -> None:
    async with bank(kind, settings, clock, tmp_path) as (engine, _):
        for task in UNRELATED:
            assert ids_of(await engine.recall(task=task)) == []


@each_embedder
async def test_an_edited_or_forgotten_lesson_is_not_found_by_what_it_meant(
    kind: str, settings: Settings, clock: HeldClock, tmp_path: Path
) -> None:
    async with bank(kind, settings, clock, tmp_path) as (engine, ids):
        await engine.edit_lesson(ids["mail"], PASSWORD_OF_ANOTHER)
        await engine.forget_lesson(lesson_id=ids["password"], reason="a test")
        await embed(engine)
        assert ids_of(await engine.recall(task=WITHOUT_A_SHARED_WORD["mail"])) == []
        found = await engine.recall(task=WITHOUT_A_SHARED_WORD["password"])
        assert ids_of(found) == [ids["mail"]]


@each_embedder
async def test_another_project_and_quarantine_are_not_found_by_meaning(
    kind: str, settings: Settings, clock: HeldClock, tmp_path: Path
) -> None:
    async with named(kind, settings, tmp_path) as chosen, Engine(chosen, clock=clock) as engine:
        other = await engine.store_lesson(**CAKE, project="other")
        await stored_beside(engine, [], ["a customer's password", "the newsletter of the customer"])
        await embed(engine)
        for task in WITHOUT_A_SHARED_WORD.values():
            assert ids_of(await engine.recall(task=task)) == []
        task = WITHOUT_A_SHARED_WORD["cake"]
        assert ids_of(await engine.recall(task=task, project="other")) == [other.lesson_id]


@each_embedder
async def test_an_answer_is_the_same_after_a_restart_and_every_lesson_has_its_vector(
    kind: str, settings: Settings, clock: HeldClock, tmp_path: Path
) -> None:
    tasks = [*WITHOUT_A_SHARED_WORD.values(), *IN_NEAR_WORDS.values(), *UNRELATED]
    async with named(kind, settings, tmp_path) as chosen:
        async with Engine(chosen, clock=clock) as engine:
            for lesson in LESSONS.values():
                await engine.store_lesson(**lesson)
            await embed(engine)
            state = await told(engine)
            before = [every_hit(await engine.recall(task=task)) for task in tasks]
        async with Engine(chosen, clock=clock) as engine:
            assert [every_hit(await engine.recall(task=task)) for task in tasks] == before
    assert (state["lessons"], state["with_vector"]) == (3, 3)
    assert "problem" not in state
