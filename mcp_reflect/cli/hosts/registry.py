"""The hosts: their names, their files, and the entry each expects.

Paths and forms come from the hosts' own documentation, read in November 2026.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal

from mcp_reflect.cli.hosts import edits
from mcp_reflect.errors import InputError

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

    @classmethod
    def here(cls) -> "Places":
        """Return the places of whoever runs this."""
        home = Path.home()
        system = System(sys.platform) if sys.platform in set(System) else System.LINUX
        return cls(home, system, Path(os.environ.get("APPDATA", home / "AppData" / "Roaming")))

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
    """How the host starts the server: the program, its arguments, and settings in the environment.

    `server` is the name by which the host's hooks know it.
    """

    program: str
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None
    remote: "Remote | None" = None
    server: str = SERVER_NAME

    def entry(self) -> dict[str, Any]:
        """Return the entry in the form that most hosts use."""
        entry: dict[str, Any] = {"command": self.program}
        if self.arguments:
            entry["args"] = list(self.arguments)
        if self.env:
            entry["env"] = dict(self.env)
        return entry


@dataclass(frozen=True, slots=True)
class Remote:
    """The service of a team that the host calls instead: its address, and the variable that has the token."""

    url: str
    token_env: str
    project: str | None = None

    def entry(self, variable: str, *, url: str = "url", **more: Any) -> dict[str, Any]:
        """Return the entry; `variable` is how the host writes a variable of the environment, with NAME."""
        headers = {"Authorization": f"Bearer {variable.replace('NAME', self.token_env)}"}
        headers |= {"Mcp-Reflect-Project": self.project} if self.project else {}
        return {**more, url: self.url, "headers": headers}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfig:
    """A host and its file. `project` is the file that a project shares, if the host has one."""

    title: str
    language: Literal["json", "toml", "yaml"]
    block: str
    file: Callable[[Places], Path]
    project: str | None = None
    entry: Callable[[Command], dict[str, Any]] = Command.entry
    remote: Callable[[Remote], dict[str, Any]] | None = None
    restart: str = "Restart it to see the tools."

    def add_entry(self, text: str, command: Command) -> str:
        """Return the file's text with the server's entry in it."""
        if command.remote and self.remote is None:
            fix = "Add it in the program, as a connector, if its account may."
            raise InputError("--url", f"{self.title} reads no address and token from its file", fix)
        entry = self.remote(command.remote) if command.remote and self.remote else self.entry(command)
        if self.language == "json":
            return edits.set_member(text, (self.block, SERVER_NAME), entry)
        return edits.set_entry(self.language, text, self.block, SERVER_NAME, entry)

    def remove_entry(self, text: str) -> str:
        """Return the file's text without the server's entry."""
        if self.language == "json":
            return edits.remove_member(text, (self.block, SERVER_NAME))
        return edits.remove_entry(self.language, text, self.block, SERVER_NAME)


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


def _codex_remote(remote: Remote) -> dict[str, Any]:
    headers = {"http_headers": {"Mcp-Reflect-Project": remote.project}} if remote.project else {}
    return {"url": remote.url, "bearer_token_env_var": remote.token_env, **headers}


def _goose_remote(remote: Remote) -> dict[str, Any]:
    shared = {"name": SERVER_NAME, "enabled": True, "timeout": 60, "env_keys": [remote.token_env]}
    return remote.entry("${NAME}", url="uri", type="streamable_http", **shared)


def _goose_file(places: Places) -> Path:
    if places.system is System.MAC:
        return places.home / ".config" / "goose" / "config.yaml"
    return places.settings("goose", "config.yaml", windows=("Block", "goose", "config", "config.yaml"))


_NEW_SESSIONS: Final = "Sessions that start from now on have it."

HOSTS: Final[Mapping[str, HostConfig]] = {
    "claude-code": HostConfig(
        title="Claude Code", language="json", block="mcpServers", file=lambda places: places.home / ".claude.json",
        project=".mcp.json", entry=_stdio_entry,
        remote=lambda remote: remote.entry("${NAME}", type="http"), restart=_NEW_SESSIONS,
    ),
    "claude-desktop": HostConfig(
        title="Claude Desktop", language="json", block="mcpServers",
        file=lambda places: places.settings("Claude", "claude_desktop_config.json"),
    ),
    "vscode": HostConfig(
        title="VS Code", language="json", block="servers",
        file=lambda places: places.settings("Code", "User", "mcp.json"), project=".vscode/mcp.json",
        entry=_stdio_entry, remote=lambda remote: remote.entry("${env:NAME}", type="http"),
        restart="It asks once whether you trust the server.",
    ),
    "cursor": HostConfig(
        title="Cursor", language="json", block="mcpServers", file=lambda places: places.home / ".cursor" / "mcp.json",
        project=".cursor/mcp.json", remote=lambda remote: remote.entry("${env:NAME}"),
    ),
    "codex": HostConfig(
        title="Codex", language="toml", block="mcp_servers",
        file=lambda places: places.home / ".codex" / "config.toml", remote=_codex_remote,
        restart=_NEW_SESSIONS,
    ),
    "gemini": HostConfig(
        title="Gemini CLI", language="json", block="mcpServers",
        file=lambda places: places.home / ".gemini" / "settings.json", project=".gemini/settings.json",
        remote=lambda remote: remote.entry("${NAME}", url="httpUrl"), restart=_NEW_SESSIONS,
    ),
    "goose": HostConfig(
        title="goose", language="yaml", block="extensions", file=_goose_file, entry=_goose_entry, remote=_goose_remote,
        restart=_NEW_SESSIONS,
    ),
    "windsurf": HostConfig(
        title="Windsurf", language="json", block="mcpServers",
        file=lambda places: places.home / ".codeium" / "windsurf" / "mcp_config.json",
        remote=lambda remote: remote.entry("${env:NAME}", url="serverUrl"),
    ),
}  # fmt: skip
