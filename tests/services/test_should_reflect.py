"""Whether to reflect: the triggers, and the budget of a step, which the processes of a run share."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.schemas.step import StepArguments
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.triggers import trigger_of
from tests.server.calls import contents, told

RAISED: dict[str, dict[str, Any]] = {
    "low_confidence": {"confidence": 0.49},
    "high_risk": {"risk_level": 0.71},
    "goal_drift": {"goal_drift": 0.41},
    "tool_failure": {"tool_failures": 1},
    "verification_failed": {"verification_failed": True},
    "user_critical": {"is_final_step": True},
    "periodic": {"step_number": 10},
}


def trigger(**signals: Any) -> str | None:
    values: dict[str, Any] = {"confidence": 0.9, **signals}
    step = StepArguments(**values)
    found = trigger_of(step, Settings())
    return found[0] if found else None


@pytest.mark.parametrize(("expected", "signal"), RAISED.items())
def test_each_signal_alone_is_its_trigger(expected: str, signal: dict[str, Any]) -> None:
    assert trigger(**signal) == expected


@given(raised=st.sets(st.sampled_from(list(RAISED)), min_size=1))
def test_the_first_that_holds_wins_whatever_else_holds(raised: set[str]) -> None:
    signals: dict[str, Any] = {}
    for name in raised:
        signals |= RAISED[name]
    assert trigger(**signals) == min(raised, key=list(RAISED).index)


FAILED: dict[str, Any] = {"confidence": 0.9, "tool_failures": 2}


async def test_the_tool_says_why_and_what_is_left(client: Client, engine: Engine) -> None:
    before = await contents(engine)
    call = {**FAILED, "run_id": "r1", "step_number": 3}
    assert await told(client, "should_reflect", call) == {
        "reflect": True,
        "trigger": "tool_failure",
        "reason": "2 tool calls failed.",
        "reflections_left": 1,
    }
    assert (await told(client, "should_reflect", call))["reflections_left"] == 0
    third = await told(client, "should_reflect", call)
    assert (third["reflect"], third["trigger"], third["reflections_left"]) == (
        False,
        "tool_failure",
        0,
    )
    assert third["reason"] == "2 tool calls failed. But this step has had its 2 reflections: go on."
    assert await contents(engine) == before  # only a counter moved


async def test_a_calm_step_takes_nothing_of_the_budget(client: Client) -> None:
    for _ in range(3):
        calm = await told(client, "should_reflect", {"confidence": 0.9, "run_id": "r1"})
        assert (calm["reflect"], calm["reflections_left"]) == (False, 2)
        assert "trigger" not in calm


async def test_another_step_and_another_run_start_afresh(client: Client) -> None:
    for _ in range(2):
        await told(client, "should_reflect", {**FAILED, "run_id": "r1", "step_number": 1})
    for other in ({"run_id": "r1", "step_number": 2}, {"run_id": "r2", "step_number": 1}):
        assert (await told(client, "should_reflect", {**FAILED, **other}))["reflections_left"] == 1
    assert (await told(client, "should_reflect", {**FAILED, "session_id": "r1", "step_number": 1}))[
        "reflect"
    ] is False


async def test_without_a_run_the_steps_of_the_session_have_the_budget(client: Client) -> None:
    answers = [
        await told(client, "should_reflect", {"confidence": 0.2, "step_number": 3})
        for _ in range(3)
    ]
    assert [answer["reflect"] for answer in answers] == [True, True, False]
    assert (await told(client, "should_reflect", {"confidence": 0.2, "step_number": 4}))[
        "reflections_left"
    ] == 1


ALARM: dict[str, Any] = {"confidence": 0.1, "risk_level": 0.95, "tool_failures": 4}


async def test_a_step_number_that_goes_back_begins_another_task(client: Client) -> None:
    steps = (1, 1, 1, 2, 1)
    answers = [
        await told(client, "should_reflect", {**ALARM, "step_number": step}) for step in steps
    ]
    assert [answer["reflect"] for answer in answers] == [True, True, False, True, True]
    calm = [
        {"confidence": 0.9, "step_number": step} for step in (1, 2, 3)
    ]  # steps without a yes count, too
    for _ in range(2):
        assert (await told(client, "should_reflect", {**ALARM, "step_number": 1}))["reflect"]
        for call in (*calm, {**ALARM}):
            await told(client, "should_reflect", call)


async def test_the_prompt_start_task_begins_another_task(client: Client) -> None:
    for _ in range(2):
        answers = [
            await told(client, "should_reflect", {**ALARM, "step_number": 1}) for _ in range(3)
        ]
        assert [answer["reflect"] for answer in answers] == [True, True, False]
        await client.get_prompt("start_task", {"task": "Deploy the shop"})


@pytest.mark.parametrize("sent", [{}, {"run_id": "r"}, {"confidence": float("nan")}])
async def test_a_call_that_says_nothing_of_the_step_is_refused(
    engine: Engine, sent: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=r"^confidence: "):
        await engine.should_reflect(**sent)


@pytest.mark.parametrize(
    ("sent", "note"),
    [
        ({"confidence": 1.2}, "confidence: 1.2 is too large, 1 used"),
        ({"confidence": 1, "risk_level": -1}, "risk_level: -1 is too small, 0 used"),
        ({"confidence": 1, "step_number": 1.5}, "step_number: 1.5 is not a whole number"),
    ],
)
async def test_a_signal_out_of_its_range_is_read_as_well_as_it_can_be(
    engine: Engine, sent: dict[str, Any], note: str
) -> None:
    assert (await engine.should_reflect(**sent)).ignored == (note,)


async def test_words_and_other_names_of_signals_are_understood(client: Client) -> None:
    assert (await told(client, "should_reflect", {"confidence": "low"}))[
        "trigger"
    ] == "low_confidence"
    assert (await told(client, "should_reflect", {"toolFailures": "3 times"}))[
        "trigger"
    ] == "tool_failure"


async def test_processes_of_one_run_share_its_budget(settings: Settings) -> None:
    async with Engine(settings) as one, Engine(settings) as other:
        found = await asyncio.gather(
            *(
                engine.should_reflect(**FAILED, run_id="r", step_number=4)
                for engine in (one, other)
                for _ in range(5)
            )
        )
        assert sum(advice.reflect for advice in found) == 2
    async with Engine(settings) as later:
        assert not (await later.should_reflect(**FAILED, run_id="r", step_number=4)).reflect


async def test_counts_are_reset_for_one_run_or_for_all(engine: Engine) -> None:
    async def left(run: str) -> int | None:
        return (await engine.should_reflect(confidence=0.9, run_id=run)).reflections_left

    for run in ("a", "b", "c"):
        await engine.should_reflect(**FAILED, run_id=run)
    await engine.reset_step_counts("a")
    assert [await left(run) for run in ("a", "b", "c")] == [2, 1, 1]
    await engine.reset_step_counts()
    assert [await left(run) for run in ("a", "b", "c")] == [2, 2, 2]


async def test_a_project_does_not_spend_the_budget_of_another(engine: Engine) -> None:
    for _ in range(3):
        await engine.should_reflect(**FAILED, run_id="r")
    assert (
        await engine.should_reflect(**FAILED, run_id="r", project="other")
    ).reflections_left == 1


async def test_settings_move_thresholds_and_budget(bank_path: Path) -> None:
    env = {
        "MCP_REFLECT_BANK": str(bank_path),
        "MCP_REFLECT_QUALITY_THRESHOLD": "0.95",
        "MCP_REFLECT_RISK_THRESHOLD": "0.1",
        "MCP_REFLECT_DRIFT_THRESHOLD": "0.1",
        "MCP_REFLECT_PERIODIC_INTERVAL": "7",
        "MCP_REFLECT_MAX_REFLECTIONS_PER_STEP": "1",
    }
    async with Engine(Settings.from_env(env)) as engine:
        assert (await engine.should_reflect(confidence=0.9)).trigger == "low_confidence"
        assert (await engine.should_reflect(confidence=1, risk_level=0.2)).trigger == "high_risk"
        assert (await engine.should_reflect(confidence=1, goal_drift=0.2)).trigger == "goal_drift"
        assert not (await engine.should_reflect(confidence=1, step_number=5)).reflect
        only = await engine.should_reflect(confidence=1, step_number=7, run_id="r")
        assert (only.trigger, only.reflections_left) == ("periodic", 0)
        spent = await engine.should_reflect(confidence=1, step_number=7, run_id="r")
        assert "has had its 1 reflection:" in spent.reason


async def test_switched_off_it_says_so_and_counts_nothing(bank_path: Path) -> None:
    async with Engine(Settings(bank=bank_path, project="app", enabled=False)) as engine:
        off = await engine.should_reflect(**FAILED, run_id="r")
        assert (off.reflect, off.trigger) == (False, None)
        assert "MCP_REFLECT_ENABLED" in off.reason
        assert await engine.bank.steps.taken(engine.scopes.own, "r", 0) == 0


async def test_a_bank_that_can_only_be_read_still_answers(
    engine: Engine, settings: Settings, bank_path: Path
) -> None:
    await engine.bank.open()
    await engine.close()
    with closing(sqlite3.connect(bank_path)) as connection:
        connection.execute("PRAGMA user_version = 99")  # a newer release wrote it
    async with Engine(settings) as reading:
        found = await reading.should_reflect(**FAILED, run_id="r")
    assert (found.reflect, found.trigger, found.reflections_left) == (True, "tool_failure", None)
    assert found.reason.endswith("nothing is counted.")


@pytest.mark.parametrize(
    ("tool", "first", "second"),
    [
        ("recall_lessons", {"task": "Build the API"}, {"task": "Write the invoice"}),
        (
            "critique",
            {"goal": "Build the API", "response": "POST /users"},
            {"goal": "Write the invoice", "response": "Sum: 3"},
        ),
        (
            "reflect",
            {"task": "Build the API", "outcome": "success", "analysis": "It went well."},
            {"task": "Write the invoice", "outcome": "success", "analysis": "It went well."},
        ),
    ],
)
async def test_another_task_of_a_tool_gives_the_steps_their_budget_again(
    tool: str, first: dict[str, Any], second: dict[str, Any], client: Client
) -> None:
    async def asked() -> list[bool]:
        calls = [await told(client, "should_reflect", {"confidence": 0.1}) for _ in range(3)]
        return [answer["reflect"] for answer in calls]

    await told(client, tool, first)
    assert await asked() == [True, True, False]
    await told(client, tool, first)
    assert await asked() == [False] * 3
    await told(client, tool, second)
    assert await asked() == [True, True, False]
