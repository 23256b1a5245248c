"""The forms of a call, by which one that failed in another session is known again.

A call is hardly ever made twice letter by letter: a date, a port or the quotation marks differ. So it is compared in four
forms, each of which forgets more than the one before.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.sessions.tools import (
    command_of,
    file_of,
    is_shell,
    parts_of,
    tool_words,
    without_labels,
)
from mcp_reflect.shell import (
    COMMAND_LIMIT,
    Command,
    Part,
    doing_in,
    is_viewed,
    own_commands,
    part_of,
    read_script,
)
from mcp_reflect.text.signature import (
    bounded,
    call_with_quotes,
    call_without_quotes,
    digest,
    normalized_call,
    with_placeholders,
)

_MOST_HEAD: Final = 200  # characters of a head
_FILE_TOOLS: Final = frozenset(
    {"read", "edit", "write", "view", "open", "replace", "patch", "notebook", "file", "str"}
)
"""Words in the names of tools that work on one file (`str` of `str_replace`)."""

_EXPANDED_BY_SHELL: Final = re.compile(r"[$`\\\\(){}*?\[\]~!\n]")
"""What the words of a command do not show again: variables, patterns, groups, lines."""

_SPECIAL_IN_DOUBLE_QUOTES: Final = re.compile(r"[$`\\\\!]")
"""What a shell reads in double quotation marks, and not in single ones."""


@dataclass(frozen=True, slots=True)
class Forms:
    """A call in four forms, each of which forgets more than the one before, so that more calls are the same.

    The call `Bash(command="git  log --grep 'fix 2026-11-28'")` has the forms

    | form    | text                                   | forgets                                     |
    |---------|----------------------------------------|---------------------------------------------|
    | `exact` | `shell[git log --grep 'fix 2026-11-28']` | white space, the kind of quotation marks    |
    | `bare`  | `shell(git log --grep fix 2026-11-28)` | the marks, and a command's order of flags, operators |
    | `loose` | `shell(git log --grep fix <date>)`     | dates, ids, ports and temporary paths too   |
    | `head`  | `shell:git log`                        | all but what it is a call of                |

    Other heads are `read:src/a.py` and `search`. A key has the 16 hex digits of a form, by which the bank finds it.
    """

    head: str
    exact: str
    bare: str
    loose: str

    @property
    def tool_name(self) -> str:
        """The name of the tool: `shell` for each shell, since hosts name theirs differently."""
        return self.loose.partition("(")[0]

    @property
    def exact_key(self) -> str:
        return digest(self.exact)

    @property
    def bare_key(self) -> str:
        return digest(self.bare)

    @property
    def loose_key(self) -> str:
        return digest(self.loose)


def forms_of(tool: str, arguments: Json) -> Forms:
    """Return the forms of a call; bounded, whatever its arguments are.

    A shell's call is read as the commands that it runs, a read or an edit by its file, any other by its arguments.
    """
    arguments = without_labels(tool, arguments)
    if is_shell(tool):
        command = command_of(arguments)
        if command and command.strip():
            return _shell_forms(tool, command, arguments)
    name = tool.strip().lower()[:_MOST_HEAD]
    return Forms(
        head=bounded(_head_of(tool, name, arguments), _MOST_HEAD),
        exact=bounded(call_with_quotes(name, arguments)),
        bare=bounded(call_without_quotes(name, arguments)),
        loose=normalized_call(name, arguments),
    )


def drops_quotes(new: Forms, failed: Forms) -> bool:
    """Return whether a call is one that failed before, with fewer quotation marks: `grep a.py` of `grep 'a.py'`.

    Too many marks may be why the earlier call failed, so that the new one may be its correction.
    """
    return new.bare == failed.bare and len(new.exact) < len(failed.exact)


def _head_of(tool: str, name: str, arguments: Json) -> str:
    """Return the `head` of a call: `read:src/a.py` for a tool that works on one file, else the tool's `name` alone."""
    if isinstance(arguments, dict) and tool_words(tool) & _FILE_TOOLS:
        file = file_of(arguments)
        if file is not None:
            return f"{name}:{with_placeholders(file)}"
    return name


def _shell_forms(tool: str, command: str, arguments: Json) -> Forms:
    """Return a command in the forms that are the same for all shells; the folder in which it runs belongs to it.

    The bare and the loose form have its simple commands, one after another. What stands behind the limit of the parser
    is added as it is, so that two long commands which differ there alone are not taken for one.
    """
    simple_commands = parts_of(tool, arguments, syntax=True)
    line = " ; ".join(part.form for part in simple_commands) or " ".join(command.split())
    line += command[COMMAND_LIMIT:]
    without_quotes = line.replace("'", "").replace('"', "")
    head = ""
    working_command = doing_in(command)
    if working_command is not None:
        head = working_command.head
    in_order = _in_order(tool, command, arguments)
    return Forms(
        head=bounded(f"shell:{with_placeholders(head)}", _MOST_HEAD),
        exact=bounded(_exact_shell_form(line, in_order, simple_commands)),
        bare=bounded(f"shell({without_quotes})"),
        loose=bounded(f"shell({with_placeholders(without_quotes)})"),
    )


def _exact_shell_form(line: str, in_order: str, simple_commands: Sequence[Part]) -> str:
    """Return the exact form of a command: `shell[git push -u origin main]`, or `shell(git push)` for older banks.

    It alone keeps the words in their order (`in_order`), since values that changed places are the typical correction.
    Older banks stored a form in parentheses (`line`), which is the same for several orders. Where a command has only one,
    being one command without flags, the older form stays, so that its stored failures are found; others wait in silence
    until they are seen again.
    """
    has_one_order = len(simple_commands) == 1 and in_order == line and " -" not in line
    if has_one_order:
        return f"shell({line})"
    return f"shell[{in_order}]"


def _in_order(tool: str, command: str, arguments: Json) -> str:
    """Return a command with its words and operators in their order, behind the folder it runs in.

    `npm  test 2>/dev/null | head -5` with the folder `web` gives `cd web && npm test`: viewers at the end of a pipe and
    redirections to nowhere are left out. A command with a loop, variable or pattern is taken as it is written, for its
    words alone do not say what runs.
    """
    parts = parts_of(tool, arguments, syntax=True)
    names_folder = len(parts) > len(parts_of(tool, command, syntax=True))
    folder = f"{parts[0].text} && " if names_folder else ""
    commands = own_commands(read_script(command))
    is_literal = not _EXPANDED_BY_SHELL.search(command.replace("! ", "")) and "<<" not in command
    if not commands or not is_literal or any(one.inside for one in commands):
        return folder + _as_written(command)
    shown = [_line_of_command(one) for one in commands if not is_viewed(one)]
    return folder + " ".join(shown) + command[COMMAND_LIMIT:]


def _as_written(command: str) -> str:
    """Return a command with single blanks and, where it makes no difference, one kind of quotation marks."""
    written = command.strip()
    if "\n" in written:  # blanks at the start of a line matter to the script in a here-document
        return written
    line = " ".join(written.split())
    if _SPECIAL_IN_DOUBLE_QUOTES.search(line):
        return line
    return line.replace('"', "'")


def _line_of_command(command: Command) -> str:
    """Return one command with the operator before it: `&& ! grep x y > log &`."""
    shown = [command.before]
    if command.is_negated:
        shown.append("!")
    shown += command.assignments
    if command.program:
        words_without_folders = part_of(command.words).words  # `/usr/bin/git` is git
        beyond_its_limit = command.words[len(words_without_folders) :]
        shown += map(shlex.quote, (*words_without_folders, *beyond_its_limit))
    for redirection in command.redirections:
        if redirection.is_written or redirection.is_read:
            operator = f"{redirection.descriptor}{redirection.operator}"
            shown += [operator, shlex.quote(redirection.target)]
    if command.is_background:
        shown.append("&")
    return " ".join(filter(None, shown))
