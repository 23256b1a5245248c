"""The flags of a program of a call: which it has, with which values, and with which it only pretends to act."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from mcp_reflect.guards.item_kinds import GuardItem
from mcp_reflect.guards.items import is_operand
from mcp_reflect.guards.knowledge import forms_of_flag, words_about
from mcp_reflect.guards.options import OptionWord, option_words, whole_option
from mcp_reflect.guards.special_programs import implied_flags, pretends_with_n
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import Invocation

_CLUSTER: Final = lazy_compile(r"-[A-Za-z]{1,5}")
_CLUSTER_WITH_DIGITS: Final = lazy_compile(r"-[A-Za-z\d]{0,4}\d[A-Za-z]{1,4}")  # `-4f`
_PRETENDING: Final = frozenset(("--dry-run", "--dryrun", "--just-print", "--recon", "--simulate"))
"""Flags with which a program only says what it would do."""

_DONE_ALL_THE_SAME: Final = ("none", "false", "no", "0")
"""Values with which such a flag is off: `--dry-run=none`."""


def letters_of_cluster(word: str) -> list[str]:
    """Return the flags that a cluster stands for: `-r` and `-f` for `-rf`.

    They are none for a word that has a letter twice, which is a long flag: `-all`, `-vv`.
    """
    letters = word[1:]
    if len(letters) < 2 or not _CLUSTER.fullmatch(word) or len(set(letters)) < len(letters):
        return []
    return [f"-{letter}" for letter in letters]


class FlagValue(NamedTuple):
    """A flag of a program with the value that it has, or may have: the next word may be its value; "" for none."""

    flag: str
    value: str


def _flags_up_to_value(option_word: OptionWord) -> list[FlagValue]:
    """Return the flags of a cluster up to the one that takes a value, each with its value ("" for none).

    If `-o` takes a value, `-rfo FILE` and `-rfoFILE` both give `("-r", ""), ("-f", ""), ("-o", "FILE")`.
    """
    option = option_word.valued
    value = option_word.next_word if option.takes_next else option.value
    if option_word.word.startswith(option.name):
        return [FlagValue(option.name, value)]
    letters_before = option_word.word[1:].partition(option.name[1:])[0]
    flags = [FlagValue(f"-{letter}", "") for letter in letters_before]
    return [*flags, FlagValue(option.name, value)]


@dataclass(frozen=True)
class ProgramFlags:
    """The flags of a program, which a command of PowerShell or of another shell starts."""

    invocation: Invocation
    powershell: bool

    @property
    def has_clusters(self) -> bool:
        """Whether several letters behind one dash are several flags, as for most programs: `-rf` means `-r -f`."""
        return self.invocation.name not in words_about("one dash") and not self.powershell

    @cached_property
    def all(self) -> list[FlagValue]:
        """The flags, those of a cluster one by one, and those that its other words imply (`implied_flags`)."""
        flags: list[FlagValue] = []
        for option_word in self._option_words:
            if option_word.valued.name and option_word.word[:2] != "--":
                flags += _flags_up_to_value(option_word)
            else:
                flags += self.of_word(option_word.word, option_word.next_word)
        names = frozenset(flag for flag, _ in flags)
        return [*flags, *(FlagValue(flag, "") for flag in implied_flags(self.invocation, names))]

    @cached_property
    def _option_words(self) -> list[OptionWord]:
        """The words with options, read once."""
        return list(option_words(self.invocation.name, self.invocation.arguments))

    def of_word(self, word: str, next_word: str) -> list[FlagValue]:
        """Return the flags of one word, each with its value; the next word is the value if it is no flag.

        | word                          | next word | flags with their values                                       |
        |-------------------------------|-----------|---------------------------------------------------------------|
        | `--depth=5`                   |           | `--depth` with 5                                              |
        | `--depth`                     | `5`       | `--depth` with 5                                              |
        | `-rf`                         | `dist`    | `-r` and `-f`, each with dist: who knows which one takes it;  |
        |                               |           | and `-r` with f, as in `-nauto`                               |
        | `-n50`                        |           | `-n` with 50, and `-n50`: it may be a long flag with one dash |
        | `--auto-approve` of terraform |           | the same with one dash and with two: it takes either          |
        """
        if word[:1] != "-" or word in ("-", "--"):
            return []
        name, equal, value = word.partition("=")
        name = whole_option(name, [self.invocation.name, *self.invocation.arguments[:1]])
        if self.powershell and ":" in word:
            name, equal, value = word.partition(":")
        if not equal and next_word[:1] != "-":
            value = next_word
        if self.invocation.name in words_about("one or two dashes"):
            name_without_dashes = name.lstrip("-")
            return [
                FlagValue(f"-{name_without_dashes}", value),
                FlagValue(f"--{name_without_dashes}", value),
            ]
        if not self.has_clusters or len(name) == 2 or name[:2] == "--":
            return [FlagValue(name, value)]
        if _CLUSTER.fullmatch(name) or _CLUSTER_WITH_DIGITS.fullmatch(name):
            letters = [FlagValue(f"-{letter}", value) for letter in name[1:]]
            return [*letters, FlagValue(name[:2], name[2:])]
        return [FlagValue(word[:2], word[2:]), FlagValue(name, value)]

    @cached_property
    def pretending(self) -> frozenset[str]:
        """The flags with which the program does nothing, and only says what it would do: `git push --dry-run`.

        `kubectl delete --dry-run=none` does it.
        """
        names = _PRETENDING.intersection(flag for flag, _ in self.all)
        for word in self.invocation.arguments:
            flag, _, value = word.partition("=")
            if value.lower() in _DONE_ALL_THE_SAME:
                names -= {flag}
        if pretends_with_n(self.invocation) and any(flag == "-n" for flag, _ in self.all):
            names |= {"-n"}
        return names

    @cached_property
    def _values(self) -> dict[str, set[str]]:
        """The values of each flag; a word with flags is a key as well, as it is written: `-rf`, `--depth=5`."""
        values = {option_word.word: set[str]() for option_word in self._option_words}
        for flag, value in self.all:
            values.setdefault(self._key_of(flag), set()).add(value)
        return values

    def _key_of(self, flag: str) -> str:
        """Return a flag as it is compared: PowerShell takes it in any case."""
        if self.powershell:
            return flag.lower()
        return flag

    def meet(self, item: GuardItem) -> bool:
        """Return whether the flag that an item names is among them.

        | the item    | is there in                                                   |
        |-------------|---------------------------------------------------------------|
        | `--depth`   | `--depth 5`, `--depth=5`; not in `--depth=false`              |
        | `--depth=5` | `--depth 5`, `--depth=5`                                      |
        | `-rf`       | `-rf`, `-fr`, `-r -f`, `-r --force`: each flag of the cluster |
        """
        values = self._values.get(self._key_of(item.name))
        if values is not None:
            is_switched_off = item.value is None and values == {"false"}  # `--privileged=false`
            if is_switched_off:
                return False
            if item.value is None or item.value in values:
                return True
        if item.text in self._values:
            return True
        return self.has_clusters and self._has_letters(letters_of_cluster(item.text))

    def _has_letters(self, letters: Sequence[str]) -> bool:
        """Return whether each flag of a cluster is there: alone, in another cluster, or by its long form (`--force`)."""
        head = [self.invocation.name, *filter(is_operand, self.invocation.arguments[:1])]
        return bool(letters) and all(
            any(form in self._values for form in forms_of_flag(letter, head)) for letter in letters
        )
