"""The critique engine: any form of a critique is read, and each correction can be followed."""

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import Role
from mcp_reflect.services.critique import Iteration
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted

_WRONG = "12 * 12 = 154"
_RIGHT = "12 * 12 = 144"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(bank=tmp_path / "bank.db")


@pytest.mark.parametrize(
    ("analysis", "issues"),
    [
        ("Issues:\n- the tone is harsh\nSuggested fix: soften it", ("the tone is harsh",)),
        ("Quality score: 0.9\nIssues: None", ()),
        ("Step 1 is wrong: nobody asked for it.", ("Step 1 is wrong: nobody asked for it.",)),
    ],
)
async def test_a_critique_in_prose_is_read(settings: Settings, analysis: str, issues: tuple[str, ...]) -> None:
    async with Engine(settings) as engine:
        first = await engine.critique(goal="Answer kindly", steps=["No."])
        found = await engine.critique(critique_id=first.critique_id, analysis=analysis)
    assert tuple(issue for issue in found.issues if issue in issues) == issues


async def test_a_computed_correction_reaches_the_callbacks_the_stream_and_the_log(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[object] = []
    async with Engine(replace(settings, log_level="debug")) as engine:
        steps = await engine.enhance_reasoning(
            "Multiply",
            [_WRONG],
            on_start=lambda number, issues: calls.append((number, len(issues))),
            on_complete=lambda number, steps: calls.append((number, steps)),
        )
        events = [event async for event in engine.critique_stream(goal="Multiply", steps=[_WRONG])]
    assert steps == (_RIGHT,)
    assert calls == [(1, 1), (1, (_RIGHT,))]
    assert isinstance(events[0], Iteration)
    assert '"critique_iteration"' in capsys.readouterr().err


async def test_a_critic_may_score_criteria_of_any_name(settings: Settings) -> None:
    reply = '{"quality_score": 0.9, "issues": [], "criteria": [{"criterion": "tone", "score": 0.7, "reason": "warm"}]}'
    with Scripted(reply, roles=[Role.CRITIC]) as llm:
        async with Engine(settings, llm=llm) as engine:
            found = await engine.critique(goal="Greet", response="Welcome!", criteria=["tone"])
    assert found.criteria["tone"].score == 0.7
    schema = str(llm.asked[0].schema)
    assert "'criterion'" in schema
