"""The hosts: their names, their files, the entry that each expects, and its hooks.

Paths and forms come from the hosts' own documentation, read in November 2026.
"""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.children import command_line
from mcp_reflect.cli.files import Language, parse, set_entry, table, write
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
    """A host and its file.

    `place` is that of a person's file: `~/` is the home directory, `@/` the folder of programs' settings; `windows` and
    `mac` are the ones there if they are others, `project` the file that a project shares, if the host has one.
    `typed`: the entry of a program names its type. `variable` is how the host writes a variable of the environment,
    with NAME, in the headers of a service; None where it reads no address from its file. `url` is the name of that
    address, `kind` the type of such an entry.
    """

    title: str
    language: Language
    block: str
    place: str
    windows: str | None = None
    mac: str | None = None
    project: str | None = None
    typed: bool = False
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
        if self.language != "yaml":
            return {**({"type": "stdio"} if self.typed else {}), **command.entry()}
        named = {"name": SERVER_NAME, "type": "stdio", "enabled": True}  # goose
        arguments, env = list(command.arguments), dict(command.env or {})
        return {**named, "cmd": command.program, "args": arguments, "envs": env, "timeout": 60}

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
        return {"type": self.kind, **entry} if self.kind else entry


_NEW_SESSIONS: Final = "Sessions that start from now on have it."

HOSTS: Final[Mapping[str, HostConfig]] = {
    "claude-code": HostConfig(
        title="Claude Code", language="json", block="mcpServers", place="~/.claude.json", project=".mcp.json",
        typed=True, variable="${NAME}", kind="http", restart=_NEW_SESSIONS,
    ),
    "claude-desktop": HostConfig(
        title="Claude Desktop", language="json", block="mcpServers", place="@/Claude/claude_desktop_config.json",
    ),
    "vscode": HostConfig(
        title="VS Code", language="json", block="servers", place="@/Code/User/mcp.json", project=".vscode/mcp.json",
        typed=True, variable="${env:NAME}", kind="http", restart="It asks once whether you trust the server.",
    ),
    "cursor": HostConfig(
        title="Cursor", language="json", block="mcpServers", place="~/.cursor/mcp.json", project=".cursor/mcp.json",
        variable="${env:NAME}",
    ),
    "codex": HostConfig(
        title="Codex", language="toml", block="mcp_servers", place="~/.codex/config.toml", restart=_NEW_SESSIONS,
    ),
    "gemini": HostConfig(
        title="Gemini CLI", language="json", block="mcpServers", place="~/.gemini/settings.json",
        project=".gemini/settings.json", variable="${NAME}", url="httpUrl", restart=_NEW_SESSIONS,
    ),
    "goose": HostConfig(
        title="goose", language="yaml", block="extensions", place="@/goose/config.yaml",
        mac="~/.config/goose/config.yaml", windows="@/Block/goose/config/config.yaml",
        variable="${NAME}", url="uri", kind="streamable_http",
        restart=_NEW_SESSIONS,
    ),
    "windsurf": HostConfig(
        title="Windsurf", language="json", block="mcpServers", place="~/.codeium/windsurf/mcp_config.json",
        variable="${env:NAME}", url="serverUrl",
    ),
}  # fmt: skip


# Hooks in the hosts' settings; docs/hooks.md says why.

TIMEOUT_SECONDS: Final = 5
"""The host's time limit for a hook; ours ends after 3 seconds by itself."""

OPTIONS: Final[Mapping[str, str]] = {"MCP_REFLECT_PROJECT": "project", "MCP_REFLECT_BANK": "bank"}
"""Settings that a hook takes as options, because shells differ in how they set a variable for one command."""

_TOOL: Final = "hook"  # of our server; it is not listed
# What the tool is sent of each event, beside its session.
_SENT: Final = {
    "PreToolUse": "tool_name tool_input tool_use_id",
    "PostToolUse": "tool_name tool_input tool_use_id tool_response",
    "PostToolUseFailure": "tool_name tool_input tool_use_id error is_interrupt",
    "Stop": "stop_hook_active last_assistant_message",
    "SubagentStop": "agent_transcript_path stop_hook_active last_assistant_message",
}
_OUR_COMMAND: Final = re.compile(r"mcp[-_]reflect(?:\.exe)?[\"']? hook(?: |$)")


@dataclass(frozen=True, slots=True)
class HookSettings:
    """How a host stores hooks.

    `file` is below the home directory or the project (`project_file`, where that is another one); `events` are the
    host's names. `asked` are those at which the host asks the running server instead of starting a process. `flat`: an
    entry is the command itself, not a list of commands with a matcher; `typed`: it names its type all the same.
    `version`: a number that the file must have. `units_per_second`: of its time limits. `end_seconds`: the time limit
    of the last hook of a session.
    """

    file: str
    events: tuple[str, ...]
    asked: tuple[str, ...] = ()
    flat: bool = False
    typed: bool = False
    version: int | None = None
    units_per_second: int = 1
    end_seconds: int = TIMEOUT_SECONDS
    project_file: str | None = None
    note: str = ""


HOOK_SETTINGS: Final[Mapping[str, HookSettings]] = {
    "claude-code": HookSettings(
        ".claude/settings.json",
        (
            *(
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "PostToolUseFailure",
            ),
            *("Stop", "SubagentStop", "SessionEnd"),
        ),
        asked=tuple(_SENT),
    ),
    "codex": HookSettings(
        ".codex/hooks.json",
        ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"),
        asked=("PreToolUse", "PostToolUse"),
        end_seconds=3,
        note="Codex asks you to trust its hooks once: /hooks.",
    ),
    "gemini": HookSettings(
        ".gemini/settings.json",
        ("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"),
        units_per_second=1000,
    ),
    "cursor": HookSettings(
        ".cursor/hooks.json",
        ("sessionStart", "preToolUse", "postToolUse", "postToolUseFailure", "stop", "sessionEnd"),
        flat=True,
        version=1,
    ),
    "vscode": HookSettings(
        ".copilot/hooks/mcp-reflect.json",
        ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"),
        flat=True,
        typed=True,
        project_file=".github/hooks/mcp-reflect.json",
        note="Hooks of VS Code are in preview: an organization can forbid them.",
    ),
}
"""The hosts whose hooks can give text to the model."""


def find_hooks(name: str, host: HostConfig) -> HookSettings:
    """Return the hook settings of a host. Raises InputError if it has none that we write."""
    if name not in HOOK_SETTINGS:
        fix = "Leave it out; `mcp-reflect install rules` prints what to tell its agent."
        raise InputError(
            "--hooks", f"{host.title} has no hooks that can tell the model anything", fix
        )
    return HOOK_SETTINGS[name]


def find_program(name: str, host: HostConfig) -> str:
    """Return the model that runs a host's own agent program. Raises InputError if it has none."""
    if name not in ("claude-code", "codex", "gemini"):
        fix = "Leave it out, and set MCP_REFLECT_LLM to a model."
        raise InputError(
            "--distil", f"{host.title} has no program that can answer without a window", fix
        )
    return name


def set_hooks(
    text: str, settings: HookSettings, command: Command | None, distil: str | None = None
) -> str:
    """Return the settings with one hook of ours per event; with none if there is no command.

    `distil` names the agent program that reads each session when it ends.
    """
    document, before = parse("json", text), parse("json", text)
    hooks = table(document.setdefault("hooks", {}), "hooks")
    for event in settings.events:
        entries = hooks.get(event, [])
        if not isinstance(entries, list):
            fix = "Correct the file, or write the entry by hand (--print)."
            raise InputError(f"hooks/{event}", "it is not a list", fix)
        others = [entry for entry in cast("list[Any]", entries) if not is_our_hook(entry)]
        hooks[event] = [*others, _entry(event, settings, command, distil)] if command else others
        if not hooks[event]:
            del hooks[event]
    if command and settings.version is not None:
        document.setdefault("version", settings.version)
    if not hooks:
        del document["hooks"]
        if document == {"version": settings.version}:
            return ""
    return text if document == before else write("json", document, text)


def hook_line(
    command: Command,
    event: str,
    distil: str | None = None,
    *,
    windows: bool = sys.platform == "win32",
) -> str:
    """Return the command line for the host's shell. On Windows every shell accepts a slash in a path."""
    env = command.env or {}
    options = [f"--{option}={env[name]}" for name, option in OPTIONS.items() if name in env]
    if command.remote:
        options += [f"--url={command.remote.url}", f"--token-env={command.remote.token_env}"]
    if distil is not None and event.lower() == "sessionend":
        options.append(f"--distil={distil}")
    words = [*command.arguments, "hook", *options, event]
    return command_line([command.program, *words], windows=windows)


def _entry(
    event: str, settings: HookSettings, command: Command, distil: str | None
) -> dict[str, Any]:
    if event in settings.asked and command.remote is None:
        asked = {
            "type": "mcp_tool",
            "server": command.server,
            "tool": _TOOL,
            "input": _input(event),
        }
        return {"hooks": [{**asked, "timeout": TIMEOUT_SECONDS}]}
    seconds = settings.end_seconds if event.lower() == "sessionend" else TIMEOUT_SECONDS
    line = {
        "command": hook_line(command, event, distil),
        "timeout": seconds * settings.units_per_second,
    }
    typed = {"type": "command", **line} if settings.typed or not settings.flat else line
    return typed if settings.flat else {"hooks": [typed]}


def _input(event: str) -> dict[str, str]:
    names = ("session_id", "transcript_path", "cwd", *_SENT[event].split())
    return {"hook_event_name": event, **{name: f"${{{name}}}" for name in names}}


def is_our_hook(entry: Any) -> bool:
    """Return whether an entry runs nothing but `mcp-reflect hook`, or asks our server's tool."""
    if not isinstance(entry, dict):
        return False
    fields = cast("dict[str, Any]", entry)
    lines: list[Any] = fields["hooks"] if isinstance(fields.get("hooks"), list) else [fields]
    hooks = [cast("dict[str, Any]", line) for line in lines if isinstance(line, dict)]
    return bool(hooks) and all(
        _OUR_COMMAND.search(str(hook.get("command")))
        or (hook.get("server"), hook.get("tool")) == (SERVER_NAME, _TOOL)
        for hook in hooks
    )
