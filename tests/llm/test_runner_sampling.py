"""What becomes of a model's reply, and the host's own model, asked through the protocol in both eras."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import (
    CallToolResult,
    CreateMessageResult,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
    InputResponses,
    TextContent,
)

from mcp_reflect.errors import McpReflectError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.models.lesson import Source
from mcp_reflect.server.sampling import MOST_REQUESTS, Sampling
from mcp_reflect.server.service import InputNeeded
from tests.llm.contract import every_dialect
from tests.llm.dialects import Dialect
from tests.llm.loopback import Loopback
from tests.llm.reflect_calls import (
    BAD,
    EVENTS,
    GOOD,
    TASK,
    both_eras,
    bound_to,
    reflect,
    rows,
    said,
    serving,
)
from tests.llm.requests import asking
from tests.scripted import NAME, Scripted

CHANCE = {"reflection_id", "strategy_id", "generated_at", "lessons"}


class HostModel:
    """The model of a host: gives `answers` in order, keeps what it was asked, and looks into the bank each time."""

    def __init__(
        self, folder: Path, answers: Sequence[str | ErrorData], stop: str = "endTurn"
    ) -> None:
        self._folder = folder
        self._answers = list(answers)
        self._stop = stop
        self.asked: list[str] = []
        self.held: list[dict[str, int]] = []

    async def __call__(self, context: object, params: Any) -> CreateMessageResult | ErrorData:
        del context
        self.asked.append(params.messages[0].content.text)
        self.held.append(rows(self._folder))
        answer = self._answers.pop(0)
        if isinstance(answer, ErrorData):
            return answer
        content = TextContent(type="text", text=answer)
        return CreateMessageResult(
            role="assistant", content=content, model="host-model", stop_reason=self._stop
        )


async def ask(
    folder: Path, mode: str, *answers: str | ErrorData, stop: str = "endTurn"
) -> tuple[Any, HostModel]:
    """What reflect returns for a host with that model."""
    folder.mkdir(exist_ok=True)
    model = HostModel(folder, answers, stop)
    async with serving(folder, mode=mode, client={"sampling_callback": model}) as (client, _):
        return await reflect(client), model


@both_eras
async def test_a_host_that_declares_sampling_is_asked_once(tmp_path: Path, mode: str) -> None:
    found, model = await ask(tmp_path, mode, said(GOOD))
    assert (found["thinker"], found["reflection"]) == ("sampling", GOOD["reflection"])
    assert len(model.asked) == 1
    assert rows(tmp_path)["reflections"] == 1


async def test_both_eras_give_the_same_for_a_reply_that_needs_a_repair(tmp_path: Path) -> None:
    modern, asked_now = await ask(tmp_path / "modern", "2026-07-28", said(BAD), said(GOOD))
    old, asked_then = await ask(tmp_path / "old", "legacy", said(BAD), said(GOOD))
    assert {name: modern[name] for name in modern if name not in CHANCE} == {
        name: old[name] for name in old if name not in CHANCE
    }
    assert modern.keys() == old.keys()
    assert asked_now.asked == asked_then.asked
    assert len(asked_now.asked) == 2
    assert modern["importance"] == 0.8
    assert "analysis.importance" in asked_now.asked[1]
    assert rows(tmp_path / "modern") == rows(tmp_path / "old")


@both_eras
async def test_nothing_is_written_and_no_budget_charged_before_the_last_answer(
    tmp_path: Path, mode: str
) -> None:
    _, model = await ask(tmp_path, mode, said(BAD), said(GOOD))
    assert model.held == [{"reflections": 0, "lessons": 0, "spending": 0}] * 2
    assert rows(tmp_path)["reflections"] == 1
    assert rows(tmp_path)["spending"] == 0


@both_eras
async def test_a_host_that_declares_nothing_has_rules_at_once(tmp_path: Path, mode: str) -> None:
    async with serving(tmp_path, mode=mode) as (client, _):
        found = await reflect(client)
    assert found["thinker"] == "rules"
    assert "note" not in found


async def test_a_person_who_declines_in_the_old_era_leaves_it_to_rules_with_a_note(
    tmp_path: Path,
) -> None:
    found, model = await ask(
        tmp_path, "legacy", ErrorData(code=-1, message="User rejected sampling request")
    )
    assert found["thinker"] == "rules"
    assert found["note"].startswith("sampling: the host declined: User rejected sampling request.")
    assert len(model.asked) == 1
    assert rows(tmp_path)["reflections"] == 1


@pytest.mark.parametrize("answers", [None, {}, {"answer": ElicitResult(action="decline")}], ids=str)
async def test_a_round_that_brings_no_answer_leaves_it_to_rules_with_a_note(
    tmp_path: Path, answers: InputResponses | None
) -> None:
    """In the modern era a client that declines may end the call by itself, or call again without an answer."""
    model = HostModel(tmp_path, [])
    async with serving(tmp_path, mode="2026-07-28", client={"sampling_callback": model}) as (
        client,
        _,
    ):
        sent = {"task": TASK, "outcome": "failure", "events": EVENTS}
        needed = await client.session.call_tool("reflect", sent, allow_input_required=True)
        assert isinstance(needed, InputRequiredResult)
        assert rows(tmp_path)["reflections"] == 0
        state = needed.request_state
        done = await client.session.call_tool(
            "reflect", sent, input_responses=answers, request_state=state
        )
    assert done.structured_content is not None
    assert done.structured_content["thinker"] == "rules"
    assert done.structured_content["note"].startswith("sampling: the host sent no answer")
    assert rows(tmp_path)["reflections"] == 1


@both_eras
@pytest.mark.parametrize(
    ("text", "stop", "why"),
    [
        ("", "endTurn", "gave no answer (empty)"),
        ("I will not", "refusal", "gave no answer (refusal)"),
        ("x", "toolUse", "gave no answer (tool_use)"),
    ],
)
async def test_an_answer_that_is_none_leaves_it_to_rules(
    tmp_path: Path, mode: str, text: str, stop: str, why: str
) -> None:
    found, model = await ask(tmp_path, mode, text, stop=stop)
    assert (found["thinker"], found["note"]) == ("rules", f"sampling {why}")
    assert len(model.asked) == 1


@both_eras
async def test_a_truncated_answer_is_asked_for_once_more(tmp_path: Path, mode: str) -> None:
    found, model = await ask(
        tmp_path, mode, '{"reflection": "It', '{"reflection": "It', stop="maxTokens"
    )
    assert found["thinker"] == "rules"
    assert "cut off" in found["note"]
    assert len(model.asked) == 2


@both_eras
async def test_a_configured_model_goes_before_the_hosts(tmp_path: Path, mode: str) -> None:
    model = HostModel(tmp_path, [])
    settings = {
        "llm": "anthropic:claude-sonnet-5-5"
    }  # without a key: its setting is wrong, and says so
    async with serving(tmp_path, mode=mode, client={"sampling_callback": model}, **settings) as (
        client,
        _,
    ):
        found = await reflect(client)
    assert found["thinker"] == "rules"
    assert found["note"].startswith("ANTHROPIC_API_KEY: ")
    assert model.asked == []


@both_eras
async def test_the_ninth_question_of_a_call_is_refused(tmp_path: Path, mode: str) -> None:
    model = HostModel(tmp_path, ["yes"] * MOST_REQUESTS)

    class Insistent(MCPServer[None]):
        async def call_tool(
            self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None = None
        ) -> CallToolResult | InputRequiredResult:
            del name, arguments
            assert context is not None
            host = Sampling(context)
            try:
                for number in range(MOST_REQUESTS + 1):
                    await host.complete(asking(f"Question {number}"))
            except InputNeeded as needed:
                return needed.result
            except McpReflectError as error:
                return CallToolResult(content=[TextContent(type="text", text=str(error))])
            raise AssertionError("the ninth question was let through")

    server = Insistent("insistent")
    server.tool(name="ask")(lambda: None)
    async with Client(server, mode=mode, sampling_callback=model) as client:
        (content,) = (await client.call_tool("ask", {})).content
    assert isinstance(content, TextContent)
    assert content.text.startswith("sampling: a call may ask 8 times")
    assert len(model.asked) == MOST_REQUESTS


@both_eras
async def test_a_good_reply_is_the_reflection_and_its_lesson_comes_from_a_model(
    tmp_path: Path, mode: str
) -> None:
    with Scripted(said(GOOD), roles=[Role.REFLECTOR]) as llm:
        async with serving(tmp_path, llm, mode=mode) as (client, engine):
            found = await reflect(client)
            lesson = await engine.bank.lessons.get(engine.scopes.own, found["lessons"][0]["id"])
    assert found["thinker"] == NAME
    assert (found["reflection"], found["strategy"]) == (GOOD["reflection"], GOOD["strategy"])
    assert (found["importance"], found["confidence"]) == (0.8, 0.9)
    assert "note" not in found
    assert "next" not in found
    assert (lesson.source, lesson.mistake) == (Source.MODEL, GOOD["mistake"])


@every_dialect
async def test_a_bad_score_is_asked_for_again_with_the_fault_shown(
    tmp_path: Path, dialect: Dialect
) -> None:
    end = dialect.stops["end"]
    async with (
        Loopback(dialect.say(said(BAD), end), dialect.say(said(GOOD), end)) as server,
        serving(tmp_path, **bound_to(dialect, server.url)) as (client, _),
    ):
        found = await reflect(client)
    first, second = map(dialect.user_of, server.received)
    assert (found["thinker"], found["importance"]) == (f"{dialect.name}:test-model", 0.8)
    assert second.startswith(first)
    assert "analysis.importance" in second.removeprefix(first)
    assert dialect.system_of(server.received[0]) == dialect.system_of(server.received[1])


async def test_the_fault_of_a_reply_is_shown_inside_a_fence(tmp_path: Path) -> None:
    with Scripted(said(BAD), said(GOOD)) as llm:
        async with serving(tmp_path, llm) as (client, _):
            await reflect(client)
    told = llm.asked[1].user.removeprefix(llm.asked[0].user)
    mark = told.split('<data name="fault" seal="')[1][:12]
    assert "analysis.importance" in told.split(f'seal="{mark}">')[1].split(f"</data {mark}>")[0]


async def test_two_replies_that_cannot_be_used_leave_it_to_rules(tmp_path: Path) -> None:
    with Scripted(said(BAD), said(BAD)) as llm:
        async with serving(tmp_path, llm) as (client, _):
            found = await reflect(client)
    assert found["thinker"] == "rules"
    assert found["note"].startswith(f"{NAME} sent nothing that can be used: analysis.importance")
    assert found["next"]["send"].startswith(
        "reflection_id with analysis {mistake, correction, strategy}"
    )
    assert rows(tmp_path)["reflections"] == 1


async def test_plain_text_is_read_and_marked(tmp_path: Path) -> None:
    text = "## Reflection\nThe namespace was missing.\n\n## Strategy\nCreate the namespace first."
    with Scripted(text, text) as llm:
        async with serving(tmp_path, llm) as (client, _):
            found = await reflect(client)
    assert found["thinker"] == NAME
    assert (found["reflection"], found["strategy"]) == (
        "The namespace was missing.",
        "Create the namespace first.",
    )
    assert found["note"] == "read from plain text: the reply was not JSON"


async def test_an_event_that_is_not_in_the_run_cannot_be_cited(tmp_path: Path) -> None:
    with Scripted(said({**GOOD, "reflection": "It failed in [e9]."}), said(GOOD)) as llm:
        async with serving(tmp_path, llm) as (client, _):
            found = await reflect(client)
    assert "e9" in llm.asked[1].user.removeprefix(llm.asked[0].user)
    assert found["source_event_ids"] == ["e2"]
