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

    `project_by_name` has the project that each other name stands for: a path, a remote, a first commit
    (`{"/work/shop": "github.com/acme/shop"}`). `by_person` are the names that a person gave, `with_records` those of a
    folder's own names under which records are stored still.
    """

    project_by_name: dict[str, str]
    by_person: set[str]
    with_records: set[str]


class ProjectRepository(Repository):
    """The projects of a tenant, their other names, and their records."""

    async def resolve(self, scopes: Scopes, *, stores: bool) -> Scopes:
        """Return the scopes with the project's name in this bank, and every other name of projects.

        1. A folder that was used with a project stays with that project, whatever its files say now (`_bound_scopes`).
        2. Without `stores`, a folder whose records are under its path keeps that name: nothing may be moved.
        3. A folder that says only by its origin that it is a known project is asked for its first commit. Where that
           does not tell the same, a person has to confirm it (`accept_claim`).
        4. Else its remote tells the project, or the name that a person gave, or its first commit, or its path.

        With `stores`, the names of a folder are noted, so that git is asked once, and records that are under one of them
        are given to the project. The names of the first folder of a project are noted without it, too: else the calls of
        its hooks would look to the server like those of another folder with the same origin.
        """
        tenant, own, folder = scopes.own.tenant, scopes.own.project, scopes.folder
        if folder is None or not folder.name:
            names = await self.db.look(tenant, lambda reading: _names_of(reading, tenant))
            return replace(
                scopes,
                own=Scope(tenant, names.project_by_name.get(own, own)),
                names=names.project_by_name,
            )
        path = stored_name(folder.path)
        remote = stored_name(folder.remote) if folder.remote else None
        own_names = [name for name in (path, remote) if name]
        names = await self.db.look(tenant, lambda reading: _names_of(reading, tenant, own_names))
        if bound_scopes := await self._bound_scopes(scopes, folder, names, stores=stores):
            return bound_scopes
        project = _project_of(path, remote, names)
        is_claim = project is not None and _is_claim(project, path, remote, names)
        stores = stores or _is_first_folder(path, remote, names)
        has_new_name = stores and names.project_by_name.get(path) != project
        is_under_its_path = path in names.with_records and path not in names.project_by_name
        if not stores and is_under_its_path:
            project = path  # where an earlier release stored the records
        elif project is None or is_claim or has_new_name:
            commit = await asyncio.to_thread(folder.first_commit)
            project_of_commit = None
            if commit:
                project_of_commit = names.project_by_name.get(commit)
            if project is not None and is_claim and project_of_commit != project:
                own = Scope(tenant, names.project_by_name.get(path, path))
                return replace(scopes, own=own, names=names.project_by_name, claimed=project)
            project = project or project_of_commit or commit or path
            if commit and project_of_commit in (None, commit, project):
                own_names.append(commit)
        if stores:
            project = await self._note(tenant, project, own_names, names)
        return replace(scopes, own=Scope(tenant, project), names=names.project_by_name)

    async def _bound_scopes(
        self, scopes: Scopes, folder: Folder, names: _Names, *, stores: bool
    ) -> Scopes | None:
        """Return the scopes of a folder that stays with the project it was used with, though its files say another one.

        None where the files say the same, where nothing is known of the folder, or where it does not stay.
        """
        tenant = scopes.own.tenant
        bound_below = _bound_below(folder, names)
        if bound_below is not None:
            return replace(scopes, own=Scope(tenant, bound_below), names=names.project_by_name)
        path, remote = stored_name(folder.path), stored_name(folder.remote or "")
        bound = _bound_to(path, names)
        if bound is None or not remote or names.project_by_name.get(remote, remote) == bound:
            return None
        is_named_by_person = path in names.by_person and remote not in names.project_by_name
        if is_named_by_person:
            return None
        if not await self._stays_bound(tenant, folder, bound, names, stores=stores):
            return None
        is_told = _told(path, remote) in names.project_by_name
        return replace(
            scopes,
            own=Scope(tenant, bound),
            names=names.project_by_name,
            new_origin="" if is_told else remote,
        )

    async def _stays_bound(
        self, tenant: str, folder: Folder, bound: str, names: _Names, *, stores: bool
    ) -> bool:
        """Return whether a folder that was used with the project `bound` stays one of it, though its origin is another.

        Agents point repositories at forks, and replace `.git`. So a folder stays with a project of which a person keeps a
        lesson. Where no person keeps any, another first commit says that the folder has another repository now. It does
        not stay where `bound` is only the name of its first commit: the project takes the name of its first remote.
        """
        remote = stored_name(folder.remote or "")
        is_unknown = remote not in names.project_by_name and remote not in names.with_records
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
        project = names.project_by_name.get(own, own)
        if project == own:
            return scopes
        return replace(scopes, own=Scope(tenant, project), names=names.project_by_name)

    async def _note(
        self, tenant: str, project: str, own_names: Sequence[str], names: _Names
    ) -> str:
        """Note that the names of a folder stand for a project, and give the records under them to it.

        Returns the project; where nothing can be written, the name under which the records are.
        """
        others = [name for name in own_names if name != project]
        new_names = [name for name in others if names.project_by_name.get(name) != project]
        with_records = [
            name for name in others if name in names.with_records or name.startswith(COMMIT)
        ]
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
                if name in names.with_records:
                    return name
        return project

    async def list(self, tenant: str) -> list[ProjectCounts]:
        """Return the projects of a tenant that have records; the empty name is global."""
        rows = await self.db.rows("project_counts", {"tenant": tenant})
        names = (
            await self.db.look(tenant, lambda reading: _names_of(reading, tenant))
        ).project_by_name
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
    """Return the project of a folder, None where only its first commit can tell.

    | the folder's remote         | the project                                                  |
    | is known                    | that of the remote                                           |
    | is new, a person named it   | the one that the person said                                 |
    | is new                      | the remote itself, such as `github.com/acme/shop`            |
    | none                        | that of its path, if the path is known                       |
    """
    if remote in names.project_by_name:
        return names.project_by_name[remote]
    if path in names.by_person or not remote:
        return names.project_by_name.get(path)
    return remote


def _is_first_folder(path: str, remote: str | None, names: _Names) -> bool:
    """Return whether nothing is known yet of a folder with a remote, and of its project."""
    if remote is None:
        return False
    return names.with_records.isdisjoint(
        (path, remote)
    ) and names.project_by_name.keys().isdisjoint((path, remote))


def _bound_to(path: str, names: _Names) -> str | None:
    """Return the project that a folder was used with before; its name may have changed since."""
    project = names.project_by_name.get(path)
    if project is None:
        return None
    return names.project_by_name.get(project, project)


def _bound_below(folder: Folder, names: _Names) -> str | None:
    """Return the project of a repository that lay between a folder and the repository it is in now, None if none did.

    The `.git` of that repository is gone, and what was learned of it is still its own. A name that a person gave to a
    folder is for that folder only, and not for those below it.
    """
    for name in map(stored_name, folder.below):
        if name in names.project_by_name and name not in names.by_person:
            return _bound_to(name, names)
    return None


def _names_for(project: str, names: _Names) -> Sequence[str]:
    """Return the other names of a project."""
    return [name for name, known in names.project_by_name.items() if known == project]


def _told(path: str, remote: str) -> str:
    """Return the name by which the bank knows that a person was told of a folder's new origin: `PATH with REMOTE`."""
    return f"{path} with {remote}"


def _is_claim(project: str, path: str, remote: str | None, names: _Names) -> bool:
    """Return whether a new folder says only by its origin that it is a project which this bank knows.

    Anybody can write such an origin into a repository: so the first commit has to say the same, or a person.
    """
    is_by_origin = remote is not None and project == names.project_by_name.get(remote, remote)
    is_known = remote in names.project_by_name or remote in names.with_records
    return is_by_origin and is_known and project not in (path, names.project_by_name.get(path))


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
