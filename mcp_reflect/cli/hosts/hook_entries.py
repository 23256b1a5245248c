"""Hook entries in a host's settings, written where they are missing and taken out again; docs/hooks.md says why."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp_reflect.cli.hosts.json_edits import with_item, without_items
from mcp_reflect.cli.hosts.jsonc import read
from mcp_reflect.cli.hosts.known import Command, Host
from mcp_reflect.errors import InputError

SECONDS: Final = 5
"""After which the host gives up on one; ours ends after 3 by itself."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Where a host keeps hooks, beside home or project, and its names of the moments."""

    file: str
    events: tuple[str, ...]


HOOKS: Final[Mapping[str, Hooks]] = {
    "claude-code": Hooks(
        ".claude/settings.json",
        ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd"),
    )
}
"""Hosts whose hooks were tried with the program itself."""


def hooks(name: str, host: Host) -> Hooks:
    """The hooks of a host; InputError where we do not write any."""
    if name not in HOOKS:
        raise InputError("--hooks", f"we write none for {host.title}", "Leave it out; docs/hooks.md has them by hand.")
    return HOOKS[name]


def hooked(text: str, events: tuple[str, ...], command: Command) -> str:
    """The settings with one hook of ours at each moment, and no older one of ours."""
    wanted = {event: _entry(event, command) for event in events}
    present = {event: [one for one in _entries(text, event) if _ours(one)] for event in events}
    for event, entry in wanted.items():
        if present[event] == [entry]:
            continue
        text = with_item(without_items(text, ("hooks", event), _ours), ("hooks", event), entry)
    return text


def unhooked(text: str, events: tuple[str, ...]) -> str:
    """The settings without hooks of ours."""
    for event in events:
        text = without_items(text, ("hooks", event), _ours)
    return text


def _entry(event: str, command: Command) -> dict[str, Any]:
    env = [f"{name}={value}" for name, value in (command.env or {}).items()]
    words = [*(["env", *env] if env else []), command.program, *command.arguments, "hook", event]
    return {"hooks": [{"type": "command", "command": shlex.join(words), "timeout": SECONDS}]}


def _entries(text: str, event: str) -> list[Any]:
    found: Any = read(text).value
    for name in ("hooks", event):
        found = cast("dict[str, Any]", found).get(name, {}) if isinstance(found, dict) else {}
    return cast("list[Any]", found) if isinstance(found, list) else []


def _ours(entry: Any) -> bool:
    """Whether an entry runs nothing but `mcp-reflect hook`."""
    inner: Any = cast("dict[str, Any]", entry).get("hooks") if isinstance(entry, dict) else None
    if not isinstance(inner, list) or not inner:
        return False
    commands = [
        str(cast("dict[str, Any]", one).get("command")) for one in cast("list[Any]", inner) if isinstance(one, dict)
    ]
    return bool(commands) and all("mcp-reflect hook " in one or "mcp_reflect hook " in one for one in commands)
