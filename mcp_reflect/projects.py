"""Projects: the name of a folder's project, which is its repository, and the projects that a call may use."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.access import ANY_PROJECT
from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.repositories import NotReadableError, first_commit, repository_in
from mcp_reflect.security.redact import clean_text, quoted

COMMIT: Final = "commit:"
"""Begins the name of a repository without a remote: its first commit."""

_MOST_ADDRESS: Final = 4_000  # characters of a remote's address


@dataclass(frozen=True, slots=True)
class Folder:
    """What the files of a folder say about its project; they are read without git and without a bank.

    `path` is the main working tree of its repository (worktrees share it), else the folder itself. `remote` is
    host/owner/name of the repository's `origin`. `git` is the folder of the repository's data.
    """

    path: str
    remote: str | None = None
    git: Path | None = None
    part: str = ""  # the subfolder of a repository that is a project of its own, with its `#`

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
        here = directory.resolve()
        for tree in (here, *here.parents):
            try:
                repository = repository_in(tree)
            except NotReadableError:
                return cls._alone(tree, _part(here.relative_to(tree), parts))
            if repository is None:
                continue
            git = repository.data
            path = git.parent if git.name == ".git" else git
            if _is_shared(path):
                break
            part, remote = _part(here.relative_to(tree), parts), _origin(repository.remotes)
            return cls(f"{path}{part}", remote and remote + part, git, part)
        return cls._alone(here)

    @classmethod
    def _alone(cls, folder: Path, part: str = "") -> "Folder":
        return cls(GLOBAL if _is_shared(folder) else f"{folder}{part}", part=part)

    def first_commit(self) -> str | None:
        """Return the name by the repository's first commit; None if it has none. Starts a process of git."""
        commit = first_commit(self.git) if self.git else None
        return f"{COMMIT}{commit}{self.part}" if commit else None


def project_of(directory: Path, parts: Sequence[str] = ()) -> str:
    """Return the name of a folder's project as far as its files tell; `parts` as for `Folder.of`."""
    return Folder.of(directory, parts).name


def _is_shared(folder: Path) -> bool:
    return folder in (
        Path(folder.anchor),
        Path.home().resolve(),
        Path(tempfile.gettempdir()).resolve(),
    )


def _part(inside: Path, patterns: Sequence[str]) -> str:
    """Return the subfolder that a pattern such as `services/*` names, with `#`."""
    for pattern in patterns:
        names = [name for name in pattern.split("/") if name]
        own = inside.parts[: len(names)]
        if names and len(own) == len(names) and all(map(fnmatch, own, names)):
            return f"#{'/'.join(own)}"
    return ""


def _origin(remotes: Mapping[str, str]) -> str | None:
    """Return the normalized address of `origin`, or of the only remote."""
    only = next(iter(remotes.values())) if len(remotes) == 1 else ""
    return remote_name((remotes.get("origin") or only)[:_MOST_ADDRESS])


# scheme://user:password@host:port/path, or user@host:path
_ADDRESS: Final = re.compile(
    r"(?:[a-z][\w+.-]*://(?:[^/]*@)?(\[[^\]]+\]|[^/:@]+)(?::\d*)?/|(?:[^/@]*@)?(\[[^\]]+\]|[^/:@\\]{2,}):(?!//)/*)(.+)",
    re.IGNORECASE,
)
_NOT_OF_A_NAME: Final = (
    "_git",
    "scm",
    "v3",
    "~",
)  # that Azure DevOps and Bitbucket put into some of their addresses


def remote_name(url: str) -> str | None:
    """Return host/owner/name of a remote's address, in lower case; None if the address is a folder.

    Equal repositories have equal names, whether they are reached by ssh or https: user names, passwords, ports and
    `.git` are left out. Without a remote, the first commit names the repository.
    """
    found = None if url.casefold().startswith("file:") else _ADDRESS.fullmatch(url.strip())
    if found is None:
        return None
    host = re.sub(r"^(?:alt)?ssh\.(?=.+\.)", "", (found[1] or found[2]).casefold())
    path = unquote(found[3]).casefold().rstrip("/").removesuffix(".git")
    parts = [part for part in path.split("/") if part]
    if len(parts) > 2:
        parts = [part for part in parts if part not in _NOT_OF_A_NAME]
    return "/".join((host, *parts))


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scope of calls that name no project, and the other projects that an argument may name (ANY_PROJECT: any).

    Only where `shares` is true may a call change what is for all projects. `folder` is there where the scope is that
    of a folder. `claimed` is a project of the bank that only the folder's origin names: nobody was told so yet, and its
    lessons are not shown. `names` are other names of projects, such as former ones: the bank tells them when it is opened.
    """

    own: Scope
    others: tuple[str, ...] = ()
    shares: bool = True
    folder: Folder | None = None
    claimed: str = ""
    names: Mapping[str, str] = field(default_factory=dict[str, str], hash=False, compare=False)

    @classmethod
    def of(cls, settings: Settings, tenant_id: str = "local") -> "Scopes":
        """Return the scope of the settings, else of the repository or folder that is worked in."""
        folder = None
        if settings.project is None:
            folder = Folder.of(settings.folder or Path.cwd(), settings.subprojects)
        project = folder.name if folder else settings.project or GLOBAL
        own = Scope(stored_name(tenant_id), stored_name(project))
        return cls(own, tuple(map(stored_name, settings.projects)), folder=folder)

    def named(self, project: str | None) -> Scope:
        """Return the scope of an argument; InputError if the settings do not allow it."""
        if project is None:
            return self.own
        sent = stored_name(project)
        name = self.names.get(sent, sent)
        if ANY_PROJECT not in self.others and not {sent, name} & {self.own.project, *self.others}:
            allowed = ", ".join(
                dict.fromkeys(name or "(global)" for name in (self.own.project, *self.others))
            )
            raise InputError(
                "project",
                f"'{quoted(project)}' is not one that this server may use",
                f"Leave it out, or send one of: {allowed}. A person can allow more, in MCP_REFLECT_PROJECTS or by "
                "another token.",
            )
        return Scope(self.own.tenant, name)

    def refuse_shared(self, field: str) -> None:
        """InputError, which names `field`, where a call may not change what is for all projects."""
        if not self.shares:
            fix = "Ask somebody whose token is for all projects (*)."
            raise InputError(field, "it is for all projects, and your token is only for some", fix)


def stored_name(project: str) -> str:
    """Return a project's name as the bank stores it: without secrets and invisible characters."""
    return clean_text(project)


def folder_is_gone(project: str) -> bool:
    """Return whether a project is named by a folder of this machine that is not there."""
    folder = Path(project.partition("#")[0])
    return folder.is_absolute() and not folder.exists()
