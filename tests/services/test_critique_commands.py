"""The command of a tool result, as agents send it."""

from typing import Any

import pytest

from mcp_reflect.errors import InputError
from mcp_reflect.services.engine import Engine

SENT: list[dict[str, Any]] = [
    {"command": "pytest -q"},
    {"tool": "Bash", "command": "pytest -q"},
    {"tool_name": "bash", "input": {"command": "pytest -q"}},
    {"name": "run_shell_command", "arguments": {"cmd": "pytest -q"}},
    {"tool": "pytest -q"},
]


@pytest.mark.parametrize("call", SENT)
async def test_a_run_of_tests_is_shown_for_its_claim_however_its_command_is_sent(
    engine: Engine, call: dict[str, Any]
) -> None:
    result = {
        **call,
        "content": "collected 28 items\n27 passed, 1 skipped in 3.20s",
        "exit_code": 0,
    }
    critique = await engine.critique(work="All 27 tests pass.", tool_results=[result])
    (shown,) = critique.outputs
    assert (shown.tool, shown.lines[-1]) == ("pytest -q", "27 passed, 1 skipped in 3.20s")
    assert not critique.claims[0].unproven
    assert not critique.ignored


async def test_a_long_command_is_taken(engine: Engine) -> None:
    command = f"cd {'very/' * 60}long && pytest -q"
    result = {"tool": "Bash", "command": command, "content": "27 passed in 3.20s"}
    critique = await engine.critique(work="All 27 tests pass.", tool_results=[result])
    assert critique.outputs


async def test_the_command_of_an_editor_does_not_take_the_place_of_its_tool(engine: Engine) -> None:
    call = {"tool": "str_replace_editor", "input": {"command": "view", "path": "a.py"}}
    result = {**call, "content": "1 def shipping_total(cart):"}
    critique = await engine.critique(work="I added `shipping_total`.", tool_results=[result])
    assert [shown.tool for shown in critique.outputs] == ["str_replace_editor"]


async def test_of_very_many_results_the_latest_are_read_and_all_are_counted(engine: Engine) -> None:
    results: list[dict[str, Any]] = [
        {"tool": f"make part{n}", "content": "ok", "exit_code": 0} for n in range(9_999)
    ]
    results.append({"tool": "pytest -q", "content": "13 passed in 0.3s", "exit_code": 0})
    critique = await engine.critique(work="All 13 tests pass.", tool_results=results)
    assert [shown.result for shown in critique.outputs] == [10_000]
    assert critique.other_outputs == 9_999


async def test_more_results_than_a_call_may_bring_are_refused_by_their_count(
    engine: Engine,
) -> None:
    results = [{"content": "ok"}] * 10_001
    with pytest.raises(InputError, match=r"tool_results: it has 10001 items. Send at most 10000"):
        await engine.critique(work="It works.", tool_results=results)
