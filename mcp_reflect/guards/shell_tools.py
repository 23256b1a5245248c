"""Which tools run commands of a shell, and the command among the arguments of their calls."""

import shlex
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import base_name

_WORDS: Final = lazy_compile(r"[A-Z]{2,32}(?![a-z])|[A-Z]?[a-z]{1,32}|\d{1,8}")
_SHELL_WORDS: Final = frozenset(
    "bash sh zsh shell terminal exec command cmd powershell pwsh".split()
)
_SHELL_NAMES: Final = frozenset(
    {
        "execute",  # Droid
        "monitor",  # Claude Code: a command that runs on, and whose lines are told
        "run",
        *("run_commands", "runcommands"),  # Cline, VS Code
        *("run_in_shell", "start_process"),  # servers that give a host without a shell one
    }
)
"""Whole names of tools that run commands of a shell, in lower case: their words alone say too little (execute_sql)."""

_ARGUMENTS: Final = ("args", "arguments", "argv")
_COMMAND_ARGUMENTS: Final = ("command", "cmd", "script", "input")
_POWERSHELL_WORDS: Final = frozenset("powershell pwsh power".split())
_STARTED_SHELLS: Final = ("bash", "sh", "zsh", "pwsh", "powershell")
_SCRIPT_FLAGS: Final = ("-c", "-lc", "-ic", "-command")
"""The flags of these shells before a script."""

_MOST_NAME_CHARS: Final = 200  # of a tool's name that are looked at


def is_shell(tool: str) -> bool:
    """Return whether a tool runs commands of a shell: `Bash`, `run_in_terminal`, `mcp__ide__start_process`."""
    name_without_server = tool[:_MOST_NAME_CHARS].rsplit("__", 1)[-1].rsplit(".", 1)[-1]
    if name_without_server.strip("_").lower() in _SHELL_NAMES:
        return True
    return not _SHELL_WORDS.isdisjoint(tool_words(tool))


@lru_cache(maxsize=200)
def tool_words(tool: str) -> frozenset[str]:
    """Return the words of a tool's name in lower case: `getUser_details` is get, user, details."""
    return frozenset(word.lower() for word in _WORDS.findall(tool[:_MOST_NAME_CHARS]))


def command_text(arguments: Json) -> str:
    """Return the command among the arguments of a shell's call as one line; empty where there is none.

    | the arguments                                | the command     |
    |----------------------------------------------|-----------------|
    | `{"command": "npm test"}`, `"npm test"`      | `npm test`      |
    | `{"command": "npm", "args": ["run", "a b"]}` | `npm run 'a b'` |
    | `{"cmd": ["bash", "-lc", "npm test"]}`       | `npm test`      |
    """
    values = arguments
    if not isinstance(values, dict):
        values = {"command": arguments}
    for name in _COMMAND_ARGUMENTS:
        value = values.get(name)
        if isinstance(value, str):
            return with_arguments(value, values)
        if isinstance(value, list) and value:
            return joined([str(word) for word in value])
    return ""


def with_arguments(command: str, values: Mapping[str, Json]) -> str:
    """Return a command with the words that stand beside it in an argument of their own (`args`).

    | the command | its arguments  | the whole       |                                            |
    |-------------|----------------|-----------------|--------------------------------------------|
    | `npm`       | ["run", "a b"] | `npm run 'a b'` | it is a program                            |
    | `npm run`   | ["a b"]        | `npm run 'a b'` | it is a line, to which the words are added |
    | `npm`       | "run test"     | `npm run test`  | the arguments are a line themselves        |
    | `npm test`  | none           | `npm test`      |                                            |
    """
    arguments: Json = None
    for name in _ARGUMENTS:
        arguments = arguments or values.get(name)
    if isinstance(arguments, str) and arguments:
        return f"{command} {arguments}"
    if not command or not isinstance(arguments, list) or not arguments:
        return command
    words = [str(word) for word in arguments]
    if " " in command:
        return f"{command} {shlex.join(words)}"
    return joined([command, *words])


def joined(words: Sequence[str]) -> str:
    """Return a command given as a list of words as one line; of `bash -lc SCRIPT` the script."""
    is_shell_started = base_name(words[0]) in _STARTED_SHELLS
    has_script = len(words) > 2 and words[-2].lower() in _SCRIPT_FLAGS
    if is_shell_started and has_script:
        return words[-1]
    return shlex.join(words)


def is_powershell(tool: str) -> bool:
    """True for a tool that runs commands of PowerShell."""
    return not _POWERSHELL_WORDS.isdisjoint(tool_words(tool))
