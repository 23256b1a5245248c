"""Calls as agents send them: understood in every form, answered in short, and no lesson lost."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from benchmarks.calls import CALLS, VARIATIONS, varied
from mcp_reflect.server.session import session
from tests.server.calls import LESSON, answered

RECORDED: list[dict[str, Any]] = [json.loads(line) for line in CALLS.read_text(encoding="utf-8").splitlines()]
SHORT = {"recall_lessons": 350, "reflect": 1200, "record_outcome": 120, "store_lesson": 120}


def test_sixty_calls_of_twelve_kinds_of_work_are_tried_in_forty_forms() -> None:
    assert len(RECORDED) >= 60
    assert len({call["work"] for call in RECORDED}) >= 12
    assert len({call["tool"] for call in RECORDED}) == 8
    assert len(VARIATIONS) >= 40


@pytest.mark.parametrize("start", range(5))
async def test_every_form_of_a_call_that_can_be_understood_is_answered_in_short(client: Client, start: int) -> None:
    for call in [*RECORDED[start : start + 1], *RECORDED[60 + start :: 5]]:
        for name, values in varied(call):
            lesson = (await answered(client, "store_lesson", LESSON))["lesson_id"]
            answer = await answered(client, call["tool"], json.loads(json.dumps(values).replace("$lesson", lesson)))
            hits: list[dict[str, str]] | None = answer.get("lessons") if call["tool"] == "recall_lessons" else None
            texts = sum(len(hit["text"]) for hit in hits or [])
            answer.pop("ignored", None)
            size = len(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) - texts
            assert size <= SHORT.get(call["tool"], 2000), (call["tool"], name, answer)


async def test_three_hits_carry_350_characters_beside_their_texts_on_average(client: Client) -> None:
    for call in RECORDED:
        if "lesson" in call:
            await answered(client, "store_lesson", {"lesson": call["lesson"]})
    sizes: list[int] = []
    for call in RECORDED:
        if "lesson" in call:
            answer = await answered(client, "recall_lessons", {"task": call["lesson"], "limit": 3})
            texts = sum(len(json.dumps(hit["text"], ensure_ascii=False)) - 2 for hit in answer["lessons"])
            sizes.append(len(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) - texts)
    assert sum(sizes) / len(sizes) <= 350
    assert max(sizes) <= 400


async def test_twenty_tasks_of_an_agent_that_sends_other_forms_lose_no_lesson(tmp_path: Path) -> None:
    told = [call for call in RECORDED if "lesson" in call][:20]
    forms = ["as sent", "objects as Python text", "analysis beside", "task left out", "problem and solution"]
    async with session({"MCP_REFLECT_BANK": str(tmp_path / "bank.db"), "MCP_REFLECT_PROJECT": "app"}) as server:
        for place, call in enumerate(told):
            await server.call(call["tool"], VARIATIONS[forms[place % len(forms)]](call["arguments"]))
        for call in told:
            recalled = await server.call("recall_lessons", {"task": call["lesson"], "limit": 5})
            assert call["lesson"] in " ".join(hit["text"] for hit in recalled["lessons"])
