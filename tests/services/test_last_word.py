"""An agent that stops is held once to what its session shows; the person sees how often, and what came of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.models.warning import HookInput
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.hook_events import hook_answer, read_hook

EDIT = ("Edit", {"file_path": "/home/me/shop/src/cart.ts"}, "ok")
RED = ("Bash", {"command": "npx jest"}, "Tests: 1 failed, 17 passed, 18 total")
GREEN = ("Bash", {"command": "npx jest"}, "Tests: 18 passed, 18 total")
CLAIM = "All tests pass."


def session(*calls: tuple[str, dict[str, Any], str]) -> str:
    """A Claude Code session of these calls."""
    lines: list[tuple[str, Any]] = [("user", "Fix the rounding")]
    for number, (tool, arguments, answer) in enumerate(calls):
        lines.append(
            (
                "assistant",
                [{"type": "tool_use", "id": f"t{number}", "name": tool, "input": arguments}],
            )
        )
        lines.append(
            ("user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": answer}])
        )
    records = (
        {"type": role, "message": {"role": role, "content": said}, "uuid": "u"}
        for role, said in lines
    )
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def stop(path: Path, message: str = CLAIM, event: str = "Stop", **more: Any) -> HookInput:
    sent = {
        "session_id": "s",
        "transcript_path": str(path),
        "cwd": "/home/me/shop",
        "last_assistant_message": message,
    }
    hook = read_hook(event, {**sent, **more})
    assert hook is not None
    return hook


async def held(engine: Engine, hook: HookInput) -> str | None:
    return (await services.hooks.answer(engine.context, hook))[0]


async def test_a_claim_is_held_once_and_what_came_of_it_is_counted(
    engine: Engine, transcript: Path
) -> None:
    transcript.write_text(session(EDIT, RED), "utf-8")
    text = await held(engine, stop(transcript))
    assert text is not None
    assert "`Tests: 1 failed, 17 passed, 18 total`" in text
    assert await held(engine, stop(transcript, stop_hook_active=True)) is None
    assert await held(engine, stop(transcript)) is None

    transcript.write_text(session(EDIT, RED, GREEN, EDIT), "utf-8")
    assert await held(engine, stop(transcript)) is not None
    transcript.write_text(session(EDIT, RED, GREEN, EDIT, GREEN), "utf-8")
    assert await held(engine, stop(transcript, stop_hook_active=True)) is None
    assert await held(engine, stop(transcript, "I pushed it.")) is not None
    assert (
        await held(engine, stop(transcript, "Nothing is pushed yet.", stop_hook_active=True))
        is None
    )

    counted = (await engine.get_stats())["last_messages"]
    assert counted == {"held": 3, "ran": 1, "corrected": 1, "repeated": 1, "told": 0}


@pytest.mark.parametrize(
    ("calls", "holds"), [((EDIT, RED), True), ((EDIT, GREEN), False), ((EDIT,), True)]
)
async def test_a_long_session_is_read_from_its_end_and_whole_where_that_does_not_decide(
    engine: Engine, transcript: Path, calls: tuple[Any, ...], holds: bool
) -> None:
    long = session(("Bash", {"command": "cat a"}, "x" * 5_000_000))
    for name, text in {"first": session(*calls) + long, "last": long + session(*calls)}.items():
        path = transcript.with_name(name)
        path.write_text(text, "utf-8")
        assert (await held(engine, stop(path, session_id=name)) is not None) is holds


async def test_a_run_of_tests_is_remembered_behind_hundreds_of_other_runs(
    engine: Engine, transcript: Path
) -> None:
    others = [
        ("Bash", {"command": f"node tools/count.js {number}"}, f"{number} rows")
        for number in range(600)
    ]
    transcript.write_text(session(RED, *others), "utf-8")
    text = await held(engine, stop(transcript))
    assert text is not None
    assert "npx jest" in text


async def test_where_nobody_watches_it_is_told_at_the_next_prompt(
    engine: Engine, transcript: Path
) -> None:
    transcript.write_text(session(EDIT, RED), "utf-8")
    prompt = read_hook("UserPromptSubmit", {"session_id": "s", "prompt": "Go on"})
    assert prompt is not None
    assert await held(engine, replace(stop(transcript), watched=False)) is None
    assert "npx jest" in (await held(engine, prompt) or "")
    assert await held(engine, prompt) is None


async def test_a_transcript_that_lacks_calls_which_hooks_saw_proves_no_absence(
    engine: Engine, transcript: Path
) -> None:
    for number, (tool, arguments, answer) in enumerate((EDIT, GREEN)):
        call = {
            "session_id": "s",
            "tool_name": tool,
            "tool_input": arguments,
            "tool_response": answer,
        }
        ran = read_hook(
            "PostToolUse", {**call, "tool_use_id": f"t{number}", "cwd": "/home/me/shop"}
        )
        assert ran is not None
        await held(engine, ran)
    for late in ((EDIT,), (RED,)):  # the host has not written the last run yet
        transcript.write_text(session(*late), "utf-8")
        assert await held(engine, stop(transcript)) is None
    transcript.write_text(session(EDIT, RED), "utf-8")
    assert await held(engine, stop(transcript)) is not None


@pytest.mark.parametrize(
    ("way", "watched", "holds"),
    [("hold", False, True), ("off", True, False), ("tell", True, False)],
)
async def test_a_person_chooses(
    settings: Settings, transcript: Path, way: Any, watched: bool, holds: bool
) -> None:
    transcript.write_text(session(EDIT, RED), "utf-8")
    async with Engine(replace(settings, last_word=way)) as engine:
        assert bool(await held(engine, replace(stop(transcript), watched=watched))) is holds


async def test_a_subagent_that_changed_nothing_may_report_what_it_was_told(
    engine: Engine, transcript: Path
) -> None:
    other = transcript.with_name("agent.jsonl")
    transcript.write_text(session(EDIT, RED), "utf-8")
    other.write_text(session(("Bash", {"command": "ls"}, "src")), "utf-8")
    paths = {"event": "SubagentStop", "agent_transcript_path": str(other)}
    assert await held(engine, stop(transcript, **paths)) is None
    other.write_text(session(EDIT), "utf-8")
    assert "no run of tests that shows it" in (await held(engine, stop(transcript, **paths)) or "")


@pytest.mark.parametrize(
    ("event", "answer"),
    [
        ("Stop", {"decision": "block", "reason": "mcp-reflect: text"}),
        ("AfterAgent", {"decision": "deny", "reason": "mcp-reflect: text"}),
        ("stop", {"followup_message": "mcp-reflect: text"}),
    ],
)
def test_each_host_gets_its_form(event: str, answer: dict[str, str], transcript: Path) -> None:
    assert hook_answer(stop(transcript, event=event), "text") == answer


CODEX = [
    {"type": "session_meta", "payload": {"id": "s"}},
    {"type": "response_item", "payload": {"type": "function_call", "call_id": "c", "name": "exec_command",
     "arguments": json.dumps({"cmd": "npx jest"})}},
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c",
     "output": f"Chunk ID: 1\nWall time: 1 s\nProcess exited with code 1\nOutput:\n{RED[2]}"}},
]  # fmt: skip
GEMINI = {"sessionId": "s", "messages": [
    {"type": "user", "content": "Fix it"},
    {"type": "gemini", "content": "", "toolCalls": [{"id": "c", "name": "run_shell_command",
     "args": {"command": "npx jest"}, "status": "success",
     "result": [{"functionResponse": {"response": {"output": RED[2]}}}]}]},
]}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "".join(json.dumps(line) + "\n" for line in CODEX),
        json.dumps(GEMINI),
        json.dumps(GEMINI, indent=2),
    ],
)
async def test_sessions_of_other_hosts_are_read(
    engine: Engine, transcript: Path, text: str
) -> None:
    transcript.write_text(text, "utf-8")
    assert "`npx jest` failed" in (await held(engine, stop(transcript)) or "")


async def test_what_cannot_be_read_is_silent_and_logged(
    engine: Engine, transcript: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = {
        "cannot be read: FileNotFoundError": None,
        "of no host that is known": b"\x00\xff\xfe{" * 1000,
        "no last message": session(EDIT, RED).encode(),
    }
    for reason, content in bad.items():
        if content is not None:
            transcript.write_bytes(content)
        assert await held(engine, stop(transcript, "" if "last" in reason else CLAIM)) is None
        assert reason in capsys.readouterr().err


async def test_a_session_that_is_still_written_or_cut_is_read_as_far_as_it_is(
    engine: Engine, transcript: Path
) -> None:
    whole = session(EDIT, RED, GREEN).encode()
    lines = whole.split(b"\n")
    transcript.write_bytes(
        b"\n".join([*lines[:-2], lines[-2][:40]])
    )  # the green run is not whole yet
    assert "failed" in (await held(engine, stop(transcript)) or "")
    transcript.write_bytes(
        b"\n".join([lines[0], b"\x00\x01", *lines[1:3], b"[]", b"17", *lines[3:]])
    )
    assert await held(engine, replace(stop(transcript), session="t")) is None


async def test_copies_of_what_a_host_sent_to_its_model_are_not_read_as_calls_made_again(
    engine: Engine, transcript: Path
) -> None:
    lines = session(EDIT, GREEN).splitlines()
    copies = [json.dumps({**json.loads(line), "type": "api-request-blob"}) for line in lines]
    edit = session(EDIT).splitlines()[1:]
    transcript.write_text("\n".join([*lines, *edit, *copies]) + "\n", "utf-8")

    text = await held(engine, stop(transcript))

    assert text is not None
    assert "cart.ts changed" in text
