"""The bank: opens the file and composes the repositories. The scope is always the first argument of theirs."""

import asyncio
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.log import Log
from mcp_reflect.storage.recalls import RecallLog, RecallRepository
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.files import Opened

if TYPE_CHECKING:
    from mcp_reflect.storage.consolidation import ConsolidationRepository
    from mcp_reflect.storage.lessons import LessonRepository
    from mcp_reflect.storage.maintenance import Maintenance
    from mcp_reflect.storage.outcomes import OutcomeRepository
    from mcp_reflect.storage.reflections import ReflectionRepository
    from mcp_reflect.storage.retrieval.embeddings import EmbeddingConfig, Embeddings
    from mcp_reflect.storage.sessions import CritiqueSessions, SearchRepository, StepBudget, UsageStore
    from mcp_reflect.storage.transfer import Transfer
    from mcp_reflect.storage.views import Views
    from mcp_reflect.storage.warnings import WarningRepository


_REPOSITORIES: Final = {
    "lessons": "lessons.LessonRepository",
    "reflections": "reflections.ReflectionRepository",
    "outcomes": "outcomes.OutcomeRepository",
    "warnings": "warnings.WarningRepository",
    "consolidations": "consolidation.ConsolidationRepository",
    "searches": "sessions.SearchRepository",
    "critique_sessions": "sessions.CritiqueSessions",
    "steps": "sessions.StepBudget",
    "usage": "sessions.UsageStore",
    "views": "views.Views",
    "transfer": "transfer.Transfer",
    "maintenance": "maintenance.Maintenance",
}

_CHANGES_WORDS: Final = frozenset({"lesson_add", "lesson_change"})
"""The statements after which a lesson may need a new vector."""

COPY_DELAY_SECONDS: Final = 60.0


class Bank:
    """All that was learned, in one SQLite file that many processes share. The file is opened on first use.

    Methods of the repositories raise BankError if the file cannot be used and NotFoundError for an id that the scope
    does not have; nothing is stored then.
    """

    lessons: "LessonRepository"
    reflections: "ReflectionRepository"
    outcomes: "OutcomeRepository"
    warnings: "WarningRepository"
    consolidations: "ConsolidationRepository"
    searches: "SearchRepository"
    critique_sessions: "CritiqueSessions"
    steps: "StepBudget"
    usage: "UsageStore"
    views: "Views"
    transfer: "Transfer"
    maintenance: "Maintenance"

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock | None = None,
        busy_seconds: float = 30.0,
        size: int | None = None,
        keep_days: float = 0.0,
        log: Log | None = None,
        sets_aside: bool = True,
        embeddings: "EmbeddingConfig | None" = None,
        words_only: bool = False,
    ) -> None:
        """Compose the repositories of the bank at `path`; this opens nothing yet.

        Args:
            path: The bank's file.
            clock: The source of time and ids.
            busy_seconds: How long a write waits for another process.
            size: The number of active records of a kind that a project keeps, None for no limit.
            keep_days: How long rows that only help a later call are kept after their last use, 0 for ever.
            log: Receives events about the file.
            sets_aside: Whether a damaged file is moved away, so that the next call begins a new one.
            embeddings: An embedder that a person named; without it, word vectors are compared.
            words_only: True compares no vectors.
        """
        self.path = path
        self.size = size
        self.clock = clock or Clock()
        self.log = log or Log()
        self.db = Database(path, busy_seconds=busy_seconds, log=self.log, sets_aside=sets_aside)
        self.keep_days = keep_days
        self.recall_log = RecallLog(self.db, self.clock, keep_days)
        self._copy_timer: asyncio.TimerHandle | None = None
        self._copying: asyncio.Task[None] | None = None
        self._stop_copying = Event()
        self.db.on_commit(_CHANGES_WORDS, self._copy_later)
        self.embeddings: Embeddings | None = None
        if embeddings:
            from mcp_reflect.storage.retrieval import embeddings as module  # noqa: PLC0415 - most have no embedder

            self.embeddings = module.Embeddings(self.db, self.clock, embeddings)
            self.db.on_commit(_CHANGES_WORDS, self.embeddings.wake)
        self.recalls = RecallRepository(self.db, self.clock, self.recall_log, self.embeddings, words_only=words_only)

    async def open(self) -> Opened:
        """Open the file now; return its schema version, journal mode and whether it can be written."""
        return await self.db.opened()

    async def close(self) -> None:
        """Write the queued recalls if no other process writes, and close the file."""
        try:
            if self.embeddings:
                await self.embeddings.close()
            if self._copy_timer is not None:
                self._copy_timer.cancel()
            if self._copying is not None:
                self._stop_copying.set()
                await self._copying
            await self.recall_log.settle()
        finally:
            await self.db.close()

    def _copy_later(self) -> None:
        """Make the daily copy some time after a write: a command that ends at once makes none."""
        if self._copy_timer is None:
            self._copy_timer = asyncio.get_running_loop().call_later(COPY_DELAY_SECONDS, self._copy)

    def _copy(self) -> None:
        self._copy_timer = None
        if self._copying is None or self._copying.done():
            self._copying = asyncio.ensure_future(self.maintenance.copy_daily(self._stop_copying))

    def __getattr__(self, name: str) -> Any:
        """Make a repository when it is first used, so that `recall` on the command line imports no other."""
        if name not in _REPOSITORIES:
            raise AttributeError(name)
        module, _, kind = _REPOSITORIES[name].partition(".")
        repository = getattr(import_module(f"mcp_reflect.storage.{module}"), kind)(self)
        setattr(self, name, repository)
        return repository
