"""A call as guards see it: the programs that it starts, the files that it changes, its values."""

import posixpath
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from mcp_reflect.guards.items import MOST_VALUE_CHARS, name_of, tool_key
from mcp_reflect.guards.knowledge import subcommand_depth
from mcp_reflect.guards.program import HeadUses, Program, after_head
from mcp_reflect.guards.shell_tools import command_text, is_powershell, is_shell, tool_words
from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import (
    Command,
    Inside,
    Script,
    base_name,
    copied_into,
    invocations_of,
    patched_files,
    read_script,
    written_files,
)

_MOST_VALUES: Final = 400  # of a call's arguments that are looked at
_EDIT_WORDS: Final = frozenset("edit write create insert replace patch update str".split())
_CHANGING_FOLDER: Final = frozenset(("cd", "pushd", "popd"))
_UNCERTAIN: Final = frozenset(Inside) - {Inside.GROUP, Inside.FED}
_MOST_FOLDER_CHARS: Final = 1_000
_VARIABLE_ALONE: Final = lazy_compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*(?::?[-+][^{}$]*)?\})")
_SUBCOMMAND: Final = lazy_compile(r"[A-Za-z][\w:-]*")
_NAME_PARTS: Final = lazy_compile(r"[\W_]+")
_PATHS: Final = (
    "file_path",
    "path",
    "filePath",
    "filename",
    "file",
    "absolute_path",
    "notebook_path",
    "target_file",
)


class Call:
    """A call as guards see it. Each part is read when it is first asked for."""

    def __init__(self, tool: str, arguments: Json) -> None:
        self.tool = tool[:200]
        self.arguments = arguments
        self.shell = is_shell(self.tool)
        self.powershell = is_powershell(self.tool)

    @cached_property
    def script(self) -> Script:
        """What a shell's call runs."""
        if not self.shell:
            return Script(())
        return read_script(command_text(self.arguments), is_powershell=self.powershell)

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands of a shell's call."""
        return self.script.commands

    @cached_property
    def by_command(self) -> tuple[tuple[Command, tuple[Program, ...]], ...]:
        """The commands that start a program, each with its programs, from the outside to the inside."""
        return tuple(
            (command, self._programs_of(command))
            for command in self.commands
            if command.invocations
        )

    def _programs_of(self, command: Command) -> tuple[Program, ...]:
        return tuple(Program(self, command, found) for found in command.invocations)

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        """The programs that it starts, and those that it may start by one of several values of a variable."""
        found: list[Program] = []
        for _, programs in self.by_command:
            found += programs
        for command in self.script.possible:
            found += self._programs_of(command)
        return tuple(found)

    @cached_property
    def by_name(self) -> dict[str, list[Program]]:
        """The programs that it starts by their names in lower case."""
        found: dict[str, list[Program]] = {}
        for program in self.programs:
            found.setdefault(program.found.name.lower(), []).append(program)
        return found

    def uses_of(self, head: str) -> HeadUses:
        """The programs of a guard's head, with their arguments behind it."""
        if head not in self._uses:
            named = self.by_name.get(name_of(head), ())
            behind = ((program, after_head(head.split(), program)) for program in named)
            found = tuple((program, rest) for program, rest in behind if rest is not None)
            self._uses[head] = HeadUses(found)
        return self._uses[head]

    @cached_property
    def _uses(self) -> dict[str, HeadUses]:
        return {}

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The files that it changes, without `./`, `//` and `a/..` in their paths."""
        return tuple(map(_normal_path, self._written))

    @cached_property
    def written_in_folders(self) -> tuple[str, ...]:
        """The files that it changes if what it copies to is a folder: a guard that names the folder knows that it is."""
        if not self.shell:
            return ()
        return tuple(map(_normal_path, self._behind_folders(copied_into)))

    @property
    def _written(self) -> Sequence[str]:
        if self.shell:
            return self._behind_folders(written_files)
        if not tool_words(self.tool) & _EDIT_WORDS:
            return ()
        values: dict[str, Json] = {"patch": self.arguments}
        if isinstance(self.arguments, dict):
            values = self.arguments
        named = [value for name in _PATHS if isinstance(value := values.get(name), str)]
        return named or _patched_by(values)

    def _behind_folders(self, files_of: Callable[[Command], list[str]]) -> list[str]:
        """Return the files of its commands, each behind the folder that `cd` led to."""
        files: list[str] = []
        folders: dict[int, str] = {}
        for command in self.commands:
            folder = folders.get(command.script, "")
            files += (posixpath.join(folder, file) for file in files_of(command))
            if base_name(command.program) in _CHANGING_FOLDER:
                folders[command.script] = _folder_behind(command, folder)
        for command in self.script.possible:
            files += files_of(command)
        return files

    @cached_property
    def values(self) -> tuple[tuple[str, str], ...]:
        """The plain values among its arguments, each with the name that it stands under."""
        found: list[tuple[str, str]] = []
        waiting: list[tuple[str, Json]] = [("", self.arguments)]
        while waiting and len(found) < _MOST_VALUES:
            name, value = waiting.pop()
            if isinstance(value, dict):
                waiting += [(str(key), part) for key, part in list(value.items())[:_MOST_VALUES]]
            elif isinstance(value, list):
                waiting += [(name, part) for part in value[:_MOST_VALUES]]
            else:
                found.append((name, _text_of_value(value)))
        return tuple(found)

    @cached_property
    def without_unknown(self) -> tuple[Program, ...]:
        """The programs that it starts where variables that nobody here knows are empty, and say what it does."""
        found: list[Program] = []
        for command in self.commands:
            words = words_if_empty(command)
            if words is not None:
                programs = invocations_of(words, command.fed_by)
                found += (Program(self, command, program) for program in programs)
        return tuple(found)

    @property
    def keys_without_unknown(self) -> set[str]:
        """The keys under which guards of those programs are looked up."""
        return {f"$ {program.found.name}" for program in self.without_unknown}

    @property
    def keys(self) -> set[str]:
        """The keys under which guards of this call are looked up."""
        keys = {f"$ {name}" for name in self.by_name}
        for file in (*self.written, *self.written_in_folders):
            *folders, last = [part for part in file.replace("\\", "/").split("/") if part] or [""]
            keys |= {
                last,
                "*",
                f"*.{last.rsplit('.', 1)[-1]}",
                f"{last}/",
                *(f"{folder}/" for folder in folders),
            }
        return keys | {tool_key(self.tool)}


def words_if_empty(command: Command) -> tuple[str, ...] | None:
    """Return the words of a command without an unknown variable in the place of its program or its subcommand.

    None where none stands there: `pytest $TESTS` says what it does. A variable that is named after a program with
    subcommands is that program: `$GIT rm` removes no file of its own.
    """
    words = command.words
    at = _first_known(command, 0)
    if at == len(words):
        return None
    if at > 0:
        named = [part for word in words[:at] for part in _NAME_PARTS.split(word.lower())]
        return None if any(map(subcommand_depth, named)) else words[at:]
    behind = _first_known(command, 1)
    if behind == 1 or behind == len(words) or not _SUBCOMMAND.fullmatch(words[behind]):
        return None
    return (words[0], *words[behind:])


def _first_known(command: Command, start: int) -> int:
    """Return the place of the first word that is not a variable alone which nobody here knows."""
    for at in range(start, len(command.words)):
        is_empty = at in command.unknown and _VARIABLE_ALONE.fullmatch(command.words[at])
        if not is_empty:
            return at
    return len(command.words)


def _folder_behind(command: Command, folder: str) -> str:
    """Return the folder behind a `cd`, as far as it is certain: what is not known is left out before it."""
    if command.pipes or command.is_background:  # a shell of its own
        return folder
    is_certain = (
        command.program in ("cd", "pushd")
        and command.before != "||"
        and _UNCERTAIN.isdisjoint(command.inside)
        and not command.unknown
        and len(command.arguments) == 1
        and command.arguments[0][:1] not in ("-", "~", "+")
    )
    if not is_certain:
        return ""
    return posixpath.join(folder, command.arguments[0].replace("\\", "/"))[-_MOST_FOLDER_CHARS:]


def _normal_path(path: str) -> str:
    """Return a path without what leads nowhere: `./a//b/../c` is `a/c`."""
    plain = path.replace("\\", "/")
    if not plain:
        return path
    return re.sub(r"^//+", "/", posixpath.normpath(plain))


def _patched_by(values: dict[str, Json]) -> list[str]:
    """Return the files of the patches among the arguments of a tool."""
    files: list[str] = []
    for text in values.values():
        parts = text if isinstance(text, list) else [text]
        for part in parts[:_MOST_VALUES]:
            if isinstance(part, str):
                files += patched_files(part)
    return files


def _text_of_value(value: Json) -> str:
    text = str(value)[:MOST_VALUE_CHARS]
    if isinstance(value, bool):
        return text.lower()
    return text
