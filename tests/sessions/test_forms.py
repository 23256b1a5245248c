"""Forms of calls, signatures and transcripts: dress and the day do not count, what a call does counts."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.cli import main
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json
from mcp_reflect.services.engine import Engine
from mcp_reflect.sessions.call_forms import drops_quotes, forms_of
from mcp_reflect.sessions.run_builder import MOST_EVENTS
from mcp_reflect.sessions.transcripts import read_transcript
from mcp_reflect.text.signature import (
    CALL_LIMIT,
    ERROR_LIMIT,
    digest,
    fingerprint,
    normalized_call,
    signature,
)
from tests.sessions import sessions

SAME_COMMAND = [
    ("git push --force origin main", "git  push --force origin  main"),
    ("pytest -q -x tests", "pytest -q -x tests 2>&1 | tail -20"),
    ("cd app && npm run build", "cd app  &&  npm run 'build'"),
    ("git commit -m 'a b'", 'git commit -m "a b"'),
    ("ls > /dev/null", "ls"),
    ("git commit -m 'a (b)'", 'git commit -m "a (b)"'),
    ("! grep x y", "!  grep x y"),
    ("/usr/bin/python3 -m pytest", "python3 -m pytest"),
]
OTHER_COMMAND = [
    ("sudo apt install jq", "apt install jq"),
    ("PYTHONPATH=src pytest", "pytest"),
    ("cp a b", "cp b a"),
    ("cd app && npm test", "npm test"),
    ("git push origin main", "git pull origin main"),
    ("grep 'a b' f", "grep a b f"),
    ("make > build.log", "make"),
    ("openssl x509 -in a.pem -out b.pem", "openssl x509 -out a.pem -in b.pem"),
    ("make && make test", "make || make test"),
    ("cd app && npm run build", "cd app; npm run build"),
    ("make | sort", "make ; sort"),
    ("grep x y", "! grep x y"),
    ("sudo make", "sudo make &"),
    ("echo ';' b", "echo ; b"),
    ("echo '>' b", "echo > b"),
    ("make > log", "make 2> log"),
    ("find . -name *.py", "find . -name '*.py'"),
    ('awk "{print $1}" f', "awk '{print $1}' f"),
    ("for f in a; do rm $f; done", "for f in b; do rm $f; done"),
    ("python - <<E\nif x:\npass\nE", "python - <<E\nif x:\n  pass\nE"),
    ("git add" + " a" * 70 + " b", "git add" + " a" * 70 + " c"),
    ("make\nsort", "make sort"),
]


@pytest.mark.parametrize(("first", "second"), SAME_COMMAND)
def test_commands_that_do_the_same_are_one(first: str, second: str) -> None:
    assert _shell(first).exact == _shell(second).exact


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("python -m pytest", "python -m pytest -q"),
        ("git log", "git log -3"),
        ("apt install jq", "apt -qq install jq"),
        ("git -C app log", "git -C lib log"),
    ],
)
def test_the_head_of_a_command_is_its_program_and_what_it_does(first: str, second: str) -> None:
    assert _shell(first).head == _shell(second).head


def test_the_folder_of_a_command_counts_even_where_it_changes_to_one_of_that_name() -> None:
    inside = forms_of("shell", {"command": "cd app && make", "workdir": "app"})
    assert inside.exact != _shell("cd app && make").exact


def test_a_key_of_an_older_bank_refuses_no_other_command() -> None:
    """The form had no operators: `make && make test` was stored as `make ; make test`."""
    assert _shell("make ; make test").exact_key != digest("shell(make ; make test)")


def test_the_looser_forms_of_a_command_leave_the_order_of_flags_out() -> None:
    one, other = _shell("git push --force origin main"), _shell("git push origin main --force")
    assert one.exact != other.exact
    assert (one.bare, one.loose, one.head) == (other.bare, other.loose, other.head)


@pytest.mark.parametrize(("first", "second"), OTHER_COMMAND)
def test_commands_that_do_something_else_are_two(first: str, second: str) -> None:
    assert _shell(first).exact != _shell(second).exact


def test_every_host_s_shell_is_one_shell() -> None:
    claude = forms_of(
        "Bash", {"command": "npm run build", "description": "Build it", "timeout": 60000}
    )
    codex = forms_of("shell", {"command": ["bash", "-lc", "npm run build"]})
    gemini = forms_of("run_shell_command", {"command": "npm run build", "description": "x"})
    assert claude == codex == gemini
    assert claude.head == "shell:npm run build"


@pytest.mark.parametrize(
    ("tool", "first", "second"),
    [
        ("Bash", {"command": "ls", "timeout": 10}, {"command": "ls"}),
        ("search", {"query": "Nick Park"}, {"query": " Nick  Park"}),
        ("fetch", {"b": 1, "a": [2]}, {"a": [2], "b": 1}),
    ],
)
def test_calls_that_differ_in_dress_have_one_exact_form(
    tool: str, first: Json, second: Json
) -> None:
    assert forms_of(tool, first).exact == forms_of(tool, second).exact


def test_quotation_marks_are_dress_only_where_they_are_added() -> None:
    quoted, plain = (
        forms_of("search", {"query": '"Nick Park"'}),
        forms_of("search", {"query": "Nick Park"}),
    )
    assert quoted.bare == plain.bare
    assert drops_quotes(plain, quoted)
    assert not drops_quotes(quoted, plain)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("/tmp/tmpa1/x.py", "/tmp/tmpb2/y.py"),  # noqa: S108 - a path in a text
        ("http://localhost:8000/a", "http://localhost:9123/a"),
        ("2024-05-01", "2025-11-30"),
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "7c9e6679-7425-40de-944b-e07fc1f90ae7"),
    ],
)
def test_what_differs_from_day_to_day_is_left_out_of_the_loose_form_alone(
    first: str, second: str
) -> None:
    one, two = (
        forms_of("Bash", {"command": f"run {first}"}),
        forms_of("Bash", {"command": f"run {second}"}),
    )
    assert one.loose == two.loose
    assert one.exact != two.exact


def test_edits_are_of_their_file() -> None:
    assert (
        forms_of("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}).head
        == "edit:a.py"
    )


@given(st.text(max_size=300))
def test_any_command_has_forms_and_the_same_ones_again(command: str) -> None:
    assert _shell(command) == _shell(command)
    assert len(_shell(command).loose) <= 2_000


def _shell(command: str):  # noqa: ANN202 - the type is `forms_of`'s
    return forms_of("Bash", {"command": command})


def test_a_command_of_a_continued_line_alone_has_forms() -> None:
    assert forms_of("bash", {"command": "\\\n"}).head == "shell:"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"limit": 10}, {"limit": 100}),
        ({"q": "cats"}, {"q": "dogs"}),
        ({"path": "src/a.py"}, {"path": "src/b.py"}),
    ],
)
def test_calls_that_differ_in_what_they_ask_are_two(first: Json, second: Json) -> None:
    assert normalized_call("fetch", first) != normalized_call("fetch", second)


def test_a_fingerprint_leaves_out_numbers_paths_and_times() -> None:
    first = fingerprint(
        "[Errno 2] No such file or directory: '/home/ada/a.csv' at 2024-05-01 10:00:01"
    )
    assert first == fingerprint(
        "[Errno 2] No such file or directory: '/srv/b/c.csv' at 2025-01-31 23:59:59"
    )
    assert first != fingerprint("[Errno 13] Permission denied: '/home/ada/a.csv'")


def test_long_calls_and_errors_are_bounded_and_still_told_apart() -> None:
    one, two = (normalized_call("f", {"text": "x" * 5_000 + end}) for end in ("a", "b"))
    assert len(one) <= CALL_LIMIT
    assert one != two
    assert len(fingerprint("word " * 1_000)) <= ERROR_LIMIT


def test_a_signature_is_sixteen_hex_digits_and_stays_the_same() -> None:
    made = signature("Fetch", normalized_call("Fetch", {"a": 1}), fingerprint("HTTP 500"))
    assert made == signature("fetch", normalized_call("fetch", {"a": 1}), fingerprint("HTTP 502"))
    assert len(made) == 16
    assert int(made, 16) >= 0


@pytest.mark.parametrize("form", sessions.ALL)
async def test_every_form_teaches_the_same(engine: Engine, form: str) -> None:
    found = read_transcript(sessions.ALL[form]())
    assert found.faults == []
    assert len(found.runs) == 1
    result = await engine.reflect(**found.runs[0][1])
    assert found.runs[0][1]["task"] == sessions.TASK
    assert result.error_category == "dependency_error"
    assert (result.thinker, result.lessons, result.strategy) == ("rules", (), None)
    assert "failed" in result.reflection
    warning = await engine.before_call("Bash", {"command": sessions.FAILING})
    assert warning is not None
    assert sessions.WORKING in warning.text
    assert await engine.before_call("Bash", {"command": sessions.WORKING}) is None


def test_a_session_names_itself() -> None:
    for form, name in {"claude": "c-1", "codex": "x-1", "gemini": "g-1", "pi": "p-1"}.items():
        assert read_transcript(sessions.ALL[form]()).runs[0][1]["run_id"].startswith(f"{name}#")
    assert (
        read_transcript(sessions.claude(), session="mine").runs[0][1]["run_id"].startswith("mine#")
    )


def test_a_session_is_known_again_however_its_objects_are_written() -> None:
    def line(role: str, content: object) -> dict[str, object]:
        return {"role": role, "content": content}

    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "bash", "arguments": '{"command": "ls größe \ud83d"}'},
    }
    messages = [line("user", "List größe"), {**line("assistant", None), "tool_calls": [call]}]
    messages.append({**line("tool", "no such file: größe"), "tool_call_id": "c1"})
    turned = [dict(reversed(list(message.items()))) for message in messages]
    texts = [
        json.dumps(messages),
        json.dumps(messages, ensure_ascii=False),
        json.dumps(turned, indent=1),
    ]
    ids = {read_transcript(text).runs[0][1]["run_id"] for text in texts}
    assert len(ids) == 1
    other = json.dumps(messages).replace("no such file", "no such folder")
    assert read_transcript(other).runs[0][1]["run_id"] not in ids


def test_an_output_that_is_json_of_its_tool_is_kept_whole() -> None:
    call = {"type": "function_call", "name": "weather", "arguments": "{}", "call_id": "a"}
    output = {"type": "function_call_output", "call_id": "a", "output": '{"celsius": 20}'}
    found = read_transcript(json.dumps([call, output]))
    assert found.runs[0][1]["events"][1]["content"] == '{"celsius": 20}'


@pytest.mark.parametrize("form", ["claude", "codex"])
def test_a_bad_line_is_named_and_the_rest_is_read(form: str) -> None:
    whole = sessions.ALL[form]().splitlines()
    broken = "\n".join([*whole[:3], '{"type": "user", "mess', "[1]", *whole[3:]])
    found = read_transcript(broken)
    assert [line.partition(":")[0] for line in found.faults] == ["line 4", "line 5"]
    assert found.runs[0][1]["events"] == read_transcript("\n".join(whole)).runs[0][1]["events"]


def test_a_long_session_is_read_in_parts_and_nothing_is_lost() -> None:
    record = json.loads(sessions.anthropic())["messages"]
    whole = [message for _ in range(1_200) for message in record]
    found = read_transcript(json.dumps(whole))
    parts = [run["events"] for _, run in found.runs]
    assert all(len(part) <= MOST_EVENTS for part in parts)
    assert sum(map(len, parts)) == 1_200 * 5


def test_forty_events_of_any_length_stand_in_one_part() -> None:
    record = json.loads(sessions.anthropic())["messages"]
    huge = json.dumps([record[0], *(message for _ in range(20) for message in record[1:])])
    for word in ("billing", "2.41s"):  # in every event one of them
        huge = huge.replace(word, "x" * 25_000)
    parts = [run["events"] for _, run in read_transcript(huge).runs]
    assert all(len(str(event)) > 20_000 for part in parts for event in part)
    assert max(map(len, parts)) == 40


def test_several_conversations_stand_one_a_line() -> None:
    text = sessions.lines([json.loads(sessions.anthropic()), json.loads(sessions.anthropic())])
    assert [place for place, _ in read_transcript(text).runs] == ["line 1, ", "line 2, "]


@pytest.mark.parametrize("text", ["", "prose about nothing", "5", "{", "[1]", "[" * 100_000])
def test_what_is_no_transcript_is_an_error_that_says_so(text: str) -> None:
    with pytest.raises(InputError):
        read_transcript(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                (
                    "type role content payload message messages id tool_calls kwargs data sessionId parts user "
                    "function response_item name"
                ).split()
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)
KINDS = st.sampled_from(
    ["user", "assistant", "tool", "ai", "constructor", "response_item", "function_call", "message"]
)


@given(st.lists(st.tuples(JSON, KINDS, KINDS), max_size=5))
def test_records_of_any_shape_are_read_or_refused(records: list[Any]) -> None:
    whole = [{**(value if isinstance(value, dict) else {"content": value}), "type": kind, "role": role}
        for value, kind, role in records]  # fmt: skip
    try:
        found = read_transcript(json.dumps(whole))
    except InputError:
        return
    assert all(run["task"] or "task" not in run for _, run in found.runs if "events" in run)


def test_the_same_file_twice_adds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "app")
    file = tmp_path / "session.jsonl"
    file.write_text(sessions.claude())
    assert main(["reflect", str(file), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(["stats", "--json"]) == 0
    before = capsys.readouterr().out
    assert main(["reflect", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "reflection_id": first["reflection_id"],
        "known": True,
    }
    assert main(["stats", "--json"]) == 0
    assert capsys.readouterr().out == before


async def test_what_hooks_counted_is_not_counted_again_at_the_end(engine: Engine) -> None:
    error = f"Exit code 4\n{sessions.MISSING}"
    await engine.after_call("Bash", {"command": sessions.FAILING}, error=error, session="c-1")
    await engine.after_call("Bash", {"command": sessions.WORKING}, sessions.PASSED, session="c-1")
    await engine.reflect(**read_transcript(sessions.claude()).runs[0][1])
    warning = await engine.before_call("Bash", {"command": sessions.FAILING}, session="c-2")
    assert warning is not None
    assert "failed once" in warning.text
    assert warning.lesson_id is None


def test_a_call_in_its_four_forms() -> None:
    forms = _shell("git  log --grep 'fix 2026-11-28'")
    assert forms.exact == "shell[git log --grep 'fix 2026-11-28']"
    assert forms.bare == "shell(git log --grep fix 2026-11-28)"
    assert forms.loose == "shell(git log --grep fix <date>)"
    assert (forms.head, forms.tool_name) == ("shell:git log", "shell")
