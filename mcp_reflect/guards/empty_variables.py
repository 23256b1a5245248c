"""A command as it runs if its variables without a known value are empty: `terraform destroy` for `terraform $X destroy`."""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.guards.knowledge import subcommand_depth
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import Command

_VARIABLE_ALONE: Final = lazy_compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*(?::?[-+][^{}$]*)?\})")
_SUBCOMMAND: Final = lazy_compile(r"[A-Za-z][\w:-]*")
_NAME_PARTS: Final = lazy_compile(r"[\W_]+")


def words_if_empty(command: Command) -> tuple[str, ...] | None:
    """Return the words of a command as they are if unknown variables before its program or subcommand are empty.

    None means that an empty variable changes nothing of what the command does.

    | command                | words               | why                                                       |
    |------------------------|---------------------|-----------------------------------------------------------|
    | `$X rm -rf a`          | `rm -rf a`          | the variable stands in the place of the program           |
    | `terraform $X destroy` | `terraform destroy` | it stands in the place of the subcommand                  |
    | `$GIT rm a`            | None                | it is named after a program with subcommands: it is git   |
    | `pytest $TESTS`        | None                | it stands in neither place: the command says what it does |
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

    `"$X"/bin/tool` is such a word, since it is more than the variable. Where there is none, the index is the number of
    words.
    """
    for index in range(start, len(command.words)):
        may_be_empty = index in command.unknown and _VARIABLE_ALONE.fullmatch(command.words[index])
        if not may_be_empty:
            return index
    return len(command.words)
