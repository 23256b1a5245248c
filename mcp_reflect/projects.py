"""Which projects the calls of a client may use: their own, those that a setting allows, and what is for all projects.

`project_folders` says how the project of a folder is named.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.access import ANY_PROJECT
from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.project_folders import Folder
from mcp_reflect.security.redact import clean_text, quoted


@dataclass(frozen=True, slots=True)
class Scopes:
    """The projects that the calls of a client may use."""

    own: Scope
    """The project of calls that name none."""
    others: tuple[str, ...] = ()
    """Names of other projects that an argument may name; ANY_PROJECT among them allows every one."""
    shares: bool = True
    """Whether a call may change what is for all projects."""
    folder: Folder | None = None
    """The folder that `own` was named after; None where a setting or a token names the project."""
    claimed: str = ""
    """A project of the bank that this folder's origin names, if nothing else shows that the folder belongs to it.

    Anybody can write such an origin, so that its lessons are not shown before a person was told (`accept_claim`).
    """
    new_origin: str = ""
    """Another project that this folder's origin names now, if a person was not told yet that it stays one of `own`."""
    names: Mapping[str, str] = field(default_factory=dict[str, str], hash=False, compare=False)
    """Other names of projects, such as former ones, each with the name in use; the bank fills them in."""

    @classmethod
    def of(cls, settings: Settings, tenant_id: str = "local") -> "Scopes":
        """Return the scope of the settings, else of the repository or folder that is worked in."""
        folder = None
        project = settings.project or GLOBAL
        if settings.project is None:
            folder = Folder.of(settings.folder or Path.cwd(), settings.subprojects)
            project = folder.name
        own = Scope(stored_name(tenant_id), stored_name(project))
        return cls(own, tuple(map(stored_name, settings.projects)), folder=folder)

    def named(self, project: str | None) -> Scope:
        """Return the scope of the argument `project`; InputError if a call may not use it."""
        if project is None:
            return self.own
        sent_name = stored_name(project)
        name = self.names.get(sent_name, sent_name)
        usable = [self.own.project, *self.others]
        if ANY_PROJECT not in self.others and sent_name not in usable and name not in usable:
            fix = "Leave it out"
            named = ", ".join(dict.fromkeys(filter(None, usable)))  # the global project has no name
            if named:
                fix += f", or send one of: {named}"
            raise InputError(
                "project",
                f"'{quoted(project)}' is not one that this server may use",
                f"{fix}. A person can allow more, in MCP_REFLECT_PROJECTS or by another token.",
            )
        return Scope(self.own.tenant, name)

    def refuse_shared(self, field: str) -> None:
        """Raise InputError, which names the argument `field`, if a call may not change what is for all projects."""
        if not self.shares:
            fix = "Ask somebody whose token is for all projects (*)."
            raise InputError(field, "it is for all projects, and your token is only for some", fix)


def stored_name(project: str) -> str:
    """Return a project's name as the bank stores it: without secrets and invisible characters."""
    return clean_text(project)


def folder_is_gone(project: str) -> bool:
    """Return whether a project is named by a folder of this machine that is not there.

    A part of one is named behind a `#`, which the name of a folder may have as well.
    """
    if not Path(project).is_absolute():
        return False
    names = (project, project.partition("#")[0], project.rpartition("#")[0])
    return not any(name and Path(name).exists() for name in names)
