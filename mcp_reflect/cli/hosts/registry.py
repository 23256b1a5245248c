"""The hosts: their names, their files, the entry each expects, and the command that some have for it.

Paths and forms come from the hosts' own documentation, read in November 2026.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from mcp_reflect.cli.hosts import document_edits, json_edits

SERVER_NAME: Final = "mcp-reflect"
"""The name of the entry in every host."""

AGENT_RULES: Final = """\
Before a task: call recall_lessons with what you are about to do.
After a run that failed or took detours: call reflect, and record_outcome for the lessons you used.
"""
"""Instructions for an agent whose host has no hooks: for AGENTS.md, CLAUDE.md, GEMINI.md or .cursorrules."""


class System(StrEnum):
    """An operating system, as `sys.platform` names it."""

    MAC = "darwin"
    WINDOWS = "win32"
    LINUX = "linux"


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of a person's files."""

    home: Path
    system: System
    app_data: Path

    def settings(self, *names: str, windows: tuple[str, ...] | None = None) -> Path:
        """Return a file in the folder of programs' settings; `windows` names another one there."""
        match self.system:
            case System.MAC:
                return self.home.joinpath("Library", "Application Support", *names)
            case System.WINDOWS:
                return self.app_data.joinpath(*(windows or names))
            case System.LINUX:
                return self.home.joinpath(".config", *names)


@dataclass(frozen=True, slots=True)
class Command:
    """How the host starts the server: the program, its arguments, and settings in the environment."""

    program: str
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None

    def entry(self) -> dict[str, Any]:
        """Return the entry in the form that most hosts use."""
        entry: dict[str, Any] = {"command": self.program}
        if self.arguments:
            entry["args"] = list(self.arguments)
        if self.env:
            entry["env"] = dict(self.env)
        return entry


CommandLine: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCommand:
    """A host's own command that registers a server.

    `add` and `remove` return the command line for a project's file (`here`) or the person's own; None if the host
    has no such command.
    """

    program: str
    add: Callable[[Command, bool], CommandLine | None]
    remove: Callable[[bool], CommandLine | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfig:
    """A host and its file. `project` is the file that a project shares, if the host has one."""

    title: str
    language: Literal["json", "toml", "yaml"]
    block: str
    file: Callable[[Places], Path]
    project: str | None = None
    entry: Callable[[Command], dict[str, Any]] = Command.entry
    command: HostCommand | None = None
    restart: str = "Restart it to see the tools."

    def add_entry(self, text: str, command: Command) -> str:
        """Return the file's text with the server's entry in it."""
        entry = self.entry(command)
        if self.language == "json":
            return json_edits.set_member(text, (self.block, SERVER_NAME), entry)
        return document_edits.set_entry(self.language, text, self.block, SERVER_NAME, entry)

    def remove_entry(self, text: str) -> str:
        """Return the file's text without the server's entry."""
        if self.language == "json":
            return json_edits.remove_member(text, (self.block, SERVER_NAME))
        return document_edits.remove_entry(self.language, text, self.block, SERVER_NAME)


def _stdio_entry(command: Command) -> dict[str, Any]:
    return {"type": "stdio", **command.entry()}


def _goose_entry(command: Command) -> dict[str, Any]:
    return {
        "name": SERVER_NAME,
        "type": "stdio",
        "enabled": True,
        "cmd": command.program,
        "args": list(command.arguments),
        "envs": dict(command.env or {}),
        "timeout": 60,
    }


def _goose_file(places: Places) -> Path:
    if places.system is System.MAC:
        return places.home / ".config" / "goose" / "config.yaml"
    return places.settings("goose", "config.yaml", windows=("Block", "goose", "config", "config.yaml"))


def _env_options(command: Command, option: str) -> list[str]:
    return [word for name, value in (command.env or {}).items() for word in (option, f"{name}={value}")]


def _scope(here: bool) -> str:
    return "project" if here else "user"


_CLAUDE: Final = HostCommand(
    program="claude",
    add=lambda command, here: (
        *("mcp", "add", "--scope", _scope(here), SERVER_NAME, *_env_options(command, "-e"), "--"),
        *(command.program, *command.arguments),
    ),
    remove=lambda here: ("mcp", "remove", "--scope", _scope(here), SERVER_NAME),
)
_CODEX: Final = HostCommand(
    program="codex",
    add=lambda command, _: (
        *("mcp", "add", SERVER_NAME, *_env_options(command, "--env"), "--", command.program, *command.arguments),
    ),
    remove=lambda _: ("mcp", "remove", SERVER_NAME),
)
_GEMINI: Final = HostCommand(
    program="gemini",
    add=lambda command, here: (
        *("mcp", "add", "--scope", _scope(here), *_env_options(command, "-e")),
        *(SERVER_NAME, command.program, *command.arguments),
    ),
    remove=lambda here: ("mcp", "remove", "--scope", _scope(here), SERVER_NAME),
)
_VSCODE: Final = HostCommand(
    program="code",
    add=lambda command, here: (
        None if here else ("--add-mcp", json.dumps({"name": SERVER_NAME, **_stdio_entry(command)}))
    ),
    remove=lambda _: None,
)

_NEW_SESSIONS: Final = "Sessions that start from now on have it."

HOSTS: Final[Mapping[str, HostConfig]] = {
    "claude-code": HostConfig(
        title="Claude Code", language="json", block="mcpServers", file=lambda places: places.home / ".claude.json",
        project=".mcp.json", entry=_stdio_entry, command=_CLAUDE, restart=_NEW_SESSIONS,
    ),
    "claude-desktop": HostConfig(
        title="Claude Desktop", language="json", block="mcpServers",
        file=lambda places: places.settings("Claude", "claude_desktop_config.json"),
    ),
    "vscode": HostConfig(
        title="VS Code", language="json", block="servers",
        file=lambda places: places.settings("Code", "User", "mcp.json"), project=".vscode/mcp.json",
        entry=_stdio_entry, command=_VSCODE, restart="It asks once whether you trust the server.",
    ),
    "cursor": HostConfig(
        title="Cursor", language="json", block="mcpServers", file=lambda places: places.home / ".cursor" / "mcp.json",
        project=".cursor/mcp.json",
    ),
    "codex": HostConfig(
        title="Codex", language="toml", block="mcp_servers",
        file=lambda places: places.home / ".codex" / "config.toml", command=_CODEX, restart=_NEW_SESSIONS,
    ),
    "gemini": HostConfig(
        title="Gemini CLI", language="json", block="mcpServers",
        file=lambda places: places.home / ".gemini" / "settings.json", project=".gemini/settings.json",
        command=_GEMINI, restart=_NEW_SESSIONS,
    ),
    "goose": HostConfig(
        title="goose", language="yaml", block="extensions", file=_goose_file, entry=_goose_entry,
        restart=_NEW_SESSIONS,
    ),
    "windsurf": HostConfig(
        title="Windsurf", language="json", block="mcpServers",
        file=lambda places: places.home / ".codeium" / "windsurf" / "mcp_config.json",
    ),
}  # fmt: skip
