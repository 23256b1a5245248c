"""The project of a call."""

import hashlib
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import GLOBAL, Scope

_DIGITS: Final = re.compile(r"#[0-9a-f]{8}\Z")


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scope that calls have by themselves, and the other projects that an argument may name."""

    own: Scope
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings, directory: Path | None = None) -> "Scopes":
        """The setting, else the git repository of `directory` (default: the working one), else the directory."""
        project = settings.project if settings.project is not None else project_of(directory or Path.cwd())
        return cls(Scope(project=kept_name(project)), tuple(map(kept_name, settings.projects)))

    def named(self, project: str | None) -> Scope:
        """The scope of an argument; InputError where settings do not allow it."""
        if project is None:
            return self.own
        kept = kept_name(project)
        names = dict.fromkeys((self.own.project, *self.others))
        # An argument may have been cleaned on its way here, and cannot give the digits any more.
        found = [kept] if kept in names else [name for name in names if _DIGITS.sub("", name) == project != name]
        if len(found) != 1:
            from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - only an error needs it

            allowed = ", ".join(dict.fromkeys((self.own.project or "(global)", *self.others)))
            raise InputError(
                "project",
                f"'{quoted(project)}' is not one that this server may use",
                f"Leave it out, or send one of: {allowed}. A person can allow more in MCP_REFLECT_PROJECTS.",
            )
        return Scope(tenant=self.own.tenant, project=found[0])


def kept_name(project: str) -> str:
    """A project's name as the bank keeps it, and every result tells it: without secrets and unseen characters.

    Where that changes it, a few digits of its hash tell it from another one that would read the same.
    """
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - a name is seldom asked for at the start

    name = clean_text(project)
    if name == project:
        return project
    digest = hashlib.sha256(project.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name}#{digest}"


def project_of(directory: Path) -> str:
    """The repository that holds `directory` (worktrees of one share it), else `directory` itself.

    The root, the home and the temp directory are nobody's project: global.
    """
    here = directory.resolve()
    for folder in (here, *here.parents):
        common = _git_common(folder / ".git")
        if common is not None:
            found = common.parent if common.name == ".git" else common
            return _unless_nobodys(found)
    return _unless_nobodys(here)


def _git_common(git: Path) -> Path | None:
    """The directory that all worktrees of a repository share, or none where this is no repository."""
    if git.is_dir():
        return git if (git / "HEAD").exists() else None
    if not git.is_file():
        return None
    pointer = git.read_text(encoding="utf-8", errors="replace").strip()
    if not pointer.startswith("gitdir:"):
        return None
    real = (git.parent / pointer.removeprefix("gitdir:").strip()).resolve()
    common = real / "commondir"
    return (real / common.read_text(encoding="utf-8").strip()).resolve() if common.is_file() else real


def _unless_nobodys(folder: Path) -> str:
    nobodys = {Path(folder.anchor), Path.home().resolve(), Path(tempfile.gettempdir()).resolve()}
    return GLOBAL if folder in nobodys else str(folder)
