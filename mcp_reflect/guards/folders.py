"""The folder that each command of a call runs in, as far as `cd`, `git -C` and the like say it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from mcp_reflect.guards.paths import HOME_VARIABLES, is_absolute, is_in_working_folder, joined
from mcp_reflect.shell import (
    SUBSTITUTED,
    Command,
    Inside,
    Subshell,
    base_name,
    exported_repository,
    named_folders,
    runs_elsewhere,
)

_WITHOUT_CHANGE: Final = frozenset(("-P", "-L", "-e", "-Pe"))  # options of `cd`
_STARTERS_OF_BUILTINS: Final = frozenset(("builtin", "command"))
"""Words before a command of the shell itself: `builtin cd web`."""

_ENTERING: Final = frozenset(("cd", "pushd", "chdir", "set-location", "sl", "push-location"))
"""Commands that lead into the folder that they name."""

_CHANGING_FOLDER: Final = _ENTERING | {"popd", "pop-location"}
_MAY_NOT_RUN_HERE: Final = frozenset(Inside) - {Inside.GROUP, Inside.FED, Inside.IF}
"""Where a `cd` may not run at all, or runs in a shell of its own: in a loop, a function, a subshell."""
_OWN_SHELLS: Final = (Inside.SUBSHELL, Inside.SUBSTITUTION)

_MOST_FOLDER_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True)
class NamedChange:
    """A path that a call changes, as seen from the call's own folder: `web/a.js` for `cd web && tee a.js`.

    `is_in_known_folder` is false where nobody knows from which folder it is seen: `cd $X && tee a.js`. `removes`, `names`,
    `if_folder` and `restores` are those of `shell.PathChange`.
    """

    path: str
    is_in_known_folder: bool
    removes: bool = False
    names: tuple[str, ...] = ()
    if_folder: bool = False
    restores: bool = False


@dataclass(frozen=True)
class PlacedCommand:
    """A command with the folder that its shell is in, as seen from the call's own; None where that is not certain.

    `repository` is the folder that `GIT_DIR` names in that shell, empty for none.
    """

    command: Command
    shell_folder: str | None
    repository: str = ""

    @cached_property
    def folder(self) -> str | None:
        """The folder that its program works in: `git -C web push` works in `web`. None where that is not certain.

        A folder that a variable names is not known.
        """
        folder = self.shell_folder
        for named in named_folders(self.command) or self._of_repository:
            if "$" in joined("", named):
                return None
            if is_in_working_folder(named):
                folder = self.shell_folder
            folder = folder_from(folder, named)
        return folder

    @property
    def _of_repository(self) -> list[str]:
        """The folder of the repository that the shell names to each git by `GIT_DIR`; empty for another program."""
        starts_git = any(invocation.name == "git" for invocation in self.command.invocations)
        if self.repository and starts_git:
            return [self.repository]
        return []

    def folder_around(self, path: str) -> str | None:
        """Return the folder that a path of its program is seen from: for `$PWD/a` the one that the shell is in."""
        if is_in_working_folder(path):
            return self.shell_folder
        return self.folder


def folder_from(folder: str | None, path: str) -> str | None:
    """Return the folder that a path leads to from another folder: `web/src` for `src` in `web`.

    It is None where the other folder is not known (None), unless the path is absolute.
    """
    if folder is None and not is_absolute(path):
        return None
    return joined(folder or "", path)[-_MOST_FOLDER_CHARS:]


@dataclass(frozen=True, slots=True)
class _ShellState:
    """Where a shell is: its folder and its `GIT_DIR`, both certain for commands in the same `branches` of an `if`."""

    folder: str | None
    repository: str = ""
    branches: tuple[int, ...] = ()

    def for_branches(self, branches: tuple[int, ...]) -> "_ShellState":
        """Return where the shell is for a command in some branches: in `if cd a; then b; else c; fi; d` only b is in a."""
        if branches[: len(self.branches)] == self.branches:
            return self
        return _ShellState(None)


_Shell = tuple[int, tuple[Subshell, ...]]
"""A shell: the number of its script, and the subshells that it stands in."""


def placed_in_order(commands: Sequence[Command], start: str = "") -> Iterator[PlacedCommand]:
    """Yield commands with the folders that `cd` led to; `start` is where the first one runs.

    In `cd web && (cd src; make) && make` the first make runs in `web/src`, the second one in `web`. Each script has a
    folder of its own, since `bash -c` runs another one, and so has each subshell.
    """
    states: dict[_Shell, _ShellState] = {(0, ()): _ShellState(start)}
    previous_state = _ShellState(start)
    for command in commands:
        shell = (command.script, command.subshells)
        state = states.get(shell)
        if state is None or _begins_substitution(command):
            state = _state_at_start(command, states, previous_state)
        state = state.for_branches(command.branches)
        placed = PlacedCommand(command, state.folder, state.repository)
        yield placed
        previous_state = replace(state, folder=placed.folder)
        states[shell] = _state_behind(command, state)


def _state_at_start(
    command: Command, states: Mapping[_Shell, _ShellState], previous_state: _ShellState
) -> _ShellState:
    """Return where a shell is at its first command.

    | the shell                                      | is                              |
    |------------------------------------------------|---------------------------------|
    | is fed by a program that runs elsewhere, `ssh` | somewhere that nobody knows     |
    | stands in another one, as `(…)` and `$(…)`     | where that one is               |
    | runs a script, `bash -c`                       | where the command before it ran |
    """
    if runs_elsewhere(command.fed_by):
        return _ShellState(None)
    for shell in _shells_around(command):
        if shell in states:
            return states[shell]
    return previous_state


def _shells_around(command: Command) -> Iterator[_Shell]:
    """Yield the shells around the subshell of a command, the innermost first, up to one that is fed a script."""
    subshells = command.subshells
    for depth in range(len(subshells) - 1, -1, -1):
        script = subshells[depth].script
        yield (script, subshells[:depth])
        if depth and script not in (SUBSTITUTED, subshells[depth - 1].script):
            return


def _begins_substitution(command: Command) -> bool:
    """Return whether a command is the first of a `$(…)`, which is a shell of its own."""
    return command.script == SUBSTITUTED and command.before == "("


def _state_behind(command: Command, state: _ShellState) -> _ShellState:
    """Return where the shell is behind a command: after `cd src` in the folder `web` it is in `web/src`.

    A command in a pipeline or in the background runs in a shell of its own: it changes nothing for the others.
    """
    pipelines_around = command.subshells[-1].pipelines if command.subshells else 0
    is_in_pipeline = len(command.pipes) > pipelines_around
    is_in_background = command.is_background and not command.subshells
    if is_in_pipeline or is_in_background:
        return state
    words = [*command.words]
    while len(words) > 1 and words[0] in _STARTERS_OF_BUILTINS:
        del words[0]
    if base_name(words[0]).lower() in _CHANGING_FOLDER:
        return replace(
            state,
            folder=_folder_behind(command, words, state.folder),
            branches=command.branches,
        )
    repository = exported_repository(command)
    if repository is None:
        return state
    if not _runs_here(command) or command.branches != state.branches:
        repository = ""
    return replace(state, repository=repository)


def _folder_behind(command: Command, words: Sequence[str], folder: str | None) -> str | None:
    """Return the folder in which the commands behind a `cd` run: `web/src` behind `cd src` in the folder `web`.

    It is None where that is not certain: `cd $X`, `cd -`, `popd`, a `cd` in a loop.
    """
    program, *operands = words
    while operands and operands[0] in _WITHOUT_CHANGE:
        del operands[0]
    if operands[:1] == ["--"]:
        del operands[0]
    enters = base_name(program).lower() in _ENTERING
    if not enters or not _runs_here(command) or len(operands) != 1:
        return None
    target = operands[0]
    is_back_in_history = target[:1] in ("-", "+")  # `cd -`, `pushd +1`
    is_unknown = bool(command.unknown) and not _is_known(target)
    if is_back_in_history or is_unknown or "$" in joined("", target):
        return None
    return folder_from(folder, target)


def _runs_here(command: Command) -> bool:
    """Return whether a command certainly runs in its shell, if its branch does.

    | the command                                    | runs here for certain                             |
    |------------------------------------------------|---------------------------------------------------|
    | `a || cd b`, `! cd b`                          | no                                                |
    | in an `if` whose branches were not read        | no                                                |
    | in a loop or a function                        | no                                                |
    | in a script that is fed within a `$(…)`        | no: such a script has no number of its own        |
    | any other                                      | yes                                               |
    """
    if command.before == "||" or command.is_negated:
        return False
    inside = _inside_of_shell(command)
    if Inside.IF in inside and not command.branches:
        return False
    if Inside.FED in inside and command.script == SUBSTITUTED:
        return False
    return _MAY_NOT_RUN_HERE.isdisjoint(inside)


def _is_known(named: str) -> bool:
    """Return whether a folder with a variable is known all the same: below a home, or the folder that the shell is in."""
    return named.startswith(HOME_VARIABLES) or is_in_working_folder(named)


def _inside_of_shell(command: Command) -> tuple[Inside, ...]:
    """Return what a command stands in within its own subshell: for `cd b` in `if a; then (cd b; c); fi` nothing.

    What stands around the subshell decides whether all of it runs, and not whether one of its commands does.
    """
    inside = command.inside
    first = len(inside)
    while first and inside[first - 1] not in _OWN_SHELLS:
        first -= 1
    return inside[first:]
