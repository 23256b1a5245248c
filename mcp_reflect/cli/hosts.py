"""A host and its file: where that is, and the entry that the host expects in it. `cli.host_table` has the hosts."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mcp_reflect.cli.files import Language, set_entry
from mcp_reflect.errors import InputError

SERVER_NAME: Final = "mcp-reflect"
"""The name of the entry in every host."""

AGENT_RULES: Final = """\
Before a task: call recall_lessons with what you are about to do.
After a run that failed or took detours: call reflect, and record_outcome for the lessons you used.
"""
"""Instructions for an agent whose host has no hooks: for AGENTS.md, CLAUDE.md, GEMINI.md or .cursorrules."""


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
        arguments = {"args": list(self.arguments)} if self.arguments else {}
        return {
            "command": self.program,
            **arguments,
            **({"env": dict(self.env)} if self.env else {}),
        }


@dataclass(frozen=True, slots=True)
class Remote:
    """The service of a team that the host calls instead: its address, and the variable that has the token."""

    url: str
    token_env: str
    project: str | None = None


_MOVED: Final[Mapping[str, tuple[str, str]]] = {
    ".claude.json": ("CLAUDE_CONFIG_DIR", ".claude.json"),
    ".claude/": ("CLAUDE_CONFIG_DIR", ""),
    ".codex/": ("CODEX_HOME", ""),
    ".gemini/": ("GEMINI_CLI_HOME", ".gemini/"),
    ".copilot/": ("COPILOT_HOME", ""),
    ".qwen/": ("QWEN_HOME", ""),
    ".config/": ("XDG_CONFIG_HOME", ""),
    ".pi/agent/": ("PI_CODING_AGENT_DIR", ""),
    ".cline/data/": ("CLINE_DATA_DIR", ""),
}
"""What of the home directory a variable of its host moves, and where that is in the folder which the variable names."""


def person_file(name: str) -> Path:
    """Return a person's file of a host, by its name below the home directory: where the host reads it."""
    for start, (variable, there) in _MOVED.items():
        folder = os.environ.get(variable, "").strip()
        if folder and name.startswith(start):
            return Path(folder).expanduser() / (there + name.removeprefix(start))
    return Path.home() / name


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfig:
    """The file of a host.

    `place` is that of a person's file: `~/` is the home directory, `@/` the folder of programs' settings; `windows` and
    `mac` are the ones there if they are others, `project` the file that a project shares, if the host has one.
    `type` is what the entry of a program says to be, where it says so; `more` has what every entry has besides.
    `one_list`: the entry has the program and its arguments in one list, as opencode's. `variable` is how the host
    writes a variable of the environment, with NAME, in the headers of a service; None where it reads no address from
    its file. `url` is the name of that address, `kind` the type of such an entry.
    """

    title: str
    language: Language
    block: str
    place: str
    windows: str | None = None
    mac: str | None = None
    project: str | None = None
    type: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    one_list: bool = False
    variable: str | None = None
    url: str = "url"
    kind: str | None = None
    restart: str = "Restart it to see the tools."

    def file(self, system: str = sys.platform) -> Path:
        """Return the file of a person on an operating system, which is named as `sys.platform` does."""
        others = {"win32": self.windows, "darwin": self.mac}
        place = others.get(system) or self.place
        if place.startswith("~/"):
            return person_file(place.removeprefix("~/"))
        programs = {
            "win32": os.environ.get("APPDATA", "~/AppData/Roaming"),
            "darwin": "~/Library/Application Support",
        }
        shared = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
        return Path(place.replace("@", programs.get(system, shared), 1)).expanduser()

    def set_entry(self, text: str, command: Command | None) -> str:
        """Return the file's text with the server's entry in it; without it if there is no command."""
        entry = command and (
            self._remote(command.remote) if command.remote else self.entry(command)
        )
        return set_entry(self.language, text, self.block, SERVER_NAME, entry)

    def entry(self, command: Command) -> dict[str, Any]:
        """Return the entry that starts the server."""
        if self.language == "yaml":  # goose
            named = {"name": SERVER_NAME, "type": "stdio", "enabled": True}
            arguments, env = list(command.arguments), dict(command.env or {})
            return {**named, "cmd": command.program, "args": arguments, "envs": env, "timeout": 60}
        own = command.entry()
        if self.one_list:
            own = {"command": [command.program, *command.arguments]}
            own |= {"environment": dict(command.env)} if command.env else {}
        typed = {"type": self.type} if self.type else {}
        return {**typed, **own, **self.more}

    def _remote(self, remote: Remote) -> dict[str, Any]:
        project = {"Mcp-Reflect-Project": remote.project} if remote.project else {}
        if self.language == "toml":  # Codex
            headers = {"http_headers": project} if project else {}
            return {"url": remote.url, "bearer_token_env_var": remote.token_env, **headers}
        if self.variable is None:
            fix = "Add it in the program, as a connector, if its account may."
            raise InputError(
                "--url", f"{self.title} cannot read an address and a token from its file", fix
            )
        token = f"Bearer {self.variable.replace('NAME', remote.token_env)}"
        entry = {self.url: remote.url, "headers": {"Authorization": token, **project}}
        if self.language == "yaml":
            shared = {
                "name": SERVER_NAME,
                "enabled": True,
                "timeout": 60,
                "env_keys": [remote.token_env],
            }
            return {"type": self.kind, **shared, **entry}
        kind = {"type": self.kind} if self.kind else {}
        return {**kind, **entry, **self.more}
