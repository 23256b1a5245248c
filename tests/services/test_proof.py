"""The proof: what warnings prevented, with its interval, and nothing where there are too few cases."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.models.common import Json
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.warnings import held_out
from mcp_reflect.storage.warnings import LEAST_SESSIONS, LEAST_WARNINGS, mean_interval, share_interval
from tests.held_clock import HeldClock

PUSH: Json = {"command": "git push origin main"}


async def play(engine: Engine, sessions: int) -> None:
    """Agents that do as they are told: warned, they push elsewhere; else they fail again."""
    await engine.after_call("Bash", PUSH, error="error: invalid refspec", session="first")
    for number in range(sessions):
        session = f"session-{number}"
        for _ in range(2):
            if await engine.before_call("Bash", PUSH, session=session) is None:
                await engine.after_call("Bash", PUSH, error="error: invalid refspec", session=session)
            else:
                await engine.after_call("Bash", {"command": "git push origin topic"}, "ok", session=session)


async def test_nothing_is_claimed_from_a_few_cases(engine: Engine) -> None:
    await play(engine, 3)
    found: dict[str, Any] = dict(await engine.proof())
    assert found["recurrences_prevented_per_session"] is None
    assert found["repeats_prevented_per_warning"] is None
    assert found["warned"]["repeated_after"] is None
    assert found["warned"]["sessions"] == 4


async def test_sessions_that_are_warned_are_compared_with_those_held_out(settings: Settings, clock: HeldClock) -> None:
    async with Engine(replace(settings, holdout=0.5), clock=clock) as engine:
        await play(engine, 80)
        found: dict[str, Any] = dict(await engine.proof())
        stats: dict[str, Any] = dict(await engine.get_stats())
    held = sum(held_out(f"session-{number}", 0.5) for number in range(80))
    assert (found["held_out"]["sessions"], found["held_out"]["recurrences"]) == (held, 2 * held)
    assert found["warned"]["recurrences"] == 0
    prevented = found["recurrences_prevented_per_session"]
    assert prevented["value"] == pytest.approx(2, abs=0.2)
    assert prevented["interval"][0] > 1
    assert found["repeats_prevented_per_warning"]["value"] == 1
    assert found["characters_per_warning"] > 100
    assert found["held_out"]["sequels"] == {"failed": 2 * held}
    assert stats["proof"] == found


def test_the_command_says_what_is_not_known(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    assert main(["proof"]) == 0
    assert "not known yet" in capsys.readouterr().out
    assert main(["proof", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings_given"] == 0


@given(st.integers(LEAST_WARNINGS, 500).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole))))
def test_an_interval_of_a_share_holds_it(case: tuple[int, int]) -> None:
    found: dict[str, Any] | None = share_interval(case)
    assert found is not None
    low, high = found["interval"]
    assert 0 <= low <= found["value"] + 0.001
    assert found["value"] <= high + 0.001


def test_the_interval_of_a_mean_takes_thirty_values() -> None:
    interval: dict[str, Any] | None = mean_interval([0, 2] * 15)
    assert interval is not None
    assert interval["interval"][1] - 1 == pytest.approx(1.96 / 29**0.5, abs=0.005)
    assert mean_interval([1] * (LEAST_SESSIONS - 1)) is None
