"""The same session, whoever wrote it down: the same lesson, and the same warning before the failing call."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.cli import main
from mcp_reflect.errors import InputError
from mcp_reflect.runs.transcripts import MOST_EVENTS, read_transcript
from mcp_reflect.services.engine import Engine
from tests.runs import sessions


@pytest.mark.parametrize("form", sessions.ALL)
async def test_every_form_teaches_the_same(engine: Engine, form: str) -> None:
    found = read_transcript(sessions.ALL[form]())
    assert found.bad == []
    assert len(found.runs) == 1
    result = await engine.reflect(**found.runs[0][1])
    assert found.runs[0][1]["task"] == sessions.TASK
    assert result.error_category == "dependency_error"
    assert len(result.lessons) == 1
    warning = await engine.before_call("Bash", {"command": sessions.FAILING})
    assert warning is not None
    assert sessions.WORKING in warning.text
    assert await engine.before_call("Bash", {"command": sessions.WORKING}) is None


def test_a_session_names_itself() -> None:
    for form, name in {"claude": "c-1", "codex": "x-1", "gemini": "g-1", "pi": "p-1"}.items():
        assert read_transcript(sessions.ALL[form]()).runs[0][1]["run_id"].startswith(f"{name}#")
    assert read_transcript(sessions.claude(), session="mine").runs[0][1]["run_id"].startswith("mine#")


def test_a_session_is_known_again_however_its_objects_are_written() -> None:
    def line(role: str, content: object) -> dict[str, object]:
        return {"role": role, "content": content}

    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls größe \ud83d"}'}}
    messages = [line("user", "List größe"), {**line("assistant", None), "tool_calls": [call]}]
    messages.append({**line("tool", "no such file: größe"), "tool_call_id": "c1"})
    turned = [dict(reversed(list(message.items()))) for message in messages]
    texts = [json.dumps(messages), json.dumps(messages, ensure_ascii=False), json.dumps(turned, indent=1)]
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
    assert [line.partition(":")[0] for line in found.bad] == ["line 4", "line 5"]
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
KINDS = st.sampled_from(["user", "assistant", "tool", "ai", "constructor", "response_item", "function_call", "message"])


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
    assert json.loads(capsys.readouterr().out) == {"reflection_id": first["reflection_id"], "known": True}
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
    assert warning.lesson_id is not None
