"""Sessions in the forms that hosts write: what is read of each record, and what is not."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.evidence.ledger import Ledger
from mcp_reflect.models.common import Json
from mcp_reflect.sessions.call_reader import CallReader
from mcp_reflect.sessions.hosts.codex_scripts import calls_in
from mcp_reflect.sessions.records import PromptAuthor
from mcp_reflect.sessions.session_file import SessionFile
from mcp_reflect.sessions.session_lines import open_session, read_file, unpacker


@dataclass(slots=True)
class Heard(CallReader):
    """Keeps what a session tells."""

    calls: list[tuple[str, Json, str, bool, int | None]] = field(
        default_factory=list[tuple[str, Json, str, bool, int | None]]
    )
    asks: list[tuple[str, PromptAuthor]] = field(default_factory=list[tuple[str, PromptAuthor]])
    missing: int = 0

    def prompted(self, text: str, by: PromptAuthor = PromptAuthor.PERSON) -> None:
        self.asks.append((text, by))

    def unseen(self) -> None:
        self.missing += 1

    def call_ended(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        self.calls.append((tool, arguments, content, failed, code))

    @property
    def of_person(self) -> list[str]:
        return [text for text, by in self.asks if by is PromptAuthor.PERSON]


def heard(*records: Any) -> Heard:
    """What these lines tell; a text is a line as it is."""
    found = Heard()
    texts = (line if isinstance(line, str) else json.dumps(line) for line in records)
    found.read_lines(text.encode() for text in texts)
    found.finish()
    return found


# Claude Code.

_NUMBER = iter(range(1_000_000))


def line(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    about = {"uuid": f"uuid-{next(_NUMBER)}", "sessionId": "s", "cwd": "/shop"}
    return {"type": kind, "message": message, **about, **more}


def use(name: str, command: str, **more: Any) -> dict[str, Any]:
    call = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command, **more}}
    return line("assistant", [call])


def result(name: str, content: str, *, failed: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": name, "content": content, "is_error": failed}
    return line("user", [block])


def queued(prompt: Any, **more: Any) -> dict[str, Any]:
    queue = {"type": "queued_command", "commandMode": "prompt", "prompt": prompt, **more}
    return {
        "type": "attachment",
        "attachment": queue,
        "uuid": f"q{next(_NUMBER)}",
        "sessionId": "s",
    }


@pytest.mark.parametrize(
    "record",
    [
        queued("use pnpm"),
        queued([{"type": "text", "text": "use pnpm"}, {"type": "image", "source": {}}]),
        queued("use pnpm", origin={"kind": "human"}),
        line("user", "use pnpm", origin={"kind": "human"}),
        line("user", "use pnpm"),
    ],
)
def test_words_of_a_person_are_theirs_however_they_came(record: dict[str, Any]) -> None:
    assert heard(record).of_person == ["use pnpm"]


@pytest.mark.parametrize(
    "record",
    [
        *(
            line("user", "use pnpm", origin={"kind": kind})
            for kind in ("hook", "task-notification", "channel", "auto-continuation")
        ),
        queued("use pnpm", origin={"kind": "channel"}),
        queued("use pnpm", commandMode="task-notification"),
        line("user", "use pnpm", isSidechain=True),
        line("user", "use pnpm", isCompactSummary=True),
        line("user", "use pnpm", isMeta=True),
        line("user", "use pnpm", entrypoint="sdk-cli"),
    ],
)
def test_what_others_wrote_is_no_person_s_word(record: dict[str, Any]) -> None:
    assert heard(record).of_person == []


@pytest.mark.parametrize(
    "answer",
    [
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        "<tool_use_error>Cancelled: parallel tool call Bash(pytest) errored</tool_use_error>",
        "<tool_use_error>Error: Sibling tool call errored</tool_use_error>",
        "<error>Sibling tool call errored</error>",
        "[Tool call cancelled: another call failed]",
        "Tool execution was skipped because a parallel call failed",
    ],
)
def test_a_call_that_was_cancelled_beside_another_was_none(answer: str) -> None:
    assert heard(use("a", "pytest"), result("a", answer, failed=True)).calls == []
    assert len(heard(use("a", "pytest"), result("a", "Cancelled: by the shop")).calls) == 1


def test_a_line_that_is_there_twice_is_read_once() -> None:
    call, answer = use("a", "pytest"), result("a", "1 failed", failed=True)
    assert len(heard(call, answer, call, answer).calls) == 1


@pytest.mark.parametrize("by_queue", [True, False])
def test_the_end_of_a_task_in_the_background_is_told_with_its_code(by_queue: bool) -> None:
    started = "Command running in background with ID: b1. Output is being written to: /t/b1.output"
    notice = (
        "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n"
        '<summary>Background command "x" completed (exit code 3)</summary>\n</task-notification>'
    )
    ended = line("user", notice, origin={"kind": "task-notification"})
    if by_queue:
        ended = queued(notice, commandMode="task-notification")
    found = heard(use("a", "pytest", run_in_background=True), result("a", started), ended)
    assert [(call[0], call[1], call[4]) for call in found.calls[1:]] == [
        ("TaskOutput", {"task_id": "b1"}, 3)
    ]


@pytest.mark.parametrize(
    "bad", ['{"type": "user", "mess', "\x00\x01", "[]", "17", "{" * 100_000, '{"a": "\ud800"']
)
def test_a_bad_line_is_missing_and_the_rest_is_read(bad: str) -> None:
    found = Heard()
    lines = [bad.encode("utf-8", "surrogatepass")]
    lines += [json.dumps(one).encode() for one in (use("a", "ls"), result("a", "b"))]
    assert found.read_lines(lines) == [1]
    assert (len(found.calls), found.missing) == (1, 1)


def test_a_bad_byte_in_a_line_is_replaced() -> None:
    found = Heard()
    lines = [json.dumps(use("a", "ls X")).encode().replace(b"X", b"\xff"), b"{}"]
    lines += [json.dumps(result("a", "b")).encode()]
    found.read_lines(lines)
    assert [call[1] for call in found.calls] == [{"command": "ls \ufffd"}]


# Codex.


def item(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-11-01T10:00:00Z", "type": "response_item", "payload": payload}


def meta(**facts: Any) -> dict[str, Any]:
    return {"type": "session_meta", "payload": {"id": "x", "cwd": "/shop", **facts}}


def script(name: str, text: str, tool: str = "exec") -> dict[str, Any]:
    return item(type="custom_tool_call", name=tool, call_id=name, input=text)


def shown(name: str, *parts: str, how: str = "completed") -> dict[str, Any]:
    head = f"Script {how}\nWall time 1.2 seconds\nOutput:\n"
    texts = [{"type": "input_text", "text": text} for text in (head, *parts)]
    return item(type="custom_tool_call_output", call_id=name, output=texts)


def ran(name: str, command: str, output: str, code: int) -> dict[str, Any]:
    done = {"type": "CommandExecution", "id": name, "command": ["/bin/bash", "-lc", command]}
    status = "failed" if code else "completed"
    whole = {**done, "aggregated_output": output, "exit_code": code, "status": status}
    return {"type": "event_msg", "payload": {"type": "item_completed", "item": whole}}


def commands(found: Heard) -> list[tuple[Any, str, int | None]]:
    """Command, output and exit code of each call."""
    told: list[tuple[Any, str, int | None]] = []
    for _, arguments, content, _, code in found.calls:
        values: Any = arguments
        told.append((values.get("cmd", values.get("command")), content, code))
    return told


ONE = 'text((await tools.exec_command({cmd:"pytest -q"})).output);'
TWO = """
const [tests, types] = await Promise.all([
  tools.exec_command({cmd: "pytest -q", workdir: '/shop'}),  // both at once
  tools.exec_command({"cmd": `mypy .`}),
]);
text(types.output); text(tests.output);
"""


@pytest.mark.parametrize(
    ("text", "parts", "told"),
    [
        (ONE, ["17 passed"], [("pytest -q", "17 passed", None)]),
        (
            "const r = await tools.exec_command({cmd: 'pytest -q'}); text(JSON.stringify(r))",
            ['{"chunk_id": "a", "wall_time_seconds": 1, "exit_code": 2, "output": "1 failed"}'],
            [("pytest -q", "1 failed", 2)],
        ),
        (
            TWO,
            ["no issues", "17 passed"],
            [("pytest -q", "17 passed", None), ("mypy .", "no issues", None)],
        ),
        (
            f"{ONE}\n{ONE.replace('pytest -q', 'ls')}",
            ["17 passed", "a.py"],
            [("pytest -q", "17 passed", None), ("ls", "a.py", None)],
        ),
    ],
)
def test_calls_are_read_off_a_script(text: str, parts: list[str], told: list[Any]) -> None:
    found = heard(meta(), script("c", text), shown("c", *parts))
    assert (commands(found), found.missing) == (told, 0)


def test_calls_of_the_other_script_tool_are_read_too() -> None:
    text = 'const r = await codex.tool("shell_command", {command: "npm test"}); console.log(r)'
    found = heard(meta(), script("c", text, tool="js_repl"), shown("c", "3 passed"))
    assert commands(found) == [("npm test", "3 passed", None)]


@pytest.mark.parametrize(
    ("text", "parts", "how"),
    [
        (
            "for (const c of ['a']) { text((await tools.exec_command({cmd: c})).output) }",
            ["x"],
            "completed",
        ),
        ("const c = 'py' + 'test'; await tools.exec_command({cmd: c})", ["x"], "completed"),
        ("if (a) { await tools.exec_command({cmd: 'pytest'}) }", ["x"], "completed"),
        ("await tools.exec_command({cmd: `pytest ${a}`})", ["x"], "completed"),
        (TWO, ["17 passed and no issues"], "completed"),
        (ONE, [], "running with cell ID 3"),
        ("x" * 300_000, ["x"], "completed"),
        # Functions that may be a tool by another name, or a program of their own.
        (
            "const {exec_command} = tools; text((await exec_command({cmd: 'pytest'})).output)",
            ["x"],
            "completed",
        ),
        (
            "const t = tools; text((await t.exec_command({cmd: 'pytest'})).output)",
            ["x"],
            "completed",
        ),
        ("text((await run({cmd: 'pytest'})).output)", ["x"], "completed"),
        ("text((await tools.exec_command.call(null, {cmd: 'pytest'})).output)", ["x"], "completed"),
        ("text((await tools.invoke('exec_command', {cmd: 'pytest'})).output)", ["x"], "completed"),
        (
            "const {execSync} = await import('child_process'); text(execSync('pytest'))",
            ["x"],
            "completed",
        ),
        ("console.log(require('child_process').execSync('pytest') + '')", ["x"], "completed"),
        ("!pytest -q", ["x"], "completed"),
    ],
)
def test_what_a_script_did_is_unknown_where_that_is_not_plain(
    text: str, parts: list[str], how: str
) -> None:
    assert heard(meta(), script("c", text), shown("c", *parts, how=how)).missing > 0


@pytest.mark.parametrize(
    "text",
    [
        'text("hello")',
        "const parts = ['a', 'b']; text(parts.join(', '))",
        ONE.replace(".output", ".output.trim().slice(0, 400)"),
        'text(await tools.apply_patch("*** Begin Patch\\n*** End Patch"))',
    ],
)
def test_a_script_that_only_says_something_beside_its_calls_is_plain(text: str) -> None:
    assert heard(meta(), script("c", text), shown("c", "x")).missing == 0


@pytest.mark.parametrize(
    "record",
    [
        item(type="computer_call", call_id="a", action={"type": "exec", "command": "pytest"}),
        {
            "type": "event_msg",
            "payload": {"type": "item_completed", "item": {"type": "CollabToolCall", "id": "z"}},
        },
        {
            "type": "event_msg",
            "payload": {"type": "exec_command_end", "call_id": "u", "source": "user_shell"},
        },
    ],
)
def test_what_a_newer_codex_or_the_person_ran_leaves_unknown_what_was_done(record: Any) -> None:
    assert heard(meta(), record).missing == 1


def test_items_of_codex_that_run_nothing_leave_nothing_unknown() -> None:
    search = item(type="web_search_call", id="w", action={"query": "x"})
    told = {
        "type": "event_msg",
        "payload": {"type": "item_completed", "item": {"type": "AgentMessage", "id": "m"}},
    }
    ended = {
        "type": "event_msg",
        "payload": {"type": "exec_command_end", "call_id": "c", "source": "agent"},
    }
    assert heard(meta(), search, told, ended).missing == 0


def test_commands_that_the_host_noted_stand_for_the_script() -> None:
    found = heard(
        meta(),
        script("c", "for (const c of all) await tools.exec_command({cmd: c})"),
        ran("exec-1", "pytest -q", "1 failed", 1),
        ran("exec-2", "ls", "a.py", 0),
        shown("c", "whatever"),
    )
    assert [call[2:] for call in found.calls] == [("1 failed", True, 1), ("a.py", False, 0)]
    assert found.missing == 0


def test_a_call_of_the_model_itself_is_not_read_again_where_the_host_notes_it() -> None:
    call = item(type="function_call", name="exec_command", call_id="c", arguments='{"cmd": "ls"}')
    output = item(type="function_call_output", call_id="c", output="a.py")
    found = heard(meta(), call, ran("c", "ls", "a.py", 0), output)
    assert commands(found) == [("ls", "a.py", None)]


@pytest.mark.parametrize(
    ("facts", "of_person"),
    [
        ({"source": "cli"}, ["go"]),
        ({"source": "exec", "originator": "codex_exec"}, []),
        ({"source": {"subagent": {"thread_spawn": {"depth": 1}}}}, []),
        ({"thread_source": "subagent"}, []),
    ],
)
def test_the_prompt_of_a_script_or_an_agent_is_no_person_s(
    facts: dict[str, Any], of_person: list[str]
) -> None:
    said = item(type="message", role="user", content=[{"type": "input_text", "text": "go"}])
    around = "<environment_context><cwd>/shop</cwd></environment_context>"
    host = item(type="message", role="user", content=[{"type": "input_text", "text": around}])
    assert heard(meta(**facts), host, said).of_person == of_person


def test_a_script_is_read_in_linear_time_and_never_fails() -> None:
    for text in (
        "`" * 50_000,
        "tools.a(" * 20_000,
        "[" * 90_000,
        "\\" * 90_000,
        "tools.a({" * 9_000,
    ):
        assert calls_in(text) is not None


# Gemini CLI.


def said(name: str, text: str) -> dict[str, Any]:
    return {"id": name, "type": "user", "content": [{"text": text}]}


def tool_call(name: str, command: str, output: str, status: str = "success") -> dict[str, Any]:
    response = {"functionResponse": {"id": name, "response": {"output": output}}}
    call = {"id": name, "name": "run_shell_command", "args": {"command": command}}
    whole = {**call, "result": [response], "status": status}
    return {"id": f"m{name}", "type": "gemini", "content": "", "toolCalls": [whole]}


START = {"sessionId": "g", "projectHash": "0", "kind": "main"}
FRAMED = (
    "<untrusted_context>\nOutput: {}\nExit Code: {}\nProcess Group PGID: 8\n</untrusted_context>"
)


def test_a_message_that_is_written_again_counts_once() -> None:
    call = tool_call("a", "pytest", FRAMED.format("1 failed", 2))
    found = heard(START, said("u", "go"), {**call, "toolCalls": []}, call, call)
    assert commands(found) == [("pytest", "1 failed", 2)]
    assert (found.of_person, found.session) == (["go"], "g")


def test_messages_are_replaced_and_taken_back() -> None:
    before = [START, said("u", "go"), tool_call("a", "pytest", "1 failed")]
    assert heard(*before, {"$set": {"messages": [said("v", "else")]}}).of_person == ["else"]
    found = heard(*before, {"$rewindTo": "ma"}, tool_call("b", "ls", "x"))
    assert commands(found) == [("ls", "x", None)]
    assert found.missing == 1
    assert heard(*before, {"$rewindTo": "unknown"}).of_person == []
    assert heard(*before, {"$set": {"lastUpdated": "t"}}).of_person == ["go"]


def test_a_call_that_a_person_stopped_is_none() -> None:
    found = heard(START, tool_call("a", "pytest", "x", status="cancelled"))
    assert (found.calls, found.missing) == ([], 1)


@pytest.mark.parametrize(
    ("result", "display", "text"),
    [
        ("1 failed", None, "1 failed"),
        ([[{"functionResponse": {"response": {"output": "1 failed"}}}]], None, "1 failed"),
        (None, "1 failed", "1 failed"),
    ],
)
def test_an_answer_of_gemini_is_read_in_each_form(result: Any, display: Any, text: str) -> None:
    call = tool_call("a", "pytest", "")
    call["toolCalls"][0] |= {"result": result, "resultDisplay": display}
    assert commands(heard(START, call)) == [("pytest", text, None)]


@pytest.mark.parametrize("status", ["scheduled", "awaiting_approval", "executing"])
def test_a_call_of_gemini_that_has_not_ended_has_no_answer(status: str) -> None:
    call = tool_call("a", "pytest", "x", status=status)
    assert heard(START, call).calls == []


@pytest.mark.parametrize(
    "change",
    [
        {"$push": {"messages": [tool_call("b", "pytest", "17 passed")]}},
        {"$unset": {"summary": 1}},
        {"$set": {"messages.0.toolCalls.0.status": "cancelled"}},
    ],
)
def test_a_change_of_a_newer_gemini_leaves_unknown_what_was_done(change: dict[str, Any]) -> None:
    found = heard(START, tool_call("a", "pytest", "1 failed"), change)
    assert (len(found.calls), found.missing) == (1, 1)


@pytest.mark.parametrize(
    ("tool", "missing"), [("tester", 1), ("generalist", 1), ("mcp_ci_run", 0), ("read_file", 0)]
)
def test_a_tool_of_gemini_that_may_be_an_agent_leaves_unknown_what_it_did(
    tool: str, missing: int
) -> None:
    call = tool_call("a", "pytest", "x")
    call["toolCalls"][0]["name"] = tool
    assert heard(START, call).missing == missing


# Files.


@pytest.mark.parametrize("indent", [None, 2])
def test_a_session_in_one_value_may_begin_with_a_mark_of_its_encoding(
    tmp_path: Path, indent: int | None
) -> None:
    path = tmp_path / "session.json"
    session = {**START, "messages": [tool_call("a", "pytest", "1 failed")]}
    path.write_text("\ufeff" + json.dumps(session, indent=indent), "utf-8")
    file = SessionFile(path, Ledger())
    file.read()
    assert (file.fault, file.ledger.step) == ("", 1)


@pytest.mark.parametrize(
    "text",
    [
        "<bash-input>make verify</bash-input>",
        "<bash-stdout>ok</bash-stdout><bash-stderr></bash-stderr>",
        "<user_shell_command>\n<command>\nmake verify\n</command>\n</user_shell_command>",
        "I ran the tests myself: 17 passed",
    ],
)
def test_what_the_person_ran_may_be_the_proof(tmp_path: Path, text: str) -> None:
    path = tmp_path / "session.jsonl"
    lines = [use("a", "ls"), result("a", "a.py"), line("user", text)]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    file = SessionFile(path, Ledger())
    file.read()
    assert (file.ledger.step, file.ledger.last_unseen_step) == (1, 1)


def test_a_session_that_is_rewritten_is_read_anew_while_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    lines = [START, tool_call("a", "npx jest", "Tests: 1 failed, 1 total")]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    file = SessionFile(path, Ledger())
    file.read()
    assert [proof.outcome.passed for proof in file.ledger.proofs] == [False]
    with path.open("a") as more:
        more.write(json.dumps(tool_call("a", "npx jest", "Tests: 1 passed, 1 total")) + "\n")
    file.read()
    assert [proof.outcome.passed for proof in file.ledger.proofs] == [True]


@pytest.mark.parametrize("cut", [False, True])
def test_a_compressed_session_is_read_as_far_as_it_is_whole(tmp_path: Path, cut: bool) -> None:
    noise = [item(type="message", role="user", content=str(number)) for number in range(3_000)]
    lines = [meta(), script("c", ONE), shown("c", "17 passed"), *noise]
    data = unpacker().compress("".join(json.dumps(one) + "\n" for one in lines).encode())
    path = tmp_path / "rollout-1.jsonl.zst"
    path.write_bytes(data[: len(data) // 2] if cut else data)
    found = Heard()
    with open_session(path) as file:
        faults = read_file(file, found, is_value=False)
    assert bool(faults) is cut
    if not cut:
        assert commands(found) == [("pytest -q", "17 passed", None)]
