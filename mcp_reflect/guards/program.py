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
    option_words,
    whole_option,
)
from mcp_reflect.guards.paths import SeenChange
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import (
    Command,
    Invocation,
    base_name,
    changes_files,
    program_name,
)

if TYPE_CHECKING:
    from mcp_reflect.guards.call import Call

ANY_ARGUMENT: Final = "an argument"
"""The item of a guard that any argument meets which is not a flag."""

_FEEDERS: Final = frozenset("echo printf cat".split())
_SETTING_PROGRAMS: Final = ("", "export", "set", "declare")
"""Commands that set variables for those that follow; the empty one is a setting by itself, `CI=1`."""

_CLUSTER: Final = lazy_compile(r"-[A-Za-z]{1,5}")
_CLUSTER_WITH_DIGITS: Final = lazy_compile(r"-[A-Za-z\d]{0,4}\d[A-Za-z]{1,4}")  # `-4f`
_MOST_PATHS: Final = 200  # operands that are read as paths of files
_PRETENDING: Final = frozenset(("--dry-run", "--dryrun", "--just-print", "--recon", "--simulate"))
"""Flags with which a program only says what it would do."""

_PRETENDING_WITH_N: Final = ("make", "rsync")
_GIT_PRETENDING_WITH_N: Final = frozenset("push clean add rm mv".split())
_DONE_ALL_THE_SAME: Final = ("none", "false", "no", "0")
_OCTAL_MODE: Final = lazy_compile(r"[0-7]{1,6}")
_VARIABLE: Final = lazy_compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def letters_of_cluster(item: str) -> list[str]:
    """Return the flags that a cluster stands for: `-r` and `-f` for `-rf`.

    They are none for a word that has a letter twice, which is a long flag: `-all`, `-vv`.
    """
    letters = item[1:]
    if len(letters) < 2 or not _CLUSTER.fullmatch(item) or len(set(letters)) < len(letters):
        return []
    return [f"-{letter}" for letter in letters]


def _flags_up_to_value(option_word: OptionWord) -> list[tuple[str, str]]:
    """Return the flags of a cluster up to the one that takes a value, each with its value ("" for none).

    If `-o` takes a value, `-rfo FILE` and `-rfoFILE` both give `("-r", ""), ("-f", ""), ("-o", "FILE")`.
    """
    option = option_word.valued
    value = option_word.next_word if option.takes_next else option.value
    if option_word.word.startswith(option.name):
        return [(option.name, value)]
    letters_before = option_word.word[1:].partition(option.name[1:])[0]
    flags = [(f"-{letter}", "") for letter in letters_before]
    return [*flags, (option.name, value)]


@dataclass(frozen=True)
class Program:
    """A program that a command of a call starts.

    `command` is the whole command, which may start the program by way of others; `invocation` is the program itself
    with its arguments: in `sudo git push` it is git with `push`.
    """

    call: "Call"
    command: Command
    invocation: Invocation

    @property
    def earlier(self) -> tuple[Command, ...]:
        """The commands before it."""
        return self.call.commands[: self.command.number]

    @property
    def readers(self) -> list[str]:
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
    def in_background(self) -> bool:
        """Whether nobody waits for it: `server &`, or a call that the host runs in the background."""
        return self.command.is_background or ("run_in_background", "true") in self.call.values

    @property
    def text(self) -> str:
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

    @property
    def has_clusters(self) -> bool:
        """Whether several letters behind one dash are several flags, as for most programs: `-rf` means `-r -f`."""
        return self.invocation.name not in words_about("one dash") and not self.call.powershell

    @cached_property
    def flags(self) -> list[tuple[str, str]]:
        """Its flags, those of a cluster one by one, each with its value or the next word."""
        flags: list[tuple[str, str]] = []
        for option_word in self._options:
            if option_word.valued.name and option_word.word[:2] != "--":
                flags += _flags_up_to_value(option_word)
            else:
                flags += self.flags_of_word(option_word.word, option_word.next_word)
        if self._has_forced_refspec:
            flags.append(("--force", ""))
        if self._deletes_branch_by_force(flags):
            flags.append(("-D", ""))
        return flags

    def _deletes_branch_by_force(self, flags: Sequence[tuple[str, str]]) -> bool:
        """Return whether it is `git branch -d -f`, which is `git branch -D`."""
        if self.invocation.name != "git" or "branch" not in self.invocation.arguments:
            return False
        names = {name for name, _ in flags}
        return not names.isdisjoint(("-d", "--delete")) and not names.isdisjoint(("-f", "--force"))

    @property
    def _has_forced_refspec(self) -> bool:
        """Whether git is told by a plus to force a push: `git push origin +main`."""
        starts_with_plus = any(word[:1] == "+" for word in self.invocation.arguments)
        return self.invocation.name == "git" and starts_with_plus

    @cached_property
    def pretending_flags(self) -> frozenset[str]:
        """The flags among its own with which it does nothing, and only says what it would do: `git push --dry-run`.

        `kubectl delete --dry-run=none` does it.
        """
        names = _PRETENDING.intersection(flag for flag, _ in self.flags)
        for word in self.invocation.arguments:
            flag, _, value = word.partition("=")
            if value.lower() in _DONE_ALL_THE_SAME:
                names -= {flag}
        if self._has_pretending_n and any(flag == "-n" for flag, _ in self.flags):
            names |= {"-n"}
        return names

    @property
    def _has_pretending_n(self) -> bool:
        """Whether `-n` means that nothing is done; of other programs it is a number or something else."""
        if self.invocation.name == "git":
            return not _GIT_PRETENDING_WITH_N.isdisjoint(self.invocation.arguments[:3])
        return self.invocation.name in _PRETENDING_WITH_N

    @cached_property
    def _options(self) -> list[OptionWord]:
        """Its options, read once."""
        return list(option_words(self.invocation.name, self.invocation.arguments))

    def flags_of_word(self, word: str, next_word: str) -> list[tuple[str, str]]:
        """Return the flags of one word, each with its value; the next word is the value if it is no flag.

        | word                          | next word | flags with their values                                       |
        |-------------------------------|-----------|---------------------------------------------------------------|
        | `--depth=5`                   |           | `--depth` with 5                                              |
        | `--depth`                     | `5`       | `--depth` with 5                                              |
        | `-rf`                         | `dist`    | `-r` and `-f`, each with dist: who knows which one takes it   |
        | `-n50`                        |           | `-n` with 50, and `-n50`: it may be a long flag with one dash |
        | `--auto-approve` of terraform |           | the same with one dash and with two: it takes either          |
        """
        if word[:1] != "-" or word in ("-", "--"):
            return []
        name, equal, value = word.partition("=")
        name = whole_option(name, [self.invocation.name, *self.invocation.arguments[:1]])
        if self.call.powershell and ":" in word:
            name, equal, value = word.partition(":")
        if not equal and next_word[:1] != "-":
            value = next_word
        if self.invocation.name in words_about("one or two dashes"):
            bare = name.lstrip("-")
            return [(f"-{bare}", value), (f"--{bare}", value)]
        if not self.has_clusters or len(name) == 2 or name[:2] == "--":
            return [(name, value)]
        if _CLUSTER.fullmatch(name) or _CLUSTER_WITH_DIGITS.fullmatch(name):
            return [(f"-{letter}", value) for letter in name[1:]]
        return [(word[:2], word[2:]), (name, value)]  # -n50, and a long flag with one dash

    def has_one_of(self, items: Sequence[str], arguments: Sequence[str]) -> bool:
        """Return whether the call has one of some items."""
        return any(self.has(item, arguments) for item in items)

    def has(self, item: str, words: Sequence[str]) -> bool:
        """Return whether the call has an item of a guard; `words` are the arguments after the subcommands.

        How an item begins or ends says what it asks for, as guard.py lists it: `| tail` for a program that reads the
        output, `cd web &&` for an earlier command, `sudo ...` for what starts the program, `"drop table"` for words.
        """
        if item == ANY_ARGUMENT:
            return any(is_operand(word) for word in words)
        if item == "&":
            return self.in_background
        if item.startswith("| "):
            return item[2:] in self.readers
        if item.endswith(" &&"):
            return any(_starts_with(other, item.split()[:-1]) for other in self.earlier)
        if item.endswith(" ..."):
            return item.removesuffix(" ...") in self.invocation.wrappers
        if item[:1] == '"':
            return has_words(self.text, item.strip('"'))
        if item[:1] == "-":
            return self._has_flag(item)
        variable = _VARIABLE.fullmatch(item)
        if variable is not None:
            return self._sets(variable[1], variable[2])
        return self._has_argument(item, words)

    def _has_argument(self, item: str, words: Sequence[str]) -> bool:
        """Return whether one of its arguments is what an item names.

        | the program         | the item        | an argument that fits                                   |
        |---------------------|-----------------|---------------------------------------------------------|
        | changes files: `rm` | a path: `dist/` | a path that reaches it, as for a guard of the file      |
        | `chmod`             | a mode: `777`   | the same mode: `0777`                                   |
        | any                 | a path          | that word, or the program itself: `./scripts/deploy.sh` |
        | any                 | any other word  | that word                                               |
        """
        takes_files = len(words) <= _MOST_PATHS and changes_files(self.invocation.name)
        if "/" in item and takes_files:
            return any(self._reaches(word, item) for word in words)
        if self.invocation.name == "systemctl":
            words = [word.removesuffix(".service") for word in words]
            item = item.removesuffix(".service")
        if self.invocation.name == "chmod" and _OCTAL_MODE.fullmatch(item):
            return any(_is_same_mode(word, item) for word in words)
        is_its_path = "/" in item and is_path(self.invocation.program, item)
        return is_its_path or any(is_argument(word, item) for word in words)

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
        removes = self.invocation.name in ("rm", "rimraf", "remove-item")
        return SeenChange(path, self.call.roots_around(path), removes=removes).reaches(item)

    @cached_property
    def _values(self) -> dict[str, set[str]]:
        """The values of each flag; a word with flags is a key as well, as it is written: `-rf`, `--depth=5`."""
        values = {option_word.word: set[str]() for option_word in self._options}
        for flag, value in self.flags:
            values.setdefault(self._flag_name(flag), set()).add(value)
        return values

    def _flag_name(self, flag: str) -> str:
        """Return a flag as it is compared: PowerShell takes it in any case."""
        if self.call.powershell:
            return flag.lower()
        return flag

    def _has_flag(self, item: str) -> bool:
        """Return whether it has the flag that an item names.

        | the item    | is there in                                                   |
        |-------------|---------------------------------------------------------------|
        | `--depth`   | `--depth 5`, `--depth=5`; not in `--depth=false`              |
        | `--depth=5` | `--depth 5`, `--depth=5`                                      |
        | `-rf`       | `-rf`, `-fr`, `-r -f`, `-r --force`: each flag of the cluster |
        """
        name, equal, wanted_value = item.partition("=")
        values = self._values.get(self._flag_name(name))
        if values == {"false"} and not equal:  # `--privileged=false`
            return False
        has_flag = values is not None and (not equal or wanted_value in values)
        if has_flag or item in self._values:
            return True
        return self.has_clusters and self._has_letters(letters_of_cluster(item))

    def _has_letters(self, letters: Sequence[str]) -> bool:
        """Return whether each flag of a cluster is there: alone, in another cluster, or by its long form (`--force`)."""
        head = [self.invocation.name, *filter(is_operand, self.invocation.arguments[:1])]
        return bool(letters) and all(
            any(form in self._values for form in forms_of_flag(letter, head)) for letter in letters
        )

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


def _is_same_mode(word: str, mode: str) -> bool:
    """Return whether an argument of chmod is a mode in octal digits: `0777` is `777`."""
    return bool(_OCTAL_MODE.fullmatch(word)) and word.lstrip("0") == mode.lstrip("0")


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
