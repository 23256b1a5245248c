"""Sessions of Copilot CLI and Qwen Code: lines as the real programs wrote them, with a model on loopback."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.sessions.records import PromptAuthor
from mcp_reflect.sessions.session_sources import sessions_of
from tests.sessions.test_hosts import heard

# Copilot CLI 1.0.102.


def event(kind: str, **data: Any) -> dict[str, Any]:
    name = f"{kind}-{json.dumps(data, sort_keys=True)}"
    return {"type": kind, "data": data, "id": name, "timestamp": "2026-11-28T17:16:08.506Z"}


STARTED = event("session.start", sessionId="c5", context={"cwd": "/shop"})
ASKED = event("user.message", content="Test the shop.", messageId="m1")
ENDED = "<shellId: 0 completed with exit code 1>"


def ran(call: str, command: str, printed: str, **more: Any) -> list[dict[str, Any]]:
    began = event(
        "tool.execution_start", toolCallId=call, toolName="bash", arguments={"command": command}
    )
    result = {"content": printed, "detailedContent": printed.partition("\n\nTool")[0]}
    done = {"toolCallId": call, "success": True, "result": result, **more}
    return [began, event("tool.execution_complete", **done)]


def test_a_session_of_copilot_tells_calls_with_their_exit_codes() -> None:
    printed = (
        f'1 failed\n{ENDED}\n\nTool "bash" succeeded. Additional guidance from hooks:\nkeep it'
    )
    said = event("assistant.message", content="One fails.", toolRequests=[])
    found = heard(STARTED, ASKED, *ran("a", "pytest -q", printed), said)
    assert found.session == "c5"
    assert found.of_person == ["Test the shop."]
    assert found.calls == [("bash", {"command": "pytest -q"}, "1 failed", False, 1)]


def test_the_code_that_copilot_notes_beside_the_output_counts() -> None:
    (call,) = heard(*ran("a", "pytest", "quiet", shellExecution={"exitCode": 3})).calls
    assert call[2:] == ("quiet", False, 3)


@pytest.mark.parametrize(
    ("code", "missing"), [("denied", 0), ("rejected", 0), ("cancelled", 1), ("aborted", 1)]
)
def test_a_call_that_copilot_denied_or_that_was_stopped_was_none(code: str, missing: int) -> None:
    began, _ = ran("a", "npm i", "")
    error = {"message": "Denied by preToolUse hook: use pnpm", "code": code}
    denied = event("tool.execution_complete", toolCallId="a", success=False, error=error)
    found = heard(STARTED, began, denied)
    assert (found.calls, found.missing) == ([], missing)


def test_an_event_that_is_there_twice_is_read_once() -> None:
    calls = ran("a", "pytest", ENDED)
    assert len(heard(*calls, *calls).calls) == 1


@pytest.mark.parametrize("more", [{"source": "hook"}, {"isAutopilotContinuation": True}])
def test_what_copilot_adds_is_no_person_s_word(more: dict[str, Any]) -> None:
    assert heard(STARTED, event("user.message", content="Go on.", **more)).of_person == []


def test_words_of_a_subagent_of_copilot_are_not_the_session_s() -> None:
    theirs = {"content": "Look for it.", "parentToolCallId": "t"}
    told = event("assistant.message", content="All tests pass.", parentToolCallId="t")
    found = heard(STARTED, ASKED, event("user.message", **theirs), told)
    assert found.of_person == ["Test the shop."]


def test_taken_back_files_of_copilot_leave_what_is_there_unknown() -> None:
    assert heard(STARTED, event("session.snapshot_rewind")).missing == 1


# Qwen Code 0.24.4.


def record(kind: str, *parts: Any, **more: Any) -> dict[str, Any]:
    about = {"uuid": f"{kind}-{json.dumps(parts)}", "sessionId": "q1", "cwd": "/shop"}
    return {**about, "type": kind, "message": {"role": kind, "parts": [*parts]}, **more}


PRINTED = (
    "Command: pytest -q\nDirectory: (root)\nOutput: 1 failed\nError: (none)\nExit Code: 1\n"
    "Signal: (none)\nProcess Group PGID: (none)\n\nmcp-reflect: keep it"
)


def asks(command: str) -> dict[str, Any]:
    arguments = {"command": command, "is_background": False}
    call = {"id": "call_1", "name": "run_shell_command", "args": arguments}
    return record("assistant", {"functionCall": call}, provenance="assistant_output")


def answers(response: dict[str, Any], status: str) -> dict[str, Any]:
    part = {"functionResponse": {"id": "call_1", "name": "x", "response": response}}
    about = {"callId": "call_1", "status": status}
    return record("tool_result", part, provenance="tool_result", toolCallResult=about)


def test_a_session_of_qwen_tells_calls_with_their_exit_codes() -> None:
    hook = "<qwen:user-prompt-submit-context>\nuse uv\n</qwen:user-prompt-submit-context>"
    prompt = record("user", {"text": "Test it."}, {"text": hook}, provenance="real_user")
    thought = {"text": "let me see", "thought": True}
    said = record("assistant", thought, {"text": "One fails."}, provenance="assistant_output")
    found = heard(prompt, asks("pytest -q"), answers({"error": PRINTED}, "error"), said)
    assert found.session == "q1"
    assert found.of_person == ["Test it."]
    assert found.asks[1] == (hook, PromptAuthor.HOST)
    ((tool, arguments, printed, failed, code),) = found.calls
    assert tool == "run_shell_command"
    assert arguments == {"command": "pytest -q", "is_background": False}
    assert printed.startswith("1 failed")
    assert (failed, code) == (True, 1)


def test_a_call_that_a_person_stopped_in_qwen_leaves_what_it_did_unknown() -> None:
    found = heard(asks("rm -r build"), answers({"error": "cancelled"}, "cancelled"))
    assert (found.calls, found.missing) == ([], 1)


# Cline CLI 3.0.65.


def test_a_session_of_cline_tells_commands_as_one_script() -> None:
    typed = {"type": "text", "text": '<user_input mode="act">Test it.</user_input>'}
    told = {"type": "text", "text": '<hook_context source="RunStart">\nuse uv\n</hook_context>'}
    sent = {"commands": ["cd shop", "pytest -q"]}
    call = {"type": "tool_use", "id": "c1", "name": "run_commands", "input": sent}
    results = [
        {"query": "cd shop", "result": "", "success": True},
        {"query": "pytest -q", "result": "1 failed\n", "success": False},
    ]
    answer = {
        "type": "tool_result",
        "tool_use_id": "c1",
        "name": "run_commands",
        "content": results,
    }
    session = {
        "version": 1,
        "sessionId": "n1",
        "origin": {"source": "cli"},
        "messages": [
            {"role": "user", "content": [typed]},
            {"role": "user", "content": [told], "metadata": {"displayRole": "system"}},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [answer]},
            {"role": "assistant", "content": [{"type": "text", "text": "One fails."}]},
        ],
    }
    found = heard(session)
    assert (found.session, found.of_person) == ("n1", ["Test it."])
    assert found.calls == [("Bash", {"command": "cd shop\npytest -q"}, "\n1 failed\n", True, None)]


def test_a_session_of_cline_is_found_with_the_folder_that_stands_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLINE_DATA_DIR", str(tmp_path))
    folder = tmp_path / "sessions" / "n1"
    folder.mkdir(parents=True)
    (folder / "n1.messages.json").write_text('{"sessionId": "n1"}', "utf-8")
    (folder / "n1.json").write_text('{"cwd": "/shop"}', "utf-8")
    (place,) = sessions_of("cline", [])
    assert (place.path.name, place.folder) == ("n1.messages.json", "/shop")


# Where they lie.


@pytest.mark.parametrize(
    ("host", "variable", "path", "line"),
    [
        ("copilot", "COPILOT_HOME", "session-state/c5/events.jsonl", STARTED),
        ("qwen", "QWEN_HOME", "projects/-shop/chats/q1.jsonl", asks("pytest")),
        (
            "pi",
            "PI_CODING_AGENT_DIR",
            "sessions/--shop--/1_p.jsonl",
            {"type": "session", "version": 3, "id": "p", "cwd": "/shop"},
        ),
    ],
)
def test_sessions_are_found_with_the_folder_in_which_they_worked(
    host: str,
    variable: str,
    path: str,
    line: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(line) + "\n", "utf-8")
    (tmp_path / "notes.jsonl").write_text("{}\n", "utf-8")
    faults: list[tuple[str, str]] = []
    (place,) = sessions_of(host, faults)
    assert (place.path, place.folder, faults) == (file, "/shop", [])


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "message", "id": "b", "message": {"role": "bashExecution", "command": "make"}},
        {"type": "branch_summary", "id": "b", "summary": "tried another way"},
    ],
)
def test_what_a_person_ran_in_pi_and_another_branch_are_unknown(entry: dict[str, Any]) -> None:
    assert heard({"type": "session", "version": 3, "id": "p", "cwd": "/shop"}, entry).missing == 1
