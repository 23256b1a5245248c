"""Lessons that agents store: worth keeping, named where they say the same, and evidence of one another."""

from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Source, State, Trust
from mcp_reflect.server.short_results import answer
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker
from tests.server.calls import FAILED_RUN


@pytest.mark.parametrize(
    ("analysis", "text"),
    [
        (
            {"mistake": "Guessed the name", "correction": "List the folder."},
            "Guessed the name. List the folder.",
        ),
        ({"mistake": "Guessed the name"}, "Tried without success: Guessed the name"),
        ({"correction": "List the folder first."}, "List the folder first."),
    ],
)
async def test_a_part_of_an_analysis_makes_a_lesson_and_a_reflection(
    engine: Engine, analysis: dict[str, Any], text: str
) -> None:
    reflection = await engine.reflect(**FAILED_RUN, analysis=analysis)
    (learnt,) = reflection.lessons
    lesson = await engine.bank.lessons.get(engine.scopes.own, learnt.id)
    assert (lesson.text, lesson.source) == (text, Source.AGENT)
    assert reflection.reflection == text


async def test_a_lesson_without_content_is_left_out_of_an_analysis(engine: Engine) -> None:
    analysis = {"reflection": "The name was guessed.", "mistake": "x", "correction": "y"}
    reflection = await engine.reflect(task="Read a file", outcome="partial", analysis=analysis)
    assert reflection.ignored == ("analysis.mistake: it has no content",)
    assert not reflection.lessons


async def test_without_ids_only_lessons_whose_advice_the_calls_follow_are_credited(
    engine: Engine,
) -> None:
    used = await engine.store_lesson(
        mistake="Deployed the shop by hand", correction="Run make deploy for the shop"
    )
    await engine.store_lesson(
        mistake="Deployed the shop at noon", correction="Ask the team of the shop first"
    )
    recall = await engine.recall(task="deploy the shop")
    assert len(recall.lessons) == 2
    await engine.after_call("Bash", {"command": "make deploy"}, "done", session="s")
    outcome = await engine.record_outcome(success=True, recall_id=recall.recall_id)
    assert [item.id for item in outcome.updated] == [used.lesson_id]


async def test_where_the_calls_follow_no_lesson_none_is_credited_and_the_answer_says_so(
    engine: Engine,
) -> None:
    await engine.store_lesson(
        mistake="Deployed the shop at noon", correction="Ask the team of the shop first"
    )
    recall = await engine.recall(task="deploy the shop")
    await engine.after_call("Bash", {"command": "make deploy"}, "done", session="s")
    outcome = await engine.record_outcome(success=True, recall_id=recall.recall_id)
    assert (outcome.updated, "name the lesson_ids" in (outcome.reason or "")) == ((), True)


async def test_where_no_hook_saw_a_call_all_lessons_of_the_recall_share_the_outcome(
    engine: Engine,
) -> None:
    await engine.store_lesson(
        mistake="Deployed the shop at noon", correction="Ask the team of the shop first"
    )
    recall = await engine.recall(task="deploy the shop")
    assert len((await engine.record_outcome(success=True, recall_id=recall.recall_id)).updated) == 1


@pytest.mark.parametrize(
    ("text", "mistake", "correction"),
    [
        (
            "Never commit the .env file, add it to .gitignore",
            "Never commit the .env file, add it to .gitignore",
            "",
        ),
        (
            "Committed the .env file. Add .env to .gitignore",
            "Committed the .env file.",
            "Add .env to .gitignore",
        ),
        (
            "Deployed v2.1 from main; deploy from release",
            "Deployed v2.1 from main; deploy from release",
            "",
        ),
        (
            "Never apply in prod; it corrupts state; use make",
            "Never apply in prod; it corrupts state; use make",
            "",
        ),
        (
            "The apply hung in prod; it corrupts state",
            "The apply hung in prod; it corrupts state",
            "",
        ),
        ("The apply hung. Use of locks is slow.", "The apply hung. Use of locks is slow.", ""),
        (
            "提交了密钥文件到仓库里。把它加入忽略列表",
            "提交了密钥文件到仓库里。",
            "把它加入忽略列表",
        ),
    ],
)
async def test_one_text_is_divided_only_where_an_instruction_begins(
    engine: Engine, text: str, mistake: str, correction: str
) -> None:
    stored = await engine.call("store_lesson", {"lesson": text})
    lesson = await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)
    assert (lesson.mistake, lesson.correction) == (mistake, correction)


OLD: dict[str, Any] = {
    "mistake": "npm install failed: pnpm manages this repo",
    "correction": "Use pnpm install here",
}
NEW: dict[str, Any] = {
    "mistake": "Ran npm install, which failed and broke the lock file",
    "correction": "pnpm is the package manager of this repo: use pnpm install",
}


@pytest.mark.parametrize(
    "sent",
    [
        *(
            {"lesson": text}
            for text in (
                "Be careful!",
                "test more",
                "Pay attention next time.",
                "Do better next time",
            )
        ),
        {"lesson": "Double-check everything"},
        {"mistake": "make docs failed: no rule", "correction": "Be more careful"},
    ],
)
async def test_advice_that_names_nothing_to_do_is_not_stored(
    sent: dict[str, Any], engine: Engine
) -> None:
    with pytest.raises(InputError, match="what to do differently"):
        await engine.store_lesson(**sent)
    assert await engine.bank.lessons.latest(engine.scopes.own) == []


@pytest.mark.parametrize(
    "text", ["Run make setup before make test", "Test with docker", "Use --force", "先跑测试再提交"]
)
async def test_plain_sentences_with_something_to_do_are_kept_as_they_are(
    text: str, engine: Engine
) -> None:
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


@pytest.mark.parametrize("evidence", ["self", "user"])
async def test_what_a_person_trusts_is_not_replaced_by_what_an_agent_says(
    engine: Engine, evidence: str
) -> None:
    old = await services.lessons.add(engine.context, OLD)
    told = await engine.store_lesson(**NEW, replaces=old.lesson_id, evidence=evidence)
    assert (told.status, told.lesson_id) == ("proposed", old.lesson_id)
    assert "lessons review" in (told.reason or "")
    (left,) = await engine.bank.lessons.latest(engine.scopes.own)
    assert left.correction == OLD["correction"]
    (waiting,) = await engine.bank.proposals.waiting(engine.scopes.own)
    new = await engine.bank.proposals.decide(engine.scopes.own, waiting.id, approved=True)
    assert (new.correction, new.trust) == (NEW["correction"], Trust.TRUSTED)
    assert [one.id for one in await engine.bank.lessons.latest(engine.scopes.own)] == [new.id]


async def test_an_unknown_lesson_to_replace_is_an_error_and_stores_nothing(engine: Engine) -> None:
    with pytest.raises(InputError, match="replaces"):
        await engine.store_lesson(**NEW, replaces="les_nothere")
    assert await engine.bank.lessons.latest(engine.scopes.own) == []


async def test_a_newer_analysis_of_a_run_replaces_the_correction_of_the_same_mistake(
    engine: Engine,
) -> None:
    mistake = "make docs failed: no rule for docs"
    first = await engine.reflect(
        task="Build the docs",
        outcome="failure",
        analysis={"mistake": mistake, "correction": "Run make html"},
    )
    await engine.reflect(
        reflection_id=first.reflection_id,
        analysis={"mistake": mistake, "correction": "Run make -C docs html"},
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
        (
            "Deploy from the release branch",
            {"mistake": "Deploy from main only"},
            "Deploy from main only",
        ),
        ("Use `uv run pytest`", {"correction": "Use `make test`"}, "Use `make test`"),
        (
            "The deploy broke",
            {"correction": "Run the smoke test first"},
            "The deploy broke. Run the smoke test first",
        ),
    ],
)
async def test_an_edit_of_a_lesson_told_as_one_text_changes_what_agents_are_shown(
    engine: Engine, told: str, changes: dict[str, str], text: str
) -> None:
    stored = await engine.store_lesson(lesson=told)

    edited = await engine.edit_lesson(stored.lesson_id, changes)

    assert edited.text == text


@pytest.mark.parametrize(
    ("by", "before", "sent", "after"),
    [
        (Speaker.AGENT, 0.5, 1.0, 0.75),
        (Speaker.AGENT, 0.5, 0.6, 0.6),
        (Speaker.PERSON, 0.5, 1.0, 1.0),
    ],
)
async def test_an_agent_raises_the_importance_of_a_lesson_as_far_as_in_one_of_its_own(
    engine: Engine, by: Speaker, before: float, sent: float, after: float
) -> None:
    stored = await engine.store_lesson(
        mistake="Moved the cedar desk", correction="Lift the daisy desk", importance=before
    )
    edited = await engine.edit_lesson(stored.lesson_id, {"importance": sent}, by=by)
    assert edited.importance == after


async def test_an_agent_leaves_an_importance_that_a_person_raised_as_high_as_it_is(
    engine: Engine,
) -> None:
    stored = await engine.store_lesson(mistake="It hung", correction="Wait", evidence="user")
    edited = await engine.edit_lesson(stored.lesson_id, {"importance": 1.0})
    assert edited.importance == 0.9
