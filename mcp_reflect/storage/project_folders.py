"""The folders of the projects that a bank knows, by which the guards of all projects that a call works in apply."""

from collections.abc import Iterator, Mapping
from typing import Final

from mcp_reflect.guards.paths import is_absolute
from mcp_reflect.guards.places import CallPlace, ProjectFolder, Where
from mcp_reflect.models.common import Scope
from mcp_reflect.storage.repository import Reading

_TOLD_ORIGIN: Final = " with "
"""Stands in names that only note of which origin a person was told: `PATH with REMOTE` (`note_of_told_origin`)."""


def place_in(reading: Reading, scope: Scope, where: Where) -> CallPlace:
    """Return where a call is made: the folder, its own project (that of the scope), and the folders of all projects.

    The project with which the session began counts as well. The host names it by its folder or by a name of it.
    """
    project_by_name = {
        row["name"]: row["project"]
        for row in reading.rows("project_names", {"tenant": scope.tenant})
    }
    projects_with_guards = [
        row["project"] for row in reading.rows("guard_projects", {"tenant": scope.tenant})
    ]
    own_folders = [ProjectFolder(scope.project, tree) for tree in where.trees]
    folders = (*own_folders, *_folders_of_projects(project_by_name, projects_with_guards))
    place = CallPlace(own=scope.project, folder=where.folder, known_folders=folders)
    session_project = project_by_name.get(where.began_with, where.began_with)
    if is_absolute(where.began_with):
        session_project = next(iter(place.projects_at(where.began_with)), "")
    return CallPlace(
        own=scope.project, session=session_project, folder=where.folder, known_folders=folders
    )


def _folders_of_projects(
    project_by_name: Mapping[str, str], projects_with_guards: list[str]
) -> Iterator[ProjectFolder]:
    """Yield the folders that are names of a project; a project without a repository is named by its folder.

    {"/work/shop": "github.com/acme/shop"} -> the folder /work/shop of the project github.com/acme/shop
    """
    own_names = [(project, project) for project in projects_with_guards]
    for name, project in (*project_by_name.items(), *own_names):
        is_note = _TOLD_ORIGIN in name and name.partition(_TOLD_ORIGIN)[0] in project_by_name
        if is_note or not is_absolute(name):
            continue
        current_name = project_by_name.get(project, project)
        yield ProjectFolder(current_name, _folder_in(name), "#" in name)


def _folder_in(name: str) -> str:
    """Return the folder of a project's name: `/work/shop/web` for `/work/shop#web`, its part `web`."""
    return name.replace("\\", "/").replace("#", "/", 1).rstrip("/")
