"""The critique engine: any form of a critique is read, and each correction can be followed."""

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import Reply, Request, Role, Stop, TextChunk
from mcp_reflect.models.critique import Critique
from mcp_reflect.services.critique import Iteration
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted

_WRONG = "12 * 12 = 154"
_RIGHT = "12 * 12 = 144"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(bank=tmp_path / "bank.db")


async def test_a_computed_correction_reaches_the_callbacks_the_stream_and_the_log(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[object] = []

    def started(number: int, issues: tuple[str, ...]) -> None:
        calls.append((number, len(issues)))

    def completed(number: int, steps: tuple[str, ...]) -> None:
        calls.append((number, steps))

    async with Engine(replace(settings, log_level="debug")) as engine:
        steps = await engine.enhance_reasoning(
            "Multiply", [_WRONG], on_start=started, on_complete=completed
        )
        events = [event async for event in engine.critique_stream(goal="Multiply", steps=[_WRONG])]
    assert steps == (_RIGHT,)
    assert calls == [(1, 1), (1, (_RIGHT,))]
    assert isinstance(events[0], Iteration)
    assert '"critique_iteration"' in capsys.readouterr().err


_POEM = ["Violets are green"]
_BAD = '{"quality_score": 0.3, "issues": ["Step 1: not green"]}'
_BETTER = '{"corrected_steps": ["Violets are blue"]}'
_GOOD = '{"quality_score": 0.9, "issues": []}'


async def test_the_text_of_a_model_that_cannot_stream_is_one_chunk(settings: Settings) -> None:
    heard: list[TextChunk] = []
    with Scripted("No JSON.", _BAD, _BETTER, _GOOD) as llm:
        async with Engine(settings, llm=llm) as engine:
            steps = await engine.enhance_reasoning("A poem", _POEM, on_text=heard.append)
    assert steps == ("Violets are blue",)
    critic, corrector = Role.CRITIC, Role.CORRECTOR
    said = ((critic, "No JSON."), (critic, _BAD), (corrector, _BETTER), (critic, _GOOD))
    assert [(chunk.role, chunk.text, chunk.first) for chunk in heard] == [
        (*one, True) for one in said
    ]


async def test_a_model_put_in_may_stream_and_an_error_of_the_listener_is_its_callers(
    settings: Settings,
) -> None:
    class Streaming:
        async def complete(self, request: Request) -> Reply:
            assert request.on_text is not None
            for place in range(len(_GOOD)):
                request.on_text(TextChunk(role=request.role, text=_GOOD[place], first=place == 0))
            return Reply(text=_GOOD, stop=Stop.END, llm="my:model")

    def refuse(_: TextChunk) -> None:
        raise ValueError("the screen is full")

    async with Engine(settings, llm=Streaming()) as engine:
        events = [event async for event in engine.critique_stream(goal="A poem", steps=_POEM)]
        assert "".join(event.text for event in events if isinstance(event, TextChunk)) == _GOOD
        assert isinstance(events[-1], Critique)
        with pytest.raises(ValueError, match="the screen is full"):
            await engine.enhance_reasoning("A poem", _POEM, on_text=refuse)


async def test_a_critic_may_score_criteria_of_any_name(settings: Settings) -> None:
    reply = '{"quality_score": 0.9, "issues": [], "criteria": [{"criterion": "tone", "score": 0.7, "reason": "warm"}]}'
    with Scripted(reply, roles=[Role.CRITIC]) as llm:
        async with Engine(settings, llm=llm) as engine:
            found = await engine.critique(goal="Greet", response="Welcome!", criteria=["tone"])
    assert found.criteria["tone"].score == 0.7
    schema = str(llm.asked[0].schema)
    assert "'criterion'" in schema
