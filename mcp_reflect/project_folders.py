"""How the project of a folder is named, by the files of the folder alone, without git and without a bank.

A project is named by its repository: the address of its remote (`github.com/ada/shop`), else its first commit
(`commit:0123456789abcdef`), else the path of its folder.
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

from mcp_reflect.models.common import GLOBAL
from mcp_reflect.repositories import (
    GitRepository,
    NotReadableError,
    first_commit,
    repository_in,
    resolved_or_same,
)

COMMIT: Final = "commit:"
"""Begins the name of a repository without a remote: its first commit."""
_MOST_ADDRESS: Final = 4_000  # characters of a remote's address
# scheme://user:password@host:port/path, or user@host:path
_ADDRESS: Final = re.compile(
    r"(?:[a-z][\w+.-]*://(?:[^/]*@)?(\[[^\]]+\]|[^/:@]+)(?::\d*)?/|(?:[^/@]*@)?(\[[^\]]+\]|[^/:@\\]{2,}):(?!//)/*)(.+)",
    re.IGNORECASE,
)
_NOT_OF_A_NAME: Final = ("_git", "scm", "v3", "~")
"""Parts of a path that Azure DevOps and Bitbucket put into some of their addresses of one repository."""
_OWNER_AND_NAME: Final = 2  # parts of a path: with no more, each belongs to the name


class WorkingTrees(NamedTuple):
    """The working tree that a folder is in, and the main one of its repository; they differ in a worktree of git."""

    own: Path
    main: Path


@dataclass(frozen=True, slots=True)
class Folder:
    """What the files of a folder say about its project; they are read without git and without a bank."""

    path: str
    """The main working tree of its repository (worktrees share it), else the folder itself; it ends with `part`."""
    remote: str | None = None
    """Host, owner and name of the repository's `origin`, as `github.com/ada/shop`; it ends with `part`."""
    git: Path | None = None
    """The folder of the repository's data."""
    part: str = ""
    """`#services/web` for a subfolder of a repository that the settings make a project of its own, else empty."""
    below: tuple[str, ...] = ()
    """The names of the folders from this one up to its repository, the innermost first.

    Each of them may have had a repository before, and with it a project of this name.
    """
    trees: tuple[Path, ...] = field(default=(), compare=False)
    """The working tree that the folder is in, and the main one of its repository. They are no part of what it is."""

    @property
    def name(self) -> str:
        """The name of the project as far as the files tell."""
        return self.remote or self.path

    @classmethod
    def of(cls, directory: Path, parts: Sequence[str] = ()) -> "Folder":
        """Read the files; `parts` are patterns of the subfolders that are projects of their own.

        The root, home and temp directories do not belong to a project: their name is empty, which means global. A
        folder whose `.git` cannot be read, or belongs to another folder, is a project of its own.
        """
        here = resolved_or_same(directory)
        folders = (here, *here.parents)
        names = tuple(f"{folder}{_part(here.relative_to(folder), parts)}" for folder in folders)
        for depth, folder in enumerate(folders):
            part = _part(here.relative_to(folder), parts)
            below = names[:depth]
            try:
                repository = repository_in(folder)
            except NotReadableError:
                return cls._alone(folder, part, below)
            if repository is None:
                continue
            trees = WorkingTrees(folder, _main_tree(repository.data, folder))
            if _is_shared(trees.main):
                break  # git in a shared folder makes no project of all below it
            return cls._in_repository(repository, trees, part, below)
        return cls._alone(here, below=names)

    @classmethod
    def _in_repository(
        cls,
        repository: GitRepository,
        trees: WorkingTrees,
        part: str,
        below: tuple[str, ...],
    ) -> "Folder":
        """Return a folder in the working tree of a repository (`trees`), whose address names it where it has one."""
        remote = _origin(repository.remotes)
        if remote:
            remote += part
        path = f"{trees.main}{part}"
        return cls(path, remote, repository.data, part, below, trees=trees)

    @classmethod
    def _alone(cls, folder: Path, part: str = "", below: tuple[str, ...] = ()) -> "Folder":
        """Return a folder without a repository that can be read: its path names it, a shared one is global."""
        if _is_shared(folder):
            return cls(GLOBAL, part=part)
        return cls(f"{folder}{part}", part=part, below=below)

    def trees_around(self, directory: str) -> tuple[str, ...]:
        """Return the paths of the working tree: the real one, and where a link leads to `directory`, that by the link.

        With the link `/home/ada/work` to `/disk/shop`, a session in `/home/ada/work/src` writes paths below either:
        ("/disk/shop", "/home/ada/work"). Of a part of a repository they are those of the part. Without a repository
        there are none.
        """
        if not self.trees:
            return ()
        tree = Path(f"{self.trees[0]}{self.part.replace('#', '/')}")
        here = resolved_or_same(Path(directory))
        if not here.is_relative_to(tree):
            return (str(tree),)
        levels_below_tree = len(here.relative_to(tree).parts)
        linked_tree = Path(directory)
        for _ in range(levels_below_tree):
            linked_tree = linked_tree.parent
        return tuple(dict.fromkeys((str(tree), str(linked_tree))))

    def first_commit(self) -> str | None:
        """Return the project's name by its first commit, `commit:ID`; None if it has none. It starts a process of git."""
        if self.git is None:
            return None
        commit = first_commit(self.git, *self.trees)
        if commit is None:
            return None
        return f"{COMMIT}{commit}{self.part}"


def project_of(directory: Path, parts: Sequence[str] = ()) -> str:
    """Return the name of a folder's project as far as its files tell; `parts` as for `Folder.of`."""
    return Folder.of(directory, parts).name


def _main_tree(data: Path, tree: Path) -> Path:
    """Return the main working tree of a repository whose `.git` was found in `tree`, or its data where it has none.

    | `.git` in `tree`                                | data                  | main tree                   |
    |-------------------------------------------------|-----------------------|-----------------------------|
    | the data itself                                 | `tree/.git`           | `tree`                      |
    | a worktree's file                               | `shop/.git`           | `shop`                      |
    | a file that names a repository inside of `tree` | `tree/nested/.git`    | `tree`, which it was before |
    | a submodule's file                              | `shop/.git/modules/a` | the data                    |
    """
    if data.name != ".git":
        return data
    if data.is_relative_to(tree):
        return tree
    return data.parent


def _is_shared(folder: Path) -> bool:
    """Return whether a folder has the work of many projects: the root, the home or the folder for temporary files."""
    return folder in (
        Path(folder.anchor),
        Path.home().resolve(),
        Path(tempfile.gettempdir()).resolve(),
    )


def _part(inside: Path, patterns: Sequence[str]) -> str:
    """Return the subproject that a folder lies in: `#services/web` for the pattern `services/*`, else an empty text.

    `inside` is the folder's path relative to its repository.
    """
    for pattern in patterns:
        names = [name for name in pattern.split("/") if name]
        first_folders = inside.parts[: len(names)]
        is_as_deep = len(first_folders) == len(names) > 0
        if is_as_deep and all(map(fnmatch, first_folders, names)):
            return f"#{'/'.join(first_folders)}"
    return ""


def _origin(remotes: Mapping[str, str]) -> str | None:
    """Return the normalized address of `origin`, or of the only remote; None without either."""
    address = remotes.get("origin", "")
    if not address and len(remotes) == 1:
        [address] = remotes.values()
    return remote_name(address[:_MOST_ADDRESS])


def remote_name(url: str) -> str | None:
    """Return host/owner/name of a remote's address, in lower case; None if the address is a folder.

    | the address                                   | the name              |
    |-----------------------------------------------|-----------------------|
    | `git@github.com:Ada/shop.git`                 | `github.com/ada/shop` |
    | `https://ada:secret@github.com:443/ada/shop/` | `github.com/ada/shop` |
    | `file:///srv/shop`, `../shop`                 | None                  |

    Equal repositories have equal names, whether they are reached by ssh or https. Without a remote, the first commit
    names the repository.
    """
    if url.casefold().startswith("file:"):
        return None
    address = _ADDRESS.fullmatch(url.strip())
    if address is None:
        return None
    host = (address[1] or address[2]).casefold()
    host = re.sub(r"^(?:alt)?ssh\.(?=.+\.)", "", host)  # ssh.github.com is github.com
    path = unquote(address[3]).casefold().rstrip("/").removesuffix(".git")
    parts = [part for part in path.split("/") if part]
    if len(parts) > _OWNER_AND_NAME:
        parts = [part for part in parts if part not in _NOT_OF_A_NAME]
    return "/".join((host, *parts))
