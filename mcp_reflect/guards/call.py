"""A call as guards see it: the programs that it starts, the files that it changes, its values."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from mcp_reflect.guards.folders import NamedChange, PlacedCommand, placed_in_order
from mcp_reflect.guards.items import MOST_VALUE_CHARS, WILDCARDS, name_of, tool_key
from mcp_reflect.guards.knowledge import subcommand_depth
from mcp_reflect.guards.paths import SeenChange, is_absolute, joined
from mcp_reflect.guards.program import HeadUse, HeadUses, Program, after_head
from mcp_reflect.guards.shell_tools import command_text, is_powershell, is_shell, tool_words
from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import (
    Command,
    Script,
    changes_of,
    invocations_of,
    patched_files,
    read_script,
)

_MOST_VALUES: Final = 400
"""Values of a call's arguments that are looked at; chosen, so that a large call costs little."""

_MOST_CHANGES: Final = 100
"""Changed files that are compared with each guard in full."""

_MOST_TOOL_CHARS: Final = 200
_EDIT_WORDS: Final = frozenset(
    "edit write create insert replace patch update str move rename".split()
)
_REMOVING_WORDS: Final = frozenset("move rename delete remove".split())
_WORDS_FOR_FILES: Final = frozenset("file files path paths folder directory dir lines".split())
_VARIABLE_ALONE: Final = lazy_compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*(?::?[-+][^{}$]*)?\})")
_SUBCOMMAND: Final = lazy_compile(r"[A-Za-z][\w:-]*")
_NAME_PARTS: Final = lazy_compile(r"[\W_]+")
_START_FOLDERS: Final = (
    *("cwd", "workdir", "working_dir", "working_directory", "workingDirectory"),
    *("dir_path", "directory"),
)
_SOURCES: Final = ("source", "old_path", "from")
_TARGETS: Final = ("destination",)
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
    "relative_path",  # serena
    "pathInProject",  # JetBrains
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
        self.counted: frozenset[int] | None = None
        self.folder = ""  # in which it is made, where the host says it
        self.roots: tuple[str, ...] = ()  # the folders of the project whose guards are asked

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
        for place, command in enumerate((*self.commands, *self.script.possible)):
            if self._is_counted(place):
                started += self._programs_of(command)
        return tuple(started)

    def _is_counted(self, place: int) -> bool:
        """Return whether the programs of a command may go against a guard (`part`)."""
        return self.counted is None or place in self.counted

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
    def changes(self) -> tuple[SeenChange, ...]:
        """The files that it changes, without `./`, `//` and `a/..` in their paths, as seen from the call's own folder."""
        return tuple(
            SeenChange(
                change.path, removes=change.removes, names=change.names, if_folder=change.if_folder
            )
            for change in self.named_changes
        )

    @property
    def written(self) -> tuple[str, ...]:
        """The paths of the files that it changes."""
        return tuple(change.path for change in self.changes if not change.if_folder)

    @cached_property
    def named_changes(self) -> tuple[NamedChange, ...]:
        """What it changes, as it is named: by its commands, by its path argument, or in its patches."""
        if self.shell:
            return tuple(self._changes_of_commands())
        if not _changes_files(tool_words(self.tool)):
            return ()
        values: dict[str, Json] = {"patch": self.arguments}
        if isinstance(self.arguments, dict):
            values = self.arguments
        removes = not tool_words(self.tool).isdisjoint(_REMOVING_WORDS)
        named_files = [
            NamedChange(
                joined("", value), is_in_known_folder=True, removes=removes and name not in _TARGETS
            )
            for name in (*_PATHS, *(_SOURCES if removes else ()))
            if isinstance(value := values.get(name), str)
        ]
        patched = (
            NamedChange(joined("", path), is_in_known_folder=True) for path in _patched_by(values)
        )
        return tuple(named_files or patched)

    def _changes_of_commands(self) -> Iterator[NamedChange]:
        """Yield what its commands change, each path behind the folder that `cd` and `git -C` led to."""
        for placed in self.placed_commands:
            for change in changes_of(placed.command, self.commands[: placed.command.number]):
                folder = placed.folder_around(change.path)
                if change.is_redirect:
                    folder = placed.shell_folder
                yield NamedChange(
                    joined(folder or "", change.path),
                    is_in_known_folder=folder is not None,
                    removes=change.removes,
                    names=change.names,
                    if_folder=change.if_folder,
                )

    @cached_property
    def placed_commands(self) -> tuple[PlacedCommand, ...]:
        """Its commands with the folders that they run in; those that may run are the last ones."""
        placed = [*placed_in_order(self.commands, self.start_folder)]
        placed += (PlacedCommand(command, None) for command in self.script.possible)
        return tuple(placed)

    def changes_near(self, keys: Sequence[str]) -> Iterable[SeenChange]:
        """Return the changes that may reach what a guard with these keys names.

        Of very many (`rm a1 a2 …`) only those that name its file or its folder, and the first of them: each is compared
        with each guard.
        """
        if len(self.changes) <= _MOST_CHANGES:
            return self.changes
        near: list[SeenChange] = []
        for key in keys:
            near += self._changes_by_key.get(key, ())[:_MOST_CHANGES]
        return near

    @cached_property
    def _changes_by_key(self) -> dict[str, list[SeenChange]]:
        """The changes by the keys of guards that may name their paths."""
        by_key: dict[str, list[SeenChange]] = {}
        for change in self.changes:
            for key in _keys_of_file(change.path):
                by_key.setdefault(key, []).append(change)
        return by_key

    @property
    def start_folder(self) -> str:
        """The folder that an argument of a shell's call names to begin in, as seen from the call's own: empty for none."""
        if not self.shell or not isinstance(self.arguments, dict):
            return ""
        named = (self.arguments.get(name) for name in _START_FOLDERS)
        return next((joined("", value) for value in named if isinstance(value, str) and value), "")

    @property
    def may_reach_any_file(self) -> bool:
        """Whether it changes what its words do not name whole: a folder with all in it, a pattern, what is searched for."""
        return len(self.changes) <= _MOST_CHANGES and any(
            change.removes or change.names or not WILDCARDS.isdisjoint(change.path)
            for change in self.changes
        )

    def part(
        self,
        counted: Iterable[int],
        changes: Iterable[SeenChange],
        *,
        folder: str = "",
        roots: tuple[str, ...] = (),
    ) -> "Call":
        """Return the part of this call that a project's guards hold, in the folders of that project.

        Only the programs of the commands in `counted` (their places in `placed_commands`) go against a guard; the others
        stay what came before and behind them.
        """
        part = Call(self.tool, self.arguments)
        part.counted = frozenset(counted)
        part.script = self.script
        part.placed_commands = self.placed_commands
        part.changes = tuple(changes)
        part.folder = folder
        part.roots = roots
        return part

    def path_of(self, word: str, command: Command) -> str:
        """Return the path that a word of a command names: absolute where the folders of both are known."""
        placed = self.placed_commands[command.number : command.number + 1]
        is_placed = bool(placed) and placed[0].command is command
        folder = placed[0].folder_around(word) if is_placed else None
        if not self.folder or folder is None:
            return joined("", word)
        return joined(joined(self.folder, folder or "."), word)

    def roots_around(self, path: str) -> tuple[str, ...]:
        """Return the folders of the project for a path that can be compared with them, none for any other path."""
        return self.roots if is_absolute(path) else ()

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
        for place, command in enumerate(self.commands):
            words = words_if_empty(command)
            if words is not None and self._is_counted(place):
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
        for change in self.changes:
            keys |= _keys_of_file(change.path)
        return keys | {tool_key(self.tool), f"tool {self.tool.rsplit('__', 1)[-1].lower()}"}


def _changes_files(words: frozenset[str]) -> bool:
    """Return whether a tool with these words in its name changes files: `Edit`, `write_file`, `delete_file`.

    What is deleted may be anything else: `delete_issue`.
    """
    if words & _EDIT_WORDS:
        return True
    return bool(words & _REMOVING_WORDS) and bool(words & _WORDS_FOR_FILES)


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
