"""A program that a command of a call starts, and whether it has what an item of a guard names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from mcp_reflect.guards.items import has_words, is_argument, is_operand, is_path
from mcp_reflect.guards.knowledge import forms_of_flag, words_about
from mcp_reflect.guards.options import (
    OptionWord,
    only_tells,
    option_words,
    valued_options,
    whole_option,
    whole_subcommand,
)
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import Command, Invocation, base_name, program_name, read_option

if TYPE_CHECKING:
    from mcp_reflect.guards.call import Call

ANY_ARGUMENT: Final = "an argument"

_FEEDERS: Final = frozenset("echo printf cat".split())
_CLUSTER: Final = lazy_compile(r"-[A-Za-z]{1,5}")
_CLUSTER_WITH_DIGITS: Final = lazy_compile(r"-[A-Za-z\d]{0,4}\d[A-Za-z]{1,4}")  # `-4f`
_VARIABLE: Final = lazy_compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def letters_of_cluster(item: str) -> list[str]:
    """Return the flags that `-rf` stands for. Of one that has a letter twice (`-all`, `-vv`) there are none."""
    letters = item[1:]
    if len(letters) < 2 or not _CLUSTER.fullmatch(item) or len(set(letters)) < len(letters):
        return []
    return [f"-{letter}" for letter in letters]


def _flags_up_to_value(one: OptionWord) -> list[tuple[str, str]]:
    """Return the flags of a cluster up to the one that takes a value, which is the rest of the word or the next one."""
    option = one.valued
    value = one.behind if option.takes_next else option.value
    if one.word.startswith(option.name):
        return [(option.name, value)]
    before = one.word[1:].partition(option.name[1:])[0]
    return [*((f"-{letter}", "") for letter in before), (option.name, value)]


@dataclass(frozen=True)
class Program:
    """A program that a command of a call starts."""

    call: "Call"
    command: Command
    found: Invocation

    @property
    def earlier(self) -> tuple[Command, ...]:
        """The commands before it."""
        return self.call.commands[: self.command.number]

    @property
    def readers(self) -> list[str]:
        """The programs that its output is piped into."""
        if not self.command.pipes:
            return []
        later = self.call.commands[self.command.number + 1 :]
        names: list[str] = []
        for other in later:
            if self.command.feeds(other):
                names += (found.name for found in other.invocations)
        return names

    @property
    def in_background(self) -> bool:
        """Whether nobody waits for it."""
        return self.command.is_background or ("run_in_background", "true") in self.call.values

    @property
    def text(self) -> str:
        """The text that it is given: its arguments, a here-document, what is piped into it."""
        texts = [*self.command.arguments, self.command.document]
        if not self.command.pipes:
            return "\n".join(texts)
        for other in self.earlier:
            if other.feeds(self.command) and base_name(other.program) in _FEEDERS:
                texts += [*other.arguments, other.document]
        return "\n".join(texts)

    @property
    def has_clusters(self) -> bool:
        """Whether `-rf` means `-r -f`."""
        return self.found.name not in words_about("one dash") and not self.call.powershell

    @cached_property
    def flags(self) -> list[tuple[str, str]]:
        """Its flags, those of a cluster one by one, each with its value or the next word."""
        flags: list[tuple[str, str]] = []
        for one in self._options:
            if one.valued.name and one.word[:2] != "--":
                flags += _flags_up_to_value(one)
            else:
                flags += self.flags_of_word(one.word, one.behind)
        if self.found.name == "git" and any(word[:1] == "+" for word in self.found.arguments):
            flags.append(("--force", ""))  # `git push origin +main`
        return flags

    @cached_property
    def _options(self) -> list[OptionWord]:
        return list(option_words(self.found.name, self.found.arguments))

    def flags_of_word(self, word: str, behind: str) -> list[tuple[str, str]]:
        """Return the flags of one word, each with its value, which may be the word behind it."""
        if word[:1] != "-" or word in ("-", "--"):
            return []
        name, equal, value = word.partition("=")
        name = whole_option(name, [self.found.name, *self.found.arguments[:1]])
        if self.call.powershell and ":" in word:
            name, equal, value = word.partition(":")
        if not equal and behind[:1] != "-":
            value = behind
        if not self.has_clusters or len(name) == 2 or name[:2] == "--":
            return [(name, value)]
        if _CLUSTER.fullmatch(name) or _CLUSTER_WITH_DIGITS.fullmatch(name):
            return [(f"-{letter}", value) for letter in name[1:]]
        return [(word[:2], word[2:]), (name, value)]  # -n50, and a long flag with one dash

    def has_one_of(self, items: Sequence[str], arguments: Sequence[str]) -> bool:
        """Return whether the call has one of some items."""
        return any(self.has(item, arguments) for item in items)

    def has(self, item: str, words: Sequence[str]) -> bool:
        """Return whether the call has an item of a guard; `words` are the arguments after the subcommands."""
        if item == ANY_ARGUMENT:
            return any(is_operand(word) for word in words)
        if item == "&":
            return self.in_background
        if item.startswith("| "):
            return item[2:] in self.readers
        if item.endswith(" &&"):
            return any(_starts_with(other, item.split()[:-1]) for other in self.earlier)
        if item.endswith(" ..."):
            return item[:-4] in self.found.wrappers
        if item[:1] == '"':
            return has_words(self.text, item.strip('"'))
        if item[:1] == "-":
            return self._has_flag(item)
        if variable := _VARIABLE.fullmatch(item):
            return self._sets(variable[1], variable[2])
        return any(is_argument(word, item) for word in words) or (
            "/" in item and is_path(self.found.program, item)
        )

    @cached_property
    def _values(self) -> dict[str, set[str]]:
        """The values of each flag, and the flags as they are written."""
        values = {one.word: set[str]() for one in self._options}
        for flag, value in self.flags:
            values.setdefault(self._flag_name(flag), set()).add(value)
        return values

    def _flag_name(self, flag: str) -> str:
        """Return a flag as it is compared: PowerShell takes it in any case."""
        if self.call.powershell:
            return flag.lower()
        return flag

    def _has_flag(self, item: str) -> bool:
        name, equal, value = item.partition("=")
        values = self._values.get(self._flag_name(name))
        if item in self._values or (values is not None and (not equal or value in values)):
            return True
        return self.has_clusters and self._has_letters(letters_of_cluster(item))

    def _has_letters(self, letters: Sequence[str]) -> bool:
        """Return whether each flag of a cluster is there, alone, in another cluster, or by its long form."""
        head = [self.found.name, *filter(is_operand, self.found.arguments[:1])]
        return bool(letters) and all(
            any(form in self._values for form in forms_of_flag(letter, head)) for letter in letters
        )

    def _sets(self, name: str, value: str) -> bool:
        set_here = [*self.command.assignments, *self.command.words]
        for other in self.earlier:
            if other.words[0] in ("", "export", "set", "declare"):
                set_here += [*other.assignments, *other.words]
        pairs = (word.partition("=") for word in set_here)
        return any(
            found == name and equal and value in ("", given) for found, equal, given in pairs
        )


@dataclass(frozen=True)
class HeadUses:
    """The programs of a call that a guard's head names, each with its arguments behind the subcommands."""

    programs: tuple[tuple[Program, tuple[str, ...]], ...]

    @cached_property
    def _flags(self) -> frozenset[str]:
        flags: set[str] = set()
        for program, rest in self.programs:
            flags.update(word for word in rest if word[:1] == "-")
            flags.update(flag for flag, _ in program.flags)
        return frozenset(flags)

    def may_have(self, group: Sequence[str]) -> bool:
        """Return whether any of them may have an item of a group: of plain flags, whether one of them is there at all."""
        if any(item[:1] != "-" or "=" in item or letters_of_cluster(item) for item in group):
            return True
        return self._is_powershell or not self._flags.isdisjoint(group)

    @cached_property
    def _is_powershell(self) -> bool:
        return any(one.call.powershell for one, _ in self.programs)


def _starts_with(command: Command, words: Sequence[str]) -> bool:
    for found in command.invocations:
        is_same = found.name == program_name(words[0]) or is_path(found.program, words[0])
        if is_same and _come_in_order(words[1:], found.arguments):
            return True
    return False


def _come_in_order(words: Sequence[str], arguments: Sequence[str]) -> bool:
    """Return whether words are among the arguments, one after the other."""
    left = list(words)
    for argument in arguments:
        if left and is_argument(argument, left[0]):
            del left[0]
    return not left


def after_head(head: Sequence[str], program: Program) -> tuple[str, ...] | None:
    """Return the arguments without the subcommands of `head`, None if the program or a subcommand is another."""
    name, *subcommands = head
    found = program.found
    same = found.name == program_name(name)
    if "/" in name:
        same = is_path(found.program, name)
    if not same and not (program.call.powershell and found.name.lower() == name.lower()):
        return None
    words = list(found.arguments)
    at = 0
    for count, subcommand in enumerate(subcommands):
        place = _place_of_subcommand(words, at, subcommand, [found.name, *subcommands[:count]])
        if place is None:
            return None
        at = place
        del words[at]
    return tuple(words)


def _place_of_subcommand(
    words: Sequence[str], at: int, subcommand: str, head: Sequence[str]
) -> int | None:
    """Return the place of a subcommand behind the options of what stands before it, None if another one stands there.

    A word behind an option that nobody knows may be its value, and may be the subcommand: `relctl -x web push`.
    """
    valued = valued_options(head)
    may_be_value = False
    while at < len(words):
        word = words[at]
        if word == subcommand or is_path(word, subcommand):
            return at
        if len(head) == 1 and whole_subcommand(word, head[0]) == subcommand:
            return at
        if word[:1] != "-":
            if not may_be_value:
                return None
            may_be_value = False
            at += 1
            continue
        if only_tells(head[0], word):
            return None
        takes_next = read_option(word, valued).takes_next
        may_be_value = not takes_next and "=" not in word
        at += 2 if takes_next else 1
    return None
