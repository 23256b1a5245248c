"""Each host from a clean home directory: `python -m tools.hosts.clean_homes`. No host program is needed.

`mcp-reflect install HOST` registers the server; the host's file is read as the host reads it, and exactly the
command that stands there is launched, over stdio: a lesson is stored and recalled. Then it is taken out again. What is
left is the bank, which is the person's; without it the home is as it was.
"""

import json
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from mcp_reflect.cli.host_table import HOOK_SETTINGS, HOSTS
from mcp_reflect.cli.hosts import HostConfig
from tests.clients.stdio import Era, RawServer
from tools.hosts.trying import LESSON, TASK, Home, clean_home, held, step


def main() -> int:
    """Try them all; ends with 1 at the first that fails."""
    for name in sys.argv[1:] or HOSTS:
        print(HOSTS[name].title)
        with clean_home(name) as home:
            attempt(name, home)
    return 0


def attempt(name: str, home: Home) -> None:
    """One host: registered, stored, recalled, removed."""
    before = contents(home)
    hooks = ["--hooks"] if name in HOOK_SETTINGS else []
    with step("registered" + (", with hooks" if hooks else "")):
        home.reflect("install", name, "--yes", *hooks)
    command, env = registered(name, home)
    with step("started, and a lesson stored and recalled"), server(command, env, home) as running:
        status = called(running, "store_lesson", LESSON)["status"]
        held(status == "stored", f"the lesson is stored, not {status}")
        found = called(running, "recall_lessons", {"task": TASK})["lessons"]
        held(LESSON["correction"] in found[0]["text"], "the lesson is recalled")
    with step("taken out"):
        home.reflect("install", name, "--uninstall", "--yes")
    bank = Path(json.loads(home.reflect("doctor", "--json"))["bank"]).parent
    held(bank.is_relative_to(home.folder), "the bank is in the home")
    shutil.rmtree(bank)
    remove_empty(bank.parent, home.folder)
    held(
        contents(home) == before,
        f"nothing is left behind, but {sorted(contents(home) - before)} is",
    )


def registered(name: str, home: Home) -> tuple[list[str], dict[str, str]]:
    """The command and the environment that the host's file holds."""
    host = HOSTS[name]
    text = (home.folder / host.file().relative_to(Path.home())).read_text("utf-8")
    entry = entry_in(text, host)
    env: dict[str, str] = {}
    for key in ("env", "envs", "environment"):
        env |= entry.get(key, {})
    program: Any = entry.get("command", entry.get("cmd"))
    words = [program] if isinstance(program, str) else [*program]
    return [*words, *entry.get("args", [])], env


def entry_in(text: str, host: HostConfig) -> Any:
    """Our entry in a host's file."""
    match host.language:
        case "json":
            return json.loads(text)[host.block]["mcp-reflect"]
        case "toml":
            return tomllib.loads(text)[host.block]["mcp-reflect"]
        case "yaml":
            yaml: Any = YAML(typ="safe")
            return yaml.load(text)[host.block]["mcp-reflect"]


def server(command: list[str], env: dict[str, str], home: Home) -> RawServer:
    """The registered command as a process, in the directory in which hosts with a window start it."""
    clean = {**dict.fromkeys(("MCP_REFLECT_BANK", "MCP_REFLECT_PROJECT"), ""), **home.env, **env}
    started = RawServer(command, env=clean, cwd=home.folder, timeout=60)
    started.open(Era.LEGACY)
    return started


def called(running: RawServer, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured result of a call that must work."""
    result: dict[str, Any] = running.call_tool(tool, arguments)
    held(not result.get("isError"), f"{tool} works: {result}")
    return result["structuredContent"]


def contents(home: Home) -> set[str]:
    """What is in a home."""
    return {path.relative_to(home.folder).as_posix() for path in home.folder.rglob("*")}


def remove_empty(folder: Path, end: Path) -> None:
    """Take away the folders that only the bank was in."""
    while folder != end and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


if __name__ == "__main__":
    sys.exit(main())
