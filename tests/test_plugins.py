"""The plugins of hosts: generated from one source, and started before anything is installed."""

import base64
import json
import os
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mcp_reflect.cli import main
from mcp_reflect.cli.host_table import HOOK_SETTINGS, HOSTS
from tests.clients.stdio import Era, RawServer

ROOT = Path(__file__).parent.parent
LAUNCHER = ROOT / "plugin" / "launcher.py"
PLUGINS: dict[str, Any] = runpy.run_path(str(ROOT / "packaging" / "plugins.py"))
LAUNCHED: dict[str, Any] = runpy.run_path(str(LAUNCHER), run_name="launcher")
VERSION: str = PLUGINS["PROJECT"]["version"]
LESSON = {"mistake": "Pushed to main", "correction": "Open a pull request"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))  # no host's own command, no uv
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder for a plugin's data, with an environment that another process is making."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "making").write_text(str(os.getpid()))
    return folder


def finish(data: Path) -> None:
    """Let the environment be ready: the one that runs this test."""
    environment = data / f"environment-{VERSION}"
    programs = environment / ("Scripts" if sys.platform == "win32" else "bin")
    programs.mkdir(parents=True)
    if sys.platform == "win32":
        pytest.skip("a stand-in for Python is a script here")
    python = programs / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (environment / "ready").touch()


def words(data: Path, *more: str, host: str = "claude-code") -> list[str]:
    return [sys.executable, str(LAUNCHER), f"--host={host}", f"--data={data}", *more]


def opened(data: Path, tmp_path: Path, host: str = "claude-code") -> RawServer:
    env = {**os.environ, "MCP_REFLECT_BANK": str(tmp_path / "bank.db")}
    server = RawServer(words(data, host=host), env=env, cwd=tmp_path, timeout=60)
    server.open(Era.LEGACY)
    return server


def listed(server: RawServer, kind: str) -> list[dict[str, Any]]:
    answer: Any = server.request(f"{kind}/list")
    return answer[kind]


def called(server: RawServer, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer: Any = server.call_tool(tool, arguments)
    return answer


def ran(data: Path, *more: str, host: str = "claude-code", sent: str = "{}") -> str:
    done = subprocess.run(
        words(data, *more, host=host), input=sent, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_server_that_is_not_ready_lists_its_tools_and_says_so_when_one_is_called(
    data: Path, tmp_path: Path
) -> None:
    with opened(data, tmp_path) as server:
        names = [tool["name"] for tool in listed(server, "tools")]
        assert "recall_lessons" in names
        answer = called(server, "recall_lessons", {"task": "push"})
        assert answer["isError"]
        assert "is making its Python environment" in answer["content"][0]["text"]


def test_a_hook_that_asks_a_server_that_is_not_ready_gets_nothing(
    data: Path, tmp_path: Path
) -> None:
    with opened(data, tmp_path) as server:
        answer = called(server, "hook", {"hook_event_name": "PreToolUse"})
        assert (answer["content"][0]["text"], answer.get("isError")) == ("{}", None)


@pytest.mark.long
def test_the_real_server_takes_over_the_open_connection(data: Path, tmp_path: Path) -> None:
    with opened(data, tmp_path) as server:
        assert called(server, "store_lesson", LESSON)["isError"]
        finish(data)
        while (answer := called(server, "store_lesson", LESSON)).get("isError"):
            pass
        assert answer["structuredContent"]["status"] == "stored"


def test_hooks_are_silent_until_it_is_ready_but_for_a_word_at_the_start_of_a_session(
    data: Path,
) -> None:
    assert ran(data, "hook", "UserPromptSubmit") == ""
    said = json.loads(ran(data, "hook", "SessionStart"))
    assert "This happens once" in said["systemMessage"]
    assert str(data) in said["systemMessage"]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize("name", ["python3", "python", "py", None])
@pytest.mark.parametrize("host", ["claude-code/hooks.json", "codex/hooks.json", "hooks/hooks.json"])
def test_a_hook_finds_any_python_and_says_once_that_there_is_none(
    tmp_path: Path, host: str, name: str | None
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    if name:
        (programs / name).write_text(
            f'#!/bin/sh\n[ "$1" = -3 ] && shift\nexec "{sys.executable}" "$@"\n'
        )
        (programs / name).chmod(0o755)
    hooks = json.loads((ROOT / "plugin" / host).read_text("utf-8"))["hooks"]
    env = {
        "PATH": str(programs),
        "HOME": str(tmp_path),
        "CLAUDE_PLUGIN_DATA": str(tmp_path / "data"),
    }
    env["CLAUDE_PLUGIN_ROOT"] = env["extensionPath"] = str(
        tmp_path / "none" if name is None else ROOT
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "making").write_text(str(os.getpid()))
    for event, said in (("SessionStart", name is None), ("SessionEnd", False)):
        line = hooks[event][0]["hooks"][0]["command"]
        if host.startswith("hooks"):  # Gemini's own folder, and no data of ours is given
            line = line.replace("${extensionPath}", f"{ROOT}/plugin").replace(
                "--host", f"--data={tmp_path}/data --host"
            )
        done = subprocess.run(
            ["/bin/sh", "-c", line], env=env, input="{}", capture_output=True, text=True, check=True
        )
        assert ("no python3, python or py" in done.stdout) == said
        lacks_server = event == "SessionStart" and name in ("python", "py")
        assert ("no program of that name" in done.stdout) == lacks_server
        assert event == "SessionStart" or done.stdout == ""


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize("moved", [False, True])
def test_a_command_of_gemini_finds_its_extension(tmp_path: Path, moved: bool) -> None:
    home = tmp_path / ("it's moved" if moved else "home")
    folder = home / ".gemini/extensions/mcp-reflect"
    folder.mkdir(parents=True)
    for name in ("launcher.py", "gemini-extension.json"):
        shutil.copy(ROOT / "plugin" / name, folder)
    prompt = tomllib.loads((ROOT / "plugin/commands/lessons.toml").read_text("utf-8"))["prompt"]
    line = prompt[prompt.index("!{") + 2 : prompt.index("}")]
    (tmp_path / "python3").symlink_to(sys.executable)
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path / "home")}
    env |= {"GEMINI_CLI_HOME": str(home)} if moved else {}
    done = subprocess.run(
        ["/bin/sh", "-c", line], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("mcp-reflect is making its Python environment")


def test_what_a_clone_has_beside_the_package_leaves_the_host_s_copy(tmp_path: Path) -> None:
    copy = tmp_path / "plugins/cache/market/mcp-reflect/1.0"
    for name in ("plugin", "mcp_reflect", "prompts", ".venv/lib", "tests", ".git"):
        (copy / name).mkdir(parents=True)
    for name in ("launcher.py", "gemini-extension.json"):
        shutil.copy(ROOT / "plugin" / name, copy / "plugin")
    (copy / "pyproject.toml").touch()
    (tmp_path / "kept").mkdir()
    (copy / "link").symlink_to(tmp_path / "kept")
    program = "import runpy, sys; ours = runpy.run_path(sys.argv[1]); ours['Environment'](ours['default_data']()).prune_copy()"
    subprocess.run([sys.executable, "-c", program, copy / "plugin/launcher.py"], check=True)
    assert {path.name for path in copy.iterdir()} == {
        "plugin",
        "mcp_reflect",
        "prompts",
        "pyproject.toml",
    }
    assert (tmp_path / "kept").is_dir()


def test_what_a_plugin_ships_is_small() -> None:
    program = "import runpy, sys; print(*runpy.run_path(sys.argv[1])['NEEDED'])"
    words = [sys.executable, "-c", program, str(ROOT / "plugin/launcher.py")]
    needed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    files = [
        file
        for name in needed
        for file in ((ROOT / name).rglob("*") if (ROOT / name).is_dir() else [ROOT / name])
        if file.is_file() and "__pycache__" not in file.parts
    ]
    assert len(files) > 300
    assert sum(file.stat().st_size for file in files) < 15_000_000


def test_the_environment_lies_outside_of_an_extension_and_goes_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "extensions/mcp-reflect"
    folder.mkdir(parents=True)
    for name in ("launcher.py", "gemini-extension.json"):
        shutil.copy(ROOT / "plugin" / name, folder)
    program = (
        "import runpy, shutil, sys; ours = runpy.run_path(sys.argv[1]); made = ours['Environment'](ours['default_data']());"
        "made.data.mkdir(parents=True); shutil.rmtree(sys.argv[2]); made.clear_if_removed(); print(made.data)"
    )
    env = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "caches")}
    done = subprocess.run(
        [sys.executable, "-c", program, folder / "launcher.py", folder],
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    data = Path(done.stdout.strip())
    assert not data.is_relative_to(folder)
    assert not data.exists()


def test_a_command_says_why_it_has_no_answer_yet(data: Path) -> None:
    assert "is making its Python environment" in ran(data, "lessons", "list")
    finish(data)
    assert ran(data, "--version").split() == ["mcp-reflect", VERSION]


@pytest.mark.parametrize("host", LAUNCHED["REGISTERED"])
def test_a_plugin_leaves_hooks_to_those_that_install_has_written(host: str, data: Path) -> None:
    assert "systemMessage" in ran(data, "hook", "SessionStart", host=host)
    assert main(["install", host, "--hooks", "--yes"]) == 0
    assert ran(data, "hook", "SessionStart", host=host) == ""
    assert main(["install", host, "--uninstall", "--yes"]) == 0
    assert "systemMessage" in ran(data, "hook", "SessionStart", host=host)
    assert LAUNCHED["REGISTERED"][host][1] == HOOK_SETTINGS[host].file


PROJECT_FILES = {
    "claude-code": (".claude/settings.json", ".claude/settings.local.json"),
    "codex": (".codex/hooks.json",),
    "gemini": (".gemini/settings.json",),
    "copilot": (".copilot/hooks/mcp-reflect.json", ".github/hooks/mcp-reflect.json"),
}
OUR_ENTRY = {"hooks": [{"type": "command", "command": "mcp-reflect hook SessionStart"}]}
SILENCING = {
    "permission": '{"permissions":{"deny":["Bash(mcp-reflect hook PreToolUse)"]}}',
    "note": '{"note":"mcp_reflect hook "}',
    "tool": '{"x": {"tool": "hook"}}',
    "hook": json.dumps({"hooks": {"SessionStart": [OUR_ENTRY]}}),
}


def planted(folder: Path, host: str, text: str) -> None:
    for name in PROJECT_FILES[host]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize("text", SILENCING.values(), ids=SILENCING)
@pytest.mark.parametrize("host", LAUNCHED["REGISTERED"])
def test_nothing_that_a_repository_says_silences_the_hooks(
    host: str, text: str, data: Path, tmp_path: Path
) -> None:
    planted(tmp_path, host, text)
    assert "systemMessage" in ran(data, "hook", "SessionStart", host=host)


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe of POSIX")
@pytest.mark.parametrize("at_home", [False, True])
@pytest.mark.parametrize("host", LAUNCHED["REGISTERED"])
def test_a_pipe_in_the_place_of_settings_holds_no_hook(
    host: str, at_home: bool, data: Path, tmp_path: Path, home: Path
) -> None:
    name = LAUNCHED["REGISTERED"][host][1] if at_home else PROJECT_FILES[host][0]
    pipe = (home if at_home else tmp_path) / name
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    assert "systemMessage" in ran(data, "hook", "SessionStart", host=host)


@pytest.mark.parametrize("name", sorted(set(LAUNCHED["MOVED"].values())))
@pytest.mark.parametrize("folder", [".", "./moved", "absolute"])
@pytest.mark.parametrize("host", LAUNCHED["REGISTERED"])
def test_a_folder_of_the_session_is_never_the_one_of_the_person(
    host: str, folder: str, name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, str(tmp_path / "moved") if folder == "absolute" else folder)
    file = LAUNCHED["REGISTERED"][host][1]
    for place in (tmp_path, tmp_path / "moved"):
        for below in (file, file.partition("/")[2]):
            (place / below).parent.mkdir(parents=True, exist_ok=True)
            (place / below).write_text(SILENCING["hook"])
    assert "systemMessage" in ran(data, "hook", "SessionStart", host=host)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_out_of_the_home_is_not_the_person_s_file(
    data: Path, tmp_path: Path, home: Path
) -> None:
    (tmp_path / "theirs.json").write_text(SILENCING["hook"])
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").symlink_to(tmp_path / "theirs.json")
    assert "systemMessage" in ran(data, "hook", "SessionStart")


@pytest.mark.parametrize(
    "text",
    [SILENCING["permission"], SILENCING["note"], '{"hooks": {"Stop": [1, null, {"hooks": 3}]}}'],
)
def test_a_word_about_our_hook_in_the_person_s_file_is_no_hook(
    text: str, data: Path, home: Path
) -> None:
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text(text)
    assert "systemMessage" in ran(data, "hook", "SessionStart")


def test_a_server_of_the_repository_takes_no_tools_from_the_plugin(
    data: Path, tmp_path: Path
) -> None:
    theirs = {"mcpServers": {"mcp-reflect": {"command": "/bin/false"}}}
    for name in (".mcp.json", ".github/mcp.json", ".claude.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(theirs))
    with opened(data, tmp_path) as server:
        assert listed(server, "tools") != []


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
def test_the_environment_is_not_made_by_programs_of_the_session_s_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = tmp_path / "session"
    (session / "bin").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    folders = [str(session / "bin"), "bin", ".", "", str(tmp_path / "outside")]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    monkeypatch.chdir(session)
    assert LAUNCHED["outside_path"]() == str(tmp_path / "outside")


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_a_plugin_leaves_tools_to_the_entry_that_install_has_written(
    host: str, data: Path, tmp_path: Path
) -> None:
    assert main(["install", host, "--yes"]) == 0
    with opened(data, tmp_path, host) as server:
        assert listed(server, "tools") == []
        assert listed(server, "prompts") == []
    finish(data)
    with opened(data, tmp_path, host) as server:
        assert listed(server, "tools") == []
        assert (
            called(server, "hook", {"hook_event_name": "PreToolUse"})["content"][0]["text"] == "{}"
        )


def test_an_environment_that_cannot_be_made_says_why_and_is_tried_again(tmp_path: Path) -> None:
    copied = tmp_path / "plugin"
    shutil.copytree(LAUNCHER.parent, copied)
    line = [sys.executable, str(copied / "launcher.py"), f"--data={tmp_path / 'data'}"]
    assert subprocess.run([*line, "make"], check=False).returncode == 1
    said = subprocess.run([*line, "lessons"], capture_output=True, text=True, check=True).stdout
    assert "could not make its Python environment: the folder of the package is gone" in said
    assert not (tmp_path / "data" / "making").exists()


def test_an_environment_whose_maker_was_killed_is_made_anew(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "making").write_text("999999999")
    copied = tmp_path / "plugin"
    shutil.copytree(LAUNCHER.parent, copied)
    line = [sys.executable, str(copied / "launcher.py"), f"--data={data}", "make"]
    assert subprocess.run(line, check=False).returncode == 1
    assert (data / "fault").exists()


@pytest.mark.parametrize(
    ("host", "file"),
    [
        ("claude-code", "plugin/claude-code/hooks.json"),
        ("codex", "plugin/codex/hooks.json"),
        ("gemini", "plugin/hooks/hooks.json"),
    ],
)
def test_a_plugin_has_the_hooks_that_install_writes(
    host: str, file: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", host, "--hooks", "--yes"]) == 0
    capsys.readouterr()
    written = json.loads((home / HOOK_SETTINGS[host].file).read_text("utf-8"))["hooks"]
    shipped = json.loads((ROOT / file).read_text("utf-8"))["hooks"]
    assert list(shipped) == list(written)
    for event, ((one,), (other,)) in (
        (event, (written[event], shipped[event])) for event in written
    ):
        ours, theirs = one["hooks"][0], other["hooks"][0]
        assert {name: ours[name] for name in ("type", "timeout")} == {
            name: theirs[name] for name in ("type", "timeout")
        }, event
        assert ours.get("input") == theirs.get("input"), event


@pytest.mark.parametrize("name", ["VS Code", "Cursor"])
def test_an_install_link_in_the_readme_registers_what_install_writes(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    label = f"install-{name.lower().replace(' ', '')}"
    (link,) = (
        line.split(": ", 1)[1] for line in readme.splitlines() if line.startswith(f"[{label}]: ")
    )
    sent = parse_qs(urlsplit(link).query)
    (config,) = sent["config"]
    entry = json.loads(base64.b64decode(config) if name == "Cursor" else config)
    host = label.removeprefix("install-")
    assert main(["install", host, "--print"]) == 0
    written = json.loads(capsys.readouterr().out)[HOSTS[host].block]
    assert sent["name"] == list(written)
    command = {"command": "uvx", "args": ["--from", f"git+{PLUGINS['REPOSITORY']}", "mcp-reflect"]}
    assert entry == {**written["mcp-reflect"], **command}
    assert f"][{label}]" in readme


def test_copilot_s_plugin_has_hooks_that_it_knows() -> None:
    manifest = json.loads((ROOT / ".github" / "plugin" / "plugin.json").read_text("utf-8"))
    hooks = json.loads((ROOT / manifest["hooks"]).read_text("utf-8"))["hooks"]
    lines = [hook for entries in hooks.values() for entry in entries for hook in entry["hooks"]]
    assert {hook["type"] for hook in lines} == {"command"}
    assert all("--host=copilot" in hook["command"] for hook in lines)
    assert set(hooks) == set(HOOK_SETTINGS["copilot"].events)
