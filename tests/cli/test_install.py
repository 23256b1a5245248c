"""Registering in a host: shown first, the file as it was is kept, everything else in it stays, and it can be undone."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli import main
from mcp_reflect.cli.file_changes import FileChange
from mcp_reflect.cli.host_hooks import hook_line, set_hooks
from mcp_reflect.cli.host_table import HOOK_SETTINGS, HOSTS
from mcp_reflect.cli.hosts import AGENT_RULES, ServerCommand
from mcp_reflect.errors import InputError

pytestmark = pytest.mark.usefixtures("home")  # no test may touch the home of who runs it

ROOT = Path(__file__).parent.parent.parent
SNIPPET = ServerCommand("/PATH/mcp-reflect")
KEPT: dict[str, str] = {
    "json": """{
    "theme": "dark",
    "BLOCK": {
        "other": {
            "command": "x"
        }
    },
    "last": "köln"
}
""",
    "toml": """# mine
model = "gpt"  # the best

[BLOCK.other]
command = "x"

# about the tools
[tools]
web = true
""",
    "yaml": """# mine
GOOSE_MODEL: qwen3
BLOCK:
  developer:
    enabled: true   # always
    type: builtin
other: [1, 2]
""",
}


@pytest.mark.parametrize("service", [(), ("--url", "http://127.0.0.1:1/mcp")])
def test_a_file_that_people_share_has_no_path_of_one_machine(
    service: tuple[str, ...], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "shared"
    project.mkdir()
    monkeypatch.chdir(project)
    assert main(["install", "claude-code", "--here", "--hooks", "--yes", *service]) == 0
    written = [file.read_text("utf-8") for file in project.rglob("*") if file.is_file()]
    assert len(written) == 2
    machine = (str(home), str(project), sys.prefix, sys.executable)
    assert [path for text in written for path in machine if path in text] == []
    assert '"mcp-reflect hook ' in "".join(written)


@pytest.mark.parametrize("name", HOSTS)
def test_a_clean_home_has_it_once_and_nothing_when_it_is_taken_out(name: str, home: Path) -> None:
    assert main(["install", name, "--yes"]) == 0
    once = HOSTS[name].file().read_text("utf-8")
    assert "mcp-reflect" in once
    assert main(["install", name, "--yes"]) == 0
    assert HOSTS[name].file().read_text("utf-8") == once
    assert main(["install", name, "--uninstall", "--yes"]) == 0
    assert list(home.iterdir()) == []
    assert main(["install", name, "--uninstall", "--yes"]) == 0


@pytest.mark.parametrize(
    "before", [None, '{"mcpServers": {}}', '{"mcpServers": {"other": {"command": "x"}}}']
)
def test_a_second_installation_keeps_the_file_as_it_was_before_the_first(
    home: Path, before: str | None
) -> None:
    path = HOSTS["cursor"].file()
    if before is not None:
        path.parent.mkdir()
        path.write_text(before, "utf-8")
    for words in ([], ["--project", "shop"], ["--project", "site"]):
        assert main(["install", "cursor", "--yes", *words]) == 0
    if before is not None:
        assert path.with_name(f"{path.name}.before-mcp-reflect").read_text("utf-8") == before
    assert main(["install", "cursor", "--uninstall", "--yes"]) == 0
    left = {file.name: file.read_text("utf-8") for file in home.rglob("*") if file.is_file()}
    assert left == ({} if before is None else {path.name: before})


@pytest.mark.parametrize("name", HOSTS)
def test_foreign_entries_and_comments_stay_and_the_file_as_it_was_is_kept(
    name: str, home: Path
) -> None:
    path = HOSTS[name].file()
    before = KEPT[HOSTS[name].language].replace("BLOCK", HOSTS[name].block)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(before, "utf-8")
    path.chmod(0o640)
    assert main(["install", name, "--yes", "--project", "shop"]) == 0
    changed = path.read_text("utf-8")
    assert [line for line in before.splitlines() if line.rstrip(",") not in changed] == []
    assert "shop" in changed
    (backup,) = set(path.parent.iterdir()) - {path} - {home / ".config"}
    assert backup.read_text("utf-8") == before
    assert path.stat().st_mode & 0o777 == 0o640
    assert main(["install", name, "--yes", "--project", "store"]) == 0
    assert "shop" not in path.read_text("utf-8")
    assert main(["install", name, "--uninstall", "--yes"]) == 0
    assert path.read_text("utf-8") == before
    assert not backup.exists()


def test_without_a_yes_the_change_is_shown_and_not_made(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "cursor"]) == 2
    said = capsys.readouterr()
    assert '+    "mcp-reflect": {' in said.err
    assert (
        "it changes the host's file as shown above, and there is no terminal to ask in. Add --yes."
        in said.err
    )
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("cursor", '{\n "a": 1,\n "b" 2\n}', "line 3: it is not JSON: Expecting ':' delimiter."),
        ("cursor", '{"mcpServers": []}', "mcpServers: it is not a table."),
        (
            "cursor",
            '{"a": 1} // mine',
            "line 1: it is not JSON (comments are not): Extra data. Correct the file, or",
        ),
        ("cursor", '{"a": 1} {"b": 2}', "line 1: it is not JSON: Extra data."),
        ("codex", "[mcp_servers\n", "it is not TOML"),
        ("codex", "mcp_servers = [1]\n", "mcp_servers: it is not a table."),
        ("goose", "extensions: [1]\n", "extensions: it is not a table."),
        ("goose", "a: b: c\n", "it is not YAML: mapping values are not allowed here"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone(
    name: str, text: str, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = HOSTS[name].file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    assert main(["install", name, "--yes"]) == 2
    said = capsys.readouterr().err
    assert str(path) in said
    assert fault in said
    assert path.read_text("utf-8") == text
    assert list(path.parent.iterdir()) == [path]


def test_a_link_is_followed_and_stays_a_link(home: Path) -> None:
    kept = home / "dotfiles.json"
    kept.write_text('{"a": 1}', "utf-8")
    path = HOSTS["cursor"].file()
    path.parent.mkdir()
    path.symlink_to(kept)
    assert main(["install", "cursor", "--yes"]) == 0
    assert path.is_symlink()
    assert json.loads(kept.read_text("utf-8"))["mcpServers"]


def test_a_project_file_is_written_where_the_command_runs(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    assert main(["install", "vscode", "--here", "--hooks", "--yes"]) == 0
    assert json.loads((project / ".vscode" / "mcp.json").read_text("utf-8"))["servers"][
        "mcp-reflect"
    ]
    assert list(home.iterdir()) == []
    assert main(["install", "vscode", "--here", "--uninstall", "--yes"]) == 0
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("link", [".vscode", ".vscode/mcp.json"])
@pytest.mark.parametrize("is_dangling", [True, False])
def test_a_project_file_is_not_written_through_a_link_out_of_the_project(
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    link: str,
    is_dangling: bool,
) -> None:
    project = tmp_path / "project"
    (project / link).parent.mkdir(parents=True)
    target = home / "precious"
    if not is_dangling and link.endswith("json"):
        target.write_text('{"mine": 1}', "utf-8")
    elif not is_dangling:
        target.mkdir()
    (project / link).symlink_to(target)
    before = [(path, path.is_dir() or path.read_bytes()) for path in home.rglob("*")]
    monkeypatch.chdir(project)
    assert main(["install", "vscode", "--here", "--yes"]) == 2
    assert f".vscode/mcp.json is a link that leads to {target}" in capsys.readouterr().err
    assert [(path, path.is_dir() or path.read_bytes()) for path in home.rglob("*")] == before


def test_two_files_of_a_project_that_are_one_by_a_link_are_both_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".mcp.json").write_text("{}", "utf-8")
    (tmp_path / ".cursor" / "mcp.json").symlink_to(tmp_path / ".mcp.json")
    monkeypatch.chdir(tmp_path)
    assert main(["install", "cursor", "claude-code", "--here", "--yes"]) == 0
    assert (tmp_path / ".cursor" / "mcp.json").is_symlink()
    assert "mcp-reflect" in json.loads((tmp_path / ".mcp.json").read_text("utf-8"))["mcpServers"]


def test_the_entry_starts_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "cursor", "--print"]) == 0
    entry = json.loads(capsys.readouterr().out)["mcpServers"]["mcp-reflect"]
    assert Path(entry["command"]).is_absolute()
    assert os.access(entry["command"], os.X_OK)


def test_hooks_are_written_beside_foreign_ones_and_taken_out_with_the_server(home: Path) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    foreign = {"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}
    before = json.dumps({"hooks": {"PreToolUse": [foreign]}}, indent=2)
    path.write_text(before, "utf-8")
    assert main(["install", "claude-code", "--hooks", "--yes", "--project", "my shop"]) == 0
    written = json.loads(path.read_text("utf-8"))["hooks"]
    assert [len(entries) for entries in written.values()] == [2, 1, 1, 1, 1, 1, 1, 1]
    (own,) = written["SessionEnd"][0]["hooks"]
    assert shlex.split(own["command"])[-3:] == ["hook", "--project=my shop", "SessionEnd"]
    once = path.read_text("utf-8")
    assert main(["install", "claude-code", "--hooks", "--yes", "--project", "my shop"]) == 0
    assert path.read_text("utf-8") == once
    assert main(["install", "claude-code", "--uninstall", "--yes"]) == 0
    assert json.loads(path.read_text("utf-8")) == json.loads(before)
    assert not (home / ".claude.json").exists()


IN_SETTINGS = [name for name, hooks in HOOK_SETTINGS.items() if hooks.script is None]
AS_SCRIPTS = [name for name in HOOK_SETTINGS if name not in IN_SETTINGS]


@pytest.mark.parametrize("name", HOOK_SETTINGS)
def test_hooks_in_a_clean_home_are_written_once_and_leave_nothing_behind(
    name: str, home: Path
) -> None:
    assert main(["install", name, "--hooks", "--yes", "--project", "shop"]) == 0
    path = home / HOOK_SETTINGS[name].file
    once = path.read_text("utf-8")
    if name in IN_SETTINGS:
        assert set(json.loads(once)["hooks"]) == set(HOOK_SETTINGS[name].events)
    assert main(["install", name, "--hooks", "--yes", "--project", "shop"]) == 0
    assert path.read_text("utf-8") == once
    assert main(["install", name, "--uninstall", "--yes"]) == 0
    assert list(home.iterdir()) == []


def test_hooks_in_a_file_with_a_version_keep_foreign_ones(home: Path) -> None:
    path = home / ".cursor" / "hooks.json"
    path.parent.mkdir()
    before = (
        '{\n  "version": 1,\n  "hooks": {\n    "sessionEnd": [{"command": "./mine.sh"}]\n  }\n}\n'
    )
    path.write_text(before, "utf-8")
    assert main(["install", "cursor", "--hooks", "--yes"]) == 0
    written = path.read_text("utf-8")
    assert written.count("hook sessionEnd") == written.count("./mine.sh") == 1
    assert main(["install", "cursor", "--uninstall", "--yes"]) == 0
    assert path.read_text("utf-8") == before


@pytest.mark.parametrize("name", IN_SETTINGS)
def test_a_hook_of_an_earlier_installation_is_replaced(name: str) -> None:
    settings, event = HOOK_SETTINGS[name], HOOK_SETTINGS[name].events[0]
    old, theirs = (
        {"hooks": [{"type": "command", "command": "/old/mcp-reflect hook X"}]},
        {"command": "theirs"},
    )
    text = set_hooks(json.dumps({"hooks": {event: [old, theirs]}}), settings, SNIPPET)
    assert "/old/" not in text
    assert len(json.loads(text)["hooks"][event]) == 2
    assert json.loads(set_hooks(text, settings, None))["hooks"] == {event: [theirs]}
    with pytest.raises(InputError, match="hooks: it is not a table"):
        set_hooks('{"hooks": 1}', settings, SNIPPET)


@pytest.mark.parametrize("name", AS_SCRIPTS)
def test_a_script_of_ours_is_replaced_and_another_one_stays(name: str, home: Path) -> None:
    path = home / HOOK_SETTINGS[name].file
    settings = HOOK_SETTINGS[name]
    assert main(["install", name, "--hooks", "--yes", "--project", "my shop"]) == 0
    written = path.read_text("utf-8")
    assert '"hook", "--project=my shop"]' in written
    assert "[/* command */]" not in written
    older = written.replace("5000", "4000")
    assert set_hooks(older, settings, SNIPPET) == set_hooks("", settings, SNIPPET)
    path.write_text("export default () => {};\n", "utf-8")
    assert main(["install", name, "--hooks", "--yes"]) == 2
    assert main(["install", name, "--uninstall", "--yes"]) == 2
    assert path.read_text("utf-8") == "export default () => {};\n"


@pytest.mark.skipif(sys.platform == "win32", reason="its shells have no word for it")
def test_a_hook_whose_command_is_gone_refuses_no_call_of_copilot(home: Path) -> None:
    gone = ServerCommand("/gone/mcp-reflect")
    text = set_hooks("", HOOK_SETTINGS["copilot"], gone)
    lines = [entry["command"] for (entry,) in json.loads(text)["hooks"].values()]
    for line in lines:
        done = subprocess.run(["sh", "-c", line], cwd=home, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (0, b"")
    assert json.loads(set_hooks(text, HOOK_SETTINGS["copilot"], None)) == {}


def test_a_file_of_hooks_that_two_hosts_read_stays_until_both_are_gone(home: Path) -> None:
    path = home / ".copilot" / "hooks" / "mcp-reflect.json"
    for name in ("copilot", "vscode"):
        assert main(["install", name, "--hooks", "--yes"]) == 0
    written = path.read_text("utf-8")
    assert main(["install", "vscode", "--uninstall", "--yes"]) == 0
    assert path.read_text("utf-8") == written
    assert main(["install", "copilot", "--uninstall", "--yes"]) == 0
    assert list(home.iterdir()) == []


def test_a_script_under_our_name_that_is_broken_changes_no_other_file(home: Path) -> None:
    path = home / HOOK_SETTINGS["opencode"].file
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xff\xfe")
    assert main(["install", "opencode", "--hooks", "--yes"]) == 2
    assert not HOSTS["opencode"].file().exists()


def test_where_one_file_cannot_be_written_none_is(capsys: pytest.CaptureFixture[str]) -> None:
    settings = HOSTS["opencode"].file()
    settings.parent.mkdir(parents=True)
    settings.write_text('{"theme": "dark"}\n', "utf-8")
    (settings.parent / "plugins").write_text("a file where a folder should be", "utf-8")
    assert main(["install", "opencode", "--hooks", "--yes"]) == 2
    assert "mcp-reflect.js" in capsys.readouterr().err
    assert settings.read_text("utf-8") == '{"theme": "dark"}\n'
    assert sorted(path.name for path in settings.parent.iterdir()) == ["opencode.json", "plugins"]


def test_a_host_that_is_not_installed_is_said_and_a_window_is_not_looked_for(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    for host, is_said in (("copilot", True), ("cursor", False)):
        assert main(["install", host, "--yes"]) == 0
        assert ("on PATH here" in capsys.readouterr().out) is is_said


def test_doctor_names_the_hosts_and_whether_their_hooks_run(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (("qwen", "--hooks"), ("opencode",), ("goose",)):
        assert main(["install", *words, "--yes"]) == 0
    settings = home / ".qwen" / "settings.json"
    found = json.loads(settings.read_text("utf-8"))
    capsys.readouterr()
    main(["doctor", "--json"])
    assert json.loads(capsys.readouterr().out)["registered_in"] == [
        "goose (for you; it has no hooks)",
        "Qwen Code (for you; hooks run)",
        "opencode (for you; without hooks: mcp-reflect install opencode --hooks)",
    ]
    settings.write_text(json.dumps({**found, "disableAllHooks": True}), "utf-8")
    main(["doctor", "--json"])
    assert "Qwen Code (for you; hooks are switched off)" in capsys.readouterr().out


def test_a_hook_on_windows_is_known_again_and_starts_in_any_shell() -> None:
    command = ServerCommand(
        r"C:\Program Files\mcp-reflect.exe", (), {"MCP_REFLECT_BANK": r"D:\b.db"}
    )
    line = hook_line(command, "SessionEnd", windows=True)
    assert line == r'"C:/Program Files/mcp-reflect.exe" hook --bank=D:\b.db SessionEnd'
    text = json.dumps(
        {"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": line}]}]}}
    )
    assert json.loads(set_hooks(text, HOOK_SETTINGS["claude-code"], None)) == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("windsurf", "--hooks"),
            "--hooks: Windsurf has no hooks that we write. Leave it out",
        ),
        (("cursor", "--distil"), "--distil"),
        (("codex", "--here"), "--here: Codex has no file for a project."),
    ],
)
def test_what_a_host_cannot_do_is_refused(
    words: tuple[str, ...], said: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", *words, "--yes"]) == 2
    assert said in capsys.readouterr().err
    assert list(home.iterdir()) == []


def test_an_unknown_host_names_the_nearest_or_all(capsys: pytest.CaptureFixture[str]) -> None:
    for word, hint in (
        ("cursr", "Did you mean 'cursor'?"),
        ("emacs", "Choose from claude-code, claude-desktop, "),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(["install", word])
        assert f"invalid choice: '{word}'. {hint}" in capsys.readouterr().err


def test_a_program_is_told_which_files_changed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = HOSTS["cursor"].file()
    path.parent.mkdir()
    path.write_text("{}")
    for changed in ([str(path)], []):
        assert main(["install", "cursor", "--yes", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["changed"] == changed
    assert home in path.parents


def snippets(text: str, form: str) -> list[str]:
    return re.findall(rf"```{form}\n(.*?)```", text, re.DOTALL)


def entry_of(name: str) -> Any:
    text = HOSTS[name].set_entry("", SNIPPET)
    match HOSTS[name].language:
        case "json":
            return json.loads(text)
        case "toml":
            return tomllib.loads(text)
        case "yaml":
            return text


def test_the_documents_show_the_entries_that_are_written() -> None:
    page = (ROOT / "docs" / "hosts.md").read_text("utf-8")
    shown: list[Any] = [json.loads(one) for one in snippets(page, "json")]
    shown += [tomllib.loads(one) for one in snippets(page, "toml")] + snippets(page, "yaml")
    for name in HOSTS:
        assert entry_of(name) in shown, name
    assert AGENT_RULES in page


@pytest.mark.parametrize(
    ("name", "system", "place"),
    [
        (
            "claude-desktop",
            "darwin",
            "~/Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("claude-desktop", "win32", "R/Claude/claude_desktop_config.json"),
        ("vscode", "darwin", "~/Library/Application Support/Code/User/mcp.json"),
        ("vscode", "win32", "R/Code/User/mcp.json"),
        ("vscode", "linux", "~/.config/Code/User/mcp.json"),
        ("goose", "darwin", "~/.config/goose/config.yaml"),
        ("goose", "win32", "R/Block/goose/config/config.yaml"),
        ("codex", "win32", "~/.codex/config.toml"),
        ("windsurf", "darwin", "~/.codeium/windsurf/mcp_config.json"),
    ],
)
def test_each_system_has_its_place(
    name: str, system: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPDATA", "R")
    assert HOSTS[name].file(system) == Path(place).expanduser()


def test_a_file_with_half_a_pair_of_surrogates_is_changed(home: Path) -> None:
    path = home / ".claude.json"
    path.write_text('{"history": ["\\ud83d"]}', "utf-8")
    assert main(["install", "claude-code", "--yes"]) == 0
    assert json.loads(path.read_text("utf-8"))["history"] == ["\ud83d"]


def test_a_file_that_changes_while_a_person_decides_is_left_alone(home: Path) -> None:
    """Claude Code writes its own file all the time."""
    path = home / "settings.json"
    change = FileChange(path, None, "{}")
    path.write_text('{"theme": "dark"}', "utf-8")
    with pytest.raises(InputError, match=r"it changed in the meantime\. Run the command again\."):
        change.apply()
    assert path.read_text("utf-8") == '{"theme": "dark"}'


def test_a_file_that_is_no_regular_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    path = HOSTS["cursor"].file()
    path.parent.mkdir()
    os.mkfifo(path)
    assert main(["install", "cursor", "--yes"]) == 2
    assert "it is not a regular file" in capsys.readouterr().err


def test_a_session_is_read_at_its_end_only_where_that_was_asked_for(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lines() -> dict[str, str]:
        hooks = json.loads((home / ".claude" / "settings.json").read_text("utf-8"))["hooks"]
        return {
            event: str(entries[0]["hooks"][0].get("command")) for event, entries in hooks.items()
        }

    assert main(["install", "claude-code", "--distil", "--yes"]) == 0
    assert "on your account" in capsys.readouterr().out
    assert [event for event, line in lines().items() if "--distil=claude-code" in line] == [
        "SessionEnd"
    ]
    assert main(["install", "claude-code", "--hooks", "--yes"]) == 0
    assert "--distil" not in str(lines())
    assert main(["install", "claude-code", "--distil", "--yes"]) == 0
    assert main(["install", "claude-code", "--uninstall", "--yes"]) == 0
    assert [*home.iterdir()] == []


def test_the_rules_for_an_agent_are_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "rules"]) == 0
    assert capsys.readouterr().out == AGENT_RULES.rstrip() + "\n"
