"""The bank: opens the file and composes the repositories. The scope is always the first argument of theirs."""

import asyncio
from importlib import import_module
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.config import Scopes, Settings
from mcp_reflect.log import Log
from mcp_reflect.models.common import Scope
from mcp_reflect.storage.recalls import RecallRepository
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.files import Opened

if TYPE_CHECKING:
    from mcp_reflect.llm.embeddings.embedders import Embedder
    from mcp_reflect.storage.consolidation import ConsolidationRepository
    from mcp_reflect.storage.lessons import LessonRepository, OutcomeRepository
    from mcp_reflect.storage.reflections import ReflectionRepository
    from mcp_reflect.storage.retrieval.embeddings import EmbeddingConfig, Embeddings
    from mcp_reflect.storage.sessions import CritiqueSessions, SearchRepository, StepBudget, UsageStore
    from mcp_reflect.storage.sqlite.backup import Maintenance
    from mcp_reflect.storage.transfer import Transfer
    from mcp_reflect.storage.views import Views
    from mcp_reflect.storage.warnings import WarningRepository


_REPOSITORIES: Final = {
    "lessons": "lessons.LessonRepository",
    "reflections": "reflections.ReflectionRepository",
    "outcomes": "lessons.OutcomeRepository",
    "warnings": "warnings.WarningRepository",
    "consolidations": "consolidation.ConsolidationRepository",
    "searches": "sessions.SearchRepository",
    "critique_sessions": "sessions.CritiqueSessions",
    "steps": "sessions.StepBudget",
    "usage": "sessions.UsageStore",
    "views": "views.Views",
    "transfer": "transfer.Transfer",
    "maintenance": "sqlite.backup.Maintenance",
}

_CHANGES_WORDS: Final = frozenset({"lesson_add", "lesson_change"})  # after which a lesson may need a new vector
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
        self, settings: Settings, scopes: Scopes, *, clock: Clock, log: Log, embedder: "Embedder | None" = None
    ) -> None:
        """Compose the repositories; this opens nothing yet. `embedder` replaces the one that the settings name."""
        self.path = settings.bank_path
        self.size = settings.bank_size
        self.clock = clock
        self.log = log
        words_only = settings.embeddings.strip().casefold() == "off" and embedder is None
        embeddings = _embedding_config(settings, scopes, embedder)
        self.db = Database(self.path, busy_seconds=settings.bank_busy_seconds, log=log, sets_aside=settings.sets_aside)
        self.keep_days = settings.keep_days
        self._copy_timer: asyncio.TimerHandle | None = None
        self._copying: asyncio.Task[None] | None = None
        self._stop_copying = Event()
        self.db.on_commit(_CHANGES_WORDS, self._copy_later)
        self.embeddings: Embeddings | None = None
        if embeddings:
            from mcp_reflect.storage.retrieval import embeddings as module  # noqa: PLC0415 - most have no embedder

            self.embeddings = module.Embeddings(self.db, self.clock, embeddings)
            self.db.on_commit(_CHANGES_WORDS, self.embeddings.wake)
        self.recalls = RecallRepository(self, words_only=words_only)

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
            await self.recalls.settle()
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
        module, _, kind = _REPOSITORIES[name].rpartition(".")
        repository = getattr(import_module(f"mcp_reflect.storage.{module}"), kind)(self)
        setattr(self, name, repository)
        return repository


def _embedding_config(settings: Settings, scopes: Scopes, embedder: "Embedder | None") -> "EmbeddingConfig | None":
    """Return the configuration of recall by an embedder, or None where none is passed or named."""
    if embedder is None and not settings.has_embeddings:
        return None
    from mcp_reflect.storage.retrieval.embeddings import EmbeddingConfig  # noqa: PLC0415 - most name no embedder

    def open_embedder() -> "Embedder":
        from mcp_reflect.llm.embeddings.embedders import Checked, open_embedder  # noqa: PLC0415 - same

        return Checked(embedder, "the embedder") if embedder else open_embedder(settings.llm_settings)

    own = scopes.own
    others = [Scope(own.tenant, project) for project in scopes.others]
    return EmbeddingConfig(open_embedder=open_embedder, scopes=[own, *others], seconds=settings.embeddings_seconds)
