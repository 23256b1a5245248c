"""What an agent stores as a person's word is shown as told, wherever a lesson is shown, until a person keeps it."""

from typing import Any

import pytest

from mcp_reflect.cli.lesson_text import lesson_page
from mcp_reflect.dashboard.contents import collect
from mcp_reflect.models.lesson import GuardMode, Trust
from mcp_reflect.models.lesson_words import TOLD_SO
from mcp_reflect.models.warning import HookInput, Moment
from mcp_reflect.server.short_results import answer
from mcp_reflect.services import hooks
from mcp_reflect.services.curation import USES
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker
from tests.shown import seen

TELLS: dict[str, Any] = {
    "mistake": "Formatted the ledger with tabs",
    "correction": "Indent the ledger export with two blanks",
    "evidence": "user",
}


async def shown_by_hook(engine: Engine, session: str) -> str:
    hook = HookInput(
        event="UserPromptSubmit", moment=Moment.PROMPT, answer_key="hookSpecificOutput",
        session=session, prompt="Indent the ledger export",
    )  # fmt: skip
    return (await hooks.answer(engine.context, hook))[0] or ""


async def test_a_persons_word_by_an_agent_is_shown_as_told_everywhere(engine: Engine) -> None:
    stored = await engine.store_lesson(**TELLS)
    assert answer(stored)["evidence"] == "told"
    lesson = await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)
    assert (lesson.trust, lesson.is_told) == (Trust.OBSERVED, True)
    (hit,) = (await engine.recall(task="Indent the ledger export")).lessons
    assert hit.is_told
    assert TOLD_SO in hit.why
    assert TOLD_SO in await shown_by_hook(engine, "s1")
    assert TOLD_SO in lesson_page(lesson, GuardMode.TELL)
    columns = (await collect(engine))["lessons"]
    assert columns["rows"][0][columns["columns"].index("is_told")] is True


async def test_it_is_no_longer_told_when_a_person_keeps_it(engine: Engine) -> None:
    stored = await engine.store_lesson(**TELLS)
    await USES["decide"].work(
        engine,
        {
            "id": stored.lesson_id,
            "approved": True,
            "seen": await seen(engine, stored.lesson_id),
        },
        speaker=Speaker.PERSON,
    )
    lesson = await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)
    assert (lesson.trust, lesson.is_told) == (Trust.TRUSTED, False)
    assert TOLD_SO not in await shown_by_hook(engine, "s1")


async def test_an_agents_own_lesson_is_not_told(engine: Engine) -> None:
    stored = await engine.store_lesson(**{**TELLS, "evidence": "self"})
    assert "evidence" not in answer(stored)
    assert TOLD_SO not in await shown_by_hook(engine, "s1")


@pytest.mark.parametrize("evidence", ["user", "self"])
async def test_the_same_told_again_stays_told(engine: Engine, evidence: str) -> None:
    first = await engine.store_lesson(**TELLS)
    await engine.store_lesson(**{**TELLS, "evidence": evidence})
    assert (await engine.bank.lessons.get(engine.scopes.own, first.lesson_id)).is_told
