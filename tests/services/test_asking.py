"""When an agent stops, it is asked for a lesson at most once, and only where something is open."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from tests.server.calls import LESSON

BROKEN = "Error: bad state: the lock of the registry is held"


def session(*calls: tuple[str, dict[str, Any], str]) -> str:
    """A Claude Code session of these calls."""
    records: list[dict[str, Any]] = [{"role": "user", "content": "Deploy it"}]
    for number, (tool, arguments, answer) in enumerate(calls):
        call = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": arguments}
        failed = answer == BROKEN
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": answer, "is_error": failed}
        records += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    lines = [{"type": record["role"], "message": record, "sessionId": "s", "uuid": "u"} for record in records]
    return "".join(json.dumps(line) + "\n" for line in lines)


DEPLOY = ("Bash", {"command": "./deploy.sh"})
HARD = session((*DEPLOY, BROKEN), (*DEPLOY, BROKEN), (*DEPLOY, "deployed"))


async def test_a_session_is_asked_once(engine: Engine) -> None:
    asked = await services.transcripts.ask_once(engine.context, "s", HARD)
    assert asked is not None
    assert "failed twice" in asked
    assert await services.transcripts.ask_once(engine.context, "s", HARD) is None
    assert await services.transcripts.ask_once(engine.context, "another", HARD) is not None


async def test_nothing_is_asked_where_nothing_is_open_or_a_lesson_was_told(engine: Engine, settings: Settings) -> None:
    told = ("mcp__mcp-reflect__store_lesson", LESSON, "{}")
    for text in ("", "no transcript", session((*DEPLOY, "deployed")), HARD + session(told)):
        assert await services.transcripts.ask_once(engine.context, "s", text) is None
    async with Engine(replace(settings, ask=False)) as off:
        assert await services.transcripts.ask_once(off.context, "s", HARD) is None


def test_the_hook_of_claude_code_blocks_the_stop_with_the_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io  # noqa: PLC0415 - stdin of one test
    import sys  # noqa: PLC0415 - same

    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    assert main(["stats"]) == 0  # makes the bank
    (tmp_path / "session.jsonl").write_text(HARD, "utf-8")
    capsys.readouterr()
    for active, asked in ((True, False), (False, True), (False, False)):
        sent = {"session_id": "s", "transcript_path": str(tmp_path / "session.jsonl"), "stop_hook_active": active}
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(sent).encode())))
        assert main(["hook", "Stop"]) == 0
        out = capsys.readouterr().out
        assert bool(out) is asked
        if asked:
            answer = json.loads(out)
            assert answer["decision"] == "block"
            assert "store_lesson" in answer["reason"]
