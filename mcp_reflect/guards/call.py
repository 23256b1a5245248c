"""A call as guards see it: the programs that it starts, the files that it changes, its values."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from mcp_reflect.guards.argument_values import named_values
from mcp_reflect.guards.edited_files import files_changed_by_tool
from mcp_reflect.guards.empty_variables import words_if_empty
from mcp_reflect.guards.folders import NamedChange, PlacedCommand, placed_in_order
from mcp_reflect.guards.heads import HeadUse, HeadUses, after_head
from mcp_reflect.guards.items import WILDCARDS, name_of, tool_key
from mcp_reflect.guards.paths import SeenChange, is_absolute, joined
from mcp_reflect.guards.program import Program
from mcp_reflect.guards.shell_tools import command_text, is_powershell, is_shell
from mcp_reflect.models.common import Json
from mcp_reflect.shell import (
    Command,
    Script,
    changes_of,
    invocations_of,
    read_script,
)

_MOST_CHANGES: Final = 100
"""Changed files that are compared with each guard in full."""

_MOST_TOOL_CHARS: Final = 200
_START_FOLDERS: Final = (
    *("cwd", "workdir", "working_dir", "working_directory", "workingDirectory"),
    *("dir_path", "directory"),
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
        self.part_indexes: frozenset[int] | None = None  # of the commands in a part; None: all
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
        """The commands that start a program, each with its programs, from the outside to the inside.

        Of `X=1; sudo npm test` it is the second one alone, with sudo and npm.
        """
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
        for index, command in enumerate((*self.commands, *self.script.possible)):
            if self._is_in_part(index):
                started += self._programs_of(command)
        return tuple(started)

    def _is_in_part(self, index: int) -> bool:
        """Return whether the programs of a command, by its index, may go against a guard (`part`)."""
        return self.part_indexes is None or index in self.part_indexes

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
                change.path,
                removes=change.removes,
                names=change.names,
                if_folder=change.if_folder,
                restores=change.restores,
            )
            for change in self.named_changes
        )

    @property
    def written(self) -> tuple[str, ...]:
        """The paths of the files that it changes."""
        return tuple(change.path for change in self.changes if not change.if_folder)

    @cached_property
    def named_changes(self) -> tuple[NamedChange, ...]:
        """What it changes, by the names that its commands, its arguments or its patches have for it."""
        if self.shell:
            return tuple(self._changes_of_commands())
        return files_changed_by_tool(self.tool, self.arguments)

    def _changes_of_commands(self) -> Iterator[NamedChange]:
        """Yield what its commands change, each path behind the folder that `cd` and `git -C` led to.

        `cd web && tee a.js` changes `web/a.js`. A redirect is opened by the shell: `git -C web log > a` changes `a`.
        """
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
                    restores=change.restores,
                )

    @cached_property
    def placed_commands(self) -> tuple[PlacedCommand, ...]:
        """Its commands with the folders that they run in; those that may run are the last ones."""
        placed = [*placed_in_order(self.commands, self.start_folder)]
        placed += (PlacedCommand(command, None) for command in self.script.possible)
        return tuple(placed)

    def changes_near(self, keys: Sequence[str]) -> Iterable[SeenChange]:
        """Return the changes that may reach what a guard with these keys names.

        Each change is compared with each guard. Of very many changes (`rm a1 a2 …`) only the first are returned that
        name the guard's file or folder, so that a large call costs little.
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
        for name in _START_FOLDERS:
            folder = self.arguments.get(name)
            if isinstance(folder, str) and folder:
                return joined("", folder)
        return ""

    @property
    def may_reach_any_file(self) -> bool:
        """Whether it changes more than the files that its words name: by `rm -r web`, `git restore web`, `rm *.js`.

        A guard of any file may then be met, so that none can be left out by its key.
        """
        if len(self.changes) > _MOST_CHANGES:
            return False
        return any(
            change.removes
            or change.restores
            or change.names
            or not WILDCARDS.isdisjoint(change.path)
            for change in self.changes
        )

    def part(
        self,
        indexes: Iterable[int],
        changes: Iterable[SeenChange],
        *,
        folder: str = "",
        roots: tuple[str, ...] = (),
    ) -> "Call":
        """Return the part of this call to which a project's guards apply: what it does in the folders of that project.

        Only the programs of the commands with these `indexes` in `placed_commands` go against a guard. The other commands
        stay in it, since a guard may ask for what comes before or behind a command. `folder` is the one in which the call
        is made, `roots` are the folders of the project.
        """
        part = Call(self.tool, self.arguments)
        part.part_indexes = frozenset(indexes)
        part.script = self.script
        part.placed_commands = self.placed_commands
        part.changes = tuple(changes)
        part.folder = folder
        part.roots = roots
        return part

    def path_of(self, word: str, command: Command) -> str:
        """Return the path that a word of a command names: absolute where the folders of both are known."""
        folder = self._folder_of_word(word, command)
        if not self.folder or folder is None:
            return joined("", word)
        return joined(joined(self.folder, folder or "."), word)

    def _folder_of_word(self, word: str, command: Command) -> str | None:
        """Return the folder that a path among the words of a command is seen from; None where it is not known.

        A command that only may run (`Script.possible`) stands at another index, and its folder is not known.
        """
        for placed in self.placed_commands[command.number : command.number + 1]:
            if placed.command is command:
                return placed.folder_around(word)
        return None

    def roots_around(self, path: str) -> tuple[str, ...]:
        """Return the folders of the project for a path that can be compared with them, none for any other path."""
        return self.roots if is_absolute(path) else ()

    @cached_property
    def values(self) -> tuple[tuple[str, str], ...]:
        """The plain values among its arguments, each with the name that it stands under: ("limit", "5")."""
        return named_values(self.arguments)

    @cached_property
    def programs_if_unknown_empty(self) -> tuple[Program, ...]:
        """The programs that it would start if each variable without a known value were empty.

        `terraform $X destroy` would start terraform with the argument `destroy`. Only commands count in which the
        variable decides what is run (`words_if_empty`): `pytest $TESTS` gives nothing.
        """
        started: list[Program] = []
        for index, command in enumerate(self.commands):
            words = words_if_empty(command)
            if words is not None and self._is_in_part(index):
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


def _keys_of_file(file: str) -> set[str]:
    """Return the keys of guards that may name a file: by its name, its ending, any pattern, or a folder around it.

    `src/a.py` has `a.py`, `*.py`, `*`, `src/` and `a.py/`.
    """
    parts = [part for part in file.replace("\\", "/").split("/") if part] or [""]
    name = parts[-1]
    extension = name.rsplit(".", 1)[-1]
    return {name, "*", f"*.{extension}", *(f"{part}/" for part in parts)}
