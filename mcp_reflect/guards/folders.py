"""The folder that each command of a call runs in, as far as `cd`, `git -C` and the like say it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from mcp_reflect.guards.paths import is_absolute, joined
from mcp_reflect.shell import Command, Inside, base_name, named_folders, runs_elsewhere

_CHANGING_FOLDER: Final = frozenset(("cd", "pushd", "popd"))
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
            if "$" in named:
                return None
            folder = folder_from(folder, named)
        return folder


def folder_from(folder: str | None, named: str) -> str | None:
    """Return the folder that a name leads to from another folder, None where that is not known."""
    if folder is None and not is_absolute(named):
        return None
    return joined(folder or "", named)[-_MOST_FOLDER_CHARS:]


def placed_in_order(commands: Sequence[Command]) -> Iterator[PlacedCommand]:
    """Yield commands with the folders that `cd` led to. Each script has its own: `bash -c` runs another script."""
    folders: dict[int, str | None] = {0: ""}
    folder_before: str | None = ""
    in_subshell = _SubshellFolder()
    for command in commands:
        if (
            command.script not in folders
        ):  # it is read right behind the command that gives it to a shell
            folders[command.script] = None if runs_elsewhere(command.fed_by) else folder_before
        folder = folders[command.script]
        in_subshell = _next_in_subshell(in_subshell, command, folder)
        placed = PlacedCommand(command, in_subshell.folder or folder)
        yield placed
        folder_before = placed.folder
        if base_name(command.program) in _CHANGING_FOLDER:
            folders[command.script] = _folder_behind(command, folder)


@dataclass(frozen=True, slots=True)
class _SubshellFolder:
    """The folder of commands that `&&` joins behind a `cd` in a subshell: `(cd dist && tee a)`. Empty outside of one."""

    folder: str = ""
    inside: tuple[Inside, ...] = ()


def _next_in_subshell(
    state: _SubshellFolder, command: Command, outer_folder: str | None
) -> _SubshellFolder:
    """Return the folder of a command in a subshell; `state` is that of the command before it.

    Commands do not say where their subshell ends: so only those count that `&&` joins, as people write it.

    | the command                                      | the folder                       |
    | goes on behind `&&`, and is no `cd`              | stays                            |
    | `cd dist` that begins a subshell                 | dist, behind the outer folder    |
    | `cd dist` behind `&&` in one, or anything else   | none                             |
    """
    goes_on = bool(state.folder) and command.before == "&&" and command.inside == state.inside
    if goes_on and base_name(command.program) not in _CHANGING_FOLDER:
        return state
    if command.program != "cd" or command.inside[-1:] != (Inside.SUBSHELL,):
        return _SubshellFolder()
    inside_of_subshell = command.inside[:-1]
    folder = _folder_behind(replace(command, inside=inside_of_subshell), outer_folder)
    return _SubshellFolder("" if goes_on else folder or "", command.inside)


def _folder_behind(command: Command, folder: str | None) -> str | None:
    """Return the folder in which the commands behind a `cd` run: `web/src` behind `cd src` in the folder `web`.

    It is None where that is not certain: `cd $X`, `cd -`, a `cd` in an `if`.
    """
    if command.pipes or command.is_background:  # a shell of its own
        return folder
    is_certain = (
        command.program in ("cd", "pushd")
        and command.before != "||"
        and _MAY_NOT_RUN_HERE.isdisjoint(command.inside)
        and not command.unknown
        and len(command.arguments) == 1
        and command.arguments[0][:1] not in ("-", "+")
    )
    if not is_certain:
        return None
    return folder_from(folder, command.arguments[0])
