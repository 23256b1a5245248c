"""Limits on what language models may take hold through the tool: per call, and per day over all servers of a bank."""

from pathlib import Path
from typing import Any

from mcp_reflect.models.common import Json
from tests.llm.dialects import OPENAI
from tests.llm.loopback import Answer, Loopback
from tests.llm.reflect_calls import BAD, GOOD, bound_to, reflect, rows, said, serving

DEAR = 100_000  # tokens that a reply says it took


def dear(text: str) -> Answer:
    """A reply that took many tokens."""
    answer = OPENAI.say(text, "stop")
    assert isinstance(answer.body, dict)
    usage: Json = {"prompt_tokens": DEAR, "completion_tokens": 0}
    return Answer(body={**answer.body, "usage": usage})


async def ask(folder: Path, url: str, **settings: Any) -> dict[str, Any]:
    async with serving(folder, **bound_to(OPENAI, url, **settings)) as (client, _):
        return await reflect(client, run_id=str(rows(folder)["reflections"]))


async def test_the_second_question_of_a_call_counts_with_the_first(tmp_path: Path) -> None:
    async with Loopback(dear(said(BAD))) as server:
        found = await ask(tmp_path, server.url, llm_tokens_per_call="50000")
    assert found["thinker"] == "rules"
    assert f"{DEAR} of the 50000 tokens a call are spent" in found["note"]


async def test_two_servers_of_a_bank_share_the_day(tmp_path: Path) -> None:
    async with Loopback(dear(said(GOOD))) as server:
        first = await ask(tmp_path, server.url, llm_tokens_per_day="50000")
        second = await ask(tmp_path, server.url, llm_tokens_per_day="50000")
    assert (first["thinker"], second["thinker"]) == ("openai:test-model", "rules")
    assert f"{DEAR} of the 50000 tokens a day are spent" in second["note"]
    assert "wait until midnight UTC" in second["note"]
    assert rows(tmp_path) == {"reflections": 2, "lessons": rows(tmp_path)["lessons"], "spending": 1}


async def test_tokens_are_written_down_without_a_limit_per_day(tmp_path: Path) -> None:
    async with Loopback(dear(said(GOOD))) as server:
        assert (await ask(tmp_path, server.url, llm_tokens_per_call="50000"))["thinker"] == "openai:test-model"
    assert rows(tmp_path)["spending"] == 1
