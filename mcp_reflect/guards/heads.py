"""The head of a guard, a program with its subcommands such as `git push`, found among the programs of a call.

Options may stand between the program and the subcommand: `git -C web push -f` is a use of `git push`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from mcp_reflect.guards.items import is_path
from mcp_reflect.guards.knowledge import words_about
from mcp_reflect.guards.options import only_tells, valued_options, whole_subcommand
from mcp_reflect.guards.program import Program
from mcp_reflect.guards.program_flags import letters_of_cluster
from mcp_reflect.shell import program_name, read_option


def after_head(head: Sequence[str], program: Program) -> tuple[str, ...] | None:
    """Return the arguments of a program without the subcommands of `head`, None if it is another program or subcommand.

    For the head `git push` they are `-C web -f` of `git -C web push -f`, and None of `git pull`.
    """
    name, *subcommands = head
    invocation = program.invocation
    is_same = invocation.name == program_name(name)
    if "/" in name:
        is_same = is_path(invocation.program, name)
    if program.call.powershell and invocation.name.lower() == name.lower():
        is_same = True
    if not is_same:
        return None
    words = list(invocation.arguments)
    start = 0
    for count, subcommand in enumerate(subcommands):
        index = _index_of_subcommand(
            words, start, subcommand, [invocation.name, *subcommands[:count]]
        )
        if index is None:
            return None
        del words[index]
        start = index  # where the word behind the subcommand is now
    return tuple(words)


def _is_same_subcommand(word: str, subcommand: str, program: str) -> bool:
    """Return whether a word is a subcommand by another name, or its beginning: `i` and `inst` of npm are `install`."""
    return whole_subcommand(word, program) == whole_subcommand(subcommand, program)


def _is_passed_over(word: str, program: str) -> bool:
    """Return whether a word before a subcommand is another target, `build` in `make build deploy`, or a toolchain."""
    if word[:1] == "-":
        return False
    is_toolchain = program == "cargo" and word[:1] == "+"
    return is_toolchain or program in words_about("several targets")


def _index_of_subcommand(
    words: Sequence[str], start: int, subcommand: str, head: Sequence[str]
) -> int | None:
    """Return the index of a subcommand from `start` on, None if another subcommand stands there.

    `head` is the program with the subcommands before it, whose options may come first. A word behind an option that
    nobody knows may be its value, and may be the subcommand: `relctl -x web push`.
    """
    valued = valued_options(head)
    may_be_value = False
    index = start
    while index < len(words):
        word = words[index]
        if word == subcommand or is_path(word, subcommand):
            return index
        if len(head) == 1 and _is_same_subcommand(word, subcommand, head[0]):
            return index
        if _is_passed_over(word, head[0]):
            index += 1
            continue
        if word[:1] != "-":
            if not may_be_value:
                return None
            may_be_value = False
            index += 1
            continue
        if only_tells(head[0], word):
            return None
        takes_next = read_option(word, valued).takes_next
        may_be_value = not takes_next and "=" not in word
        index += 2 if takes_next else 1
    return None


class HeadUse(NamedTuple):
    """A program of a call that is a guard's head, such as `git push`, and its arguments behind the subcommands."""

    program: Program
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class HeadUses:
    """All programs of a call that are one head of a guard."""

    programs: tuple[HeadUse, ...]

    @cached_property
    def _flags(self) -> frozenset[str]:
        """The flags of any of them: each word as it is written, and each flag in it (`-rf`, `-r` and `-f`)."""
        flags: set[str] = set()
        for program, arguments in self.programs:
            flags.update(word for word in arguments if word[:1] == "-")
            flags.update(flag for flag, _ in program.flags.all)
        return frozenset(flags)

    def may_have(self, group: Sequence[str]) -> bool:
        """Return whether any of them may have an item of a group: a quick test before the exact one.

        Most calls fail it. Only a group of plain flags is tested, of which one has to be there at all; any other group
        passes.
        """
        if any(item[:1] != "-" or "=" in item or letters_of_cluster(item) for item in group):
            return True
        return self._is_powershell or not self._flags.isdisjoint(group)

    @cached_property
    def _is_powershell(self) -> bool:
        """Whether the call is one of PowerShell, where a flag may be written in any case."""
        return any(use.call.powershell for use, _ in self.programs)
