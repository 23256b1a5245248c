"""The hook: a host's JSON in, its form of an answer out, and silence on any fault of ours."""

import asyncio
import io
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli import main
from mcp_reflect.cli.hook import reflect_in_background
from mcp_reflect.config import Settings
from mcp_reflect.moments.texts import KEEP
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.hook_events import EVENTS, read_hook
from mcp_reflect.storage.spool import Spool
from tests.cli.commands import Command
from tests.clients.forked import Forked, run_forked
from tests.sessions import sessions

REFUSED = "Exit code 1\nremote: error: GH006: Protected branch update failed for refs/heads/main."
PUSH: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "git push origin main"}}
TOPIC: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "git push origin topic"}}
LETTERS = "abcdefghijklmnopqrst"
NO_NAMES: list[Any] = [5, [], {}, ""]


class Host:
    """Sends hook input as a host does, and takes the answer."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path
    ) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self.bank = folder / "bank.db"
        self.folder = folder / "project"
        self.folder.mkdir()

    def raw(self, text: bytes, *words: str) -> str:
        self._monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert main(["hook", *words]) == 0
        done = self._capsys.readouterr()
        assert done.err == ""
        return done.out

    def send(self, event: str, session: str = "s1", **values: Any) -> Any:
        whole = {"session_id": session, "cwd": str(self.folder), "hook_event_name": event, **values}
        out = self.raw(json.dumps(whole).encode(), event)
        return json.loads(out) if out else None

    def rows(self, query: str) -> list[Any]:
        """Rows of the bank, read past our own code."""
        with closing(sqlite3.connect(self.bank)) as connection:
            return connection.execute(query).fetchall()

    def learn(self, *sessions: str) -> None:
        """The push fails in these sessions, and another one works in the last."""
        for session in sessions:
            self.send("PostToolUseFailure", session, **PUSH, error=REFUSED)
        self.send(
            "PostToolUse", sessions[-1], **TOPIC, tool_response={"stdout": "pushed", "stderr": ""}
        )

    def context(self, event: str, session: str = "s1", **values: Any) -> str:
        found = self.send(event, session, **values)["hookSpecificOutput"]
        assert found["hookEventName"] == event
        return found["additionalContext"]


@pytest.fixture
def host(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Host:
    for name in ("BANK", "PROJECT"):  # options set them, and this sets them back
        monkeypatch.setenv(f"MCP_REFLECT_{name}", str(tmp_path / "bank.db"))
    monkeypatch.delenv("MCP_REFLECT_PROJECT")
    monkeypatch.setattr(
        "mcp_reflect.cli.quick_hook.MAX_SECONDS", 600
    )  # it ends the process, and that is pytest's here
    return Host(capsys, monkeypatch, tmp_path)


def test_a_failure_of_one_session_is_told_before_the_same_call_of_another(host: Host) -> None:
    assert host.send("PreToolUse", **PUSH) is None
    assert host.send("PostToolUseFailure", **PUSH, error=REFUSED) is None
    assert host.send("PreToolUse", "s2", **PUSH) is None  # it failed once, and not here
    host.send("PostToolUseFailure", "s3", **PUSH, error=REFUSED)
    assert host.send("PreToolUse", "s2", **PUSH) is None  # nobody knows what is right
    host.send("PostToolUse", "s3", **TOPIC, tool_response={"stdout": "pushed", "stderr": ""})
    said = host.context(
        "PreToolUse", "s2", tool_name="Bash", tool_input={"command": "git  push origin main"}
    )
    assert "GH006" in said
    assert "git push origin topic" in said
    assert "permissionDecision" not in said
    assert host.send("PreToolUse", "s2", **PUSH) is None  # it was told


def test_a_call_that_is_sure_to_fail_is_refused_once_where_that_was_asked_for(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.learn("s1")
    monkeypatch.setenv("MCP_REFLECT_HOLD", "1")
    assert "permissionDecision" not in str(
        host.send("PreToolUse", "s0", **PUSH)
    )  # it failed in one session alone
    host.learn("s2")
    held = host.send("PreToolUse", "s3", **PUSH)["hookSpecificOutput"]
    assert (held["hookEventName"], held["permissionDecision"]) == ("PreToolUse", "deny")
    assert "GH006" in held["permissionDecisionReason"]
    assert host.send("PreToolUse", "s3", **PUSH) is None  # not refused again
    assert host.send("BeforeTool", "s6", **PUSH)["decision"] == "deny"
    assert host.send("preToolUse", "s7", **PUSH)["permission"] == "deny"
    host.send("PostToolUse", "s4", **PUSH, tool_response={"stdout": "pushed", "stderr": ""})
    assert host.send("PreToolUse", "s5", **PUSH) is None  # it has worked since


def test_a_known_correction_is_told_right_after_a_failure(host: Host) -> None:
    missing: dict[str, Any] = {
        "error": "Exit code 4\nModuleNotFoundError: No module named 'billing'"
    }
    host.send(
        "PostToolUseFailure", tool_name="Bash", tool_input={"command": "pytest billing"}, **missing
    )
    worked: dict[str, Any] = {
        "tool_response": {"stdout": "42 passed", "stderr": "", "interrupted": False}
    }
    host.send(
        "PostToolUse",
        tool_name="Bash",
        tool_input={"command": "PYTHONPATH=src pytest billing"},
        **worked,
    )
    refunds = {"tool_name": "Bash", "tool_input": {"command": "pytest refunds"}}
    said = host.context("PostToolUseFailure", "s2", **refunds, **missing)
    assert "PYTHONPATH=src pytest billing" in said


def test_lessons_are_shown_three_at_a_time_and_once_a_session(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        {
            "mistake": f"Ran migration {word} on the live database",
            "correction": f"Run migration {word} on a copy first",
        }
        for word in ("alpha", "beta", "gamma", "delta", "omega")
    ]
    file = host.folder / "lessons.jsonl"
    file.write_text("\n".join(json.dumps({**line, "project": str(host.folder)}) for line in lines))
    assert main(["import", str(file)]) == 0
    capsys.readouterr()
    prompt = "run a migration on the live database"
    first, second = (host.context("UserPromptSubmit", prompt=prompt) for _ in range(2))
    assert (first.count("\n- "), second.count("\n- ")) == (3, 2)
    assert "\n- " not in str(host.send("UserPromptSubmit", prompt=prompt))
    assert host.context("SessionStart", source="compact") == KEEP
    assert host.context("UserPromptSubmit", prompt=prompt).count("\n- ") == 3
    assert "migration beta" in host.context(
        "UserPromptSubmit", "s2", prompt="apply migration beta to the database"
    )
    assert host.send("UserPromptSubmit", "s3", prompt="write a poem on the moon") is None


def test_each_lesson_is_shown_with_a_short_id_that_the_tools_take(host: Host) -> None:
    settings = Settings(bank=host.bank, project=str(host.folder))
    error = "ModuleNotFoundError: No module named 'billing'"
    run: list[dict[str, Any]] = [
        {"tool": "Bash", "arguments": {"command": "pytest billing"}},
        {"error": error, "exit_code": 4},
        {"tool": "Bash", "arguments": {"command": "PYTHONPATH=src pytest billing"}},
        {"content": "42 passed", "exit_code": 0},
    ]

    async def learn() -> None:
        async with Engine(settings) as engine:
            await engine.store_lesson(
                mistake="deployctl push: E4012 region not set", correction="pass --region eu-1"
            )
            analysis = {"mistake": error, "correction": "Set PYTHONPATH=src", "symptoms": [error]}
            await engine.reflect(task="Run the tests", events=run, analysis=analysis)

    asyncio.run(learn())
    at_prompt = host.context("UserPromptSubmit", prompt="deployctl push fails with E4012")
    call: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "pytest billing"}}
    before = host.context("PreToolUse", **call)
    ids = [re.findall(r"\bles_\w{6}\b", said) for said in (at_prompt, before)]
    assert [len(found) for found in ids] == [1, 1]

    async def tell() -> None:
        async with Engine(settings) as engine:
            told = await engine.record_outcome(success="helped", lesson_ids=ids[0] + ids[1])
            assert len(told.updated) == 2
            assert str((await engine.forget_lesson(lesson_id=ids[0][0])).state) == "retired"

    asyncio.run(tell())


@pytest.mark.parametrize(
    ("event", "values", "key"),
    [
        (
            "AfterTool",
            {"tool_response": {"llmContent": "x", "error": {"message": REFUSED}}},
            "hookSpecificOutput",
        ),
        (
            "AfterTool",
            {
                "tool_response": {
                    "llmContent": f"<untrusted_context>\nOutput: {REFUSED}\nExit Code: 1\n</untrusted_context>"
                }
            },
            "hookSpecificOutput",
        ),
        (
            "postToolUseFailure",
            {"error_message": REFUSED, "failure_type": "error"},
            "additional_context",
        ),
        (
            "PostToolUse",
            {"tool_response": f"{REFUSED}\nExit code: 1", "turn_id": "t"},
            "hookSpecificOutput",
        ),
    ],
)
def test_other_hosts_are_told_with_the_result_in_their_own_form(
    host: Host, event: str, values: dict[str, Any], key: str
) -> None:
    host.learn("s1")
    found = host.send(event, "s2", **PUSH, **values)
    assert list(found) == [key]
    assert "GH006" in json.dumps(found)


def test_cursor_names_the_session_a_conversation_and_has_no_place_before_a_call(host: Host) -> None:
    sent = {"conversation_id": "c1", "workspace_roots": [str(host.folder)], "tool_name": "Shell"}
    call = {**sent, "tool_input": '{"command": "git push origin main"}'}
    host.raw(json.dumps({**call, "error_message": REFUSED}).encode(), "postToolUseFailure")
    assert host.raw(json.dumps(call).encode(), "preToolUse") == ""
    rows = host.rows("SELECT arguments, last_session FROM failures")
    assert rows == [('[{"command": "git push origin main"}]', "c1")]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"\xff\xfe",
        b"{}" * 9,
        b'{"session_id": 5}',
        b"[" * 100_000,
        b"\0" * 100,
    ]
    + [
        json.dumps({"session_id": "s", "tool_name": name, "tool_input": name}).encode()
        for name in NO_NAMES
    ],
)
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUseFailure", "SessionEnd", "NoSuchEvent"])
def test_hostile_input_is_met_with_silence(host: Host, text: bytes, event: str) -> None:
    assert host.raw(text, event) == ""


@pytest.mark.parametrize("event", sorted(EVENTS))
def test_a_broken_bank_is_nobody_s_business(host: Host, event: str) -> None:
    host.bank.write_text("this is no database")
    values = {**PUSH, "error": REFUSED, "prompt": "push it"}
    assert host.send(event, **values) is None
    assert host.bank.read_text() == "this is no database"


def test_a_locked_bank_is_not_waited_for_and_the_word_is_said(host: Host) -> None:
    host.learn("s0", "s1")
    other = sqlite3.connect(host.bank, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert "GH006" in host.context("PreToolUse", "s2", **PUSH)
        assert host.send("PostToolUseFailure", "s2", **PUSH, error=REFUSED) is None
    finally:
        other.close()


def test_without_a_bank_nothing_is_made_until_something_failed(host: Host) -> None:
    assert host.context("SessionStart") == KEEP
    for event in ("UserPromptSubmit", "PreToolUse"):
        assert host.send(event, **PUSH, prompt="x") is None
    assert not host.bank.exists()


def test_settings_that_cannot_be_read_are_not_the_host_s_trouble(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_REFLECT_HOLDOUT", "a lot")
    assert host.send("PostToolUseFailure", **PUSH, error=REFUSED) is None


def test_an_input_that_never_ends_does_not_hold_the_host_up(tmp_path: Path) -> None:
    env = {**os.environ, "MCP_REFLECT_BANK": str(tmp_path / "bank.db")}
    started = subprocess.Popen(
        [sys.executable, "-m", "mcp_reflect", "hook", "PreToolUse"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    )
    assert started.stdin is not None
    started.stdin.write(b'{"session_id": ')
    started.stdin.flush()
    assert started.wait(60) == 0
    out, err = started.communicate()
    assert (out, err) == (b"", b"")


def test_at_the_end_the_transcript_is_reflected_on_by_a_process_of_its_own(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_REFLECT_BANK", str(host.bank))  # the process works in another folder
    transcript = host.folder / "c-1.jsonl"
    transcript.write_text(sessions.claude())
    sent = {
        "session_id": "c-1",
        "cwd": str(host.folder),
        "transcript_path": str(transcript),
        "reason": "other",
    }
    given = read_hook("SessionEnd", sent)
    assert given is not None
    started = reflect_in_background(given, Settings.from_env())
    assert started is not None
    assert started.wait(60) == 0
    said = host.context("PreToolUse", tool_name="Bash", tool_input={"command": sessions.FAILING})
    assert sessions.WORKING in said


def test_options_before_the_event_name_the_project_and_the_bank(host: Host, tmp_path: Path) -> None:
    other = tmp_path / "other=1.db"
    call = {
        "session_id": "s1",
        "tool_name": "Bash",
        "tool_input": {"command": "make x"},
        "error": REFUSED,
    }
    host.raw(json.dumps(call).encode(), "--project=shop", f"--bank={other}", "PostToolUseFailure")
    assert other.exists()
    assert not host.bank.exists()


def test_an_input_with_too_many_values_is_not_parsed(host: Host) -> None:
    host.send("SessionStart")
    many = "{}," * 2_300_000
    sent = f'{{"session_id":"s1","tool_name":"Bash","tool_input":[{many}{{}}]}}'.encode()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert host.raw(sent, "PostToolUse") == host.raw(sent, "PreToolUse") == ""
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 100_000  # kilobytes; to parse it takes 300,000


def test_on_a_machine_that_is_late_a_call_is_kept_before_anything_is_looked_up(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.learn("s1")
    with monkeypatch.context() as late:
        late.setattr("mcp_reflect.cli.quick_hook._LATE_SECONDS", -1.0)
        host.send("PostToolUse", **PUSH, tool_response={"stdout": "pushed late", "stderr": ""})
    assert "pushed late" in host.bank.with_name("bank.db.spool").read_text("utf-8")
    host.send("Stop", last_assistant_message="I am done.")
    assert "pushed late" in str(host.rows("SELECT call FROM session_calls"))


RED_TESTS = "Exit code 1\nFAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed in 0.12s"


@pytest.mark.parametrize("name", ["\0", "\u200b"])
def test_a_tool_whose_name_is_not_seen_costs_its_session_no_other_call(
    host: Host, name: str
) -> None:
    failing: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make zebra"}}
    host.send("SessionStart")
    host.send("PostToolUseFailure", **failing, error="Exit code 2\nboom failed")
    host.send("PostToolUse", tool_name=name, tool_input={}, tool_response={"stdout": "ok"})
    for number in range(3):
        test = {"command": f"pytest -q tests/t{number}.py"}
        host.send("PostToolUseFailure", tool_name="Bash", tool_input=test, error=RED_TESTS)
    host.send("Stop", last_assistant_message="I am done.")  # notes what waits in the spool
    kept = [json.loads(call) for (call,) in host.rows("SELECT call FROM session_calls")]
    commands = [call["arguments"]["command"] for call in kept]
    assert commands == ["make zebra", *(f"pytest -q tests/t{number}.py" for number in range(3))]


def test_a_kept_call_that_cannot_be_read_is_left_out_and_its_session_goes_on(host: Host) -> None:
    host.learn("s1")
    with closing(sqlite3.connect(host.bank)) as connection, connection:
        connection.execute("""UPDATE session_calls SET call = '{"line": "no tool"}'""")
    test = {"command": "pytest -q"}
    host.send("PostToolUseFailure", tool_name="Bash", tool_input=test, error=RED_TESTS)
    host.send("Stop", last_assistant_message="I am done.")
    assert "pytest -q" in str(host.rows("SELECT call FROM session_calls"))


def test_an_interrupted_call_did_not_fail(host: Host) -> None:
    host.send("PostToolUseFailure", **PUSH, error=REFUSED, is_interrupt=True)
    assert host.send("PreToolUse", "s2", **PUSH) is None


@pytest.mark.parametrize("rounds", ["x", pytest.param("xyz", marks=pytest.mark.chaos)])
def test_of_twenty_hooks_at_once_none_loses_its_failure(
    host: Host, monkeypatch: pytest.MonkeyPatch, rounds: str
) -> None:
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "app")
    for prefix in rounds:
        processes: list[Forked] = []
        for letter in LETTERS:
            call: dict[str, Any] = {
                "tool_name": "Bash",
                "tool_input": {"command": f"make {prefix}{letter}"},
            }
            sent = {"session_id": letter, **call, "error": f"No rule {prefix}{letter}"}
            process = Forked(("hook", "PostToolUseFailure"), {"MCP_REFLECT_BANK": str(host.bank)})
            # At once, as a host does: a hook that is told nothing ends after some seconds.
            process.stdin.write(json.dumps(sent).encode())
            process.stdin.close()
            processes.append(process)
        for process in processes:
            with process:
                process.wait(120)
    spool = host.bank.with_name("bank.db.spool")
    host.send("PostToolUseFailure", **PUSH, error=REFUSED)
    for _ in range(60):
        if not spool.exists() or not spool.stat().st_size:
            break
        host.send("SessionStart")
    noted = {
        json.loads(row[0])[0]["command"] for row in host.rows("SELECT arguments FROM failures")
    }
    assert {f"make {prefix}{letter}" for prefix in rounds for letter in LETTERS} <= noted
    assert not spool.exists() or spool.stat().st_mode & 0o777 == 0o600


def test_what_a_hook_of_another_project_left_is_noted_for_that_one_and_silences_nobody(
    host: Host,
) -> None:
    host.learn("before", "before that")
    spool = Spool(host.bank)
    call = {
        "tool": "Bash",
        "arguments": {"command": "make x"},
        "result": None,
        "error": "No rule to make x",
    }
    spool.pending.append({**call, "session": "elsewhere", "project": "/srv/elsewhere"})
    spool.keep()
    assert host.context("PreToolUse", session="s2", **PUSH)
    rows = host.rows("SELECT project FROM failures WHERE arguments LIKE '%make x%'")
    assert rows == [("/srv/elsewhere",)]


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolUseFailure"])
@pytest.mark.parametrize("cut", [6_000, 10_000, 20_000])
def test_a_secret_where_a_text_is_shortened_is_cut_out_whole(
    host: Host, event: str, cut: int
) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    head = "x " * (cut // 2 - 10) + token + " y" * 40_000
    for place, text in enumerate((head, "y " * 40_000 + token + " x" * (cut // 2 - 10))):
        told: dict[str, Any] = {"tool_response": {"stdout": text}, "error": text}
        told["tool_use_id"] = f"c{place}"
        host.send("PreToolUse", **{**TOPIC, "tool_use_id": f"b{place}"})
        host.send(event, tool_name="Bash", tool_input={"command": f"cat <<< '{text}'"}, **told)
        host.send(event, tool_name="Bash", tool_input={"command": "cat notes"}, **told)
    kept = b"".join(file.read_bytes() for file in host.bank.parent.glob("bank.db*"))
    assert b"cat notes" in kept
    assert token[:14].encode() not in kept
    assert token[-14:].encode() not in kept


def test_a_spool_is_redacted_bounded_and_drops_damaged_lines(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "bank.db")
    spool.pending += [
        {"error": "password: hunter2-correct-horse"},
        {"error": "x" * 40_000},
        {"error": "second"},
    ]
    spool.keep()
    spool.path.write_bytes(b"00000000 {}\n" + spool.path.read_bytes())
    assert b"hunter2" not in spool.path.read_bytes()
    spool.take(2)
    assert [list(record) for record in spool.pending] == [["error"]]
    spool.pending.clear()
    spool.take(2)
    assert spool.pending == [{"error": "second"}]
    for _ in range(100):
        spool.pending = [{"error": "y" * 20_000}]
        spool.keep()
    assert spool.path.stat().st_size <= 1 << 20


SLOW = """
import re
from mcp_reflect.cli import hook, quick_hook
quick_hook.MAX_SECONDS = 0.2
hook.answer_event = lambda *_: re.match("(a+)+$", "a" * 60 + "b")
quick_hook.run_hook(["Stop"])
"""


def test_the_time_limit_holds_whatever_a_hook_does() -> None:
    done = run_forked(code=SLOW, given='{"session_id": "s"}', seconds=60)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_large_output_is_looked_at_by_its_ends(host: Host) -> None:
    secret = "ghp_" + "a1B2" * 9
    lines = f"password=hunter2-{secret}\n" * 100_000
    host.send("PostToolUse", **PUSH, tool_response={"stdout": lines + REFUSED, "stderr": ""})
    assert host.rows("SELECT arguments FROM failures") == [
        ('[{"command": "git push origin main"}]',)
    ]
    assert secret.encode() not in host.bank.read_bytes()


def test_a_call_that_worked_waits_in_the_spool_for_the_next_hook_that_has_an_engine(
    host: Host,
) -> None:
    host.send("SessionStart")
    host.learn("s1")
    calls = "SELECT calls FROM sessions WHERE id = 's2'"
    spool = host.bank.with_name("bank.db.spool")
    done = {
        "tool_input": {"command": "ls src"},
        "tool_response": {"stdout": "app.py", "stderr": ""},
    }
    for _ in range(3):
        assert host.send("PostToolUse", "s2", tool_name="Bash", **done) is None
    assert (len(spool.read_bytes().splitlines()), host.rows(calls)) == (3, [])
    host.send("UserPromptSubmit", "s2", prompt="go on")
    assert (spool.read_bytes(), host.rows(calls)) == (b"", [(3,)])


def test_a_failure_whose_correction_nobody_knows_waits_in_the_spool_and_is_corrected_by_what_works(
    host: Host,
) -> None:
    host.send("SessionStart")
    host.learn("s1")
    spool = host.bank.with_name("bank.db.spool")
    build: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "deployctl build web"}}
    failed = {"error": "Exit code 2\nunknown region: pass --region"}
    assert host.send("PostToolUseFailure", "s2", **build, **failed) is None
    assert len(spool.read_bytes().splitlines()) == 1
    worked = {
        "tool_input": {"command": "deployctl build web --region eu"},
        "tool_response": {"stdout": "built"},
    }
    said = host.context("PostToolUse", "s2", tool_name="Bash", **worked)
    assert "in your own words" in said
    assert spool.read_bytes() == b""
    assert "--region eu" in host.context("PostToolUseFailure", "s3", **build, **failed)


def test_a_call_of_the_same_program_that_follows_a_lesson_needs_no_engine(
    host: Host, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = Command(capsys, host.bank.parent)
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "shop")
    calls = ("--wrong-call", "git push --force", "--right-call", "git push --force-with-lease")
    lesson = ("--mistake", "Pushed with --force", "--correction", "Use the lease")
    command.by_person("lessons", "add", *lesson, *calls)
    answered: list[Any] = []

    def answer(event: Any, *_: Any) -> None:
        answered.append(event)

    with monkeypatch.context() as patched:
        patched.setattr("mcp_reflect.cli.hook.answer_event", answer)
        for command in ("git push --force-with-lease", "git status"):
            assert (
                host.send("PreToolUse", tool_name="Bash", tool_input={"command": command}) is None
            )
        assert answered == []
        # It cannot be read: an enforced guard may have to hold it.
        host.send("PreToolUse", tool_name="Bash", tool_input={"command": "git push 'unbalanced"})
        assert len(answered) == 1
    held = host.send("PreToolUse", tool_name="Bash", tool_input={"command": "git push --force"})[
        "hookSpecificOutput"
    ]
    assert (held["permissionDecision"], "Use the lease" in held["permissionDecisionReason"]) == (
        "deny",
        True,
    )
    for command in (
        "g''it push --force",
        'gi"t" push --force',
        "g\\it push --force",
        "g\\\nit push --force",
    ):
        joined = host.send(
            "PreToolUse", f"of {command}", tool_name="Bash", tool_input={"command": command}
        )
        assert joined["hookSpecificOutput"]["permissionDecision"] == "deny", command


def test_the_call_that_worked_brings_the_ask_where_no_call_failed(host: Host) -> None:
    calls = [("find pay-out", "no tickets"), ("fields", "key, title"), ("find pay_out", "TK-311")]
    *before, asked = [
        host.send("PostToolUse", tool_name="Bash", tool_input={"command": f"./tickets {command}"},
                  tool_response={"stdout": output, "stderr": "", "interrupted": False})
        for command, output in calls
    ]  # fmt: skip
    assert before == [None] * 2
    assert all(words in str(asked) for words in ("store_lesson", "find pay-out", "find pay_out"))
