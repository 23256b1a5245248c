"""A program that a command of a call starts, and whether it has what an item of a guard names."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from mcp_reflect.guards.item_kinds import ItemKind, parse_item
from mcp_reflect.guards.items import has_words, is_argument, is_operand, is_path
from mcp_reflect.guards.paths import SeenChange
from mcp_reflect.guards.program_flags import ProgramFlags
from mcp_reflect.guards.special_programs import is_argument_of
from mcp_reflect.shell import (
    Command,
    Invocation,
    base_name,
    changes_files,
    program_name,
)

if TYPE_CHECKING:
    from mcp_reflect.guards.call import Call

_FEEDERS: Final = frozenset("echo printf cat".split())
_SETTING_PROGRAMS: Final = ("", "export", "set", "declare")
"""Commands that set variables for those that follow; the empty one is a setting by itself, `CI=1`."""

_REMOVING_PROGRAMS: Final = ("rm", "rimraf", "remove-item")
_MOST_PATHS: Final = 200  # operands that are read as paths of files


@dataclass(frozen=True)
class Program:
    """A program that a command of a call starts.

    `command` is the whole command, which may start the program by way of others; `invocation` is the program itself
    with its arguments: in `sudo git push` it is git with `push`.
    """

    call: "Call"
    command: Command
    invocation: Invocation

    @cached_property
    def flags(self) -> ProgramFlags:
        """The flags of the program."""
        return ProgramFlags(self.invocation, powershell=self.call.powershell)

    @property
    def earlier(self) -> tuple[Command, ...]:
        """The commands before it."""
        return self.call.commands[: self.command.number]

    def has_one_of(self, items: Sequence[str], arguments: Sequence[str]) -> bool:
        """Return whether the program has one of some items; `arguments` are those after the subcommands."""
        return any(self.has(item, arguments) for item in items)

    def has(self, item_text: str, arguments: Sequence[str]) -> bool:
        """Return whether the program has what an item of a guard asks for, as `parse_item` lists it.

        `arguments` are those after the subcommands.
        """
        item = parse_item(item_text)
        match item.kind:
            case ItemKind.ANY_ARGUMENT:
                return any(map(is_operand, arguments))
            case ItemKind.IN_BACKGROUND:
                return self._is_in_background
            case ItemKind.READER:
                return item.name in self._readers
            case ItemKind.EARLIER_COMMAND:
                return any(_starts_with(other, item.name.split()) for other in self.earlier)
            case ItemKind.STARTER:
                return item.name in self.invocation.wrappers
            case ItemKind.PHRASE:
                return has_words(self._text, item.name)
            case ItemKind.FLAG:
                return self.flags.meet(item)
            case ItemKind.VARIABLE:
                return self._sets(item.name, item.value or "")
            case ItemKind.ARGUMENT:
                return self._has_argument(item.name, arguments)

    @property
    def _is_in_background(self) -> bool:
        """Whether nobody waits for it: `server &`, or a call that the host runs in the background."""
        return self.command.is_background or ("run_in_background", "true") in self.call.values

    @property
    def _readers(self) -> list[str]:
        """The programs that its output is piped into: grep and tail for the first one of `make | grep x | tail`."""
        if not self.command.pipes:
            return []
        later_commands = self.call.commands[self.command.number + 1 :]
        names: list[str] = []
        for other in later_commands:
            if self.command.feeds(other):
                names += (invocation.name for invocation in other.invocations)
        return names

    @property
    def _text(self) -> str:
        """The text that it is given: its arguments, a here-document, what is piped into it.

        `psql` in `echo "DROP TABLE a" | psql db` has `db` and `DROP TABLE a`.
        """
        texts = [*self.command.arguments, self.command.document]
        if not self.command.pipes:
            return "\n".join(texts)
        for other in self.earlier:
            if other.feeds(self.command) and base_name(other.program) in _FEEDERS:
                texts += [*other.arguments, other.document]
        return "\n".join(texts)

    def _sets(self, name: str, value: str) -> bool:
        """Return whether a variable of the environment is set for it, to `value` if that is not empty.

        It is set by the command itself, `CI=1 make`, or by an earlier one, `export CI=1; make`.
        """
        words = [*self.command.assignments, *self.command.words]
        for other in self.earlier:
            if other.words[0] in _SETTING_PROGRAMS:
                words += [*other.assignments, *other.words]
        for word in words:
            set_name, equal, set_value = word.partition("=")
            if set_name == name and equal and value in ("", set_value):
                return True
        return False

    def _has_argument(self, item: str, arguments: Sequence[str]) -> bool:
        """Return whether one of its arguments is what an item names.

        | the program         | the item        | an argument that fits                                   |
        |---------------------|-----------------|---------------------------------------------------------|
        | changes files: `rm` | a path: `dist/` | a path that reaches it, as for a guard of the file      |
        | any                 | a path          | that word, or the program itself: `./scripts/deploy.sh` |
        | any                 | any other word  | that word, as `is_argument_of` compares it              |
        """
        is_item_path = "/" in item
        takes_files = len(arguments) <= _MOST_PATHS and changes_files(self.invocation.name)
        if is_item_path and takes_files:
            return any(self._reaches(word, item) for word in arguments)
        if is_item_path and is_path(self.invocation.program, item):
            return True
        return any(is_argument_of(self.invocation.name, word, item) for word in arguments)

    def _reaches(self, word: str, item: str) -> bool:
        """Return whether an operand of a program that changes files is the path of an item, as for a guard of the file.

        | the command               | the item | it is          |
        |---------------------------|----------|----------------|
        | `rm -rf dist/*`, `rm di*` | `dist/`  | the folder     |
        | `cd /tmp && rm -rf dist`  | `dist/`  | another folder |
        """
        if word[:1] == "-" or ":" in word:
            return is_argument(word, item)
        path = self.call.path_of(word, self.command)
        removes = self.invocation.name in _REMOVING_PROGRAMS
        return SeenChange(path, self.call.roots_around(path), removes=removes).reaches(item)


def _starts_with(command: Command, words: Sequence[str]) -> bool:
    """Return whether a command starts the program that is the first of some words, with the others in their order."""
    for invocation in command.invocations:
        is_same = invocation.name == program_name(words[0]) or is_path(invocation.program, words[0])
        if is_same and _come_in_order(words[1:], invocation.arguments):
            return True
    return False


def _come_in_order(words: Sequence[str], arguments: Sequence[str]) -> bool:
    """Return whether words are among the arguments in their order, with any others between them.

    In `run -q test web`, the words `run web` are, and `web run` are not.
    """
    words_left = list(words)
    for argument in arguments:
        if words_left and is_argument(argument, words_left[0]):
            del words_left[0]
    return not words_left
