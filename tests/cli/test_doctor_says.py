"""What `mcp-reflect doctor` and the log say of language models, misspelled settings and prompt overrides."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.log import Log
from mcp_reflect.server.app import build
from tests.llm.test_prompts import GOOD, write

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


def test_nobody_thinks_and_all_is_well(environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
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
        "critic": "openai:qwen3 at http://localhost:11434/v1",
        "corrector": "anthropic:claude-sonnet-5-5",
        "planner": "anthropic:claude-sonnet-5-5",
        "evaluator": "anthropic:claude-sonnet-5-5",
        "dreamer": "off",
    }
    assert "critic openai:qwen3 at http://localhost:11434/v1, corrector anthropic:claude-sonnet-5-5" in text
    assert KEY not in text + json.dumps(report)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MCP_REFLECT_LLM", "gpt-5", 'MCP_REFLECT_LLM: "gpt-5" names no provider'),
        ("MCP_REFLECT_LLM", "anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY: the model anthropic:claude-sonnet"),
        ("MCP_REFLECT_LLM_CRITIC", "ollama:qwen3", 'MCP_REFLECT_LLM_CRITIC: there is no provider "ollama"'),
        ("MCP_REFLECT_LLM_CRITIQUE", "off", "not a setting. Did you mean MCP_REFLECT_LLM_CRITIC?"),
        ("MCP_REFLECT_PROMPT_DIR", "/x", "Did you mean MCP_REFLECT_PROMPTS_DIR?"),
        ("MCP_REFLECT_WEATHER", "fine", "MCP_REFLECT_WEATHER is not a setting. docs/settings.md lists them."),
        ("MCP_REFLECT_PROMPTS_DIR", "/no/such/folder", "/no/such/folder:1: there is no such folder"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_setting_is_said(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, said: str
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
    assert report["language_models"]["critic"] == "openai:qwen3 (unusable)"
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
    assert event["problem"] == "MCP_REFLECT_LLM_CRITIQUE is not a setting. Did you mean MCP_REFLECT_LLM_CRITIC?"


def test_the_log_follows_stderr_where_a_program_puts_another_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        stderr = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stderr)
        Log().error("something")
        assert json.loads(stderr.getvalue())["event"] == "something"
        stderr.close()
