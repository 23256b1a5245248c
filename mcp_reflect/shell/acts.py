"""What a command is a call of: its program and subcommand, whatever starts it and however its flags are written."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from mcp_reflect.shell.commands import Command, Script
from mcp_reflect.shell.options import VALUED
from mcp_reflect.shell.programs import unwrapped
from mcp_reflect.shell.tables import words_of_table

MOST_WORDS: Final = 60
"""Words of a command that are compared."""

# Words of a command, the program first, among which its subcommand stands: four behind the program.
_MOST_SUBCOMMAND_WORDS: Final = 5
_SUBCOMMAND: Final = re.compile(r"[a-z][a-z0-9_:-]{1,30}$")
_NUMBER: Final = re.compile(r"-\d{0,12}")
_PREPARING: Final = words_of_table("preparing")
_VIEWERS: Final = words_of_table("viewers")
_GROUPS: Final = words_of_table("groups of subcommands")
INTERPRETERS: Final = words_of_table("interpreters of scripts")
READING_PROGRAMS: Final = words_of_table("programs that read")
TELLING_FLAGS: Final = words_of_table("flags that only tell")
"""Flags with which a program only tells about itself."""

_IDLE: Final = TELLING_FLAGS | words_of_table("flags that do no work")
# Where `-n` means that nothing is done; of other programs it is a number or something else.
_IDLE_WITH_N: Final = frozenset(
    ("make", "rsync", "git add", "git clean", "git fetch", "git mv", "git push", "git rm")
)


@dataclass(frozen=True, slots=True)
class Act:
    """What a command does, without its values: `Act("git", "push")`, `Act("npm", "run build")`, `Act("pytest", "")`."""

    program: str
    subcommand: str = ""

    def __str__(self) -> str:
        """Return it as words: `npm run build`."""
        return f"{self.program} {self.subcommand}".strip()


class Part(NamedTuple):
    """One command of a line: all its `words`, of which those before the program are the `runner` (`sudo`, `X=1`)."""

    runner: tuple[str, ...]
    program: str
    subcommand: str
    words: tuple[str, ...]

    @property
    def act(self) -> Act:
        """Its program and subcommand."""
        return Act(self.program, self.subcommand)

    @property
    def head(self) -> str:
        """The program and what it does: `git push`, `pytest`, `npm run build`."""
        return str(self.act)

    @property
    def text(self) -> str:
        """The command as one line."""
        return line_of(self.words)

    @property
    def own_words(self) -> tuple[str, ...]:
        """The words from the program on."""
        return (self.program, *self.words[len(self.runner) + 1 :])

    @property
    def operands(self) -> tuple[str, ...]:
        """The words after the program that are not flags."""
        return tuple(word for word in self.own_words[1:] if not word.startswith("-"))

    @property
    def form(self) -> str:
        """The command in one form for all ways to write it: `git push -f -u origin` for `git push -u origin -f`.

        Behind its program and subcommand come its flags in alphabetical order, then the other words as they are. A number
        such as `-5` is no flag.
        """
        arguments = list(self.own_words[1:])
        for word in self.subcommand.split():
            arguments.remove(word)
        flags = sorted(
            word for word in arguments if word[:1] == "-" and not _NUMBER.fullmatch(word)
        )
        other_words = [word for word in arguments if word not in flags]
        return line_of((*self.runner, *self.head.split(), *flags, *other_words))


def act_of(command: Command) -> Act | None:
    """Return what a command is a call of, None for one that only assigns or redirects."""
    words = unwrapped(command.words)
    if not words or not words[0]:
        return None
    return Act(words[0], _subcommand(words))


def acts_in(script: Script) -> list[Act]:
    """Return what a script calls, in its order, without viewers at the end of a pipe and `cd`."""
    acts = (act_of(command) for command in own_commands(script) if not is_viewed(command))
    return [act for act in acts if act is not None and act.program not in _PREPARING]


def own_commands(script: Script) -> list[Command]:
    """Return the commands that stand in the text itself, not in `$(…)` and not in what a shell is fed."""
    return [command for command in script.commands if command.script == 0]


def is_viewed(command: Command) -> bool:
    """Return whether a command, at the end of a pipe, only cuts or shows what the one before it printed: `| tail -5`."""
    return command.before in ("|", "|&") and command.program in _VIEWERS


def part_of(words: Sequence[str]) -> Part:
    """Return a command as a part of its line.

    `("sudo", "/usr/bin/git", "push", "-f")` has the runner `sudo`, the program `git` and the subcommand `push`.
    """
    words = list(words)[:MOST_WORDS]
    words_from_program_on = max(len(unwrapped(words)), 1)
    program_index = len(words) - words_from_program_on
    programs = [_without_system_folder(word) for word in words[: program_index + 1]]
    words = [*programs, *words[program_index + 1 :]]
    return Part(
        runner=tuple(words[:program_index]),
        program=words[program_index],
        subcommand=_subcommand(words[program_index:]),
        words=tuple(words),
    )


def _subcommand(words: Sequence[str]) -> str:
    """Return the word behind a program that says what it is to do, or two of a group; `words` begin with the program.

    | words                | subcommand   |                                        |
    |----------------------|--------------|----------------------------------------|
    | `git -C web push -f` | `push`       | `web` is the value of an option        |
    | `docker compose up`  | `compose up` | `compose` is a group                   |
    | `cat notes`          | none         | the words of `cat` are files           |
    | `python build`       | none         | the first word of `python` is a script |
    """
    if words[0].rsplit("/", 1)[-1] in READING_PROGRAMS | INTERPRETERS:
        return ""
    operands: list[str] = []
    for previous_word, word in pairwise(words[:_MOST_SUBCOMMAND_WORDS]):
        if word[:1] != "-" and previous_word not in VALUED:
            operands.append(word)
    if not operands or not _SUBCOMMAND.match(operands[0]):
        return ""
    first = operands[0]
    if first in _GROUPS and len(operands) > 1 and _SUBCOMMAND.match(operands[1]):
        return f"{first} {operands[1]}"
    return first


def _without_system_folder(program: str) -> str:
    """Return a program of the system by its name alone: `git` for `/usr/bin/git`.

    The path of a program of the project stays: it says which program it is.
    """
    is_of_system = program.startswith(("/usr/", "/bin/", "/opt/"))
    if is_of_system:
        return program.rsplit("/", 1)[-1]
    return program


def line_of(words: Sequence[str]) -> str:
    """Return words as a line; a word with blanks is quoted. The line is compared and shown, and never parsed again."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    """Return a word in quotes if blanks would cut it, or if it is empty; quotes within it stay as they are."""
    if word and " " not in word and "\n" not in word:
        return word
    return f"'{word}'"


def is_idle(words: Sequence[str]) -> bool:
    """Return whether a command, from its program on, does not do its work: it lists, tells, or only pretends.

    `pytest --version`, `rsync --dry-run a b` and `make -n` are idle; `head -n 5` is not.
    """
    flags = {word.partition("=")[0] for word in words[1:]}
    if not _IDLE.isdisjoint(flags):
        return True
    program_and_subcommand = " ".join(words[:2])
    return "-n" in flags and not _IDLE_WITH_N.isdisjoint((words[0], program_and_subcommand))


def is_viewer(words: Sequence[str]) -> bool:
    """Return whether words are those of a program that, at the end of a pipe, only cuts or shows what it is given."""
    return bool(words) and words[0] in _VIEWERS


@lru_cache(maxsize=1_000)
def parts_in(text: str) -> tuple[Part, ...]:
    """Return the commands of a line, in order, without viewers at the end of a pipe.

    The parts of `cd web && sudo git push | tail -5` are `cd web` and `sudo git push`. They are kept for callers that
    compare many lines.
    """
    from mcp_reflect.shell import read_script  # noqa: PLC0415 - it stands above

    commands = own_commands(read_script(text))
    return tuple(
        part_of(command.line) for command in commands if command.line and not is_viewed(command)
    )


def doing_in(text: str) -> Part | None:
    """Return the first command of a line that does more than prepare the others (`cd`, `export`).

    If all only prepare, that is the first of them; None for a line without commands.
    """
    parts = parts_in(text)
    for part in parts:
        if part.program not in _PREPARING:
            return part
    return parts[0] if parts else None
