"""The proof: known failures that came back, and calls made in spite of a warning, counted."""

from dataclasses import replace
from typing import Any

import pytest

from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.models.common import Json
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.warnings import held_out
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


async def test_sessions_that_are_warned_are_counted_beside_those_held_out(settings: Settings, clock: HeldClock) -> None:
    async with Engine(replace(settings, holdout=0.5), clock=clock) as engine:
        await play(engine, 20)
        found: dict[str, Any] = dict(await engine.proof())
        stats: dict[str, Any] = dict(await engine.get_stats())
    held = sum(held_out(f"session-{number}", 0.5) for number in range(20))
    assert (found["held_out"]["sessions"], found["held_out"]["recurrences"]) == (held, 2 * held)
    assert found["warned"]["recurrences"] == 0
    assert found["held_out"]["sequels"] == {"failed": 2 * held}
    assert set(found["warned"]["sequels"]) <= {"heeded", "open"}
    assert found["characters_per_warning"] > 100
    assert stats["proof"] == found


def test_stats_say_what_warnings_came_to(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    assert main(["stats"]) == 0
    said = capsys.readouterr().out
    assert "0 known failures again in 0 sessions; 0 warnings due, 0 calls made anyway" in said
    assert "with lessons no task yet, without no task yet" in said
