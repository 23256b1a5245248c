"""The folder that each command of a call runs in, as far as `cd`, `git -C` and the like say it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mcp_reflect.guards.paths import HOME_VARIABLES, is_absolute, is_in_working_folder, joined
from mcp_reflect.shell import (
    SUBSTITUTED,
    Command,
    Inside,
    Subshell,
    base_name,
    named_folders,
    runs_elsewhere,
)

_LEADING_INTO: Final = frozenset(("cd", "pushd", "chdir", "set-location", "sl", "push-location"))
_CHANGING_FOLDER: Final = _LEADING_INTO | {"popd", "pop-location"}
_MAY_NOT_RUN_HERE: Final = frozenset(Inside) - {Inside.GROUP, Inside.FED}
"""Where a `cd` may not run at all, or runs in a shell of its own: in an `if`, a loop, a subshell."""

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
    """A command with the folder that its shell is in, as seen from the call's own; None where that is not certain."""

    command: Command
    shell_folder: str | None

    @cached_property
    def folder(self) -> str | None:
        """The folder that its program works in: `git -C web push` works in `web`. None where that is not certain.

        A folder that a variable names is not known.
        """
        folder = self.shell_folder
        for named in named_folders(self.command):
            if "$" in joined("", named):
                return None
            if is_in_working_folder(named):
                folder = self.shell_folder
            folder = folder_from(folder, named)
        return folder

    def folder_around(self, path: str) -> str | None:
        """Return the folder that a path of its program is seen from: for `$PWD/a` the one that the shell is in."""
        return self.shell_folder if is_in_working_folder(path) else self.folder


def folder_from(folder: str | None, named: str) -> str | None:
    """Return the folder that a name leads to from another folder, None where that is not known."""
    if folder is None and not is_absolute(named):
        return None
    return joined(folder or "", named)[-_MOST_FOLDER_CHARS:]


def placed_in_order(commands: Sequence[Command], start: str = "") -> Iterator[PlacedCommand]:
    """Yield commands with the folders that `cd` led to; `start` is where the first one runs.

    Each script has a folder of its own, since `bash -c` runs another one, and so has each subshell.
    """
    folders: dict[_Shell, str | None] = {(0, ()): start}
    folder_before: str | None = start
    for command in commands:
        shell = (command.script, command.subshells)
        if shell not in folders or _begins_substitution(command):
            around = (command.script, command.subshells[:-1])
            folder = folders.get(around, folder_before) if command.subshells else folder_before
            folders[shell] = None if runs_elsewhere(command.fed_by) else folder
        placed = PlacedCommand(command, folders[shell])
        yield placed
        folder_before = placed.folder
        if base_name(command.program).lower() in _CHANGING_FOLDER:
            folders[shell] = _folder_behind(command, folders[shell])


_Shell = tuple[int, tuple[Subshell, ...]]
"""A shell: the number of its script, and the subshells that it stands in."""


def _begins_substitution(command: Command) -> bool:
    """Return whether a command is the first of a `$(…)`, which is a shell of its own."""
    return command.script == SUBSTITUTED and command.before == "("


def _folder_behind(command: Command, folder: str | None) -> str | None:
    """Return the folder in which the commands behind a `cd` run: `web/src` behind `cd src` in the folder `web`.

    It is None where that is not certain: `cd $X`, `cd -`, a `cd` in an `if`.
    """
    pipelines = command.subshells[-1].pipelines if command.subshells else 0
    is_alone = len(command.pipes) > pipelines or (command.is_background and not command.subshells)
    if is_alone:  # in a shell of its own
        return folder
    is_certain = (
        base_name(command.program).lower() in _LEADING_INTO
        and command.before != "||"
        and _MAY_NOT_RUN_HERE.isdisjoint(_inside_of_shell(command))
        and len(command.arguments) == 1
        and (not command.unknown or _is_known(command.arguments[0]))
        and command.arguments[0][:1] not in ("-", "+")
    )
    if not is_certain or "$" in joined("", command.arguments[0]):
        return None
    return folder_from(folder, command.arguments[0])


def _is_known(named: str) -> bool:
    """Return whether a folder with a variable is known all the same: below a home, or the folder that the shell is in."""
    return named.startswith(HOME_VARIABLES) or is_in_working_folder(named)


def _inside_of_shell(command: Command) -> tuple[Inside, ...]:
    """Return what a command stands in, as far as its own subshell: in `if a; then (cd b; c); fi` nothing."""
    inside = command.inside
    if Inside.SUBSHELL not in inside:
        return inside
    behind_subshell = inside[::-1].index(Inside.SUBSHELL)
    return inside[len(inside) - behind_subshell :]
