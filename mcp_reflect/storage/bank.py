"""The bank: opens the file and composes the repositories. The scope is always the first argument of theirs."""

import asyncio
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

from mcp_reflect.clock import Clock
from mcp_reflect.log import Log
from mcp_reflect.storage.recalls import RecallLog, RecallRepository
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.files import Opened

if TYPE_CHECKING:
    from mcp_reflect.storage import sessions
    from mcp_reflect.storage.consolidation import ConsolidationRepository
    from mcp_reflect.storage.lessons import LessonRepository
    from mcp_reflect.storage.maintenance import Maintenance
    from mcp_reflect.storage.outcomes import OutcomeRepository
    from mcp_reflect.storage.reflections import ReflectionRepository
    from mcp_reflect.storage.retrieval.embeddings import EmbeddingConfig, Embeddings
    from mcp_reflect.storage.transfer import Transfer
    from mcp_reflect.storage.views import Views
    from mcp_reflect.storage.warnings import WarningRepository


_CHANGES_WORDS: Final = frozenset({"lesson_add", "lesson_change"})
"""The statements after which a lesson may need a new vector."""

COPY_DELAY_SECONDS: Final = 60.0


class Bank:
    """All that was learned, in one SQLite file that many processes share. The file is opened on first use.

    Methods of the repositories raise BankError if the file cannot be used and NotFoundError for an id that the scope
    does not have; nothing is stored then. A repository is imported when it is first used: `recall` on the command
    line must answer at once.
    """

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
        self._size = size
        self._clock = clock or Clock()
        self._log = log or Log()
        self._db = Database(path, busy_seconds=busy_seconds, log=self._log, sets_aside=sets_aside)
        self._keep_days = keep_days
        self._recall_log = RecallLog(self._db, self._clock, keep_days)
        self._copy_timer: asyncio.TimerHandle | None = None
        self._copying: asyncio.Task[None] | None = None
        self._stop_copying = Event()
        self._db.on_commit(_CHANGES_WORDS, self._copy_later)
        self.embeddings: Embeddings | None = None
        if embeddings:
            from mcp_reflect.storage.retrieval import embeddings as module  # noqa: PLC0415 - most have no embedder

            self.embeddings = module.Embeddings(self._db, self._clock, embeddings)
            self._db.on_commit(_CHANGES_WORDS, self.embeddings.wake)
        self.recalls = RecallRepository(self._db, self._clock, self._recall_log, self.embeddings, words_only=words_only)

    async def open(self) -> Opened:
        """Open the file now; return its schema version, journal mode and whether it can be written."""
        return await self._db.opened()

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
            await self._recall_log.settle()
        finally:
            await self._db.close()

    def _copy_later(self) -> None:
        """Make the daily copy some time after a write: a command that ends at once makes none."""
        if self._copy_timer is None:
            self._copy_timer = asyncio.get_running_loop().call_later(COPY_DELAY_SECONDS, self._copy)

    def _copy(self) -> None:
        self._copy_timer = None
        if self._copying is None or self._copying.done():
            self._copying = asyncio.ensure_future(self.maintenance.copy_daily(self._stop_copying))

    @cached_property
    def lessons(self) -> "LessonRepository":
        from mcp_reflect.storage.lessons import LessonRepository  # noqa: PLC0415 - see the class

        return LessonRepository(self._db, self._clock, self._size)

    @cached_property
    def reflections(self) -> "ReflectionRepository":
        from mcp_reflect.storage.reflections import ReflectionRepository  # noqa: PLC0415 - see the class

        return ReflectionRepository(self._db, self._clock, self._size)

    @cached_property
    def outcomes(self) -> "OutcomeRepository":
        from mcp_reflect.storage.outcomes import OutcomeRepository  # noqa: PLC0415 - see the class

        return OutcomeRepository(self._db, self._clock, self._recall_log)

    @cached_property
    def warnings(self) -> "WarningRepository":
        from mcp_reflect.storage.warnings import WarningRepository  # noqa: PLC0415 - see the class

        return WarningRepository(self._db, self._clock, self._keep_days)

    @cached_property
    def consolidations(self) -> "ConsolidationRepository":
        from mcp_reflect.storage.consolidation import ConsolidationRepository  # noqa: PLC0415 - see the class

        return ConsolidationRepository(self._db, self._clock, self._size)

    @cached_property
    def searches(self) -> "sessions.SearchRepository":
        from mcp_reflect.storage import sessions  # noqa: PLC0415 - see the class

        return sessions.SearchRepository(self._db, self._clock, self._keep_days)

    @cached_property
    def critique_sessions(self) -> "sessions.CritiqueSessions":
        from mcp_reflect.storage import sessions  # noqa: PLC0415 - see the class

        return sessions.CritiqueSessions(self._db, self._clock, self._keep_days)

    @cached_property
    def steps(self) -> "sessions.StepBudget":
        from mcp_reflect.storage import sessions  # noqa: PLC0415 - see the class

        return sessions.StepBudget(self._db, self._clock, self._keep_days)

    @cached_property
    def usage(self) -> "sessions.UsageStore":
        from mcp_reflect.storage import sessions  # noqa: PLC0415 - see the class

        return sessions.UsageStore(self._db, self._clock)

    @cached_property
    def views(self) -> "Views":
        from mcp_reflect.storage.views import Views  # noqa: PLC0415 - see the class

        return Views(self._db, self._clock, self._recall_log, self.warnings, self.recalls)

    @cached_property
    def transfer(self) -> "Transfer":
        from mcp_reflect.storage.transfer import Transfer  # noqa: PLC0415 - see the class

        return Transfer(self._db, self._clock, self._size)

    @cached_property
    def maintenance(self) -> "Maintenance":
        from mcp_reflect.storage.maintenance import Maintenance  # noqa: PLC0415 - see the class

        return Maintenance(self._db, self._clock, self._log)
