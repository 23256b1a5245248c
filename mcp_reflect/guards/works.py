"""What a command does: the program behind all that starts it, with its subcommand, and the same work in another call.

Guards are derived by comparing works, so that `sudo`, `npx`, `cd web &&` and `| tail -5` do not stand in the way.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.knowledge import subcommands_of
from mcp_reflect.guards.program import Program
from mcp_reflect.shell import VALUED, is_viewed
from mcp_reflect.shell.tables import usual_names

_PLAIN_WORD: Final = re.compile(r"[a-z][a-z0-9]*(?:[-:][a-z0-9]+)*")
"""A word that can be a subcommand: `rollout`, `build:prod`."""

_PREPARING_PROGRAMS: Final = frozenset(
    "cd pushd popd export set source . true echo printf sleep alias [ [[ read".split()
)
_SCRIPT_RUNNERS: Final = frozenset("bash sh zsh eval node ruby php perl python".split())
"""Programs that only hand a script to another program, or read one: what they start is what a call does."""

_SCRIPTS_WITH_SUBCOMMANDS: Final = ("manage.py", "runtests.py")


@dataclass(frozen=True, slots=True)
class CommandWork:
    """The program that does the work of a command, behind all that starts it: in `sudo npx tsc -p web` it is tsc.

    `operands` are its arguments that are no flags: `web`.
    """

    program: Program
    operands: tuple[str, ...]

    @property
    def name(self) -> str:
        """The program's name, without its folder and version."""
        return self.program.invocation.name

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words behind the program."""
        return self.program.invocation.arguments

    @property
    def wrappers(self) -> tuple[str, ...]:
        """The programs that start it, such as sudo and npx, without those that only hand a script to it, such as bash."""
        started_by = self.program.invocation.wrappers
        return tuple(name for name in started_by if name and name not in _SCRIPT_RUNNERS)

    @property
    def all_words(self) -> tuple[str, ...]:
        """All its words with those that start it, by which two works are the same: ("sudo", "rm", "-rf", "dist")."""
        return (*self.wrappers, self.name, *self.arguments)

    @property
    def plain_words(self) -> list[str]:
        """The words up to the first that cannot be a subcommand, without flags and their values.

        Of `kubectl -n web rollout undo deploy/api` they are `rollout` and `undo`.
        """
        words: list[str] = []
        previous_word = ""
        for word in self.arguments:
            is_value = previous_word in VALUED
            if not word.startswith("-") and not is_value:
                if not _PLAIN_WORD.fullmatch(word):
                    break
                words.append(word)
            previous_word = word
        return words

    @property
    def known_head(self) -> list[str]:
        """The program with its subcommands, `["git", "push"]`; the name alone of a program that nobody knows."""
        return [self.name, *(subcommands_of(self.name, self.plain_words) or ())]

    @property
    def likely_head(self) -> list[str]:
        """The program with its subcommands, as far as anybody can guess: `["relctl", "cut"]`.

        Of a program that nobody knows, the first word behind it is taken for its subcommand.
        """
        subcommands = subcommands_of(self.name, self.plain_words)
        if subcommands is None:
            subcommands = self.plain_words[:1]
        return [self.name, *subcommands]


class ChangedWorks(NamedTuple):
    """What each of two calls does that the other does not do in the same words."""

    in_wrong: list[CommandWork]
    in_right: list[CommandWork]


def changed_works(wrong: Call, right: Call) -> ChangedWorks:
    """Return what each of two calls does that the other does not; nothing where they are of two kinds of shell.

    `cd a && make && git push -f` against `make && git push` gives `git push -f` and `git push`.
    """
    if not right.shell or right.powershell != wrong.powershell:
        return ChangedWorks([], [])
    wrong_works = _works_of(wrong)
    right_works = _works_of(right)
    words_in_both = {work.all_words for work in wrong_works} & {
        work.all_words for work in right_works
    }
    return ChangedWorks(
        [work for work in wrong_works if work.all_words not in words_in_both],
        [work for work in right_works if work.all_words not in words_in_both],
    )


def _works_of(call: Call) -> list[CommandWork]:
    """Return what a call does, without what only prepares it and viewers at the end of a pipe.

    `cd web && npm test | tail -5` does one thing: `npm test`.
    """
    works: list[CommandWork] = []
    for command, programs in call.by_command:
        program = programs[-1]
        if len(programs) > 1 and (_is_script(program) or _is_usual_name(program)):
            program = programs[-2]
        if program.invocation.name in _PREPARING_PROGRAMS or is_viewed(command):
            continue
        operands = tuple(word for word in program.invocation.arguments if word[:1] != "-")
        works.append(CommandWork(program, operands))
    return works


def _is_script(program: Program) -> bool:
    """Return whether a program is a file that an interpreter runs.

    In `python scripts/seed.py` python is the program, and the file a value of the task. `manage.py` and the like are
    programs with subcommands themselves.
    """
    starter = next(reversed(program.invocation.wrappers), "")
    return starter in _SCRIPT_RUNNERS and program.invocation.name not in _SCRIPTS_WITH_SUBCOMMANDS


def _is_usual_name(program: Program) -> bool:
    """Return whether a program is the usual name of the one that is written: a guard has to name the latter.

    Where `docker-compose up` is written, the program behind it is `docker compose`.
    """
    starter = next(reversed(program.invocation.wrappers), "")
    return starter in usual_names()


def same_work(work: CommandWork, others: Sequence[CommandWork]) -> CommandWork | None:
    """Return the work of another call with the same program and subcommand, None if there is none.

    `git push -f` is the same work as `git push`, and another one than `git pull`. Of several it is the one that shares
    most words.
    """
    words = {*work.arguments}
    with_same_head = [other for other in others if work.likely_head == other.likely_head]
    return max(with_same_head, key=lambda other: len(words & {*other.arguments}), default=None)


def head_of_both(work: CommandWork, other: CommandWork) -> list[str]:
    """Return the head that two forms of a work have, the program with its subcommands: `["git", "push"]`.

    The first word behind a program that nobody knows counts as its subcommand if both have the same one: otherwise it may
    be a value of the task.
    """
    subcommands = subcommands_of(work.name, work.plain_words)
    if subcommands is not None:
        return [work.name, *subcommands]
    first_word = work.plain_words[:1]
    if first_word != other.plain_words[:1]:
        return [work.name]
    return [work.name, *first_word]
