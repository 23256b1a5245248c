"""A call as guards see it: the programs that it starts, the files that it changes, its values."""

import posixpath
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from mcp_reflect.guards.items import MOST_VALUE_CHARS, name_of, tool_key
from mcp_reflect.guards.knowledge import subcommand_depth
from mcp_reflect.guards.program import HeadUse, HeadUses, Program, after_head
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

_MOST_VALUES: Final = 400
"""Values of a call's arguments that are looked at; chosen, so that a large call costs little."""

_MOST_TOOL_CHARS: Final = 200
_EDIT_WORDS: Final = frozenset(
    "edit write create insert replace patch update str move rename".split()
)
_CHANGING_FOLDER: Final = frozenset(("cd", "pushd", "popd"))
_MAY_NOT_RUN_HERE: Final = frozenset(Inside) - {Inside.GROUP, Inside.FED}
"""Where a `cd` may not run at all, or runs in a shell of its own: in an `if`, a loop, a subshell."""

_MOST_FOLDER_CHARS: Final = 1_000
_VARIABLE_ALONE: Final = lazy_compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*(?::?[-+][^{}$]*)?\})")
_SUBCOMMAND: Final = lazy_compile(r"[A-Za-z][\w:-]*")
_NAME_PARTS: Final = lazy_compile(r"[\W_]+")
# The arguments by which tools that edit name their file.
_PATHS: Final = (
    "file_path",
    "path",
    "filePath",
    "filename",
    "file",
    "absolute_path",
    "notebook_path",
    "target_file",
    "destination",  # of tools that move a file
)


class Call:
    """A call as guards see it. Each part is read when it is first asked for.

    `Call("Bash", {"command": "cd web && sudo rm -rf dist"})` starts the programs cd, sudo and rm.
    """

    def __init__(self, tool: str, arguments: Json) -> None:
        self.tool = tool[:_MOST_TOOL_CHARS]
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
        """Return the programs that a command starts, from the outside to the inside: `sudo`, `npx`, `tsc`."""
        return tuple(Program(self, command, invocation) for invocation in command.invocations)

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        """The programs that it starts, and those that it may start by one of several values of a variable.

        `X=push; test -f a && X=pull; git $X` may start git with push and with pull.
        """
        started: list[Program] = []
        for _, programs in self.by_command:
            started += programs
        for command in self.script.possible:
            started += self._programs_of(command)
        return tuple(started)

    @cached_property
    def by_name(self) -> dict[str, list[Program]]:
        """The programs that it starts by their names in lower case."""
        by_name: dict[str, list[Program]] = {}
        for program in self.programs:
            by_name.setdefault(program.invocation.name.lower(), []).append(program)
        return by_name

    def uses_of(self, head: str) -> HeadUses:
        """Return the programs of this call that are a guard's head, such as `git push`, with the arguments behind it."""
        if head not in self._uses:
            uses: list[HeadUse] = []
            for program in self.by_name.get(name_of(head), ()):
                arguments = after_head(head.split(), program)
                if arguments is not None:
                    uses.append(HeadUse(program, arguments))
            self._uses[head] = HeadUses(tuple(uses))
        return self._uses[head]

    @cached_property
    def _uses(self) -> dict[str, HeadUses]:
        """What `uses_of` has found so far, by head: each guard of a program asks for the same."""
        return {}

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The files that it changes, without `./`, `//` and `a/..` in their paths."""
        return tuple(map(_normal_path, self._written))

    @cached_property
    def written_in_folders(self) -> tuple[str, ...]:
        """The files that it changes if the last operand of its `cp`, `mv` or `ln` is a folder.

        The words of a command do not say whether it is one; a guard that names a folder does.
        """
        if not self.shell:
            return ()
        return tuple(map(_normal_path, self._behind_folders(copied_into)))

    @property
    def _written(self) -> Sequence[str]:
        """The files that it changes, as they are named: by its commands, by its path argument, or in its patches."""
        if self.shell:
            return self._behind_folders(written_files)
        if not tool_words(self.tool) & _EDIT_WORDS:
            return ()
        values: dict[str, Json] = {"patch": self.arguments}
        if isinstance(self.arguments, dict):
            values = self.arguments
        candidates = [values.get(name) for name in _PATHS]
        named_files = [value for value in candidates if isinstance(value, str)]
        return named_files or _patched_by(values)

    def _behind_folders(self, files_of: Callable[[Command], list[str]]) -> list[str]:
        """Return the files of its commands, each behind the folder that `cd` led to.

        `cd web && tee a.txt` changes `web/a.txt`. `files_of` gives the files of one command. Each script has a folder of
        its own: `bash -c` runs another script.
        """
        files: list[str] = []
        folders: dict[int, str] = {}
        in_subshell = _SubshellFolder()
        for command in self.commands:
            folder = folders.get(command.script, "")
            in_subshell = _next_in_subshell(in_subshell, command, folder)
            folder = in_subshell.folder or folder
            files += (posixpath.join(folder, file) for file in files_of(command))
            if base_name(command.program) in _CHANGING_FOLDER:
                folders[command.script] = _folder_behind(command, folder)
        for command in self.script.possible:
            files += files_of(command)
        return files

    @cached_property
    def values(self) -> tuple[tuple[str, str], ...]:
        """The plain values among its arguments, each with the name that it stands under.

        `{"limit": 5, "where": {"ids": [1, 2]}}` has ("limit", "5"), ("ids", "1"), ("ids", "2"). Those of the top level come
        first: so a long list that is nested leaves room for what stands beside it.
        """
        named_values: list[tuple[str, str]] = []
        waiting: deque[tuple[str, Json]] = deque([("", self.arguments)])
        while waiting and len(named_values) < _MOST_VALUES:
            name, value = waiting.popleft()
            if isinstance(value, dict):
                waiting += [(str(key), part) for key, part in list(value.items())[:_MOST_VALUES]]
            elif isinstance(value, list):
                waiting += [(name, part) for part in value[:_MOST_VALUES]]
            else:
                named_values.append((name, _text_of_value(value)))
        return tuple(named_values)

    @cached_property
    def programs_if_unknown_empty(self) -> tuple[Program, ...]:
        """The programs that it would start if each variable without a known value were empty.

        `terraform $X destroy` would start terraform with the argument `destroy`. Only commands count in which the
        variable decides what is run (`words_if_empty`): `pytest $TESTS` gives nothing.
        """
        started: list[Program] = []
        for command in self.commands:
            words = words_if_empty(command)
            if words is not None:
                programs = invocations_of(words, command.fed_by)
                started += (Program(self, command, program) for program in programs)
        return tuple(started)

    @property
    def keys_if_unknown_empty(self) -> set[str]:
        """The keys under which guards of the programs are looked up that would run if unknown variables were empty."""
        return {f"$ {program.invocation.name}" for program in self.programs_if_unknown_empty}

    @property
    def keys(self) -> set[str]:
        """The keys under which guards of this call are looked up: each guard that may match has one of them.

        `git push > out.txt` has `$ git`, `out.txt`, `*.txt`, `*`, `out.txt/` and `tool bash`.
        """
        keys = {f"$ {name}" for name in self.by_name}
        for file in (*self.written, *self.written_in_folders):
            keys |= _keys_of_file(file)
        return keys | {tool_key(self.tool)}


def _keys_of_file(file: str) -> set[str]:
    """Return the keys of guards that may name a file: by its name, its ending, any pattern, or a folder around it.

    `src/a.py` has `a.py`, `*.py`, `*`, `src/` and `a.py/`.
    """
    parts = [part for part in file.replace("\\", "/").split("/") if part] or [""]
    name = parts[-1]
    extension = name.rsplit(".", 1)[-1]
    return {name, "*", f"*.{extension}", *(f"{part}/" for part in parts)}


def words_if_empty(command: Command) -> tuple[str, ...] | None:
    """Return the words of a command as they are if unknown variables before its program or subcommand are empty.

    | command                 | words                | why                                                           |
    | `$X rm -rf a`           | `rm -rf a`           | the variable stands in the place of the program               |
    | `terraform $X destroy`  | `terraform destroy`  | it stands in the place of the subcommand                      |
    | `$GIT rm a`             | None                 | it is named after a program with subcommands: it is git       |
    | `pytest $TESTS`         | None                 | it stands in neither place: the command says what it does     |
    """
    words = command.words
    program_index = _first_known_index(command, 0)
    if program_index == len(words):
        return None
    if program_index > 0:
        if _are_named_after_program(words[:program_index]):
            return None
        return words[program_index:]
    subcommand_index = _first_known_index(command, 1)
    if subcommand_index in (1, len(words)) or not _SUBCOMMAND.fullmatch(words[subcommand_index]):
        return None
    return (words[0], *words[subcommand_index:])


def _are_named_after_program(variables: Sequence[str]) -> bool:
    """Return whether a part of the name of a variable is a program with subcommands: `$GIT`, `${DOCKER_BIN}`."""
    name_parts: list[str] = []
    for variable in variables:
        name_parts += _NAME_PARTS.split(variable.lower())
    return any(map(subcommand_depth, name_parts))


def _first_known_index(command: Command, start: int) -> int:
    """Return the index of the first word from `start` on that is not an unknown variable alone.

    `"$X"/bin/tool` is none: it is more than the variable. Where there is no such word, it is the number of words.
    """
    for index in range(start, len(command.words)):
        is_empty = index in command.unknown and _VARIABLE_ALONE.fullmatch(command.words[index])
        if not is_empty:
            return index
    return len(command.words)


@dataclass(frozen=True, slots=True)
class _SubshellFolder:
    """The folder of commands that `&&` joins behind a `cd` in a subshell: `(cd dist && tee a)`. Empty outside of one."""

    folder: str = ""
    inside: tuple[Inside, ...] = ()


def _next_in_subshell(
    state: _SubshellFolder, command: Command, outer_folder: str
) -> _SubshellFolder:
    """Return the folder of a command in a subshell; `state` is that of the command before it.

    Commands do not say where their subshell ends: so only those count that `&&` joins, as people write it.

    | the command                                      | the folder                       |
    | goes on behind `&&`, and is no `cd`              | stays                            |
    | `cd dist` that begins a subshell                 | dist, behind the outer folder    |
    | `cd dist` behind `&&` in one, or anything else   | none                             |
    """
    goes_on = bool(state.folder) and command.before == "&&" and command.inside == state.inside
    if goes_on and base_name(command.program) not in _CHANGING_FOLDER:
        return state
    if command.program != "cd" or command.inside[-1:] != (Inside.SUBSHELL,):
        return _SubshellFolder()
    inside_of_subshell = command.inside[:-1]
    folder = _folder_behind(replace(command, inside=inside_of_subshell), outer_folder)
    return _SubshellFolder("" if goes_on else folder, command.inside)


def _folder_behind(command: Command, folder: str) -> str:
    """Return the folder in which the commands behind a `cd` run: `web/src` behind `cd src` in the folder `web`.

    It is empty where that is not certain: `cd $X`, `cd -`, a `cd` in an `if`. An empty folder is never wrong, since paths
    are then compared without one.
    """
    if command.pipes or command.is_background:  # a shell of its own
        return folder
    is_certain = (
        command.program in ("cd", "pushd")
        and command.before != "||"
        and _MAY_NOT_RUN_HERE.isdisjoint(command.inside)
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
    """Return the files of the patches among the arguments of a tool: those behind `*** Update File: a.py` or `+++ b/a.py`."""
    files: list[str] = []
    for text in values.values():
        parts = text if isinstance(text, list) else [text]
        for part in parts[:_MOST_VALUES]:
            if isinstance(part, str):
                files += patched_files(part)
    return files


def _text_of_value(value: Json) -> str:
    """Return a plain value as the text that guards are compared with: true and false in lower case."""
    text = str(value)[:MOST_VALUE_CHARS]
    if isinstance(value, bool):
        return text.lower()
    return text
