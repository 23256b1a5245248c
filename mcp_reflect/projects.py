"""Projects: the name of a folder's project, which is its repository, and the projects that a call may use."""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.access import ANY_PROJECT
from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.security.redact import clean_text, quoted

COMMIT: Final = "commit:"
"""Begins the name of a repository without a remote: its first commit."""

_COMMIT_CHARS: Final = 16
_GIT_SECONDS: Final = 5.0
_MOST_CONFIG_CHARS: Final = 1_000_000


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

        The root, home and temp directories do not belong to a project: their name is empty, which means global.
        """
        here = directory.resolve()
        for tree in (here, *here.parents):
            if git := _repository(tree):
                path = git.parent if git.name == ".git" else git
                if not _is_shared(path):
                    part, remote = _part(here.relative_to(tree), parts), _remote(git)
                    return cls(f"{path}{part}", remote and remote + part, git, part)
                break
        return cls(GLOBAL if _is_shared(here) else str(here))

    def first_commit(self) -> str | None:
        """Return the name by the repository's first commit; None if it has none. Starts a process of git."""
        if self.git is None or (self.git / "shallow").exists():
            return None
        import subprocess  # noqa: PLC0415 - asked once for a repository without a remote

        command = ["git", f"--git-dir={self.git}", "rev-list", "--max-parents=0", "HEAD"]
        # A hook of git sets GIT_DIR and more, which name another repository.
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            run = subprocess.run(  # noqa: S603 - our own command
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, timeout=_GIT_SECONDS,
                check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return None
        commits = run.stdout.split() if run.returncode == 0 else []
        return f"{COMMIT}{commits[-1][:_COMMIT_CHARS]}{self.part}" if commits else None


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


def _repository(folder: Path) -> Path | None:
    """Return the data of the repository whose `.git` is in `folder`, which its worktrees share; None without one."""
    git = folder / ".git"
    with suppress(OSError):
        if git.is_file():  # a worktree or a submodule
            pointer = git.read_text(encoding="utf-8", errors="replace").strip()
            if not pointer.startswith("gitdir:"):
                return None
            git = (folder / pointer.removeprefix("gitdir:").strip()).resolve()
            if (common := git / "commondir").is_file():
                git = (git / common.read_text(encoding="utf-8", errors="replace").strip()).resolve()
            return git
        if (git / "HEAD").exists():
            return git
    return None


_SECTION: Final = re.compile(r'\s*\[\s*remote\s+"(.+)"\s*\]', re.IGNORECASE)
_URL: Final = re.compile(r'\s*url\s*=\s*(?:"([^"]*)"|([^#;\s]+))', re.IGNORECASE)


def _remote(git: Path) -> str | None:
    """Return the normalized address of `origin`, or of the only remote, in a repository's configuration."""
    text = ""
    with suppress(OSError), (git / "config").open(encoding="utf-8", errors="replace") as file:
        text = file.read(_MOST_CONFIG_CHARS)
    urls: dict[str, str] = {}
    section: str | None = None
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            found = _SECTION.match(line)
            section = found[1] if found else None
        elif section is not None and (found := _URL.match(line)):
            urls.setdefault(section, found[1] or found[2] or "")
    return remote_name(urls.get("origin") or (next(iter(urls.values())) if len(urls) == 1 else ""))


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
    of a folder. `names` are other names of projects, such as former ones: the bank tells them when it is opened.
    """

    own: Scope
    others: tuple[str, ...] = ()
    shares: bool = True
    folder: Folder | None = None
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
