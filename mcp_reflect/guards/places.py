"""Where a call works: the projects whose guards apply there.

A guard of a project applies to what is done in the folders of that project, wherever a call is made:

| what is done                                      | guards that apply to it                          |
|---------------------------------------------------|--------------------------------------------------|
| a command in a folder of a known project          | those of that project                            |
| a command elsewhere: `cd /tmp`, an unknown folder | those of the call's folder, and of the session's |
| a path that is written lies in a known project    | those of that project                            |
| a path that is written elsewhere                  | of those two, the ones that name it from `/` on  |
| a call of another tool                            | those of the call's folder, and of the session's |

The folder of a command is the call's own, after `cd`, and `git -C`, `make -C`, `npm --prefix` and the like choose
another. Of two projects within each other, the inner one counts; a guard of the outer one that names a path with its
folders, `vendor/lib/a.py`, applies there as well. `views` gives each project its part of a call.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mcp_reflect.guards.items import WILDCARDS
from mcp_reflect.guards.paths import is_absolute, is_around, joined
from mcp_reflect.patterns import lazy_compile

_PLAIN_BEGINNING: Final = lazy_compile(r"[^*?\[]+")


@dataclass(frozen=True, slots=True)
class ProjectFolder:
    """A folder of a project: `ProjectFolder("github.com/acme/shop", "/work/shop")`.

    With `is_part` it is a part of a repository that settings may make a project of its own. An agent's shell can set that
    for a hook of its own, so that the guards of the whole repository apply in it as well.
    """

    project: str
    root: str
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Where:
    """Where a host says that a call is made, on this machine.

    `folder` is the call's own. `trees` are the names of the working tree around it, if that has a project of its own.
    `began_with` is the project, or a folder, with which the session began; empty where the host does not say it.
    """

    folder: str
    trees: tuple[str, ...] = ()
    began_with: str = ""


@dataclass(frozen=True)
class CallPlace:
    """Where a call is made, as far as words and the bank tell.

    `folder` is the call's own, empty where the host does not say it. `own` is the project of that folder and `session`
    the one in whose folder the session began. `known_folders` are those of all projects that the bank knows.
    """

    own: str
    session: str = ""
    folder: str = ""
    known_folders: tuple[ProjectFolder, ...] = ()

    @property
    def at_hand(self) -> tuple[str, ...]:
        """The projects whose guards apply where nothing says another one: of the call's folder, and of the session's."""
        return tuple(dict.fromkeys(project for project in (self.own, self.session) if project))

    def roots_of(self, project: str) -> tuple[str, ...]:
        """Return the folders of a project, without a slash at the end."""
        return self._roots.get(project, ())

    @cached_property
    def _roots(self) -> dict[str, tuple[str, ...]]:
        """The folders of each project, by which paths are told to be the project's: one for each clone and worktree."""
        roots: dict[str, tuple[str, ...]] = {}
        for folder in self.known_folders:
            roots[folder.project] = (*roots.get(folder.project, ()), folder.root)
        return roots

    @cached_property
    def _by_root(self) -> dict[str, list[ProjectFolder]]:
        """The folders of projects by their paths."""
        by_root: dict[str, list[ProjectFolder]] = {}
        for folder in self.known_folders:
            by_root.setdefault(folder.root, []).append(folder)
        return by_root

    @cached_property
    def _projects_below(self) -> dict[str, set[str]]:
        """The projects whose folders lie in each folder, or are that folder: `/work` has shop, where that is `/work/shop`."""
        below: dict[str, set[str]] = {}
        for folder in self.known_folders:
            for around in _folders_around(folder.root):
                below.setdefault(around, set()).add(folder.project)
        return below

    def absolute(self, path: str) -> str:
        """Return a path as seen from the call's folder; the same path where nobody knows that folder."""
        if path == "~" or path[:2] == "~/":
            return joined("", posixpath.expanduser(path)) if self.folder else path
        return joined(self.folder, path)

    def projects_at(self, path: str) -> tuple[str, ...]:
        """Return the projects whose guards apply to a path, none where it lies in no project that the bank knows.

        It is the innermost project around the path. Where that is only a part of a repository (`is_part`), the guards of
        the whole repository apply as well: `web/a.js` in the part `web` of shop has both.
        """
        projects: list[str] = []
        for folder in self.around(path):
            projects.append(folder.project)
            if not folder.is_part:
                break
        return tuple(dict.fromkeys(projects))

    def around(self, path: str) -> list[ProjectFolder]:
        """Return the folders of projects in which a path lies, the innermost first."""
        if not is_absolute(path):
            return []
        folders: list[ProjectFolder] = []
        for around in _folders_around(path):
            folders += self._by_root.get(around, ())
        return folders

    def projects_in(self, path: str) -> set[str]:
        """Return the projects whose folders lie in a path, or in what it is a pattern of: `rm -rf /work/*`."""
        if WILDCARDS.isdisjoint(path):
            return self._projects_below.get(path.rstrip("/"), set())
        plain = _PLAIN_BEGINNING.match(path)
        beginning = plain[0] if plain else ""
        return {
            folder.project
            for folder in self.known_folders
            if folder.root.startswith(beginning) and is_around(path, folder.root)
        }


def _folders_around(path: str) -> Iterator[str]:
    """Yield a path and the folders around it, the innermost first; the root of the system is the empty text."""
    around = path.rstrip("/")
    while around:
        yield around
        around = around.rpartition("/")[0]
    yield ""
