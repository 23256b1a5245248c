"""The hosts: names, files, and the entry each expects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from mcp_reflect.cli.hosts import json_edits, toml_edits, yaml_edits
from mcp_reflect.errors import InputError
from mcp_reflect.security.redact import quoted

# What to tell an agent whose host has no hooks, for AGENTS.md, CLAUDE.md, GEMINI.md or .cursorrules.


RULES: Final = """\
Before a task: call recall_lessons with what you are about to do.
After a run that failed or took detours: call reflect, and record_outcome for the lessons you used.
"""


# The hosts: what each is called, where it keeps its servers, and the entry it wants.
#
# Places and forms are from the hosts' own documentation, read in November 2026.


NAME: Final = "mcp-reflect"


class System(StrEnum):
    """An operating system, as `sys.platform` names it."""

    MAC = "darwin"
    WINDOWS = "win32"
    LINUX = "linux"


@dataclass(frozen=True, slots=True)
class Places:
    """Where a person's files are."""

    home: Path
    system: System
    app_data: Path

    def settings(self, *names: str, windows: tuple[str, ...] | None = None) -> Path:
        """A file in the folder where programs keep settings; `windows` where it is another one there."""
        match self.system:
            case System.MAC:
                return self.home.joinpath("Library", "Application Support", *names)
            case System.WINDOWS:
                return self.app_data.joinpath(*(windows or names))
            case System.LINUX:
                return self.home.joinpath(".config", *names)


@dataclass(frozen=True, slots=True)
class Command:
    """How the host starts us: the program, its arguments, and settings in the environment."""

    program: str
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None

    def entry(self) -> dict[str, Any]:
        """As most hosts write it."""
        made: dict[str, Any] = {"command": self.program}
        if self.arguments:
            made["args"] = list(self.arguments)
        if self.env:
            made["env"] = dict(self.env)
        return made


class Form(StrEnum):
    """The language of a host's file."""

    JSON = "json"
    TOML = "toml"
    YAML = "yaml"


@dataclass(frozen=True, slots=True)
class Host:
    """A host and its file. `project` is the file for one project's people, where the host has such a thing."""

    title: str
    form: Form
    block: str
    file: Callable[[Places], Path]
    project: str | None = None
    entry: Callable[[Command], dict[str, Any]] = Command.entry
    restart: str = "Restart it to see the tools."

    def added(self, text: str, command: Command) -> str:
        """The file's text with us in it."""
        entry = self.entry(command)
        match self.form:
            case Form.JSON:
                return json_edits.with_member(text, (self.block, NAME), entry)
            case Form.TOML:
                return toml_edits.with_table(text, (self.block, NAME), entry)
            case Form.YAML:
                return yaml_edits.with_entry(text, self.block, NAME, entry)

    def removed(self, text: str) -> str:
        """The file's text without us."""
        match self.form:
            case Form.JSON:
                return json_edits.without_member(text, (self.block, NAME))
            case Form.TOML:
                return toml_edits.without_table(text, (self.block, NAME))
            case Form.YAML:
                return yaml_edits.without_entry(text, self.block, NAME)


def _stdio(command: Command) -> dict[str, Any]:
    return {"type": "stdio", **command.entry()}


def _goose(command: Command) -> dict[str, Any]:
    return {
        "name": NAME,
        "type": "stdio",
        "enabled": True,
        "cmd": command.program,
        "args": list(command.arguments),
        "envs": dict(command.env or {}),
        "timeout": 60,
    }


HOSTS: Final[Mapping[str, Host]] = {
    "claude-code": Host(
        "Claude Code", Form.JSON, "mcpServers", lambda at: at.home / ".claude.json", ".mcp.json", _stdio,
        "Sessions that start from now on have it.",
    ),
    "claude-desktop": Host(
        "Claude Desktop", Form.JSON, "mcpServers",
        lambda at: at.settings("Claude", "claude_desktop_config.json"),
    ),
    "vscode": Host(
        "VS Code", Form.JSON, "servers", lambda at: at.settings("Code", "User", "mcp.json"), ".vscode/mcp.json", _stdio,
        "It asks once whether you trust the server.",
    ),
    "cursor": Host(
        "Cursor", Form.JSON, "mcpServers", lambda at: at.home / ".cursor" / "mcp.json", ".cursor/mcp.json"
    ),
    "codex": Host(
        "Codex", Form.TOML, "mcp_servers", lambda at: at.home / ".codex" / "config.toml", None, Command.entry,
        "Sessions that start from now on have it.",
    ),
    "gemini": Host(
        "Gemini CLI", Form.JSON, "mcpServers", lambda at: at.home / ".gemini" / "settings.json",
        ".gemini/settings.json", Command.entry, "Sessions that start from now on have it.",
    ),
    "goose": Host(
        "goose", Form.YAML, "extensions",
        lambda at: at.settings("goose", "config.yaml", windows=("Block", "goose", "config", "config.yaml"))
        if at.system is not System.MAC else at.home / ".config" / "goose" / "config.yaml",
        None, _goose, "Sessions that start from now on have it.",
    ),
    "windsurf": Host(
        "Windsurf", Form.JSON, "mcpServers", lambda at: at.home / ".codeium" / "windsurf" / "mcp_config.json"
    ),
}  # fmt: skip


def host(name: str) -> Host:
    """A host by its name; InputError names them all."""
    if name not in HOSTS:
        raise InputError("HOST", f"'{quoted(name, 40)}' is not one we know", f"Name one of {', '.join(HOSTS)}.")
    return HOSTS[name]
