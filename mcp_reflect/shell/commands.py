"""What a script is read as: commands, with where each stands and what goes into and out of it.

A text that a command gives to a shell (`bash -c '…'`) is *fed* to it, and is a script of its own.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from mcp_reflect.shell.programs import Invocation

DEVICES: Final = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "$null")
"""Files that keep nothing."""

SUBSTITUTED: Final = -1
"""The number of the script of commands that stand in `$(…)`: their text becomes part of a word."""


class Inside(StrEnum):
    """What a command stands in."""

    IF = "if"
    LOOP = "loop"
    CASE = "case"
    SUBSHELL = "subshell"
    GROUP = "group"
    FUNCTION = "function"
    SUBSTITUTION = "substitution"
    FED = "fed"  # the text that another command gives to a shell


@dataclass(frozen=True, slots=True)
class Redirection:
    """`2> log`: the operator, the file (or the text of `<<<` and `<<`), and the descriptor if one is written.

    `choices` are the files that it may be by a variable with several values: `> $f` in a loop over `config/*`.
    """

    operator: str
    target: str
    descriptor: str = ""
    choices: tuple[str, ...] = ()

    @property
    def is_written(self) -> bool:
        """Whether its file is changed. `2>&1` names no file, and `/dev/null` keeps nothing."""
        names_descriptor = self.operator == ">&" and (self.target.isdigit() or self.target == "-")
        return ">" in self.operator and not names_descriptor and self.target not in DEVICES

    @property
    def is_read(self) -> bool:
        """Whether its file is read."""
        return self.operator == "<" and self.target not in DEVICES


@dataclass(frozen=True, slots=True)
class PipePosition:
    """The number of a pipeline, and the position that a command has in it, from 0."""

    pipeline: int
    position: int


@dataclass(frozen=True, slots=True)
class Subshell:
    """A shell of its own, `(cd web; npm test)` or `$(cd web; npm test)`.

    `start` is where it begins in the text, `pipelines` how many of them it stands in, and `script` the number of the
    script around it.
    """

    start: int
    pipelines: int
    script: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of a script, without its quotes.

    | field         | what it has                                                                                            |
    |---------------|--------------------------------------------------------------------------------------------------------|
    | `number`      | its index among the commands of the script                                                             |
    | `words`       | the program and its arguments; the program is empty where it only assigns or redirects                 |
    | `unknown`     | the indexes of words with a value that nobody can know from the text: they stand as written (`$x`)     |
    | `document`    | the text of its here-documents                                                                         |
    | `before`      | the operator that it follows, such as `;`; "" for the first, `(` for the first of a `$(…)`             |
    | `pipes`       | the pipelines that it stands in, from the outside to the inside                                        |
    | `script`      | which text is run: 0 the script itself, SUBSTITUTED for `$(…)`, 1 and more for what a shell is fed     |
    | `fed_by`      | the programs that feed that text to a shell: `("sudo", "bash")`                                        |
    | `invocations` | the programs that it starts, from the outside to the inside: `sudo`, `npx`, `tsc`                      |
    | `subshells`   | those in parentheses that it stands in                                                                 |
    | `branches`    | those of an `if`, by where each begins; what stands before `then` is in one with what stands behind it |

    Two equal commands need not share their subshells and branches.
    """

    number: int
    words: tuple[str, ...]
    unknown: frozenset[int] = frozenset()
    assignments: tuple[str, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    document: str = ""
    before: str = ""
    is_background: bool = False
    is_negated: bool = False
    pipes: tuple[PipePosition, ...] = ()
    inside: tuple[Inside, ...] = ()
    script: int = 0
    fed_by: tuple[str, ...] = ()
    invocations: tuple[Invocation, ...] = ()
    subshells: tuple[Subshell, ...] = field(default=(), compare=False)
    branches: tuple[int, ...] = field(default=(), compare=False)

    @property
    def program(self) -> str:
        """The program as it is written; empty for a command that only assigns or redirects."""
        return self.words[0]

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words after the program."""
        return self.words[1:]

    @property
    def writes(self) -> tuple[str, ...]:
        """The files that it redirects to. `written_files` has those that its program changes as well."""
        return tuple(
            redirection.target for redirection in self.redirections if redirection.is_written
        )

    @property
    def line(self) -> tuple[str, ...]:
        """Its assignments and words, and its redirections to and from files: `X=1`, `sort`, `>`, `out`."""
        line = [*self.assignments]
        if self.program:
            line += self.words
        for redirection in self.redirections:
            if redirection.is_written or redirection.is_read:
                line += [redirection.operator, redirection.target]
            elif redirection.operator in ("<<", "<<-"):
                line.append(redirection.operator)
        return tuple(line)

    def feeds(self, other: "Command") -> bool:
        """Return whether its output goes into another command through a pipe.

        It does where both stand in one pipeline, the other one behind it, however many commands are between.
        """
        position_of_other = {pipe.pipeline: pipe.position for pipe in other.pipes}
        return any(position_of_other.get(pipe.pipeline, -1) > pipe.position for pipe in self.pipes)


@dataclass(frozen=True, slots=True)
class Script:
    """A text as the shell reads it: its commands in the order in which they stand.

    A *partial* reading has no commands: `why_partial` says why, and `may_start` tells from the words of the text alone
    whether a program could be among them.

    `possible` are commands with one of several values that a variable may have there: for who asks what may run, not
    for who asks what ran.
    """

    commands: tuple[Command, ...]
    why_partial: str = ""
    words: frozenset[str] = frozenset()
    possible: tuple[Command, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Whether the text was too large, too deep, or not understood."""
        return bool(self.why_partial)

    def may_start(self, program: str) -> bool:
        """Return whether the program may be run: it stands as a word in a text that was not read."""
        return program.lower() in self.words
