"""Hook entries in a host's settings, written where they are missing and taken out again; docs/hooks.md says why."""

import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp_reflect.cli.hosts.json_edits import with_item, with_member, without_items
from mcp_reflect.cli.hosts.jsonc import read
from mcp_reflect.cli.hosts.known import Command, Host
from mcp_reflect.errors import InputError

SECONDS: Final = 5
"""After which the host gives up on one; ours ends after 3 by itself."""

SETTINGS: Final[Mapping[str, str]] = {"MCP_REFLECT_PROJECT": "project", "MCP_REFLECT_BANK": "bank"}
"""Settings that a hook takes as options: no two shells set a variable for a command alike."""

_OUR_LINE: Final = re.compile(r"mcp[-_]reflect(?:\.exe)?[\"']? hook(?: |$)")


@dataclass(frozen=True, slots=True)
class Hooks:
    """Where a host keeps hooks, beside home or project, its names of the moments, and how it writes one.

    `flat` says that an entry is the command itself, not a list of commands with a matcher; `version` that the file
    carries a number; `unit` how many of its units of time a second has; `end_seconds` the most for the last hook.
    """

    file: str
    events: tuple[str, ...]
    flat: bool = False
    version: int | None = None
    unit: int = 1
    end_seconds: int = SECONDS
    after: str = ""


HOOKS: Final[Mapping[str, Hooks]] = {
    "claude-code": Hooks(
        ".claude/settings.json",
        ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd"),
    ),
    "codex": Hooks(
        ".codex/hooks.json",
        ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SessionEnd"),
        end_seconds=3,
        after="Codex asks you to trust its hooks once: /hooks.",
    ),
    "gemini": Hooks(".gemini/settings.json", ("SessionStart", "BeforeAgent", "AfterTool", "SessionEnd"), unit=1000),
    "cursor": Hooks(
        ".cursor/hooks.json",
        ("sessionStart", "postToolUse", "postToolUseFailure", "sessionEnd"),
        flat=True,
        version=1,
    ),
}
"""Hosts whose hooks can hand the model a word."""


def hooks(name: str, host: Host) -> Hooks:
    """The hooks of a host; InputError where we do not write any."""
    if name not in HOOKS:
        raise InputError(
            "--hooks",
            f"{host.title} has none that can tell the model anything",
            "Leave it out; `mcp-reflect install rules` prints what to tell its agent.",
        )
    return HOOKS[name]


def hooked(text: str, known: Hooks, command: Command) -> str:
    """The settings with one hook of ours at each moment, and no older one of ours."""
    wanted = {event: _entry(event, known, command) for event in known.events}
    present = {event: [one for one in _entries(text, event) if _ours(one)] for event in known.events}
    if known.version is not None and "version" not in read(text).value:
        text = with_member(text, ("version",), known.version)
    for event, entry in wanted.items():
        if present[event] == [entry]:
            continue
        text = with_item(without_items(text, ("hooks", event), _ours), ("hooks", event), entry)
    return text


def unhooked(text: str, known: Hooks) -> str:
    """The settings without hooks of ours; a file that only its version is left of is empty."""
    for event in known.events:
        text = without_items(text, ("hooks", event), _ours)
    left = read(text).value
    return "{}" if known.version is not None and left == {"version": known.version} else text


def _entry(event: str, known: Hooks, command: Command) -> dict[str, Any]:
    seconds = known.end_seconds if event.lower() == "sessionend" else SECONDS
    line = {"command": hook_line(command, event), "timeout": seconds * known.unit}
    return line if known.flat else {"hooks": [{"type": "command", **line}]}


def hook_line(command: Command, event: str, *, windows: bool = sys.platform == "win32") -> str:
    """The line that a host gives to its shell: POSIX's, or whichever it has on Windows, which all take a slash."""
    env = command.env or {}
    settings = [f"--{option}={env[name]}" for name, option in SETTINGS.items() if name in env]
    words = [*command.arguments, "hook", *settings, event]
    if windows:
        return subprocess.list2cmdline([command.program.replace("\\", "/"), *words])
    return shlex.join([command.program, *words])


def _entries(text: str, event: str) -> list[Any]:
    found: Any = read(text).value
    for name in ("hooks", event):
        found = cast("dict[str, Any]", found).get(name, {}) if isinstance(found, dict) else {}
    return cast("list[Any]", found) if isinstance(found, list) else []


def _ours(entry: Any) -> bool:
    """Whether an entry runs nothing but `mcp-reflect hook`."""
    if not isinstance(entry, dict):
        return False
    one = cast("dict[str, Any]", entry)
    inner: list[Any] = one["hooks"] if isinstance(one.get("hooks"), list) else [one]
    commands = [str(cast("dict[str, Any]", line).get("command")) for line in inner if isinstance(line, dict)]
    return bool(commands) and all(map(_OUR_LINE.search, commands))
