"""What `doctor`, `prompts`, `embed` and the log say of models, settings, prompt overrides and embeddings."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.llm.prompts import Prompts
from mcp_reflect.log import Log
from mcp_reflect.server.app import build
from tests.llm.embeddings.test_embedders import LETTERS, install
from tests.llm.test_prompts import GOOD, NAMES, write

KEY = "sk-ant-api03-0123456789abcdefghij"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "here")
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def doctor(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """What doctor says to a program, and to a person."""
    status = main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert main(["doctor"]) == status == bool(report["degraded"])
    return report, capsys.readouterr().out


def test_nobody_thinks_and_all_is_well(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del environment
    report, text = doctor(capsys)
    assert set(report["language_models"].values()) == {"off"}
    assert report["degraded"] == []
    assert "language models   reflector off, critic off" in text
    assert "prompt overrides  none\n" in text


def test_each_role_has_its_language_model_and_no_key_is_shown(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("ANTHROPIC_API_KEY", KEY)
    environment.setenv("MCP_REFLECT_LLM", "anthropic:claude-sonnet-5-5")
    environment.setenv("MCP_REFLECT_LLM_CRITIC", "openai:qwen3@http://localhost:11434/v1")
    environment.setenv("MCP_REFLECT_LLM_DREAMER", "off")
    report, text = doctor(capsys)
    assert report["language_models"] == {
        "reflector": "anthropic:claude-sonnet-5-5",
        "critic": "openai:qwen3@http://localhost:11434/v1",
        "corrector": "anthropic:claude-sonnet-5-5",
        "planner": "anthropic:claude-sonnet-5-5",
        "evaluator": "anthropic:claude-sonnet-5-5",
        "dreamer": "off",
    }
    assert (
        "critic openai:qwen3@http://localhost:11434/v1, corrector anthropic:claude-sonnet-5-5"
        in text
    )
    assert KEY not in text + json.dumps(report)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MCP_REFLECT_LLM", "gpt-5", 'MCP_REFLECT_LLM: "gpt-5" names no provider'),
        ("MCP_REFLECT_LLM", "anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY: the model anthropic:claude-sonnet"),
        ("MCP_REFLECT_LLM_CRITIC", "ollama:qwen3", 'MCP_REFLECT_LLM_CRITIC: there is no provider "ollama"'),
        ("MCP_REFLECT_LLM_CRITIQUE", "off", "not a setting. Did you mean 'MCP_REFLECT_LLM_CRITIC'?"),
        ("MCP_REFLECT_PROMPT_DIR", "/x", "Did you mean 'MCP_REFLECT_PROMPTS_DIR'?"),
        ("MCP_REFLECT_WEATHER", "fine", "MCP_REFLECT_WEATHER is not a setting. docs/settings.md lists them."),
        ("MCP_REFLECT_PROMPTS_DIR", "/no/such/folder", "/no/such/folder:1: there is no such folder"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_setting_is_said(
    environment: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: str,
    said: str,
) -> None:
    environment.setenv(name, value)
    report, text = doctor(capsys)
    (problem,) = report["degraded"]
    assert said in problem
    assert f"problem: {problem}" in text


def test_a_limit_that_is_none_makes_the_language_model_unusable(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("MCP_REFLECT_LLM", "openai:qwen3@http://localhost:11434/v1")
    environment.setenv("MCP_REFLECT_LLM_TOKENS_PER_DAY", "many")
    report, _ = doctor(capsys)
    assert report["language_models"]["critic"] == "unusable"
    assert "MCP_REFLECT_LLM_TOKENS_PER_DAY" in report["degraded"][0]


def test_prompt_overrides_and_their_faults_are_said(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    environment.setenv("MCP_REFLECT_PROMPTS_DIR", str(tmp_path))
    write(tmp_path, GOOD)
    broken = write(tmp_path, "nothing", "critique")
    stray = write(tmp_path, GOOD, "corect")
    report, text = doctor(capsys)
    assert report["prompt_overrides"] == ["correct"]
    assert [line.split(": ")[0] for line in report["degraded"]] == [f"{broken}:1", f"{stray}:1"]
    assert "prompt overrides  correct\n" in text


def test_the_folder_of_prompts_may_be_named_from_the_home(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    environment.setenv("HOME", str(tmp_path))
    environment.setenv("MCP_REFLECT_PROMPTS_DIR", "~/mine")
    (tmp_path / "mine").mkdir()
    write(tmp_path / "mine", GOOD.replace("version: 7", "version: x"))
    report, _ = doctor(capsys)
    assert report["degraded"][0].startswith(f"{tmp_path / 'mine' / 'correct.md'}:3: ")


def test_a_misspelt_setting_is_logged_once_when_the_server_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"MCP_REFLECT_LLM_CRITIQUE": "off", "MCP_REFLECT_LLM_CRITIC": "off", "PATH": ""}
    build(Settings.from_env({**names, "MCP_REFLECT_BANK": str(tmp_path / "bank.db")}))
    (line,) = capsys.readouterr().err.splitlines()
    event = json.loads(line)
    assert event["event"] == "setting_unknown"
    assert (
        event["problem"]
        == "MCP_REFLECT_LLM_CRITIQUE is not a setting. Did you mean 'MCP_REFLECT_LLM_CRITIC'?"
    )


def test_the_log_follows_stderr_where_a_program_puts_another_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for _ in range(2):
        stderr = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stderr)
        Log().error("something")
        assert json.loads(stderr.getvalue())["event"] == "something"
        stderr.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MCP_REFLECT_PROMPTS_DIR", str(tmp_path))
    return tmp_path


def test_list_says_who_serves(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, GOOD)
    write(folder, "nothing", "critique")
    assert main(["prompts"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[1:]}
    assert list(rows) == NAMES
    assert rows["correct"].split() == ["correct", "7", "corrector", "yours"]
    assert rows["critique"].endswith("shipped, because yours is broken (see doctor)")
    assert rows["dream"].endswith("shipped")
    assert main(["prompts", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == NAMES
    assert [one["name"] for one in listed if one["overridden"]] == ["correct"]
    assert listed[NAMES.index("critique")]["problem"].startswith(f"{folder / 'critique.md'}:1: ")


def test_what_show_prints_can_be_saved_as_an_override(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in NAMES:
        assert main(["prompts", "show", name]) == 0
        write(folder, capsys.readouterr().out, name)
    assert all(Prompts(folder).load(name).overridden for name in NAMES)


def test_show_as_json_has_the_front_matter_and_the_text(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(folder, GOOD)
    assert main(["prompts", "show", "correct", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["version"], shown["role"], shown["overridden"]) == (7, "corrector", True)
    assert (shown["inputs"], shown["file"], shown["text"]) == (["goal", "steps"], str(path), GOOD)


def test_a_prompt_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prompts", "show", "critic"]) == 2
    assert "mcp-reflect: name: " in capsys.readouterr().err


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bank with two lessons."""
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "here")
    lessons = tmp_path / "lessons.jsonl"
    lines = [{"mistake": f"Mistake {number}", "correction": "Mend it"} for number in range(2)]
    lessons.write_text("\n".join(map(json.dumps, lines)))
    assert main(["import", str(lessons)]) == 0
    return tmp_path


WORDS = {"embedder": "words", "lessons": 2, "with_vector": 2}


def said(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    main([*words, "--json"])
    return json.loads(capsys.readouterr().out)


def test_without_the_setting_there_is_nothing_to_do(
    bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bank
    assert main(["embed"]) == 2
    assert "MCP_REFLECT_EMBEDDINGS: it names no embedder" in capsys.readouterr().err
    assert said(capsys, "doctor")["embeddings"] == said(capsys, "stats")["embeddings"] == WORDS


def test_every_lesson_gets_its_vector_now_and_doctor_and_stats_count_them(
    bank: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(bank, LETTERS, monkeypatch)
    monkeypatch.setenv("MCP_REFLECT_EMBEDDINGS", "letters:small")
    none_yet = {"embedder": "letters:small", "lessons": 2, "with_vector": 0}
    assert said(capsys, "stats")["embeddings"] == none_yet
    assert said(capsys, "embed") == {"embedded": 2, **none_yet, "with_vector": 2}
    assert main(["embed"]) == 0
    assert (
        "0 lessons embedded: letters:small, 2 of 2 lessons have a vector."
        in capsys.readouterr().out
    )
    report = said(capsys, "doctor")
    assert report["embeddings"] == {**none_yet, "with_vector": 2}
    assert report["degraded"] == []
    main(["doctor"])
    assert (
        "embeddings        letters:small, 2 of 2 lessons have a vector\n" in capsys.readouterr().out
    )


def test_a_setting_that_cannot_be_used_is_said_by_doctor_and_embed_and_recall_goes_on(
    bank: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bank
    monkeypatch.setenv("MCP_REFLECT_EMBEDDINGS", "olama:x")
    (problem,) = said(capsys, "doctor")["degraded"]
    assert problem.startswith(
        'Recall compares word vectors only. MCP_REFLECT_EMBEDDINGS: there is no provider "olama"'
    )
    assert main(["embed"]) == 1
    assert "there is no provider" in capsys.readouterr().out
    found = said(capsys, "recall", "mistake 1")
    assert (found["mode"], bool(found["lessons"])) == ("hybrid", True)
