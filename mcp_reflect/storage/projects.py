"""The repository of projects: which project of the bank a folder is, under which names, and with how many records.

How names tell a project is decided in `project_names.py`; how records move to another one is in `project_moving.py`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from mcp_reflect.errors import BankError
from mcp_reflect.models.common import Scope
from mcp_reflect.project_folders import COMMIT, Folder
from mcp_reflect.projects import Scopes, stored_name
from mcp_reflect.speaker import Speaker, refuse_agent
from mcp_reflect.storage.project_moving import has_lesson_of_person, move_records
from mcp_reflect.storage.project_names import (
    ProjectNames,
    bound_project,
    is_claim_of_origin,
    is_first_folder,
    names_of,
    note_of_told_origin,
    other_names_of,
    project_bound_below,
    project_by_names,
)
from mcp_reflect.storage.repository import Repository, Writing


class ProjectCounts(NamedTuple):
    """A project of a bank: its active lessons, its calls that failed, and its other names."""

    name: str
    lessons: int
    failures: int
    other_names: tuple[str, ...]


class _FoundProject(NamedTuple):
    """The project of a folder, as its names and its first commit tell."""

    project: str
    is_claim: bool = False  # only the folder's origin says so: a person has to confirm it
    commit: str | None = None  # the first commit, where it is another name of the project


class ProjectRepository(Repository):
    """The projects of a tenant, their other names, and their records."""

    async def resolve(self, scopes: Scopes, *, stores: bool) -> Scopes:
        """Return the scopes with the project's name in this bank, and every other name of projects.

        1. A folder that was used with a project stays with that project, whatever its files say now (`_bound_scopes`).
        2. Else its names and its first commit tell the project (`_find_project`).
        3. A project that only the origin of a new folder claims has to be confirmed by a person: `claimed` has it.

        With `stores`, the names of a folder are noted, so that git is asked once, and records that are under one of them
        are moved to the project. The names of the first folder of a project are noted without it, too: else the calls of
        its hooks would look to the server like those of another folder with the same origin.
        """
        tenant = scopes.own.tenant
        folder = scopes.folder
        if folder is None or not folder.name:
            return await self._with_current_name(scopes)
        path = stored_name(folder.path)
        remote = stored_name(folder.remote) if folder.remote else None
        own_names = [name for name in (path, remote) if name]
        names = await self.db.look(tenant, lambda reading: names_of(reading, tenant, own_names))
        bound_scopes = await self._bound_scopes(scopes, folder, names, stores=stores)
        if bound_scopes is not None:
            return bound_scopes
        may_note = stores or is_first_folder(path, remote, names)
        found = await _find_project(folder, path, remote, names, may_note=may_note)
        if found.is_claim:
            own = Scope(tenant, names.project_by_name.get(path, path))
            return replace(scopes, own=own, names=names.project_by_name, claimed=found.project)
        project = found.project
        if may_note:
            all_names = own_names if found.commit is None else [*own_names, found.commit]
            project = await self._note_names(tenant, project, all_names, names)
        return replace(scopes, own=Scope(tenant, project), names=names.project_by_name)

    async def _with_current_name(self, scopes: Scopes) -> Scopes:
        """Return the scopes of a project that has a name and no folder, with the name that the bank has for it now."""
        tenant = scopes.own.tenant
        names = await self.db.look(tenant, lambda reading: names_of(reading, tenant))
        project = names.project_by_name.get(scopes.own.project, scopes.own.project)
        return replace(scopes, own=Scope(tenant, project), names=names.project_by_name)

    async def _bound_scopes(
        self, scopes: Scopes, folder: Folder, names: ProjectNames, *, stores: bool
    ) -> Scopes | None:
        """Return the scopes of a folder that stays with the project it was used with, though its files say another one.

        None where the files say the same, where nothing is known of the folder, or where it does not stay.
        """
        tenant = scopes.own.tenant
        project_below = project_bound_below(folder, names)
        if project_below is not None:
            return replace(scopes, own=Scope(tenant, project_below), names=names.project_by_name)
        path = stored_name(folder.path)
        remote = stored_name(folder.remote or "")
        bound = bound_project(path, names)
        if bound is None or not remote or names.project_by_name.get(remote, remote) == bound:
            return None
        is_named_by_person = path in names.by_person and remote not in names.project_by_name
        if is_named_by_person:
            return None
        if not await self._stays_bound(tenant, folder, bound, names, stores=stores):
            return None
        new_origin = remote
        if note_of_told_origin(path, remote) in names.project_by_name:
            new_origin = ""
        return replace(
            scopes, own=Scope(tenant, bound), names=names.project_by_name, new_origin=new_origin
        )

    async def _stays_bound(
        self, tenant: str, folder: Folder, bound: str, names: ProjectNames, *, stores: bool
    ) -> bool:
        """Return whether a folder that was used with the project `bound` stays one of it, though its origin is another.

        Agents point repositories at forks, and replace `.git`. The first row that fits decides:

        | the project                                                   | the folder                                  |
        |---------------------------------------------------------------|---------------------------------------------|
        | is named by its first commit, and now has its first remote    | leaves: the project takes the remote's name |
        | has a lesson that a person keeps                              | stays                                       |
        | has another first commit than the folder                      | leaves: it has another repository now       |
        | any other                                                     | stays                                       |
        """
        remote = stored_name(folder.remote or "")
        is_unknown = remote not in names.project_by_name and remote not in names.with_records
        if bound.startswith(COMMIT) and is_unknown and stores:
            commit = await asyncio.to_thread(folder.first_commit)
            if commit == bound:
                return False
        is_kept_by_person = await self.db.look(
            tenant, lambda reading: has_lesson_of_person(reading, tenant, bound)
        )
        if is_kept_by_person:
            return True
        all_names = (bound, *other_names_of(bound, names))
        commits_of_project = [name for name in all_names if name.startswith(COMMIT)]
        commit = await asyncio.to_thread(folder.first_commit)
        return commit is None or not commits_of_project or commit in commits_of_project

    async def note_told(self, scopes: Scopes) -> Scopes:
        """Note that a person was told of the folder's new origin, so that it is said once."""
        tenant = scopes.own.tenant
        folder = scopes.folder
        if folder is None or not scopes.new_origin:
            return scopes
        note = note_of_told_origin(stored_name(folder.path), scopes.new_origin)
        names = await self.db.look(tenant, lambda reading: names_of(reading, tenant))
        await self._note_names(tenant, scopes.own.project, [note], names)
        return replace(scopes, new_origin="")

    async def accept_claim(self, scopes: Scopes) -> Scopes:
        """Give a folder with its records to the project that its origin names; a person was told so."""
        tenant = scopes.own.tenant
        folder = scopes.folder
        if folder is None or not scopes.claimed:
            return scopes
        path = stored_name(folder.path)
        names = await self.db.look(tenant, lambda reading: names_of(reading, tenant, [path]))
        project = await self._note_names(tenant, scopes.claimed, [path], names)
        return replace(scopes, own=Scope(tenant, project), claimed="")

    async def renamed(self, scopes: Scopes) -> Scopes:
        """Return the scopes with the name that another process has given the project since they were made."""
        renamed_scopes = await self._with_current_name(scopes)
        if renamed_scopes.own.project == scopes.own.project:
            return scopes
        return renamed_scopes

    async def _note_names(
        self, tenant: str, project: str, own_names: Sequence[str], names: ProjectNames
    ) -> str:
        """Note that the names of a folder stand for a project, and move the records under these names to it.

        Returns the project; where nothing can be written, the name under which the records are.
        """
        other_names = [name for name in own_names if name != project]
        new_names = [name for name in other_names if names.project_by_name.get(name) != project]
        names_with_records = [
            name for name in other_names if name in names.with_records or name.startswith(COMMIT)
        ]
        if not new_names and not names_with_records:
            return project

        def write(tx: Writing) -> None:
            for name in new_names:
                tx.run(
                    "project_name_put",
                    {"tenant": tenant, "name": name, "project": project, "given": False},
                )
            for name in names_with_records:
                move_records(tx, tenant, name, project)

        try:
            await self.db.write(tenant, write)
        except BankError:
            for name in names_with_records:
                if name in names.with_records:
                    return name
        return project

    async def list(self, tenant: str) -> list[ProjectCounts]:
        """Return the projects of a tenant that have records; the empty name is global."""
        rows = await self.db.rows("project_counts", {"tenant": tenant})
        names = await self.db.look(tenant, lambda reading: names_of(reading, tenant))
        return [
            ProjectCounts(
                name=row["project"],
                lessons=int(row["lessons"]),
                failures=int(row["failures"]),
                other_names=tuple(other_names_of(row["project"], names)),
            )
            for row in rows
        ]

    async def merge(
        self, tenant: str, old: str, project: str, *, by: Speaker = Speaker.AGENT
    ) -> int:
        """Move all records of `old` to a project, and let its names stand for it; return the number of records.

        Lessons that say the same stay apart: a dream merges them. NotAllowedError for an agent where a person keeps a
        lesson of either: folders of both projects would see it.
        """

        def write(tx: Writing) -> int:
            if has_lesson_of_person(tx, tenant, old) or has_lesson_of_person(tx, tenant, project):
                refuse_agent(by, "projects", "move lessons that a person keeps, or who sees them")
            tx.run("project_names_move", {"tenant": tenant, "old": old, "project": project})
            tx.run("project_name_forget", {"tenant": tenant, "name": project})
            tx.run(
                "project_name_put",
                {"tenant": tenant, "name": old, "project": project, "given": True},
            )
            return move_records(tx, tenant, old, project)

        return await self.db.write(tenant, write)


async def _find_project(
    folder: Folder, path: str, remote: str | None, names: ProjectNames, *, may_note: bool
) -> _FoundProject:
    """Return the project of a folder that was not used before; the first row that fits decides.

    | the folder                                                      | its project                               |
    |-----------------------------------------------------------------|-------------------------------------------|
    | has records under its path, which may not be moved (`may_note`) | its path, as an earlier release named it  |
    | is known by its remote or path (`project_by_names`)             | as these tell                             |
    | has an origin that claims a known project, not its first commit | that project, as a claim                  |
    | has an origin that claims one, as has its first commit          | that project                              |
    | is known by its first commit alone                              | as that tells                             |
    | is unknown                                                      | its first commit, else its path           |

    Git is asked for the first commit only where it matters, since that takes a while.
    """
    project = project_by_names(path, remote, names)
    is_claim = project is not None and is_claim_of_origin(project, path, remote, names)
    has_records_under_path = path in names.with_records and path not in names.project_by_name
    if has_records_under_path and not may_note:
        return _FoundProject(path)
    has_new_name = may_note and names.project_by_name.get(path) != project
    if project is not None and not is_claim and not has_new_name:
        return _FoundProject(project)
    commit = await asyncio.to_thread(folder.first_commit)
    project_of_commit = names.project_by_name.get(commit) if commit else None
    if project is not None and is_claim and project_of_commit != project:
        return _FoundProject(project, is_claim=True)
    found_project = project or project_of_commit or commit or path
    if commit and project_of_commit in (None, commit, found_project):
        return _FoundProject(found_project, commit=commit)
    return _FoundProject(found_project)
