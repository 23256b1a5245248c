"""A call in words, as it stands in a sentence: `git push`, "Edit of app.py", `search "Nick Park"`."""

import json
from typing import Final

from mcp_reflect.guards.shell_tools import is_shell
from mcp_reflect.models.common import Json
from mcp_reflect.sessions.text import quote, without_paths
from mcp_reflect.sessions.tools import (
    Kind,
    command_of,
    file_of,
    first_text,
    kind_of,
    named_arguments,
)
from mcp_reflect.shell import doing_in

# Characters of a command or a value that is told whole; of a longer one, only what it is a call of.
_MOST_WORDS: Final = 80

_SUBJECTS: Final = ("query", "q", "pattern", "search", "url", "selector")


def in_words(tool: str, arguments: Json) -> str:
    """The call in a few words.

    | the call                                                 | its words            |
    |----------------------------------------------------------|----------------------|
    | runs a command in a shell                                | `git push`           |
    | works on a file                                          | Edit of app.py       |
    | looks something up by a short value                      | search "Nick Park"   |
    | has a long value, or values of its own task              | search               |
    """
    has_code = not {"code", "script"}.isdisjoint(named_arguments(arguments))
    command = command_of(arguments)
    if is_shell(tool) and not has_code and command:
        return f"`{_short_command(tool, command)}`"
    subject = subject_of(arguments)
    file = file_of(arguments)
    if file is not None and not isinstance(subject, str):
        name = file.replace("\\", "/").rsplit("/", 1)[-1]
        return f"{tool} of {name}"
    without_values = tool or _unnamed(arguments)
    if kind_of(tool, arguments) is Kind.OTHER or isinstance(subject, dict):
        return without_values  # its arguments are values of its task
    if subject is None:
        return without_values
    shown = without_paths(quote(subject, 2 * _MOST_WORDS))
    if 0 < len(shown) <= _MOST_WORDS:
        return f"{tool} {shown}"
    return without_values


def _short_command(tool: str, command: str) -> str:
    """A command on one line; of a longer one its program and subcommand, else the tool."""
    line = without_paths(command.strip())
    if len(line) <= _MOST_WORDS and "\n" not in line:
        return line
    part = doing_in(command)
    if part is None:
        return tool
    return part.head


def call_line(tool: str, arguments: Json) -> str:
    """The call as it was made, whole: its command, or the tool and its arguments as JSON."""
    command = command_of(arguments)
    if command and is_shell(tool):
        return command
    if arguments is None or arguments == {}:
        return tool
    return f"{tool} {json.dumps(arguments, ensure_ascii=False)}"


def _unnamed(arguments: Json) -> str:
    """The words for a call without a tool's name: its text in quotation marks, if that is all it has."""
    if isinstance(arguments, str):
        return quote(arguments, 2 * _MOST_WORDS)
    return "An event"


def subject_of(arguments: Json) -> Json:
    """The value that a call is about: its query, pattern or address, else its only value, else all of its arguments.

    `{"query": "Nick Park", "limit": 5}` is about "Nick Park", `{"id": 7}` about 7. None for a call without arguments.
    """
    values = named_arguments(arguments)
    named = first_text(values, _SUBJECTS)
    if named:
        return named
    if len(values) == 1:
        [only] = values.values()
        return only or None
    return arguments or None
