"""The folders of the projects that a bank knows, and which projects' guards hold at a call."""

from collections.abc import Iterator, Mapping
from typing import Final

from mcp_reflect.guards.paths import is_absolute
from mcp_reflect.guards.places import CallPlace, ProjectFolder, Where
from mcp_reflect.models.common import Scope
from mcp_reflect.storage.repository import Reading

_TOLD: Final = " with "
"""Stands in the names that only note what a person was told: `PATH with REMOTE`."""


def place_in(reading: Reading, scope: Scope, where: Where) -> CallPlace:
    """Return where a call is made: its project is that of the scope, and the bank knows the folders of the others."""
    names = {
        row["name"]: row["project"]
        for row in reading.rows("project_names", {"tenant": scope.tenant})
    }
    with_guards = [
        row["project"] for row in reading.rows("guard_projects", {"tenant": scope.tenant})
    ]
    own = [ProjectFolder(scope.project, tree) for tree in where.trees]
    grounds = (*own, *_grounds_of(names, with_guards))
    place = CallPlace(own=scope.project, folder=where.folder, grounds=grounds)
    session = names.get(where.began_with, where.began_with)
    if is_absolute(where.began_with):
        session = next(iter(place.projects_at(where.began_with)), "")
    return CallPlace(own=scope.project, session=session, folder=where.folder, grounds=grounds)


def _grounds_of(names: Mapping[str, str], with_guards: list[str]) -> Iterator[ProjectFolder]:
    """Yield the folders that are names of a project; a project without a repository is named by its folder."""
    for name, project in (*names.items(), *((project, project) for project in with_guards)):
        is_note = _TOLD in name and name.partition(_TOLD)[0] in names
        if is_absolute(name) and not is_note:
            yield ProjectFolder(names.get(project, project), _folder_in(name), "#" in name)


def _folder_in(name: str) -> str:
    """Return the folder of a project's name: `/work/shop/web` for `/work/shop#web`, its part `web`."""
    return name.replace("\\", "/").replace("#", "/", 1).rstrip("/")
