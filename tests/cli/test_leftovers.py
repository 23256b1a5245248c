"""What a removed plugin or installation leaves is named by `install --uninstall` and by doctor, with the way to remove it."""

import json
from pathlib import Path

import pytest

from mcp_reflect.cli.leftovers import PLUGINS, caches, leftovers
from tests.cli.commands import Command
from tests.cli.test_where_hosts_read import home

__all__ = ["home"]  # the fixture


def folder_of(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "file").write_bytes(b"x" * 2_500_000)
    return path


def plugin_folders(home: Path, host: str) -> list[Path]:
    """Make the folders that a host keeps of the plugin."""
    if host == "gemini":
        return [folder_of(caches() / "mcp-reflect/plugin")]
    plugins = home / {"claude-code": ".claude", "codex": ".codex"}[host] / "plugins"
    return [
        folder_of(plugins / "cache/mcp-reflect/mcp-reflect"),
        folder_of(plugins / "data/mcp-reflect-mcp-reflect"),
    ]


def installed(home: Path, host: str) -> None:
    """Write down as the host does that it has the plugin."""
    if host == "gemini":
        (home / ".gemini/extensions/mcp-reflect").mkdir(parents=True)
    elif host == "codex":
        (home / ".codex/config.toml").write_text('[plugins."mcp-reflect@mcp-reflect"]\n')
    else:
        named = '{"plugins": {"mcp-reflect@mcp-reflect": []}}'
        (home / ".claude/plugins/installed_plugins.json").write_text(named)


@pytest.mark.parametrize("host", PLUGINS)
def test_folders_of_a_plugin_are_left_when_it_is_removed_and_not_before(
    home: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    folders = plugin_folders(home, host)
    told = leftovers(host)
    assert len(told) == len(folders)
    for folder, sentence in zip(folders, told, strict=True):
        assert f"{folder} (2.5 MB)" in sentence
        assert sentence.endswith(f"rm -r {folder}")
    installed(home, host)
    assert leftovers(host) == []


def test_nothing_of_others_is_named(home: Path) -> None:
    folder_of(home / ".claude/plugins/cache/market/other")
    folder_of(home / ".claude/plugins/data/other-mcp-reflect")
    assert [told for host in PLUGINS for told in leftovers(host)] == []


def test_uninstall_and_doctor_say_where_the_copy_and_the_folders_are(
    command: Command, home: Path
) -> None:
    file = home / ".claude.json"
    file.write_text('{"numStartups": 1}\n')
    command("install", "claude-code", "--yes")
    changed = json.loads(file.read_text()) | {"numStartups": 2}  # the host writes it at each start
    file.write_text(json.dumps(changed))
    folder, _ = plugin_folders(home, "claude-code")
    said = command("install", "claude-code", "--uninstall", "--yes")
    copy = home / ".claude.json.before-mcp-reflect"
    for path in (copy, folder):
        assert str(path) in said
    assert str(copy) in command("install", "claude-code", "--uninstall", "--yes")
    notes = json.loads(command("doctor", "--json"))["notes"]
    assert sum(str(copy) in note for note in notes) == 1
    copy.unlink()
    assert leftovers("claude-code")[0].startswith("Claude Code has kept")


def test_an_installation_that_is_there_keeps_its_copy(command: Command, home: Path) -> None:
    (home / ".claude.json").write_text('{"numStartups": 1}\n')
    command("install", "claude-code", "--yes")
    assert leftovers("claude-code") == []
