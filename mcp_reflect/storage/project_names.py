"""The names of projects: which project a folder belongs to, by its path, its remote or its first commit.

A folder has several names, and the bank knows which project each of them stands for:
`{"/work/shop": "github.com/acme/shop"}`. The functions here decide by these names; `projects.py` reads and stores them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mcp_reflect.models.common import Scope
from mcp_reflect.projects import Folder, stored_name
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.rows import Row
from mcp_reflect.storage.values import scoped


class ProjectNames(NamedTuple):
    """The names of a tenant's projects."""

    project_by_name: dict[str, str]  # of each other name: a path, a remote, a first commit
    by_person: set[str]  # the names that a person gave
    with_records: set[str]  # names of the folder at hand under which records are stored still


def names_of(reading: Reading, tenant: str, own_names: Sequence[str] = ()) -> ProjectNames:
    """Return the names of a tenant's projects, and which of a folder's `own_names` have records."""
    rows: list[Row] = reading.rows("project_names", {"tenant": tenant})
    project_by_name = {row["name"]: row["project"] for row in rows}
    by_person = {row["name"] for row in rows if row["given"]}
    with_records: set[str] = set()
    for name in own_names:
        (row,) = reading.rows("project_is_used", scoped(Scope(tenant, name)))
        if row["used"]:
            with_records.add(name)
    return ProjectNames(project_by_name, by_person, with_records)


def project_by_names(path: str, remote: str | None, names: ProjectNames) -> str | None:
    """Return the project of a folder, None where only its first commit can tell.

    | its remote   | a person named the folder | the project                                        |
    |--------------|---------------------------|----------------------------------------------------|
    | is known     | any                       | that of the remote                                 |
    | is new       | yes                       | the one that the person named                      |
    | is new       | no                        | the remote itself, such as `github.com/acme/shop`  |
    | none         | any                       | that of its path, None if the path is new          |
    """
    if remote in names.project_by_name:
        return names.project_by_name[remote]
    if path in names.by_person or not remote:
        return names.project_by_name.get(path)
    return remote


def is_first_folder(path: str, remote: str | None, names: ProjectNames) -> bool:
    """Return whether the bank knows nothing yet of a folder with a remote, nor of its project."""
    if remote is None:
        return False
    has_records = not names.with_records.isdisjoint((path, remote))
    is_known = not names.project_by_name.keys().isdisjoint((path, remote))
    return not has_records and not is_known


def bound_project(path: str, names: ProjectNames) -> str | None:
    """Return the project that a folder was used with before; its name may have changed since."""
    project = names.project_by_name.get(path)
    if project is None:
        return None
    return names.project_by_name.get(project, project)


def project_bound_below(folder: Folder, names: ProjectNames) -> str | None:
    """Return the project of a repository that lay between a folder and the repository it is in now, None if none did.

    The `.git` of that repository is gone, and its lessons are still its own: /work/shop/api had one, and the folder is
    in /work/shop now. A name that a person gave to a folder is for that folder only, and not for those below it.
    """
    for name in map(stored_name, folder.below):
        if name in names.project_by_name and name not in names.by_person:
            return bound_project(name, names)
    return None


def other_names_of(project: str, names: ProjectNames) -> Sequence[str]:
    """Return the other names of a project."""
    return [name for name, known in names.project_by_name.items() if known == project]


def note_of_told_origin(path: str, remote: str) -> str:
    """Return the name by which the bank knows that a person was told of a folder's new origin: `PATH with REMOTE`."""
    return f"{path} with {remote}"


def is_claim_of_origin(project: str, path: str, remote: str | None, names: ProjectNames) -> bool:
    """Return whether a new folder says only by its origin that it is a project which this bank knows.

    Anybody can write such an origin into a repository: the first commit has to say the same, or a person.
    """
    is_by_origin = remote is not None and project == names.project_by_name.get(remote, remote)
    is_known_project = remote in names.project_by_name or remote in names.with_records
    is_by_path = project in (path, names.project_by_name.get(path))
    return is_by_origin and is_known_project and not is_by_path
