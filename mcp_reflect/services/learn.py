"""Learn from the sessions that hosts left on this machine: find their files, read each once, keep what they show.

Nothing leaves the machine.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.clock import DAY
from mcp_reflect.models.common import Scope
from mcp_reflect.models.finding import Finding, FindingKind
from mcp_reflect.projects import project_of, stored_name
from mcp_reflect.services.context import Context
from mcp_reflect.services.session_workers import (
    Done,
    SessionFindings,
    SessionToRead,
    read_apart,
    read_here,
)
from mcp_reflect.sessions.session_places import SessionPlace, copies_in, sessions_of
from mcp_reflect.sessions.session_times import last_worked
from mcp_reflect.sessions.tools import file_of

_LEAST_SESSIONS: Final = 3
"""In which a person says the same, until it counts as said again and again."""

_PERSON_SECONDS: Final = 120.0  # that a correction costs a person
_FAILURE_SECONDS: Final = 30.0  # that a failure costs at least
_WORKERS: Final = 2
_SMALL: Final = 4_000_000  # bytes that are read sooner in this process than others start
_KEPT_AT: Final = 8_000_000  # bytes that were read, after which what they showed is stored

Progress = Callable[[int, int, int], None]
"""Called with the bytes that were read, those of all files, and the number of files left."""


@dataclass(slots=True)
class Learned:
    """What was read: numbers of sessions and bytes, and the faults of files by their paths."""

    sessions: int = 0
    known: int = 0
    others: int = 0
    bytes: int = 0
    faults: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def scopes_of_folders(
    context: Context, folders: Iterable[str | None]
) -> Callable[[str | None], Scope | None]:
    """Return a function that gives the scope of a session's folder, None if the folder is unknown."""
    here, scopes = context.settings.folder or Path.cwd(), context.scopes
    parts = context.settings.subprojects
    own = project_of(here, parts)
    known = {str(here.resolve()), own, *(folder for folder in folders if folder)}
    hashes = {f"sha256:{sha256(folder.encode()).hexdigest()}": folder for folder in known}

    @cache
    def scope_of(folder: str | None) -> Scope | None:
        folder = hashes.get(folder or "", folder or "")
        if not folder or folder.startswith("sha256:"):
            return None
        # A folder of another machine, such as of Windows seen from WSL, is a project by its name.
        name = project_of(Path(folder), parts) if Path(folder).is_absolute() else folder
        if name == own:
            return scopes.own
        stored = stored_name(name)
        return Scope(scopes.own.tenant, scopes.names.get(stored, stored))

    return scope_of


def _is_chosen(
    context: Context, place: SessionPlace, scope: Scope, *, every: bool, days: float | None
) -> bool:
    """Return whether a session is of a project that is asked for, and was worked in within the days that are."""
    if not (every or scope == context.scopes.own):
        return False
    return days is None or last_worked(place) >= context.clock.now() - days * DAY


async def learn(
    context: Context,
    hosts: Sequence[str],
    *,
    every_project: bool = False,
    days: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """Read the sessions that were not read before, and keep what they show as findings.

    What was read is kept every few megabytes and at the end, also of an interruption, so that a later call goes on
    there.
    """
    learned = Learned()
    places = [place for host in hosts for place in sessions_of(host, learned.faults)]
    copies = copies_in(places)
    if every_project:
        learned.faults += _without_folder(places)
    scope_of = scopes_of_folders(context, [place.folder for place in places])
    known = await context.bank.findings.files_read(context.scopes.own.tenant)
    queue: list[SessionToRead] = []
    for place in places:
        scope = scope_of(place.folder)
        if scope is None or not _is_chosen(context, place, scope, every=every_project, days=days):
            learned.others += 1
        elif known.get(place.key) == (place.size, place.changed):
            learned.known += 1
        else:
            queue.append(SessionToRead(place, scope, copies.get(place.path, ())))
    keeper = _Keeper(context, learned, queue, progress)
    try:
        await _read_all(queue, keeper.take)
    finally:
        await keeper.keep()
    return learned


async def _read_all(queue: Sequence[SessionToRead], done: Done) -> None:
    """Read sessions here where they are small, else in as many processes as help."""
    if sum(session.place.size for session in queue) < _SMALL:
        await read_here(queue, done)
        return
    workers = min(_WORKERS, os.cpu_count() or 1)
    async with asyncio.TaskGroup() as group:
        for first in range(workers):
            group.create_task(read_apart(queue[first::workers], done))


class _Keeper:
    """Counts the sessions that were read, and keeps what they show: a transaction for each would take longer than reading it."""

    def __init__(
        self,
        context: Context,
        learned: Learned,
        queue: Sequence[SessionToRead],
        progress: Progress | None,
    ) -> None:
        self._context = context
        self._learned = learned
        self._sessions = len(queue)
        self._bytes = sum(session.place.size for session in queue)
        self._progress = progress
        # A team need not know what one asks for.
        self._keeps_requests = not isinstance(context.settings.bank, ServerUrl)
        self._fresh: list[tuple[SessionToRead, SessionFindings]] = []

    async def take(
        self, session: SessionToRead, shown: SessionFindings, faults: Sequence[str]
    ) -> None:
        """Count a session, and keep what was read once it is enough."""
        learned = self._learned
        learned.faults += [(str(session.place.path), fault) for fault in faults]
        learned.sessions += 1
        learned.bytes += session.place.size
        wanted = [pair for pair in shown if self._keeps(pair[0])]
        self._fresh.append((session, wanted))
        if sum(fresh.place.size for fresh, _ in self._fresh) >= _KEPT_AT:
            await self.keep()
        if self._progress:
            self._progress(learned.bytes, self._bytes, self._sessions - learned.sessions)

    def _keeps(self, finding: Finding) -> bool:
        return self._keeps_requests or finding.kind is not FindingKind.SAID

    async def keep(self) -> None:
        """Store what was read since the last time, with the files, project by project."""
        fresh = self._fresh
        self._fresh = []
        for scope in dict.fromkeys(session.scope for session, _ in fresh):
            of_scope = [(session, shown) for session, shown in fresh if session.scope == scope]
            files = [
                (session.place.key, session.place.size, session.place.changed)
                for session, _ in of_scope
            ]
            pairs = [pair for _, shown in of_scope for pair in shown]
            await self._context.bank.findings.learn(scope, files, pairs, weigh)


def _without_folder(places: Iterable[SessionPlace]) -> list[tuple[str, str]]:
    """Return the faults of sessions that belong to no project."""
    fault = "it does not say in which folder it worked"
    return [(str(place.path), fault) for place in places if place.folder is None]


def weigh(finding: Finding, sessions: int, times: int, seconds: float) -> float:
    """Return what a finding cost in seconds; 0 for one that is not worth showing yet."""
    match finding.kind:
        case FindingKind.CORRECTION | FindingKind.UNDONE:
            return times * _PERSON_SECONDS
        case FindingKind.SAID:
            return times * _PERSON_SECONDS / 2 if sessions >= _LEAST_SESSIONS else 0.0
        case _ if sessions > 1 or _is_worth_a_look(finding):
            return max(times * _FAILURE_SECONDS, seconds)
        case _:
            return 0.0


def _is_worth_a_look(finding: Finding) -> bool:
    """Return whether a finding of one session may be useful in another: something worked, and it is no mere edit."""
    return finding.worked is not None and file_of(finding.worked.arguments) is None
