"""The command `settings`, and the help of the whole."""

import json

import pytest

from mcp_reflect.cli.commands import COMMANDS, GROUPS, HOOK, usage
from tests.cli.commands import Command


def test_what_the_environment_sets_is_shown_with_its_value_and_its_meaning(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_REFLECT_LOG_LEVEL", "debug")
    said = command("settings")
    assert "MCP_REFLECT_LOG_LEVEL\tdebug\tenvironment\tThe least level of log events" in said
    assert "MCP_REFLECT_LOG_FORMAT" not in said
    assert "--all" in said


def test_all_settings_are_shown_with_their_defaults_and_none_that_fades(command: Command) -> None:
    shown = json.loads(command("settings", "--all", "--json"))["settings"]
    by_name = {one["name"]: one for one in shown}
    assert by_name["MCP_REFLECT_LOG_FORMAT"]["value"] == "json"
    assert by_name["MCP_REFLECT_LOG_FORMAT"]["origin"] == "default"
    assert not any(one["fades"] for one in shown)


def test_a_misspelled_and_a_fading_setting_are_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_REFLECT_LOGLEVEL", "debug")
    monkeypatch.setenv("MCP_REFLECT_RISK_THRESHOLD", "0.9")
    misspelled, fading = json.loads(command("settings", "--json"))["problems"]
    assert "Did you mean 'MCP_REFLECT_LOG_LEVEL'?" in misspelled
    assert "MCP_REFLECT_RISK_THRESHOLD works in this version for the last time" in fading


def test_no_secret_in_a_setting_is_shown(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_REFLECT_LLM", "openai:m@https://ada:s3cr3t-Passw0rd@llm.example/v1")
    assert "s3cr3t-Passw0rd" not in command("settings")
    assert "s3cr3t-Passw0rd" not in command("settings", "--json")


def test_the_help_fits_a_screen_and_has_each_command_in_one_group() -> None:
    assert len(usage().splitlines()) <= 40
    listed = [name for names in GROUPS.values() for name in names.split()]
    assert sorted(listed) == sorted([*COMMANDS, HOOK])
