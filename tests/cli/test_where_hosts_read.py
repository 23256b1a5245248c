"""`install` writes where the host reads, and says what stands in the way; settings and texts are read as they are meant."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mcp_reflect import children
from mcp_reflect.cli.host_state import hooks_switched_off, running
from mcp_reflect.cli.host_table import HOSTS
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.places import bank_file, filled_in
from tests.cli.commands import Command
from tests.clients.forked import run_forked


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory, and a project in it that is worked in."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    (home / "shop" / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.chdir(home / "shop")
    return home


MOVED = {
    "claude-code": ("CLAUDE_CONFIG_DIR", {".claude.json", "settings.json"}),
    "codex": ("CODEX_HOME", {"config.toml", "hooks.json"}),
    "gemini": ("GEMINI_CLI_HOME", {".gemini/settings.json"}),
}


def files_in(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "shop" and ".db" not in path.name
    }


@pytest.mark.parametrize("host", MOVED)
@pytest.mark.parametrize("named", ["whole", "~"])
def test_a_host_that_a_variable_moves_is_registered_there(
    command: Command, home: Path, monkeypatch: pytest.MonkeyPatch, host: str, named: str
) -> None:
    variable, files = MOVED[host]
    monkeypatch.setenv(variable, "~/moved" if named == "~" else str(home / "moved"))
    command("install", host, "--hooks", "--yes")
    assert files_in(home / "moved") == files
    assert files_in(home) == {f"moved/{name}" for name in files}
    command("install", host, "--uninstall", "--yes")
    assert files_in(home) == set()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="others have their own folders")
@pytest.mark.parametrize("host", ["vscode", "claude-desktop", "goose"])
def test_programs_settings_are_where_xdg_says(
    home: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    assert HOSTS[host].file().is_relative_to(home / ".config")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "settings"))
    assert HOSTS[host].file().is_relative_to(home / "settings")
    assert HOSTS[host].file("darwin").is_relative_to(home)


OFF = {
    "claude-code": (".claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks = true"),
    "codex": (".codex/config.toml", "[features]\nhooks = false\n", "features.hooks = false"),
    "gemini": (".gemini/settings.json", '{"hooksConfig": {"enabled": false}}', "hooksConfig.enabled = false"),
    "qwen": (".qwen/settings.json", '{"disableAllHooks": true}', "disableAllHooks = true"),
    "droid": (".factory/settings.json", '{"hooks": {"hooksDisabled": true}}', "hooks.hooksDisabled = true"),
}  # fmt: skip


@pytest.mark.parametrize("host", OFF)
@pytest.mark.parametrize("place", ["home", "project"])
def test_hooks_that_are_switched_off_are_said_by_install_and_doctor(
    command: Command, home: Path, host: str, place: str
) -> None:
    name, text, said = OFF[host]
    file = (home if place == "home" else home / "shop") / name
    file.parent.mkdir()
    file.write_text(text)
    assert said in command("install", host, "--hooks", "--yes")
    assert said in str(command.json_status("doctor", code=1)["degraded"])


def test_copilot_switches_hooks_off_in_their_own_file_alone(command: Command, home: Path) -> None:
    settings = home / ".copilot" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"disableAllHooks": true}')
    command("install", "copilot", "--hooks", "--yes")
    assert hooks_switched_off("copilot") == []
    file = home / ".copilot" / "hooks" / "mcp-reflect.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "disableAllHooks": True}))
    (said,) = hooks_switched_off("copilot")
    assert str(file) in said


def test_hooks_that_droid_reads_instead_of_ours_are_said(home: Path) -> None:
    file = home / ".factory" / "hooks.json"
    file.parent.mkdir()
    file.write_text('{"Notification": [{"hooks": []}], "Stop": []}')
    assert hooks_switched_off("droid") == []
    file.write_text('{"PreToolUse": [{"hooks": []}], "Notification": [{"hooks": []}]}')
    (said,) = hooks_switched_off("droid")
    assert "hooks of PreToolUse in" in said
    file.write_text('{"hooksDisabled": true}')
    assert "hooksDisabled = true" in hooks_switched_off("droid")[0]


@pytest.mark.parametrize(
    "text", ['{"disableAllHooks": false}', "{", '{"disableAllHooks": "x"}', ""]
)
def test_hooks_that_run_are_not_said_to_be_off(home: Path, text: str) -> None:
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text(text)
    assert hooks_switched_off("claude-code") == []


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_a_host_that_runs_is_said(tmp_path: Path) -> None:
    assert running("windsurf") is None
    (tmp_path / "windsurf").symlink_to(Path(sys.executable).resolve())
    command = [tmp_path / "windsurf", "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert "Windsurf runs now" in str(running("windsurf"))
        process.communicate(b"\n")


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_the_entry_runs_nothing_of_the_folder_that_is_worked_in(
    command: Command, home: Path, host: str
) -> None:
    command("install", host, "--yes")
    if host == "codex":
        values = tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"]
    else:
        values = json.loads((home / ".claude.json").read_text())["mcpServers"]
    entry = values["mcp-reflect"]
    (home / "shop" / "mcp_reflect").mkdir()
    (home / "shop" / "mcp_reflect" / "__main__.py").write_text("raise SystemExit(9)")
    (home / "shop" / "mcp_reflect" / "__init__.py").write_text("raise SystemExit(9)")
    done = subprocess.run(
        [entry["command"], *entry["args"], "--version"],
        env={**os.environ, "PYTHONPATH": str(home / "shop")},
        check=False,
    )
    assert done.returncode == 0


# Settings.


@pytest.mark.parametrize(
    "text", ["$HOME/b.db", "${HOME}/b.db", "${env:HOME}/b.db", "${NONE:-/h}/b.db", "%HOME%/b.db"]
)
def test_a_variable_in_a_setting_is_filled_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.delenv("NONE", raising=False)
    assert Settings.from_env({"MCP_REFLECT_BANK": text}).bank == Path("/h/b.db")
    assert bank_file(text) == str(Path("/h/b.db").absolute())


@pytest.mark.parametrize(
    "setting", ["MCP_REFLECT_BANK", "MCP_REFLECT_PROJECT", "MCP_REFLECT_PROMPTS_DIR"]
)
@pytest.mark.parametrize(
    "text",
    [
        "${CLAUDE_PROJECT_DIR}/b.db",
        "${workspaceFolder}/b",
        "${workspaceFolderBasename}",
        "$NOT_SET/b.db",
        "%NOT_SET%\\b.db",
        "${env:NOT_SET}",
        "${}",
    ],
)  # fmt: skip
def test_a_variable_that_nobody_filled_in_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, setting: str, text: str
) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    with pytest.raises(InputError, match=setting):
        Settings.from_env({setting: text})
    assert filled_in(text) is None


@pytest.mark.parametrize("setting", ["MCP_REFLECT_BANK", "MCP_REFLECT_PROJECT"])
@pytest.mark.parametrize(
    "text",
    ["$(pwd)/b.db", "`pwd`/b.db", "{{project}}", "<path>/b.db", "<your project>", "!CD!/b.db"],
)
def test_a_place_that_nobody_filled_in_is_refused_by_name(setting: str, text: str) -> None:
    with pytest.raises(InputError, match=setting):
        Settings.from_env({setting: text})
    assert bank_file(text) is None


@pytest.mark.parametrize("text", ['"/h/b.db"', "'/h/b.db'", ' "/h/b.db" '])
def test_quotation_marks_around_a_file_are_no_part_of_its_name(text: str) -> None:
    assert Settings.from_env({"MCP_REFLECT_BANK": text}).bank == Path("/h/b.db")
    assert bank_file(text.strip()) == str(Path("/h/b.db").absolute())


@pytest.mark.skipif(os.name == "nt", reason="there they are files")
@pytest.mark.parametrize(
    "text", ["C:\\Users\\me\\b.db", "c:/b.db", "\\\\server\\share\\b.db", "~nobody-here/b.db"]
)
def test_a_file_that_cannot_be_here_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError, match="MCP_REFLECT_BANK"):
        Settings.from_env({"MCP_REFLECT_BANK": text})


@pytest.mark.parametrize(
    "text", ["100%", "a$", "50% of $5", "shop", "$1", "a%20b", "a (b)", "x<y", "wow!"]
)
def test_other_signs_stay(text: str) -> None:
    assert Settings.from_env({"MCP_REFLECT_PROJECT": text}).project == text


def test_the_password_of_an_address_stays() -> None:
    address = "postgresql://u:p%41$HOME%41@db/x"
    assert getattr(Settings.from_env({"MCP_REFLECT_BANK": address}).bank, "whole", None) == address


# Text.


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-16"])
def test_what_is_printed_is_utf_8_whatever_the_console_says(tmp_path: Path, encoding: str) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "SYSTEMROOT": os.environ.get("SYSTEMROOT", ""),
        "HOME": str(tmp_path),
        "MCP_REFLECT_BANK": str(tmp_path / "bank.db"),
        "MCP_REFLECT_PROJECT": "app",
        "PYTHONIOENCODING": encoding,
    }

    def run(*words: str, sent: str = "") -> str:
        done = run_forked(words, env, sent)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout

    run("lessons", "add", "Use `uv run pytest` instead of `pytest` → 日本 müde")
    exported = run("export")
    line = [sys.executable, "-P", "-m", "mcp_reflect", "export"]
    assert subprocess.check_output(line, env=env).decode() == exported, "as it is started"
    for printed in (run("lessons", "list"), run("recall", "pytest"), exported):
        assert "→ 日本 müde" in printed
    assert "1" in run("import", "-", sent=exported)
    hook = {"session_id": "s", "cwd": str(tmp_path), "tool_name": "Bash"}
    sent = {**hook, "prompt": "Run the tests of the parser with `uv run pytest`"}
    answer = run("hook", "UserPromptSubmit", sent=json.dumps(sent))
    assert answer.isascii()
    assert "→ 日本 müde" in str(json.loads(answer)["hookSpecificOutput"])


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_the_server_ends_at_a_signal(tmp_path: Path, sign: signal.Signals) -> None:
    env = {**os.environ, "MCP_REFLECT_BANK": str(tmp_path / "bank.db")}
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    with subprocess.Popen(
        children.our_command(), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        server.stdout.readline()
        server.send_signal(sign)
        try:
            server.wait(10)
        finally:
            server.kill()
        assert server.stderr is not None
        assert b"Traceback" not in server.stderr.read()
