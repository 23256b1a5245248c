"""Our hooks in the files of hosts: an entry for each event, or a small script where a host loads one.

docs/hooks.md says what happens at each moment, `cli.host_table` which host has which hooks.
"""

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.children import command_line
from mcp_reflect.cli.host_documents import parse, table, text_of
from mcp_reflect.cli.hosts import SERVER_NAME, ServerCommand
from mcp_reflect.errors import InputError

TIMEOUT_SECONDS: Final = 5
"""The host's time limit for a hook; ours ends after 3 seconds by itself."""

OPTIONS: Final[Mapping[str, str]] = {"MCP_REFLECT_PROJECT": "project", "MCP_REFLECT_BANK": "bank"}
"""Settings that a hook takes as options, because shells differ in how they set a variable for one command."""

_TOOL: Final = "hook"  # of our server; it is not listed
_EVENT_FIELDS: Final = {
    "PreToolUse": "tool_name tool_input tool_use_id",
    "PostToolUse": "tool_name tool_input tool_use_id tool_response",
    "PostToolUseFailure": "tool_name tool_input tool_use_id error is_interrupt",
    "Stop": "stop_hook_active last_assistant_message",
    "SubagentStop": "agent_transcript_path stop_hook_active last_assistant_message",
}
"""The fields of an event that the host sends our tool, beside those of its session."""

_OUR_COMMAND: Final = re.compile(r"mcp[-_]reflect(?:\.exe)?[\"']? hook(?: |$)")
_SCRIPT_MARK: Final = (
    "// mcp-reflect: written by `mcp-reflect install`; it is removed by `--uninstall`."
)
"""The first line of our script in a host that asks a script in its own language."""

_SCRIPTS: Final = Path(__file__).parent / "scripts"
"""The folder with what these scripts share (`ask.js`), and a short end for each host."""


@dataclass(frozen=True, slots=True)
class HookSettings:
    """How a host stores hooks.

    | field              | what it says                                                                          |
    |--------------------|---------------------------------------------------------------------------------------|
    | `file`             | the file with the hooks, below the home directory                                     |
    | `project_file`     | the file below a project, None where it has the same name                             |
    | `events`           | the host's names of the events                                                        |
    | `asked`            | those at which the host asks the running server instead of starting a process         |
    | `script`           | the script of ours that the host loads instead (`cli/scripts`); `file` is that script |
    | `flat`             | an entry is the command itself, not a list of commands with a matcher                 |
    | `typed`            | a flat entry names its type all the same                                              |
    | `version`          | a number that the file must have                                                      |
    | `units_per_second` | the units of its time limits: 1 for seconds, 1000 for milliseconds                    |
    | `end_seconds`      | the time limit of the last hook of a session                                          |
    | `names_agents`     | the host tells the server which subagent makes a call                                 |
    | `fails_closed`     | it refuses each call whose hook cannot be run, as after our command was removed       |
    | `note`             | what a person is told who installs the hooks                                          |
    """

    file: str
    events: tuple[str, ...] = ()
    script: str | None = None
    asked: tuple[str, ...] = ()
    flat: bool = False
    typed: bool = False
    version: int | None = None
    units_per_second: int = 1
    end_seconds: int = TIMEOUT_SECONDS
    names_agents: bool = False
    fails_closed: bool = False
    project_file: str | None = None
    note: str = ""


def set_hooks(
    text: str, settings: HookSettings, command: ServerCommand | None, distil: str | None = None
) -> str:
    """Return the text of a host's settings with one hook of ours for each event; with none if there is no command.

    Our hooks of an earlier installation are replaced, and those of others stay. `distil` names the agent program that
    reads each session when it ends.
    """
    if settings.script is not None:
        return _set_script(text, settings.script, command)
    document, before = parse("json", text), parse("json", text)
    hooks = table(document.setdefault("hooks", {}), "hooks")
    for event in settings.events:
        entries = hooks.get(event, [])
        if not isinstance(entries, list):
            fix = "Correct the file, or write the entry by hand (--print)."
            raise InputError(f"hooks/{event}", "it is not a list", fix)
        new_entries = [entry for entry in cast("list[Any]", entries) if not is_our_hook(entry)]
        if command is not None:
            new_entries.append(_entry(event, settings, command, distil))
        hooks[event] = new_entries
        if not new_entries:
            del hooks[event]
    if command and settings.version is not None:
        document.setdefault("version", settings.version)
    if not hooks:
        del document["hooks"]
        if document == {"version": settings.version}:
            return ""
    if document == before:
        return text
    return text_of("json", document, text)


def is_our_script(text: str) -> bool:
    """Return whether a script is one that we wrote."""
    return text.removeprefix("\ufeff").startswith(_SCRIPT_MARK)


def _set_script(text: str, name: str, command: ServerCommand | None) -> str:
    """Return the script of the host `name`, an empty text without a command.

    It begins with a part that all hosts' scripts share. InputError where `text`, the file that is there, is not ours.
    """
    if text.strip() and not is_our_script(text):
        fix = "Move it to another name, or write ours by hand (--print)."
        raise InputError("the script", "it is not from this command", fix)
    if command is None:
        return ""
    words = json.dumps([command.program, *command.arguments, "hook", *_options(command)])
    shared = (_SCRIPTS / "ask.js").read_text("utf-8").replace("[/* command */]", words, 1)
    of_host = (_SCRIPTS / f"{name}.js").read_text("utf-8")
    return f"{_SCRIPT_MARK}\n{shared}\n{of_host}"


def hook_line(
    command: ServerCommand,
    event: str,
    distil: str | None = None,
    *,
    windows: bool = sys.platform == "win32",
) -> str:
    """Return the command line for the host's shell: `mcp-reflect hook --project=shop PreToolUse`.

    On Windows it has slashes in its paths, which every shell there accepts.
    """
    options = _options(command)
    if distil is not None and event.lower() == "sessionend":
        options.append(f"--distil={distil}")
    words = [*command.arguments, "hook", *options, event]
    return command_line([command.program, *words], windows=windows)


def _options(command: ServerCommand) -> list[str]:
    """Return the options of `mcp-reflect hook`: project and bank, and the service with the variable of its token.

    `["--project=shop", "--url=https://lessons.example.com/mcp", "--token-env=REFLECT_TOKEN"]`.
    """
    env = command.env or {}
    options = [f"--{option}={env[name]}" for name, option in OPTIONS.items() if name in env]
    if command.remote:
        options += [f"--url={command.remote.url}", f"--token-env={command.remote.token_env}"]
    return options


def _entry(
    event: str, settings: HookSettings, command: ServerCommand, distil: str | None
) -> dict[str, Any]:
    """Return the entry of an event: it asks the running server where the host can, else it starts our command."""
    if event in settings.asked and command.remote is None:
        tool_call = {
            "type": "mcp_tool",
            "server": command.server,
            "tool": _TOOL,
            "input": _input(event, settings),
            "timeout": TIMEOUT_SECONDS,
        }
        return {"hooks": [tool_call]}
    line: dict[str, Any] = {
        "command": _command_line(event, settings, command, distil),
        "timeout": _seconds(event, settings) * settings.units_per_second,
    }
    if settings.typed or not settings.flat:
        line = {"type": "command", **line}
    if settings.flat:
        return line
    return {"hooks": [line]}


def _command_line(
    event: str, settings: HookSettings, command: ServerCommand, distil: str | None
) -> str:
    """Return the line that a host runs; with `|| true` where its failure would refuse a call."""
    line = hook_line(command, event, distil)
    has_true = sys.platform != "win32"  # its shells have no word for it
    if settings.fails_closed and has_true:
        return f"{line} || true"
    return line


def _seconds(event: str, settings: HookSettings) -> float:
    """Return the host's time limit for a hook: the last one of a session may take longer."""
    if event.lower() == "sessionend":
        return settings.end_seconds
    return TIMEOUT_SECONDS


def _input(event: str, settings: HookSettings) -> dict[str, str]:
    """Return the arguments of the host's call of our tool: `{"tool_name": "${tool_name}"}`, which it fills in."""
    names = ["session_id"]
    if settings.names_agents and event != "Stop":
        names.append("agent_id")
    names += ["transcript_path", "cwd", *_EVENT_FIELDS[event].split()]
    return {"hook_event_name": event, **{name: f"${{{name}}}" for name in names}}


def is_our_hook(entry: Any) -> bool:
    """Return whether an entry of a host's hooks is ours: each of its hooks runs our command, or asks our server's tool.

    An entry that also runs a program of others is theirs, and stays.
    """
    if not isinstance(entry, dict):
        return False
    fields = cast("dict[str, Any]", entry)
    listed: Any = fields.get("hooks")
    if not isinstance(listed, list):
        listed = [fields]  # a flat entry is the hook itself
    hooks = [
        cast("dict[str, Any]", hook) for hook in cast("list[Any]", listed) if isinstance(hook, dict)
    ]
    return bool(hooks) and all(map(_is_ours, hooks))


def _is_ours(hook: Mapping[str, Any]) -> bool:
    """Return whether a single hook of an entry runs our command (`mcp-reflect hook …`), or asks our server's tool."""
    if _OUR_COMMAND.search(str(hook.get("command"))):
        return True
    return hook.get("server") == SERVER_NAME and hook.get("tool") == _TOOL
