"""The hooks of hosts: events, their data, the form of an answer, and entries in settings."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, cast

from mcp_reflect.cli.hosts.json_edits import read, with_item, with_member, without_items
from mcp_reflect.cli.hosts.registry import Command, Host
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json

# The hooks of hosts: which event means what, what it carries, and in which form an answer is read.
#
# After the hosts' own references: Claude Code (code.claude.com/docs/en/hooks), Codex
# (developers.openai.com/codex/hooks), Gemini CLI (geminicli.com/docs/hooks/reference), Cursor (cursor.com/docs/hooks).
# A host that has no place for a warning before a call is told with the call's result.


class Moment(Enum):
    """What a hook is called for."""

    START = auto()
    PROMPT = auto()
    BEFORE = auto()
    AFTER = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Form:
    """An event of a host: its moment, and the key its answer's text stands under; null where there is no place."""

    moment: Moment
    key: str | None


_NESTED: Final = "hookSpecificOutput"
_FLAT: Final = "additional_context"

# By the event's own name. Claude Code, Codex and VS Code share theirs; Gemini CLI and Cursor have their own.
EVENTS: Final[Mapping[str, Form]] = {
    "SessionStart": Form(Moment.START, _NESTED),
    "UserPromptSubmit": Form(Moment.PROMPT, _NESTED),
    "PreToolUse": Form(Moment.BEFORE, _NESTED),
    "PostToolUse": Form(Moment.AFTER, _NESTED),
    "PostToolUseFailure": Form(Moment.AFTER, _NESTED),
    "SessionEnd": Form(Moment.END, None),
    "BeforeAgent": Form(Moment.PROMPT, _NESTED),
    "BeforeTool": Form(Moment.BEFORE, None),
    "AfterTool": Form(Moment.AFTER, _NESTED),
    "sessionStart": Form(Moment.START, _FLAT),
    "beforeSubmitPrompt": Form(Moment.PROMPT, None),
    "preToolUse": Form(Moment.BEFORE, None),
    "postToolUse": Form(Moment.AFTER, _FLAT),
    "postToolUseFailure": Form(Moment.AFTER, _FLAT),
    "sessionEnd": Form(Moment.END, None),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HookInput:
    """What a host sent, by our names; null where it did not. `error` is there where the host calls it a failure."""

    event: str
    form: Form
    session: str
    folder: str | None = None
    tool: str | None = None
    call_id: str | None = None
    arguments: Json = None
    result: Json = None
    error: str | None = None
    prompt: str | None = None
    transcript: str | None = None
    anew: bool = False


def read_hook(event: str | None, sent: object) -> HookInput | None:
    """A host's JSON; null where the event is none of ours, or carries nothing to go by.

    `event` is the command's own word for it; without one the host's `hook_event_name` counts.
    """
    if not isinstance(sent, dict):
        return None
    values = cast("dict[str, Any]", sent)
    name = event or _text(values, "hook_event_name") or ""
    form = EVENTS.get(name)
    session = _text(values, "session_id", "conversation_id", "sessionId")
    if form is None or session is None or values.get("is_interrupt") is True:
        return None
    return HookInput(
        event=name,
        form=form,
        session=session[:200],
        folder=_text(values, "cwd") or _first_root(values),
        tool=_text(values, "tool_name"),
        call_id=_text(values, "tool_use_id"),
        arguments=_json(values.get("tool_input")),
        result=_answer(values.get("tool_response", values.get("tool_output"))),
        error=_error(name, values),
        prompt=_text(values, "prompt"),
        transcript=_text(values, "transcript_path"),
        anew=values.get("source") in ("clear", "compact"),
    )


def answer(given: HookInput, text: str) -> dict[str, object] | None:
    """The text in the form that the host reads; null where the event has no place for it."""
    match given.form.key:
        case None:
            return None
        case "hookSpecificOutput":
            return {_NESTED: {"hookEventName": given.event, "additionalContext": text}}
        case key:
            return {key: text}


def _text(values: Mapping[str, Any], *names: str) -> str | None:
    for name in names:
        value = values.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _first_root(values: Mapping[str, Any]) -> str | None:
    roots = values.get("workspace_roots")
    return next((str(root) for root in cast("list[object]", roots)), None) if isinstance(roots, list) else None


def _error(event: str, values: Mapping[str, Any]) -> str | None:
    """The error, where the event or its answer is one."""
    response = values.get("tool_response")
    inner = cast("dict[str, Any]", response).get("error") if isinstance(response, dict) else None
    if inner:
        return inner if isinstance(inner, str) else _text({"": _message(inner)}, "") or "error"
    if event not in ("PostToolUseFailure", "postToolUseFailure"):
        return None
    told = values.get("error", values.get("error_message"))
    return told if isinstance(told, str) and told.strip() else json.dumps(told) if told else "the call failed"


def _message(error: object) -> object:
    return cast("dict[str, Any]", error).get("message") if isinstance(error, dict) else None


def _json(value: object) -> Json:
    """Arguments; Cursor and some tools send them as text that holds JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return cast("Json", value)


def _answer(value: object) -> Json:
    """What a tool answered: its text where it is wrapped in a known way, else as it is."""
    value = _json(value)
    if isinstance(value, dict):
        if "stdout" in value or "stderr" in value:
            return "\n".join(str(value[key]) for key in ("stdout", "stderr") if value.get(key))
        for key in ("llmContent", "content", "output"):
            inner = value.get(key)
            if isinstance(inner, str | list) and not value.get("error"):
                return _answer(inner)
    if isinstance(value, list) and value and all(isinstance(part, dict) and "text" in part for part in value):
        return "\n".join(str(part["text"]) for part in cast("Sequence[Mapping[str, object]]", value))
    return value


# Hook entries in a host's settings, written where they are missing and taken out again; docs/hooks.md says why.


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
