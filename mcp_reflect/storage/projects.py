"""Projects of a bank: their other names, and the records of one given to another."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from mcp_reflect.errors import BankError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.projects import COMMIT, Folder, Scopes, stored_name
from mcp_reflect.speaker import Speaker, refuse_agent
from mcp_reflect.storage.repository import Reading, Repository, Writing
from mcp_reflect.storage.retrieval import index
from mcp_reflect.storage.rows import Row, keeps, lesson_values, lessons_from
from mcp_reflect.storage.values import scoped

# The tables of a bank, by what becomes of their rows when one project is merged into another.
_JOINED: Final = ("search_catalogs", "sessions", "failures", "guards", "findings", "promotions")
"""Both projects may have a row for the same thing: then that of the new one stays, and the old one's is dropped."""

_DROPPED: Final = ("steps", "session_calls")
"""State of runs and sessions that go on, which begins anew."""

_GIVEN: Final = (  # rows that only change their project
    "reflections",
    "recalls",
    "critique_sessions",
    "searches",
    "warnings",
    "dreams",
    "proposals",
    "followed",
    "roots",
    "shown_in",
)


class ProjectCounts(NamedTuple):
    """A project of a bank: its active lessons, its calls that failed, and its other names."""

    name: str
    lessons: int
    failures: int
    other_names: tuple[str, ...]


class _Names(NamedTuple):
    """The names of a tenant's projects.

    `known` has the project by each other name (a path, a remote, a first commit), `given` the names that a person gave,
    `used` those of a folder's names under which records are stored still.
    """

    known: dict[str, str]
    given: set[str]
    used: set[str]


class ProjectRepository(Repository):
    """The projects of a tenant, their other names, and their records."""

    async def resolve(self, scopes: Scopes, *, stores: bool) -> Scopes:
        """Return the scopes with the project's name in this bank, and every other name of projects.

        Git is asked for the first commit of a repository without a remote that this bank does not know. With `stores`,
        the names of a folder are noted, so that git is asked once, and records that are under one of them are given to
        the project. Otherwise nothing is written: a folder whose records are under its path keeps that name. The names
        of the first folder of a project are noted all the same: else the calls of its hooks would look to the server
        like those of another folder with the same origin.
        """
        tenant, own, folder = scopes.own.tenant, scopes.own.project, scopes.folder
        if folder is None or not folder.name:
            names = await self.db.look(tenant, lambda reading: _names_of(reading, tenant))
            return replace(scopes, own=Scope(tenant, names.known.get(own, own)), names=names.known)
        path = stored_name(folder.path)
        remote = stored_name(folder.remote) if folder.remote else None
        own_names = [name for name in (path, remote) if name]
        names = await self.db.look(tenant, lambda reading: _names_of(reading, tenant, own_names))
        if bound_scopes := await self._bound_scopes(scopes, folder, names, stores=stores):
            return bound_scopes
        project = _project_of(path, remote, names)
        is_claim = project is not None and _is_claim(project, path, remote, names)
        stores = stores or _is_first_folder(path, remote, names)
        has_new_name = stores and names.known.get(path) != project
        if not stores and path in names.used and path not in names.known:
            project = path  # where the records of an earlier release still are
        elif project is None or is_claim or has_new_name:
            commit = await asyncio.to_thread(folder.first_commit)
            project_of_commit = None
            if commit:
                project_of_commit = names.known.get(commit)
            if project is not None and is_claim and project_of_commit != project:
                # The origin alone says that it is this project: a person has to confirm it (`accept_claim`).
                own = Scope(tenant, names.known.get(path, path))
                return replace(scopes, own=own, names=names.known, claimed=project)
            project = project or project_of_commit or commit or path
            if commit and project_of_commit in (None, commit, project):
                own_names.append(commit)
        if stores:
            project = await self._note(tenant, project, own_names, names)
        return replace(scopes, own=Scope(tenant, project), names=names.known)

    async def _bound_scopes(
        self, scopes: Scopes, folder: Folder, names: _Names, *, stores: bool
    ) -> Scopes | None:
        """Return the scopes of a folder whose files say another project than it was used with, and that stays with it.

        None where the files say the same, or nothing is known of the folder.
        """
        tenant = scopes.own.tenant
        bound_below = _bound_below(folder, names)
        if bound_below is not None:
            return replace(scopes, own=Scope(tenant, bound_below), names=names.known)
        path, remote = stored_name(folder.path), stored_name(folder.remote or "")
        bound = _bound_to(path, names)
        if bound is None or not remote or names.known.get(remote, remote) == bound:
            return None
        is_named_by_person = path in names.given and remote not in names.known
        if is_named_by_person:
            return None
        if not await self._stays_bound(tenant, folder, bound, names, stores=stores):
            return None
        is_told = _told(path, remote) in names.known
        return replace(
            scopes,
            own=Scope(tenant, bound),
            names=names.known,
            new_origin="" if is_told else remote,
        )

    async def _stays_bound(
        self, tenant: str, folder: Folder, bound: str, names: _Names, *, stores: bool
    ) -> bool:
        """Return whether a folder that was used with the project `bound` stays one of it, whatever its origin is now.

        Agents point repositories at forks, and replace `.git`: what a person keeps holds on. Only where no person keeps
        anything, another first commit says that the folder has another repository now. A project that is named by its
        first commit gets the name of its first remote.
        """
        remote = stored_name(folder.remote or "")
        is_unknown = remote not in names.known and remote not in names.used
        if bound.startswith(COMMIT) and is_unknown and stores:
            commit = await asyncio.to_thread(folder.first_commit)
            if commit == bound:
                return False
        if await self.db.look(
            tenant, lambda reading: _holds_word_of_person(reading, tenant, bound)
        ):
            return True
        commits = [name for name in (bound, *_names_for(bound, names)) if name.startswith(COMMIT)]
        commit = await asyncio.to_thread(folder.first_commit)
        return commit is None or not commits or commit in commits

    async def note_told(self, scopes: Scopes) -> Scopes:
        """Note that a person was told of the folder's new origin, so that it is said once."""
        tenant, folder = scopes.own.tenant, scopes.folder
        if folder is None or not scopes.new_origin:
            return scopes
        told = _told(stored_name(folder.path), scopes.new_origin)
        names = await self.db.look(tenant, lambda reading: _names_of(reading, tenant))
        await self._note(tenant, scopes.own.project, [told], names)
        return replace(scopes, new_origin="")

    async def accept_claim(self, scopes: Scopes) -> Scopes:
        """Give a folder to the project that its origin names, with what was kept for it; a person was told so."""
        tenant, folder = scopes.own.tenant, scopes.folder
        if folder is None or not scopes.claimed:
            return scopes
        path = stored_name(folder.path)
        names = await self.db.look(tenant, lambda reading: _names_of(reading, tenant, [path]))
        project = await self._note(tenant, scopes.claimed, [path], names)
        return replace(scopes, own=Scope(tenant, project), claimed="")

    async def renamed(self, scopes: Scopes) -> Scopes:
        """Return the scopes with the name that another process has given the project since they were made."""
        tenant, own = scopes.own.tenant, scopes.own.project
        names = await self.db.look(tenant, lambda reading: _names_of(reading, tenant))
        project = names.known.get(own, own)
        if project == own:
            return scopes
        return replace(scopes, own=Scope(tenant, project), names=names.known)

    async def _note(
        self, tenant: str, project: str, own_names: Sequence[str], names: _Names
    ) -> str:
        """Note that the names of a folder stand for a project, and give the records under them to it.

        Returns the project; where nothing can be written, the name under which the records are.
        """
        others = [name for name in own_names if name != project]
        new_names = [name for name in others if names.known.get(name) != project]
        with_records = [name for name in others if name in names.used or name.startswith(COMMIT)]
        if not new_names and not with_records:
            return project

        def write(tx: Writing) -> None:
            for name in new_names:
                tx.run(
                    "project_name_put",
                    {"tenant": tenant, "name": name, "project": project, "given": False},
                )
            for name in with_records:
                _give(tx, tenant, name, project)

        try:
            await self.db.write(tenant, write)
        except BankError:
            for name in with_records:
                if name in names.used:
                    return name
        return project

    async def list(self, tenant: str) -> list[ProjectCounts]:
        """Return the projects of a tenant that have records; the empty name is global."""
        rows = await self.db.rows("project_counts", {"tenant": tenant})
        names = (await self.db.look(tenant, lambda reading: _names_of(reading, tenant))).known
        return [
            ProjectCounts(
                row["project"], int(row["lessons"]), int(row["failures"]),
                tuple(name for name, project in names.items() if project == row["project"]),
            )
            for row in rows
        ]  # fmt: skip

    async def merge(
        self, tenant: str, old: str, project: str, *, by: Speaker = Speaker.AGENT
    ) -> int:
        """Give all records of `old` to a project, and let its names stand for it; return the number of records.

        Lessons that say the same stay apart: a dream merges them. NotAllowedError for an agent where a person keeps a
        lesson of either: folders of both projects would see it.
        """

        def write(tx: Writing) -> int:
            if _holds_word_of_person(tx, tenant, old) or _holds_word_of_person(tx, tenant, project):
                refuse_agent(by, "projects", "move lessons that a person keeps, or who sees them")
            tx.run("project_names_move", {"tenant": tenant, "old": old, "project": project})
            tx.run("project_name_forget", {"tenant": tenant, "name": project})
            tx.run(
                "project_name_put",
                {"tenant": tenant, "name": old, "project": project, "given": True},
            )
            return _give(tx, tenant, old, project)

        return await self.db.write(tenant, write)


def _names_of(reading: Reading, tenant: str, own: Sequence[str] = ()) -> _Names:
    """Return the names of a tenant's projects, and which of a folder's own names have records."""
    rows: list[Row] = reading.rows("project_names", {"tenant": tenant})
    known = {row["name"]: row["project"] for row in rows}
    given = {row["name"] for row in rows if row["given"]}
    used: set[str] = set()
    for name in own:
        (row,) = reading.rows("project_is_used", scoped(Scope(tenant, name)))
        if row["used"]:
            used.add(name)
    return _Names(known, given, used)


def _project_of(path: str, remote: str | None, names: _Names) -> str | None:
    """Return the project of a folder: by its remote, by the name that a person gave, else None: its first commit tells."""
    if remote in names.known:
        return names.known[remote]
    if path in names.given or not remote:
        return names.known.get(path)
    return remote


def _is_first_folder(path: str, remote: str | None, names: _Names) -> bool:
    """Return whether nothing is known yet of a folder with a remote, and of its project."""
    if remote is None:
        return False
    return names.used.isdisjoint((path, remote)) and names.known.keys().isdisjoint((path, remote))


def _bound_to(path: str, names: _Names) -> str | None:
    """Return the project that a folder was used with before; its name may have changed since."""
    project = names.known.get(path)
    if project is None:
        return None
    return names.known.get(project, project)


def _bound_below(folder: Folder, names: _Names) -> str | None:
    """Return the project of a repository that was between a folder and the one it is in now; None if there was none.

    Its `.git` is gone: what was learned of it holds on. A name that a person gave to a folder is that folder's alone.
    """
    for name in map(stored_name, folder.below):
        if name in names.known and name not in names.given:
            return _bound_to(name, names)
    return None


def _names_for(project: str, names: _Names) -> Sequence[str]:
    """Return the other names of a project."""
    return [name for name, known in names.known.items() if known == project]


def _told(path: str, remote: str) -> str:
    """Return the name by which the bank knows that a person was told of a folder's new origin."""
    return f"{path} with {remote}"


def _is_claim(project: str, path: str, remote: str | None, names: _Names) -> bool:
    """Return whether a new folder says by its origin alone that it is a project which this bank knows.

    Anybody can write such an origin into a repository. The first commit has to tell the same, or a person.
    """
    is_by_origin = remote is not None and project == names.known.get(remote, remote)
    is_known = remote in names.known or remote in names.used
    return is_by_origin and is_known and project not in (path, names.known.get(path))


def _give(tx: Writing, tenant: str, old: str, project: str) -> int:
    """Give every record of the project `old` to another one; return the number of lessons, strategies and reflections.

    They keep their ids, trust, history and outcomes.
    """
    values = {"tenant": tenant, "project": project, "old": old}
    lessons = lessons_from(tx.rows("project_lessons", values), tx.log)
    _move(tx, Scope(tenant, project), lessons)
    for table in _DROPPED:
        tx.run(f"project_drop_{table}", values)
    tx.run("project_add_failures", values)
    for table in _JOINED:
        tx.run(f"project_move_{table}", values)
        tx.run(f"project_drop_{table}", values)
    for table in _GIVEN:
        tx.run(f"project_give_{table}", values)
    return len(lessons)


def _holds_word_of_person(reading: Reading, tenant: str, project: str) -> bool:
    """Return whether a person keeps a lesson of a project."""
    values = {"tenant": tenant, "project": project}
    return any(keeps(row) for row in reading.rows("project_keepers", values))


def _move(tx: Writing, scope: Scope, lessons: Sequence[Lesson]) -> None:
    """Give some records to the project of a scope, and index them there."""
    moved = [replace(lesson, project=scope.project) for lesson in lessons]
    index.remove(tx, *(lesson.id for lesson in moved))
    for lesson in moved:
        tx.run("project_vectors_drop", {"id": lesson.id})
        values = lesson_values(scope, lesson)
        tx.run(
            "project_lesson_move",
            {name: values[name] for name in ("tenant", "project", "digest", "id")},
        )
    entries = (index.entry(scope, lesson) for lesson in moved)
    index.add(tx, [entry for entry in entries if entry])
