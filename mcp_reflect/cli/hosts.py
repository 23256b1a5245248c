"""The file in which a host keeps its servers, and our entry in it. `cli.host_table` has the hosts."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp_reflect.cli.host_documents import Language, set_entry
from mcp_reflect.errors import InputError

SERVER_NAME: Final = "mcp-reflect"
"""The name of the entry in every host."""

_GOOSE_SECONDS: Final = 60  # that goose waits for a tool

AGENT_RULES: Final = """\
Before a task: call recall_lessons with what you are about to do.
After a run that failed or took detours: call reflect, and record_outcome for the lessons you used.
"""
"""Instructions for an agent whose host has no hooks: for AGENTS.md, CLAUDE.md, GEMINI.md or .cursorrules."""


@dataclass(frozen=True, slots=True)
class ServerCommand:
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


class _MovedFolder(NamedTuple):
    """The variable that moves a host's files out of the home directory, and the beginning of their names there."""

    variable: str
    new_prefix: str = ""


_MOVED_FOLDERS: Final[Mapping[str, _MovedFolder]] = {
    ".claude.json": _MovedFolder("CLAUDE_CONFIG_DIR", ".claude.json"),
    ".claude/": _MovedFolder("CLAUDE_CONFIG_DIR"),
    ".codex/": _MovedFolder("CODEX_HOME"),
    ".gemini/": _MovedFolder("GEMINI_CLI_HOME", ".gemini/"),
    ".copilot/": _MovedFolder("COPILOT_HOME"),
    ".qwen/": _MovedFolder("QWEN_HOME"),
    ".config/": _MovedFolder("XDG_CONFIG_HOME"),
    ".pi/agent/": _MovedFolder("PI_CODING_AGENT_DIR"),
    ".cline/data/": _MovedFolder("CLINE_DATA_DIR"),
}
"""The variable for each prefix of a name below the home directory."""


def person_file(name: str) -> Path:
    """Return the file of a host that has this name below the home directory, or lies where a variable moves it.

    `.claude/settings.json` is ~/.claude/settings.json; with CLAUDE_CONFIG_DIR=/cfg it is /cfg/settings.json.
    """
    for prefix, moved in _MOVED_FOLDERS.items():
        folder = os.environ.get(moved.variable, "").strip()
        if folder and name.startswith(prefix):
            return Path(folder).expanduser() / (moved.new_prefix + name.removeprefix(prefix))
    return Path.home() / name


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfig:
    """The file of a host, and how our entry looks in it.

    | field            | what it says                                                                       |
    |------------------|------------------------------------------------------------------------------------|
    | `path`           | a person's file: `~/` is the home directory, `@/` the folder of programs' settings |
    | `windows`, `mac` | the same there, where it is another one                                            |
    | `project`        | the file that a project shares, if the host has one                                |
    | `block`          | the table with the servers ("mcpServers")                                          |
    | `type`           | the `type` in the entry of a program ("stdio"), None where there is none           |
    | `extra`          | what every entry has besides                                                       |
    | `one_list`       | the program and its arguments are one list, as opencode has them                   |
    | `variable_form`  | how a header names a variable NAME ("${NAME}"); None where it takes no service     |
    | `url_key`        | the key of a service's address                                                     |
    | `service_type`   | the `type` in the entry of a service ("http"), None where there is none            |
    | `restart`        | what a person is told to do, so that the host reads the file                       |
    """

    title: str
    language: Language
    block: str
    path: str
    windows: str | None = None
    mac: str | None = None
    project: str | None = None
    type: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    one_list: bool = False
    variable_form: str | None = None
    url_key: str = "url"
    service_type: str | None = None
    restart: str = "Restart it to see the tools."

    def file(self, system: str = sys.platform) -> Path:
        """Return a person's file on an operating system, which has the name that `sys.platform` has there.

        `@/Code/User/mcp.json` is ~/.config/Code/User/mcp.json on Linux, and below ~/Library/Application Support on a Mac.
        """
        path_by_system = {"win32": self.windows, "darwin": self.mac}
        path = path_by_system.get(system) or self.path
        if path.startswith("~/"):
            return person_file(path.removeprefix("~/"))
        folder_by_system = {
            "win32": os.environ.get("APPDATA", "~/AppData/Roaming"),
            "darwin": "~/Library/Application Support",
        }
        folder_elsewhere = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
        folder = folder_by_system.get(system, folder_elsewhere)
        return Path(path.replace("@", folder, 1)).expanduser()

    @property
    def _is_codex(self) -> bool:
        """Whether it is Codex, the one host with a TOML file."""
        return self.language == "toml"

    @property
    def _is_goose(self) -> bool:
        """Whether it is goose, the one host with a YAML file. Its entries have keys of their own and no `extra`."""
        return self.language == "yaml"

    def set_entry(self, text: str, command: ServerCommand | None) -> str:
        """Return the file's text with the server's entry in it; without it if there is no command."""
        return set_entry(self.language, text, self.block, SERVER_NAME, self._entry_for(command))

    def _entry_for(self, command: ServerCommand | None) -> dict[str, Any] | None:
        """Return the entry for a program or a service; None, which takes our entry out, without a command."""
        if command is None:
            return None
        if command.remote is not None:
            return self._service_entry(command.remote)
        return self.entry(command)

    def entry(self, command: ServerCommand) -> dict[str, Any]:
        """Return the entry that starts the server."""
        if self._is_goose:
            return _goose_entry(command)
        entry = command.entry()
        if self.one_list:
            entry = _entry_in_one_list(command)
        if self.type:
            entry = {"type": self.type, **entry}
        return {**entry, **self.extra}

    def _service_entry(self, remote: Remote) -> dict[str, Any]:
        """Return the entry of a service: its address, and a header with the token, which the host reads from a variable.

        The file names the variable and never has the token itself.

        | the host                 | its entry                                                              |
        |--------------------------|------------------------------------------------------------------------|
        | Codex                    | names the variable under a key of its own                              |
        | has no `variable_form`   | InputError: its file cannot have a service                             |
        | goose                    | the address, the headers, and what goose asks of every entry           |
        | any other                | the address, the headers and `extra`, after a type if the host has one |
        """
        project_header: dict[str, str] = {}
        if remote.project:
            project_header = {"Mcp-Reflect-Project": remote.project}
        if self._is_codex:
            return _codex_service(remote, project_header)
        if self.variable_form is None:
            fault = f"{self.title} cannot read an address and a token from its file"
            fix = "Add it in the program, as a connector, if its account may."
            raise InputError("--url", fault, fix)
        token = f"Bearer {self.variable_form.replace('NAME', remote.token_env)}"
        headers = {"Authorization": token, **project_header}
        address = {self.url_key: remote.url, "headers": headers}
        if self._is_goose:
            return {"type": self.service_type, **_goose_service(remote), **address}
        if self.service_type:
            return {"type": self.service_type, **address, **self.extra}
        return {**address, **self.extra}


def _entry_in_one_list(command: ServerCommand) -> dict[str, Any]:
    """Return the entry of a host such as opencode: the program and its arguments are one list."""
    entry: dict[str, Any] = {"command": [command.program, *command.arguments]}
    if command.env:
        entry["environment"] = dict(command.env)
    return entry


def _goose_entry(command: ServerCommand) -> dict[str, Any]:
    """Return the entry of a program in goose."""
    return {
        "name": SERVER_NAME,
        "type": "stdio",
        "enabled": True,
        "cmd": command.program,
        "args": list(command.arguments),
        "envs": dict(command.env or {}),
        "timeout": _GOOSE_SECONDS,
    }


def _goose_service(remote: Remote) -> dict[str, Any]:
    """Return what the entry of a service in goose has beside its address."""
    return {
        "name": SERVER_NAME,
        "enabled": True,
        "timeout": _GOOSE_SECONDS,
        "env_keys": [remote.token_env],
    }


def _codex_service(remote: Remote, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry of a service in Codex, which reads the variable with the token by itself."""
    entry: dict[str, Any] = {"url": remote.url, "bearer_token_env_var": remote.token_env}
    if headers:
        entry["http_headers"] = dict(headers)
    return entry
