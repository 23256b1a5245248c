"""The tool that hosts' hooks call: it is not listed, and answers like the command."""

import asyncio
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.hook_events import read_hook

REFUSED = "Exit code 1\nremote: error: GH006: Protected branch update failed for refs/heads/main."
PUSH, TOPIC = {"command": "git push origin main"}, {"command": "git push origin topic"}


class Host:
    """A host whose hooks ask the server. Its transcript has each call that it made."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.transcript = folder / "session.jsonl"
        self.number = 0
        self.unwritten: list[str] = []

    def write(self) -> None:
        """Write the calls that the host has not written yet."""
        with self.transcript.open("a") as file:
            file.writelines(self.unwritten)
        self.unwritten.clear()

    async def ask(
        self, event: str, session: str, *, shown: bool = True, late: bool = False, **values: Any
    ) -> dict[str, Any]:
        self.number += 1
        call_id = f"toolu_{self.number}"
        if shown or late:
            given = values.get("tool_input")
            block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": given}
            record = {"type": "assistant", "message": {"content": [block]}}
            self.unwritten.append(json.dumps(record) + "\n")
        if late:
            asyncio.get_running_loop().call_later(0.05, self.write)
        else:
            self.write()
        filled = {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in values.items()
        }
        sent = {
            "hook_event_name": event,
            "session_id": session,
            "transcript_path": str(self.transcript),
        }
        result = await self.client.call_tool(
            "hook", {**sent, "tool_name": "Bash", "tool_use_id": call_id, "cwd": "${cwd}", **filled}
        )
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert not result.is_error
        return json.loads(content.text)

    async def start(self, engine: Engine, *sessions: str) -> None:
        """Begin sessions as the host does, by a command."""
        for session in sessions:
            sent = {"session_id": session, "transcript_path": str(self.transcript)}
            hook = read_hook("SessionStart", sent)
            assert hook is not None
            await services.hooks.answer(engine.context, hook)

    async def learn(self, *sessions: str, **options: Any) -> None:
        for session in sessions:
            await self.ask("PostToolUseFailure", session, tool_input=PUSH, error=REFUSED, **options)
        worked = {"stdout": "pushed", "stderr": ""}
        await self.ask(
            "PostToolUse", sessions[-1], tool_input=TOPIC, tool_response=worked, **options
        )


@pytest.fixture
def host(client: Client, tmp_path: Path) -> Host:
    return Host(client, tmp_path)


async def test_it_answers_like_the_command_and_is_not_listed(host: Host, engine: Engine) -> None:
    await host.start(engine, "s1", "s2")
    assert "hook" not in [tool.name for tool in (await host.client.list_tools()).tools]
    assert await host.ask("PreToolUse", "s0", tool_input=PUSH) == {}
    await host.learn("s1", "s2")
    for given in (PUSH, json.dumps(PUSH)):  # text or an object: hosts differ
        told = (await host.ask("PreToolUse", f"s{len(given)}", tool_input=given))[
            "hookSpecificOutput"
        ]
        assert (told["hookEventName"], "git push origin topic" in told["additionalContext"]) == (
            "PreToolUse",
            True,
        )


async def test_a_call_counts_whose_transcript_the_host_writes_a_moment_later(
    host: Host, engine: Engine
) -> None:
    await host.start(engine, "s1", "s2")
    await host.learn("s1", "s2", late=True)
    told = (await host.ask("PreToolUse", "s3", tool_input=PUSH))["hookSpecificOutput"]
    assert "git push origin topic" in told["additionalContext"]


@pytest.mark.parametrize("event", ["PostToolUse", "Stop", "SessionEnd"])
async def test_a_pipe_in_place_of_a_transcript_is_not_waited_for(
    host: Host, tmp_path: Path, event: str
) -> None:
    host.transcript = tmp_path / "pipe"
    os.mkfifo(host.transcript)
    host.write = lambda: None
    asked = host.ask(event, "s1", tool_name="Bash", tool_input=PUSH, last_assistant_message="Done")
    assert await asyncio.wait_for(asked, 20) == {}


async def test_a_transcript_that_no_command_of_the_host_named_proves_nothing(host: Host) -> None:
    await host.learn("s1", "s2")
    assert await host.ask("PreToolUse", "s3", tool_input=PUSH) == {}


async def test_nothing_is_held_while_a_call_is_missing_that_the_server_was_told_of(
    host: Host,
) -> None:
    tests: dict[str, Any] = {"command": "npx jest"}
    red = {"type": "tool_use", "id": "red", "name": "Bash", "input": tests}
    answer = {"type": "tool_result", "tool_use_id": "red", "content": "Tests: 1 failed, 1 total"}
    lines = [{"type": "assistant", "message": {"role": "assistant", "content": [red]}},
        {"type": "user", "message": {"role": "user", "content": [answer]}}]  # fmt: skip
    host.transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    green = {"stdout": "Tests: 1 passed, 1 total", "stderr": ""}
    await host.ask("PostToolUse", "s1", shown=False, tool_input=tests, tool_response=green)

    async def stops(session: str) -> dict[str, Any]:
        claim = "All tests pass."
        return await host.ask("Stop", session, shown=False, last_assistant_message=claim)

    assert await stops("s1") == {}
    assert (await stops("s2"))["decision"] == "block"


async def test_calls_before_the_server_was_connected_stand_for_none_that_is_missing(
    host: Host,
) -> None:
    """The transcript has as many calls as hooks saw, and lacks the last one."""
    tests: dict[str, Any] = {"command": "npx jest"}
    red = {"stdout": "Tests: 1 failed, 1 total", "stderr": ""}
    green = {"stdout": "Tests: 1 passed, 1 total", "stderr": ""}
    for output in (red, green):
        await host.ask("PostToolUse", "s1", tool_input=tests, tool_response=output)
    answered = {"type": "tool_result", "tool_use_id": "toolu_1", "content": red["stdout"]}
    early = {"type": "tool_use", "id": "early", "name": "Bash", "input": {"command": "true"}}
    before = {"type": "tool_result", "tool_use_id": "early", "content": ""}
    with host.transcript.open("a") as file:
        for role, block in (("user", answered), ("assistant", early), ("user", before)):
            record = {"type": role, "message": {"role": role, "content": [block]}}
            file.write(json.dumps(record) + "\n")
    claim = "All tests pass."
    assert await host.ask("Stop", "s1", shown=False, last_assistant_message=claim) == {}


async def test_what_a_model_reports_counts_only_where_the_transcript_shows_the_call(
    host: Host,
) -> None:
    await host.learn("s1", "s2", shown=False)
    assert await host.ask("PreToolUse", "s3", tool_input=PUSH) == {}
    forged = {
        "type": "tool_use",
        "id": "x",
        "name": "mcp__mcp-reflect__hook",
        "input": {"tool_use_id": "toolu_5"},
    }
    host.transcript.write_text(json.dumps({"message": {"content": [forged]}}) + "\n")
    await host.ask("PostToolUseFailure", "s1", tool_input=PUSH, error=REFUSED, shown=False)
    assert await host.ask("PreToolUse", "s3", tool_input=PUSH) == {}


async def test_critique_reads_the_outputs_of_the_session_that_hooks_told_of(
    bank_path: Path, tmp_path: Path
) -> None:
    settings = Settings(bank=bank_path, project="app")
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "1 failed, 12 passed"}
    async with Client(build(settings)) as client, Engine(settings) as command:
        host = Host(client, tmp_path)
        await host.start(command, "s1")
        run = {"command": "pytest -q"}
        await host.ask("PostToolUse", "s1", tool_input=run, tool_response={"stdout": "1 failed"})
        host.unwritten.append(
            json.dumps({"type": "user", "message": {"role": "user", "content": [result]}}) + "\n"
        )
        host.write()
        work = {"goal": "Fix it", "response": "All 13 tests pass."}
        (content,) = (await client.call_tool("critique", work)).content
        assert isinstance(content, TextContent)
        assert "1 failed, 12 passed" in content.text


@pytest.mark.parametrize(
    "sent", [{}, {"hook_event_name": 5}, {"hook_event_name": "PreToolUse"}, {"a": ["b"]}]
)
async def test_what_is_no_hook_is_answered_with_nothing(
    client: Client, sent: dict[str, Any]
) -> None:
    result = await client.call_tool("hook", sent)
    assert [content.text for content in result.content if isinstance(content, TextContent)] == [
        "{}"
    ]


@pytest.mark.sqlite
async def test_a_locked_bank_costs_the_host_nothing_and_loses_nothing(
    settings: Settings, tmp_path: Path
) -> None:
    async with Client(build(settings)) as client:
        host = Host(client, tmp_path)
        await host.learn("s1")
        other = sqlite3.connect(settings.bank_path, isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            assert await host.ask("PostToolUseFailure", "s2", tool_input=PUSH, error=REFUSED) == {}
            other.rollback()
            spool = settings.bank_path.with_name(settings.bank_path.name + ".spool")
            assert b"GH006" in spool.read_bytes()
        finally:
            other.close()
