"""The folder that each command of a call runs in, as far as `cd`, `git -C` and the like say it."""

from collections.abc import Iterator, Sequence
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
_STARTING_OWN: Final = frozenset(("builtin", "command"))  # start a command of the shell itself
_LEADING_INTO: Final = frozenset(("cd", "pushd", "chdir", "set-location", "sl", "push-location"))
_CHANGING_FOLDER: Final = _LEADING_INTO | {"popd", "pop-location"}
_MAY_NOT_RUN_HERE: Final = frozenset(Inside) - {Inside.GROUP, Inside.FED, Inside.IF}
"""Where a `cd` may not run at all, or runs in a shell of its own: in a loop, a function, a subshell."""
_OWN_SHELLS: Final = (Inside.SUBSHELL, Inside.SUBSTITUTION)

_MOST_FOLDER_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rest:
    """What a change has beside its path: see `shell.PathChange`."""

    removes: bool = False
    names: tuple[str, ...] = ()
    if_folder: bool = False


@dataclass(frozen=True, slots=True)
class NamedChange(_Rest):
    """A path that a call changes, as seen from the call's own folder: `web/a.js` for `cd web && tee a.js`.

    `is_in_known_folder` is false where nobody knows from which folder it is seen: `cd $X && tee a.js`.
    """

    path: str
    is_in_known_folder: bool


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
        """The folder of the repository that the shell names to each git."""
        starts_git = any(one.name == "git" for one in self.command.invocations)
        return [self.repository] if self.repository and starts_git else []

    def folder_around(self, path: str) -> str | None:
        """Return the folder that a path of its program is seen from: for `$PWD/a` the one that the shell is in."""
        return self.shell_folder if is_in_working_folder(path) else self.folder


def folder_from(folder: str | None, named: str) -> str | None:
    """Return the folder that a name leads to from another folder, None where that is not known."""
    if folder is None and not is_absolute(named):
        return None
    return joined(folder or "", named)[-_MOST_FOLDER_CHARS:]


@dataclass(frozen=True, slots=True)
class _State:
    """Where a shell is: its folder and its `GIT_DIR`, as long as what runs is in the branches in which that was said."""

    folder: str | None
    repository: str = ""
    branches: tuple[int, ...] = ()

    def seen_from(self, branches: tuple[int, ...]) -> "_State":
        """Return where the shell is for a command in some branches: in `if cd a; then b; else c; fi; d` only b is in a."""
        if branches[: len(self.branches)] == self.branches:
            return self
        return _State(None)


_Shell = tuple[int, tuple[Subshell, ...]]
"""A shell: the number of its script, and the subshells that it stands in."""


def placed_in_order(commands: Sequence[Command], start: str = "") -> Iterator[PlacedCommand]:
    """Yield commands with the folders that `cd` led to; `start` is where the first one runs.

    Each script has a folder of its own, since `bash -c` runs another one, and so has each subshell.
    """
    states: dict[_Shell, _State] = {(0, ()): _State(start)}
    state_before = _State(start)
    for command in commands:
        shell = (command.script, command.subshells)
        state = states.get(shell)
        if state is None or _begins_substitution(command):
            shells = (one for one in _shells_around(command) if one in states)
            around = next(shells, None)
            state = state_before if around is None else states[around]
            if runs_elsewhere(command.fed_by):
                state = _State(None)
        state = state.seen_from(command.branches)
        placed = PlacedCommand(command, state.folder, state.repository)
        yield placed
        state_before = replace(state, folder=placed.folder)
        states[shell] = _state_behind(command, state)


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


def _state_behind(command: Command, state: _State) -> _State:
    """Return where the shell is behind a command: after `cd src` in the folder `web` it is in `web/src`."""
    pipelines = command.subshells[-1].pipelines if command.subshells else 0
    is_alone = len(command.pipes) > pipelines or (command.is_background and not command.subshells)
    if is_alone:  # in a shell of its own
        return state
    words = [*command.words]
    while len(words) > 1 and words[0] in _STARTING_OWN:
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

    It is None where that is not certain: `cd $X`, `cd -`, a `cd` in a loop.
    """
    program, *named = words
    while named and named[0] in _WITHOUT_CHANGE:
        del named[0]
    if named[:1] == ["--"]:
        del named[0]
    is_certain = (
        base_name(program).lower() in _LEADING_INTO
        and _runs_here(command)
        and len(named) == 1
        and (not command.unknown or _is_known(named[0]))
        and named[0][:1] not in ("-", "+")
    )
    if not is_certain or "$" in joined("", named[0]):
        return None
    return folder_from(folder, named[0])


def _runs_here(command: Command) -> bool:
    """Return whether a command certainly runs in its shell, if its branch does."""
    inside = _inside_of_shell(command)
    is_in_known_branch = bool(command.branches) or Inside.IF not in inside
    is_fed = command.script == SUBSTITUTED and Inside.FED in inside  # has no number of its own
    return (
        command.before != "||"
        and not command.is_negated
        and is_in_known_branch
        and not is_fed
        and _MAY_NOT_RUN_HERE.isdisjoint(inside)
    )


def _is_known(named: str) -> bool:
    """Return whether a folder with a variable is known all the same: below a home, or the folder that the shell is in."""
    return named.startswith(HOME_VARIABLES) or is_in_working_folder(named)


def _inside_of_shell(command: Command) -> tuple[Inside, ...]:
    """Return what a command stands in, as far as its own subshell: in `if a; then (cd b; c); fi` nothing."""
    inside = command.inside
    first = len(inside)
    while first and inside[first - 1] not in _OWN_SHELLS:
        first -= 1
    return inside[first:]
