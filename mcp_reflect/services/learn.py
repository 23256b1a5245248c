"""Learn from the past sessions that hosts left on this machine: each is read once, and its findings are stored.

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
from mcp_reflect.project_folders import project_of
from mcp_reflect.projects import stored_name
from mcp_reflect.services.context import Context
from mcp_reflect.services.session_workers import (
    Done,
    SessionFindings,
    SessionToRead,
    read_apart,
    read_here,
)
from mcp_reflect.sessions.session_sources import SessionSource, copies_in, sessions_of
from mcp_reflect.sessions.session_times import last_worked
from mcp_reflect.sessions.tools import file_of

_LEAST_SESSIONS_OF_SAYING: Final = 3
"""Sessions in which a person says the same, until it counts as said again and again."""

_SECONDS_OF_CORRECTION: Final = 120.0  # that a correction costs a person
_SECONDS_OF_SAYING: Final = 60.0  # that a person's repeated words cost, each time
_SECONDS_OF_FAILURE: Final = 30.0  # that a failure costs at least
_WORKERS: Final = 2  # processes that read: with more, the host's own work is felt
_READ_HERE_BYTES: Final = 4_000_000
"""Bytes that are read in this process: with more, it pays to start others."""

_BATCH_BYTES: Final = 8_000_000
"""Bytes that are read between two transactions: fewer would cost a transaction for each session."""

_HASH_PREFIX: Final = "sha256:"
"""Begins the folder of a session whose host writes its hash."""

Progress = Callable[[int, int, int], None]
"""Called with the bytes that were read, those of all files, and the number of files left."""


@dataclass(slots=True)
class Learned:
    """Counts of the sessions that were found, and the faults of their files."""

    sessions: int = 0  # that were read now
    known: int = 0  # that were read before and did not change since
    others: int = 0  # of other projects or days
    bytes: int = 0  # that were read now
    # The path of each file that has a fault, with the fault.
    faults: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def scopes_of_folders(
    context: Context, folders: Iterable[str | None]
) -> Callable[[str | None], Scope | None]:
    """Return a function that gives the scope of a session's folder, None if the folder is unknown.

    `folders` are the folders of all sessions: some hosts write the hash of a folder alone, which one of these explains.
    """
    working_folder = context.settings.folder or Path.cwd()
    scopes = context.scopes
    subprojects = context.settings.subprojects
    own_project = project_of(working_folder, subprojects)
    known_folders = {str(working_folder.resolve()), own_project}
    known_folders.update(folder for folder in folders if folder)
    folder_by_hash = {
        f"{_HASH_PREFIX}{sha256(folder.encode()).hexdigest()}": folder for folder in known_folders
    }

    @cache
    def scope_of(folder: str | None) -> Scope | None:
        """Return the scope of the project that a folder belongs to, by its files."""
        if not folder:
            return None
        folder = folder_by_hash.get(folder, folder)
        if folder.startswith(_HASH_PREFIX):
            return None
        # A path of another system, such as of Windows seen from WSL, names the project itself.
        project = folder
        if Path(folder).is_absolute():
            project = project_of(Path(folder), subprojects)
        if project == own_project:
            return scopes.own
        stored_project = stored_name(project)
        return Scope(scopes.own.tenant, scopes.names.get(stored_project, stored_project))

    return scope_of


def _is_chosen(
    context: Context, place: SessionSource, scope: Scope, *, every: bool, days: float | None
) -> bool:
    """Return whether a session is to be read: of this project unless `every` one is, and not older than `days`."""
    if not every and scope != context.scopes.own:
        return False
    if days is None:
        return True
    return last_worked(place) >= context.clock.now() - days * DAY


async def learn(
    context: Context,
    hosts: Sequence[str],
    *,
    every_project: bool = False,
    days: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """Read the sessions that were not read before, and store their findings.

    `hosts` are names such as `claude-code`; `days` is the age of the oldest session, None for any. Findings are stored
    every few megabytes and at the end, also after an interruption, so that a later call goes on there.
    """
    learned = Learned()
    places = [place for host in hosts for place in sessions_of(host, learned.faults)]
    copies = copies_in(places)
    if every_project:
        learned.faults += _without_folder(places)
    scope_of = scopes_of_folders(context, [place.folder for place in places])
    files_read = await context.bank.findings.files_read(context.scopes.own.tenant)
    queue: list[SessionToRead] = []
    for place in places:
        scope = scope_of(place.folder)
        if scope is None or not _is_chosen(context, place, scope, every=every_project, days=days):
            learned.others += 1
        elif files_read.get(place.key) == (place.size, place.changed):
            learned.known += 1
        else:
            queue.append(SessionToRead(place, scope, copies.get(place.path, ())))
    collector = _Collector(context, learned, queue, progress)
    try:
        await _read_all(queue, collector.take)
    finally:
        await collector.store()
    return learned


async def _read_all(queue: Sequence[SessionToRead], done: Done) -> None:
    """Read sessions, in this process where they are small, else in others, and call `done` for each."""
    if sum(session.place.size for session in queue) < _READ_HERE_BYTES:
        await read_here(queue, done)
        return
    workers = min(_WORKERS, os.cpu_count() or 1)
    async with asyncio.TaskGroup() as group:
        for first in range(workers):
            group.create_task(read_apart(queue[first::workers], done))


class _Collector:
    """Collects the findings of sessions, and stores those of many sessions at once.

    A transaction for each session would take longer than reading it.
    """

    def __init__(
        self,
        context: Context,
        learned: Learned,
        queue: Sequence[SessionToRead],
        progress: Progress | None,
    ) -> None:
        """Begin with nothing read of a queue, whose bytes tell how far `progress` is."""
        self._context = context
        self._learned = learned
        self._session_count = len(queue)
        self._total_bytes = sum(session.place.size for session in queue)
        self._progress = progress
        # The colleagues on a team's server need not know what one of them says to an agent.
        self._stores_sayings = not isinstance(context.settings.bank, ServerUrl)
        self._unstored: list[tuple[SessionToRead, SessionFindings]] = []

    async def take(
        self, session: SessionToRead, findings: SessionFindings, faults: Sequence[str]
    ) -> None:
        """Count a session that was read; store the findings of the last sessions once these are large enough."""
        learned = self._learned
        learned.faults += [(str(session.place.path), fault) for fault in faults]
        learned.sessions += 1
        learned.bytes += session.place.size
        stored_findings = [pair for pair in findings if self._may_store(pair[0])]
        self._unstored.append((session, stored_findings))
        unstored_bytes = sum(unstored.place.size for unstored, _ in self._unstored)
        if unstored_bytes >= _BATCH_BYTES:
            await self.store()
        if self._progress:
            sessions_left = self._session_count - learned.sessions
            self._progress(learned.bytes, self._total_bytes, sessions_left)

    def _may_store(self, finding: Finding) -> bool:
        """Return whether to store a finding: a person's words stay on their machine."""
        return self._stores_sayings or finding.kind is not FindingKind.SAID

    async def store(self) -> None:
        """Store the findings since the last time, and note that the sessions which show them were read."""
        unstored = self._unstored
        self._unstored = []
        by_scope: dict[Scope, list[tuple[SessionToRead, SessionFindings]]] = {}
        for session, findings in unstored:
            by_scope.setdefault(session.scope, []).append((session, findings))
        for scope, sessions in by_scope.items():
            files: list[tuple[str, int, float]] = []
            findings_of_scope: SessionFindings = []
            for session, findings in sessions:
                place = session.place
                files.append((place.key, place.size, place.changed))
                findings_of_scope += findings
            await self._context.bank.findings.learn(scope, files, findings_of_scope, weigh)


def _without_folder(places: Iterable[SessionSource]) -> list[tuple[str, str]]:
    """Return the faults of sessions that belong to no project."""
    fault = "it does not say in which folder it worked"
    return [(str(place.path), fault) for place in places if place.folder is None]


def weigh(finding: Finding, sessions: int, times: int, seconds: float) -> float:
    """Return what a finding cost in seconds; 0 for one that is not worth showing yet.

    It was seen `times` times in `sessions` sessions, in which `seconds` of work went into it.

    | the finding                                                       | seconds                             |
    |-------------------------------------------------------------------|-------------------------------------|
    | a person refused a call, or had work undone                       | 120 each time                       |
    | a person said it, in three sessions or more                       | 60 each time                        |
    | a failure, in two sessions or with a cure (`_is_worth_a_look`)    | the work, at least 30 each time     |
    | any other                                                         | 0                                   |
    """
    match finding.kind:
        case FindingKind.CORRECTION | FindingKind.UNDONE:
            return times * _SECONDS_OF_CORRECTION
        case FindingKind.SAID if sessions >= _LEAST_SESSIONS_OF_SAYING:
            return times * _SECONDS_OF_SAYING
        case FindingKind.SAID:
            return 0.0
        case _ if sessions > 1 or _is_worth_a_look(finding):
            return max(times * _SECONDS_OF_FAILURE, seconds)
        case _:
            return 0.0


def _is_worth_a_look(finding: Finding) -> bool:
    """Return whether a finding of one session may be useful in another: something worked, and it is no mere edit."""
    return finding.worked is not None and file_of(finding.worked.arguments) is None
