"""The bank: opens the file and composes the repositories. The scope is always the first argument of theirs."""

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.config import Scopes, ServerUrl, Settings
from mcp_reflect.errors import BankError
from mcp_reflect.log import Log
from mcp_reflect.storage.repository import Database, Opened

if TYPE_CHECKING:
    from mcp_reflect.llm.embeddings.embedders import Embedder
    from mcp_reflect.storage.consolidation import ConsolidationRepository
    from mcp_reflect.storage.lessons import LessonRepository
    from mcp_reflect.storage.outcomes import OutcomeRepository
    from mcp_reflect.storage.recalls import RecallRepository
    from mcp_reflect.storage.reflections import ReflectionRepository
    from mcp_reflect.storage.retrieval.embeddings import Embeddings
    from mcp_reflect.storage.sessions import CritiqueSessions, SearchRepository, StepBudget, UsageStore
    from mcp_reflect.storage.sqlite.backup import Maintenance
    from mcp_reflect.storage.store import Store
    from mcp_reflect.storage.tokens import TokenRepository
    from mcp_reflect.storage.transfer import Transfer
    from mcp_reflect.storage.views import Views
    from mcp_reflect.storage.warnings import WarningRepository


_REPOSITORIES: Final = {
    "lessons": "lessons.LessonRepository",
    "reflections": "reflections.ReflectionRepository",
    "outcomes": "outcomes.OutcomeRepository",
    "recalls": "recalls.RecallRepository",
    "warnings": "warnings.WarningRepository",
    "consolidations": "consolidation.ConsolidationRepository",
    "searches": "sessions.SearchRepository",
    "critique_sessions": "sessions.CritiqueSessions",
    "steps": "sessions.StepBudget",
    "usage": "sessions.UsageStore",
    "tokens": "tokens.TokenRepository",
    "views": "views.Views",
    "transfer": "transfer.Transfer",
    "maintenance": "sqlite.backup.Maintenance",
}

_CHANGES_WORDS: Final = frozenset({"lesson_add", "lesson_change"})  # after which a lesson may need a new vector
COPY_DELAY_SECONDS: Final = 60.0


class Bank:
    """All that was learned, in one file or on one server that many processes share. It is opened on first use.

    Methods of the repositories raise BankError if the bank cannot be used and NotFoundError for an id that the scope
    does not have; nothing is stored then.
    """

    lessons: "LessonRepository"
    reflections: "ReflectionRepository"
    outcomes: "OutcomeRepository"
    recalls: "RecallRepository"
    warnings: "WarningRepository"
    consolidations: "ConsolidationRepository"
    searches: "SearchRepository"
    critique_sessions: "CritiqueSessions"
    steps: "StepBudget"
    usage: "UsageStore"
    tokens: "TokenRepository"
    views: "Views"
    transfer: "Transfer"
    maintenance: "Maintenance"

    def __init__(
        self, settings: Settings, scopes: Scopes, *, clock: Clock, log: Log, embedder: "Embedder | None" = None
    ) -> None:
        """Compose the repositories; this opens nothing yet. `embedder` replaces the one that the settings name."""
        self.path = settings.bank_path
        self.place = str(settings.bank if isinstance(settings.bank, ServerUrl) else self.path)
        self.size = settings.bank_size
        self.clock = clock
        self.log = log
        self.words_only = settings.embeddings.strip().casefold() == "off" and embedder is None
        self.db = _database(settings, log)
        self.keep_days = settings.keep_days
        self._copying: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        if not isinstance(settings.bank, ServerUrl):
            self.db.on_commit(_CHANGES_WORDS, self._copy_later)
        self.embeddings: Embeddings | None = None
        if embedder is not None or settings.has_embeddings:
            from mcp_reflect.storage.retrieval import embeddings as module  # noqa: PLC0415 - most have no embedder

            self.embeddings = module.Embeddings(self.db, self.clock, settings, scopes, embedder)
            self.db.on_commit(_CHANGES_WORDS, self.embeddings.wake)

    def use(self, store: "Store") -> None:
        """Keep lessons, recalls, outcomes and reflections in a store made elsewhere."""
        for name in ("lessons", "recalls", "outcomes", "reflections"):
            setattr(self, name, getattr(store, name))

    async def open(self) -> Opened:
        """Open the bank now; return its schema version and whether it can be written."""
        return await self.db.opened()

    async def close(self) -> None:
        """Write the queued recalls if no other process writes, and close the bank."""
        try:
            if self.embeddings:
                await self.embeddings.close()
            self._closing.set()
            if self._copying is not None:
                await self._copying
            if close := getattr(vars(self).get("recalls"), "close", None):  # another store may have none
                await close()
        finally:
            await self.db.close()

    def _copy_later(self) -> None:
        if self._copying is None or self._copying.done():
            self._copying = asyncio.create_task(self._copy())

    async def _copy(self) -> None:
        """Make the daily copy some time after a write: a command that ends at once makes none."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), COPY_DELAY_SECONDS)
            return
        await self.maintenance.copy_daily(self._closing.is_set)

    def __getattr__(self, name: str) -> Any:
        """Make a repository when it is first used, so that a hook or a command imports no other."""
        if name not in _REPOSITORIES:
            raise AttributeError(name)
        module, _, kind = _REPOSITORIES[name].rpartition(".")
        repository = getattr(import_module(f"mcp_reflect.storage.{module}"), kind)(self)
        setattr(self, name, repository)
        return repository


def _database(settings: Settings, log: Log) -> Database:
    if not isinstance(settings.bank, ServerUrl):
        from mcp_reflect.storage.sqlite.database import Database as SqliteDatabase  # noqa: PLC0415 - one engine is used

        path, seconds = settings.bank_path, settings.bank_busy_seconds
        return SqliteDatabase(path, busy_seconds=seconds, log=log, sets_aside=settings.sets_aside)
    try:
        from mcp_reflect.storage.postgres.database import Database as PostgresDatabase  # noqa: PLC0415 - same
    except ImportError as error:
        raise BankError(
            f"The bank {settings.bank} needs psycopg. Run: pip install 'mcp-reflect-server[postgres]'"
        ) from error
    return PostgresDatabase(settings.bank, busy_seconds=settings.bank_busy_seconds, log=log)
