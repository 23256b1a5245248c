"""The state of a reading: what has been found, what is known, and what is still to be done."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, NamedTuple

from mcp_reflect.shell.bounds import MOST_COMMANDS, MOST_DEPTH, Budget, TooMuchError
from mcp_reflect.shell.commands import Command, Inside, PipePosition, Redirection, Subshell
from mcp_reflect.shell.fed import PipedOutput
from mcp_reflect.shell.parser import Node
from mcp_reflect.shell.programs import invocations_of
from mcp_reflect.shell.variables import Value, Variables, Word

_MOST_EARLIER_FUNCTIONS: Final = 3
"""Functions of one name that may be called where branches define it several times, besides the latest."""


class ScriptContext(NamedTuple):
    """What every command that is read at one point of the walk has in common; most fields are those of `Command`.

    `source` is the text that the parser was given. With `is_possible` a command is read with one of several values that
    a variable may have. `called` are the aliases that are being read, so that none is read within itself.
    """

    source: bytes
    before: str = ""
    is_background: bool = False
    is_negated: bool = False
    is_possible: bool = False
    pipes: tuple[PipePosition, ...] = ()
    inside: tuple[Inside, ...] = ()
    subshells: tuple[Subshell, ...] = ()
    branches: tuple[int, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    document: str = ""
    extra_parts: tuple[Node, ...] = ()  # words of the command that stand behind a redirection
    assignments: tuple[str, ...] = ()
    script: int = 0
    fed_by: tuple[str, ...] = ()
    called: frozenset[str] = frozenset()
    depth: int = 0

    def within(self, inside: Inside) -> "ScriptContext":
        """Return the context of what stands in a structure here."""
        if self.depth >= MOST_DEPTH:
            raise TooMuchError(f"it is deeper than {MOST_DEPTH} levels")
        return self._replace(inside=(*self.inside, inside), depth=self.depth + 1)

    def in_subshell(self, node: Node, around: int) -> "ScriptContext":
        """Return the context of what stands in a subshell here; `around` is the number of the script around it."""
        subshell = Subshell(node.start_byte, len(self.pipes), around)
        return self._replace(subshells=(*self.subshells, subshell))

    def in_branch(self, node: Node) -> "ScriptContext":
        """Return the context of what stands in a branch of an `if` here."""
        return self._replace(branches=(*self.branches, node.start_byte))

    def alone(self) -> "ScriptContext":
        """Return the context without what belongs to one command only."""
        return self._replace(redirections=(), document="", extra_parts=())


class VariableScope(Enum):
    """A stretch of a script behind which variables are not what they were made in it."""

    BRANCH = auto()  # it may have been left out
    SUBSHELL = auto()  # a shell of its own, with a copy of the variables
    SHELL = auto()  # another shell, which has what is exported


class Visit(NamedTuple):
    """A node that is to be read."""

    node: Node
    context: ScriptContext


class Emit(NamedTuple):
    """A command whose substitutions have been read: now it runs."""

    node: Node
    context: ScriptContext


class Enter(NamedTuple):
    """A scope begins; another shell has variables of its own."""

    scope: VariableScope
    variables: Variables | None = None


class Leave(NamedTuple):
    """A scope ends."""


class FunctionCall(NamedTuple):
    """A function begins, with arguments and with variables for it alone."""

    arguments: list[Word]
    assignments: tuple[str, ...]


class FunctionEnd(NamedTuple):
    """The end of a function: the arguments and the local variables of its caller are back."""


Task = Visit | Emit | Enter | Leave | FunctionCall | FunctionEnd


@dataclass(frozen=True, slots=True)
class Function:
    """A function where it was defined."""

    body: Node
    source: bytes


@dataclass(frozen=True, slots=True)
class _Frame:
    """What the caller of a function had: its arguments, and the variables that the function has of its own."""

    arguments: dict[str, Value]
    variables: dict[str, Value | None] = field(default_factory=dict[str, Value | None])


@dataclass(frozen=True, slots=True)
class _Saved:
    """What a shell had where a scope began."""

    scope: VariableScope
    variables: Variables
    functions: dict[str, tuple[Function, ...]]
    aliases: dict[str, str]


@dataclass(slots=True)
class ScriptReading:
    """One reading of a script. Tasks are done from the end of their list."""

    budget: Budget = field(default_factory=Budget)
    commands: list[Command] = field(default_factory=list[Command])
    possible: list[Command] = field(default_factory=list[Command])
    variables: Variables = field(default_factory=Variables)
    functions: dict[str, tuple[Function, ...]] = field(
        default_factory=dict[str, tuple[Function, ...]]
    )
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    outputs: dict[int, PipedOutput] = field(default_factory=dict[int, PipedOutput])  # by pipeline
    tasks: list[Task] = field(default_factory=list["Task"])
    saved: list[_Saved] = field(default_factory=list["_Saved"])
    frames: list[_Frame] = field(default_factory=list["_Frame"])
    pipelines: int = 0
    scripts: int = 0

    def later(self, tasks: Sequence[Task]) -> None:
        """Do tasks next, the first of them first."""
        self.tasks.extend(reversed(tasks))

    def enter(self, task: Enter) -> None:
        """Begin a scope."""
        self.saved.append(_Saved(task.scope, self.variables, self.functions, self.aliases))
        self.variables = self.variables.copy() if task.variables is None else task.variables

    def leave(self) -> None:
        """End the scope that began last."""
        saved = self.saved.pop()
        if saved.scope is VariableScope.BRANCH:
            self.variables = saved.variables.or_else(self.variables)
        else:
            self.variables = saved.variables
            self.functions, self.aliases = saved.functions, saved.aliases

    def define(self, name: str, function: Function) -> None:
        """Note a function; in a branch the one before it may be the one that is called."""
        earlier_functions: tuple[Function, ...] = ()
        is_in_branch = any(saved.scope is VariableScope.BRANCH for saved in self.saved)
        if is_in_branch:
            earlier_functions = self.functions.get(name, ())[:_MOST_EARLIER_FUNCTIONS]
        self.functions = {**self.functions, name: (function, *earlier_functions)}

    def define_alias(self, name: str, text: str) -> None:
        """Note an alias."""
        self.aliases = {**self.aliases, name: text}

    def call(self, task: FunctionCall) -> None:
        """Begin a function."""
        self.frames.append(_Frame(self.variables.arguments()))
        self.variables.set_arguments(task.arguments)
        for assignment in task.assignments:
            name, _, value = assignment.partition("=")
            self.make_local(name)
            self.variables.assign(name, [Word(value, "$" not in value and "`" not in value)])

    def make_local(self, name: str) -> None:
        """Note that a variable belongs to the function that is read: behind the call it is what it was before.

        Outside of a function nothing is noted. A list has its words under a name of its own, which is noted as well.
        """
        if not self.frames:
            return
        for key in (name, f"{name}[@]"):
            self.frames[-1].variables.setdefault(key, self.variables.values.get(key))

    def return_from_call(self) -> None:
        """Give the caller of a function its variables back."""
        frame = self.frames.pop()
        for name, value in frame.variables.items():
            if value is None:
                self.variables.values.pop(name, None)
            else:
                self.variables.values[name] = value
        self.variables.restore_arguments(frame.arguments)

    def add(
        self, words: Sequence[Word], context: ScriptContext, assignments: Sequence[str] = ()
    ) -> Command:
        """Add the command of these words, with all that its context says of it; its number is its index among the commands."""
        texts = tuple(word.text for word in words) or ("",)
        self.budget.take_words((*texts, *assignments, context.document))
        command = Command(
            number=len(self.commands),
            words=texts,
            unknown=frozenset(index for index, word in enumerate(words) if not word.is_known),
            assignments=(*context.assignments, *assignments),
            redirections=context.redirections,
            document=context.document,
            before=context.before,
            is_background=context.is_background,
            is_negated=context.is_negated,
            pipes=context.pipes,
            inside=context.inside,
            subshells=context.subshells,
            branches=context.branches,
            script=context.script,
            fed_by=context.fed_by,
            invocations=invocations_of(texts, context.fed_by),
        )
        self.keep(command, is_possible=context.is_possible)
        return command

    def keep(self, command: Command, *, is_possible: bool) -> None:
        """Keep a command among those that run, or among those that may."""
        if len(self.commands) + len(self.possible) >= MOST_COMMANDS:
            raise TooMuchError(f"it has more than {MOST_COMMANDS:,} commands")
        if is_possible:
            self.possible.append(command)
        else:
            self.commands.append(command)
