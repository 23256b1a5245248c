"""What a language model or the host proposes in a dream: taken where the records bear it, refused with the reason."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.models.lesson import Source, State
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted

LESSONS = (
    ("Sent an empty body to the billing service", "Fill the body before sending"),
    ("Posted nothing to the invoice endpoint", "Check that there is something to post"),
    ("Called the refund endpoint without any fields", "Give every required field"),
)
GENERAL = {
    "mistake": "Called an endpoint with nothing in the request",
    "correction": "Validate requests before they go",
}


async def stored(engine: Engine, lessons: Sequence[tuple[str, str]] = LESSONS, **more: Any) -> list[str]:
    return [
        (await engine.store_lesson(mistake=mistake, correction=correction, context=f"task {place}", **more)).lesson_id
        for place, (mistake, correction) in enumerate(lessons)
    ]


async def test_without_a_model_or_the_host_there_is_no_new_text(engine: Engine) -> None:
    await stored(engine)
    dream = await engine.dream()
    assert (dream.plan.thinker, dream.added) == ("rules", ())


async def test_findings_without_a_lesson_are_shown_to_the_model(engine: Engine) -> None:
    events = [{"type": "tool_call", "tool": "deploy", "arguments": {"to": "staging"}, "error": "quota exceeded"}]
    reflection = await engine.reflect(task="Deploy", outcome="failure", events=events)
    await stored(engine)
    prompt = await services.consolidate.prompt(engine.context)
    (line,) = [line for line in prompt.splitlines() if reflection.reflection_id in line]
    assert "No lesson yet of: deploy " in line
    assert "quota exceeded" in line


async def test_a_model_generalizes_and_the_lesson_is_tied_to_its_sources(settings: Settings) -> None:
    async with Engine(settings) as preparing:
        ids = await stored(preparing)
    reply = json.dumps({"merge": [], "generalize": [{"ids": ids, **GENERAL, "importance": 0.6}]})
    with Scripted(reply, roles=[Role.DREAMER]) as llm:
        async with Engine(settings, llm=llm) as engine:
            dream = await engine.dream()
            (made,) = dream.added
            lesson = await engine.bank.lessons.get(engine.scopes.own, made)
            assert (lesson.mistake, lesson.source, lesson.importance) == (GENERAL["mistake"], Source.MODEL, 0.6)
            ties = {
                (link["relation"], link["to_id"]) for link in await engine.bank.lessons.links(engine.scopes.own, made)
            }
            assert {("derived_from", name) for name in ids} <= ties
            assert all(name in llm.asked[0].user for name in ids)
            again = await engine.dream()  # nothing changed since: the model is not asked again
            assert (again.status, again.plan.note) == ("nothing_to_do", "nothing changed since the last dream")
            assert dream.dream_id is not None
            await engine.undo_dream(dream.dream_id)
            assert (await engine.bank.lessons.get(engine.scopes.own, made)).state is State.ARCHIVED


async def test_the_hosts_answer_is_taken_as_a_models_is(engine: Engine) -> None:
    ids = await stored(engine)
    answer = f"Here it is:\n```json\n{json.dumps({'generalize': [{'ids': ids, **GENERAL}]})}\n```"
    dream = await engine.dream(analysis=answer)
    assert (dream.plan.thinker, len(dream.added)) == ("host", 1)
    with pytest.raises(InputError, match="holds no object"):
        await engine.dream(analysis="Nothing comes to mind.")


async def test_a_merge_in_new_words_is_a_version_and_the_others_stay_tied(engine: Engine) -> None:
    ids = await stored(engine, LESSONS[:2])
    words = {"mistake": "Sent nothing to a billing endpoint", "correction": "Fill the request first"}
    dream = await engine.dream(analysis={"merge": [{"ids": ids, **words, "reason": "the same"}]})
    (merge,) = dream.plan.merges
    kept = await engine.bank.lessons.get(engine.scopes.own, merge.keep)
    assert (kept.mistake, kept.text) == (words["mistake"], "Sent nothing to a billing endpoint. Fill the request first")
    texts = [version["text"] for version in await engine.bank.lessons.history(engine.scopes.own, kept.id)]
    assert {f"{mistake}. {correction}" for mistake, correction in LESSONS[:2]} <= set(texts)
    assert [hit.id for hit in (await engine.recall(task="sent nothing to a billing endpoint")).lessons] == [kept.id]


@pytest.mark.parametrize(
    ("proposal", "reason"),
    [
        ({"generalize": [{"ids": ["0", "1"], **GENERAL}]}, "fewer than 3"),
        ({"generalize": [{"ids": ["0", "1", "les_none"], **GENERAL}]}, "not shown"),
        ({"generalize": [{"ids": ["0", "1", "2"], "mistake": "Sent nothing"}]}, "are missing"),
        ({"merge": [{"ids": ["0"], **GENERAL}]}, "fewer than two"),
        ({"merge": [{"ids": ["0", "1"], **GENERAL, "correction": "Retry 3 times"}]}, "differ in a number"),
    ],
)
async def test_what_the_records_do_not_bear_is_refused_with_the_reason(
    engine: Engine, proposal: dict[str, Any], reason: str
) -> None:
    ids = await stored(engine)
    text = json.dumps(proposal)
    for place, name in enumerate(ids):
        text = text.replace(f'"{place}"', f'"{name}"')
    dream = await engine.dream(analysis=json.loads(text))
    assert (dream.status, dream.added) == ("nothing_to_do", ())
    assert reason in dream.plan.refused[0]
