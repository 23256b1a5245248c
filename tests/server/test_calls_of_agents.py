"""Calls as agents send them: understood in every form, answered in short, and no lesson lost."""

import json
from pathlib import Path

import pytest
from mcp import Client

from benchmarks.calls import CALLS, RECORDED, VARIATIONS, read_calls, varied
from mcp_reflect.server.stdio import session
from tests.conftest import one_era
from tests.server.calls import LESSON, answered

WRITTEN = read_calls(CALLS)
AT_WORK = read_calls(RECORDED)
SHORT = {"recall_lessons": 350, "reflect": 1200, "record_outcome": 200, "store_lesson": 340}


def test_sixty_calls_of_twelve_kinds_of_work_are_tried_in_forty_forms() -> None:
    every = RECORDED.read_text(encoding="utf-8").splitlines()  # with those that are kept apart
    assert len(every) >= 60
    assert len({call["work"] for call in AT_WORK}) >= 12
    assert {call["tool"] for call in map(json.loads, every)} == {call["tool"] for call in WRITTEN}
    assert len(VARIATIONS) >= 40


@one_era
async def test_every_form_of_a_call_that_can_be_understood_is_answered_in_short(client: Client) -> None:
    for call in [*WRITTEN[:5], *WRITTEN[60::2]]:
        for name, values in varied(call):
            lesson = (await answered(client, "store_lesson", LESSON))["lesson_id"]
            answer = await answered(client, call["tool"], json.loads(json.dumps(values).replace("$lesson", lesson)))
            hits: list[dict[str, str]] | None = answer.get("lessons") if call["tool"] == "recall_lessons" else None
            texts = sum(len(hit["text"]) for hit in hits or [])
            answer.pop("ignored", None)
            size = len(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) - texts
            assert size <= SHORT.get(call["tool"], 2000), (call["tool"], name, answer)


@one_era
async def test_three_hits_carry_350_characters_beside_their_texts_on_average(client: Client) -> None:
    for call in WRITTEN:
        if "lesson" in call:
            await answered(client, "store_lesson", {"lesson": call["lesson"]})
    sizes: list[int] = []
    for call in WRITTEN:
        if "lesson" in call:
            answer = await answered(client, "recall_lessons", {"task": call["lesson"], "limit": 3})
            texts = sum(len(json.dumps(hit["text"], ensure_ascii=False)) - 2 for hit in answer["lessons"])
            sizes.append(len(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) - texts)
    assert sum(sizes) / len(sizes) <= 350
    assert max(sizes) <= 400


@one_era
async def test_every_recorded_call_that_can_be_understood_is_answered(client: Client) -> None:
    for call in AT_WORK:
        await answered(client, call["tool"], call["arguments"])


@one_era
@pytest.mark.parametrize(
    ("analysis", "text"),
    [
        ({"what_went_wrong": "pytest ran in the root", "what_to_do": "run it in api"}, "run it in api"),
        ({"problem": "pytest ran in the root", "next_time": "run it in api"}, "run it in api"),
        ({"mistake": "pytest ran in the root", "solution": "run it in api"}, "run it in api"),
        ({"issue": "pytest ran in the root", "correction": "run it in api"}, "run it in api"),
    ],
)
async def test_a_mistake_and_its_correction_make_a_lesson_by_the_names_that_agents_give_them(
    client: Client, analysis: dict[str, str], text: str
) -> None:
    reflection = await answered(
        client, "reflect", {"task": "Run the tests", "outcome": "partial", "analysis": analysis}
    )
    assert [lesson["status"] for lesson in reflection["lessons"]] == ["stored"]
    recalled = await answered(client, "recall_lessons", {"task": "pytest ran in the root"})
    assert text in recalled["lessons"][0]["text"]


@one_era
async def test_an_analysis_without_a_lesson_is_kept_and_says_so(client: Client) -> None:
    analysis = {"impression": "the tests were slow", "importance": "high"}
    answer = await answered(client, "reflect", {"task": "Run the tests", "outcome": "success", "analysis": analysis})
    assert answer["note"].startswith("no lesson")
    assert "ignored" not in answer


@one_era
async def test_a_recall_that_finds_nothing_says_so(client: Client) -> None:
    assert (await answered(client, "recall_lessons", {"task": "deploy the shop"}))["lessons"] == []


@one_era
async def test_criteria_alone_do_not_bring_every_detail(client: Client) -> None:
    call = {"goal": "Add", "response": "12 + 30 = 42 apples in all", "criteria": ["figures are right"]}
    assert not {"tokens", "iterations", "basis"} & set(await answered(client, "critique", call))


@one_era
async def test_an_outcome_in_a_sentence_and_counts_by_query_are_understood(client: Client) -> None:
    lesson = (await answered(client, "store_lesson", LESSON))["lesson_id"]
    assert (await answered(client, "record_outcome", {"success": "yes, it helped", "id": lesson}))["lessons"] == 1
    tried = {"goal": "find the orders", "tried": ["orders of may", "may orders"], "hits": [0, 0]}
    assert (await answered(client, "replan_search", tried))["new_queries"]


async def test_twenty_tasks_of_an_agent_that_sends_other_forms_lose_no_lesson(tmp_path: Path) -> None:
    told = [call for call in [*AT_WORK, *WRITTEN] if "lesson" in call][:20]
    forms = ["as sent", "objects as Python text", "analysis beside", "task left out", "problem and solution"]
    async with session({"MCP_REFLECT_BANK": str(tmp_path / "bank.db"), "MCP_REFLECT_PROJECT": "app"}) as server:
        for place, call in enumerate(told):
            form = "as sent" if call in AT_WORK else forms[place % len(forms)]
            await server(call["tool"], VARIATIONS[form](call["arguments"]))
        for call in told:
            recalled = await server("recall_lessons", {"task": call["lesson"], "limit": 5})
            assert call["lesson"] in " ".join(hit["text"] for hit in recalled["lessons"])
