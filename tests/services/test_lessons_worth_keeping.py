"""A lesson says what to do differently, is kept as it was said, and stands once in the bank."""

from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import State
from mcp_reflect.server.service import answer
from mcp_reflect.services.engine import Engine

OLD: dict[str, Any] = {"mistake": "npm install failed: pnpm manages this repo", "correction": "Use pnpm install here"}
NEW: dict[str, Any] = {
    "mistake": "Ran npm install, which failed and broke the lock file",
    "correction": "pnpm is the package manager of this repo: use pnpm install",
}


@pytest.mark.parametrize(
    "sent",
    [
        *({"lesson": text} for text in ("Be careful!", "test more", "Pay attention next time.", "Do better next time")),
        {"lesson": "Double-check everything"},
        {"mistake": "make docs failed: no rule", "correction": "Be more careful"},
    ],
)
async def test_advice_that_names_nothing_to_do_is_not_stored(sent: dict[str, Any], engine: Engine) -> None:
    with pytest.raises(InputError, match="what to do differently"):
        await engine.store_lesson(**sent)
    assert await engine.bank.lessons.latest(engine.scopes.own) == []


@pytest.mark.parametrize(
    "text", ["Run make setup before make test", "Test with docker", "Use --force", "先跑测试再提交"]
)
async def test_plain_sentences_with_something_to_do_are_kept_as_they_are(text: str, engine: Engine) -> None:
    stored = await engine.store_lesson(lesson=text)
    assert stored.text == text
    assert answer(stored)["kept"] == f"les_{stored.lesson_id[-6:]}: {text}"


async def test_a_lesson_in_other_words_is_named_and_replaced_in_one_call(engine: Engine) -> None:
    old = await engine.store_lesson(**OLD)
    new = await engine.store_lesson(**NEW)
    assert new.status == "stored"
    short = f"les_{old.lesson_id[-6:]}"
    assert new.reason is not None
    assert f"replaces: {short}" in new.reason
    settled = await engine.store_lesson(**NEW, replaces=short)
    assert settled.lesson_id == new.lesson_id
    assert settled.reason is None
    lessons = engine.bank.lessons
    assert (await lessons.get(engine.scopes.own, old.lesson_id)).state is State.RETIRED
    history = await lessons.history(engine.scopes.own, new.lesson_id)
    assert OLD["correction"] in [version["correction"] for version in history]


async def test_what_a_person_trusts_is_replaced_on_a_persons_word_alone(engine: Engine) -> None:
    old = await services.lessons.add(engine.context, OLD)
    with pytest.raises(InputError, match="a person stands behind"):
        await engine.store_lesson(**NEW, replaces=old.lesson_id)
    assert len(await engine.bank.lessons.latest(engine.scopes.own)) == 1
    await engine.store_lesson(**NEW, replaces=old.lesson_id, evidence="user")
    (left,) = await engine.bank.lessons.latest(engine.scopes.own)
    assert left.correction == NEW["correction"]


async def test_an_unknown_lesson_to_replace_is_an_error_and_stores_nothing(engine: Engine) -> None:
    with pytest.raises(InputError, match="replaces"):
        await engine.store_lesson(**NEW, replaces="les_nothere")
    assert await engine.bank.lessons.latest(engine.scopes.own) == []


async def test_a_newer_analysis_of_a_run_replaces_the_correction_of_the_same_mistake(engine: Engine) -> None:
    mistake = "make docs failed: no rule for docs"
    first = await engine.reflect(
        task="Build the docs", outcome="failure", analysis={"mistake": mistake, "correction": "Run make html"}
    )
    await engine.reflect(
        reflection_id=first.reflection_id, analysis={"mistake": mistake, "correction": "Run make -C docs html"}
    )
    (left,) = await engine.bank.lessons.latest(engine.scopes.own)
    assert left.correction == "Run make -C docs html"


async def test_an_outcome_says_what_was_counted_in_one_line(engine: Engine) -> None:
    stored = await engine.store_lesson(**OLD)
    counted = answer(await engine.record_lesson_outcome(stored.lesson_id, "helped"))["counted"]
    assert f"les_{stored.lesson_id[-6:]}" in counted
    assert "\n" not in counted


@pytest.mark.parametrize(
    ("told", "changes", "text"),
    [
        ("Deploy from the release branch", {"mistake": "Deploy from main only"}, "Deploy from main only"),
        ("Use `uv run pytest`", {"correction": "Use `make test`"}, "Use `make test`"),
        ("The deploy broke", {"correction": "Run the smoke test first"}, "The deploy broke. Run the smoke test first"),
    ],
)
async def test_an_edit_of_a_lesson_told_as_one_text_changes_what_agents_are_shown(
    engine: Engine, told: str, changes: dict[str, str], text: str
) -> None:
    stored = await engine.store_lesson(lesson=told)

    edited = await engine.edit_lesson(stored.lesson_id, changes)

    assert edited.text == text
