"""A critique without output looks at what the tools of the session printed, and says so."""

import json
from pathlib import Path

from mcp import Client

from mcp_reflect.services.engine import Engine
from mcp_reflect.services.transcripts import read_outputs
from tests.server.calls import answered


def transcript(path: Path) -> Path:
    """Write a session of Claude Code with one call that ran tests."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest -q"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "F.\n1 failed, 12 passed in 0.3s"}
    lines = [
        {"type": "user", "sessionId": "s", "message": {"role": "user", "content": "Run the tests"}},
        {"type": "assistant", "sessionId": "s", "message": {"role": "assistant", "content": [call]}},
        {"type": "user", "sessionId": "s", "message": {"role": "user", "content": [result]}},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_outputs_come_with_the_command_that_printed_them(tmp_path: Path) -> None:
    (result,) = read_outputs(transcript(tmp_path / "s.jsonl"))
    assert (result.tool, result.content) == ("pytest -q", "F.\n1 failed, 12 passed in 0.3s")


def test_a_file_that_is_not_a_transcript_has_no_outputs(tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_bytes(b"\x00\xff{not json\n")
    assert read_outputs(tmp_path / "odd.jsonl") == ()
    assert read_outputs(tmp_path / "missing.jsonl") == ()


async def test_a_critique_without_output_uses_the_session_that_a_hook_told_of(
    client: Client, engine: Engine, tmp_path: Path
) -> None:
    engine.context.transcripts[engine.context.scopes.own] = str(transcript(tmp_path / "s.jsonl"))
    work = {"goal": "Fix it", "response": "12 tests pass. The fix is in."}
    found = await answered(client, "critique", work)
    assert found["evidence"] == "1 outputs of this session"
    assert "<- pytest -q: 1 failed, 12 passed in 0.3s" in found["claims"][0]
    sent = await answered(client, "critique", {**work, "tool_results": ["13 passed"]})
    assert "evidence" not in sent
