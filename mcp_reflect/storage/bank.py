"""The bank: one database, and the repositories of all that is stored in it.

Each method of a repository takes the scope (the tenant and the project) as its first argument.
"""

import asyncio
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, Final

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError
from mcp_reflect.log import Log
from mcp_reflect.projects import Scopes
from mcp_reflect.storage.hook_projects import forget_projects
from mcp_reflect.storage.lessons import LessonRepository
from mcp_reflect.storage.outcomes import OutcomeRepository
from mcp_reflect.storage.projects import ProjectRepository
from mcp_reflect.storage.recalls import RecallRepository
from mcp_reflect.storage.repository import BankContext, Database, Opened
from mcp_reflect.storage.retrieval.model_vectors import Embeddings, QuietEmbedder
from mcp_reflect.storage.sessions import (
    CritiqueSessions,
    SearchRepository,
    StepBudget,
    UsageStore,
)
from mcp_reflect.storage.tokens import TokenRepository

_STATEMENTS_CHANGING_WORDS: Final = frozenset({"lesson_add", "lesson_change"})
"""The named SQL after which a lesson may need a new vector, and the file a new daily copy."""

_STATEMENTS_CHANGING_NAMES: Final = frozenset({"project_name_put"})
"""The named SQL after which the names of projects that hooks remember are out of date."""

COPY_DELAY_SECONDS: Final = 60.0
"""Seconds after a write until the daily copy is made: a command that ends at once makes none."""


class Bank:
    """All that was learned, in one file or on one server that many processes share. It is opened on first use.

    Methods of the repositories raise BankError if the bank cannot be used and NotFoundError for an id that the scope
    does not have; nothing is stored then. Repositories that a recall does not need are imported on first use, since
    imports are most of the time of a hook.
    """

    def __init__(
        self,
        settings: Settings,
        scopes: Scopes,
        *,
        clock: Clock,
        log: Log,
        embedder: QuietEmbedder | None = None,
    ) -> None:
        """Compose the repositories; this opens nothing yet. Without an `embedder`, meanings are compared by words."""
        self.path = settings.bank_path
        is_on_server = isinstance(settings.bank, ServerUrl)
        self.place = str(settings.bank) if is_on_server else str(self.path)
        self.clock = clock
        self.db = _database(settings, log)
        self.context = BankContext(self.db, clock, log, settings.bank_size, settings.keep_days)
        self._copy_task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        if not is_on_server:
            self.db.on_commit(_STATEMENTS_CHANGING_WORDS, self._copy_later)
            self.db.on_commit(_STATEMENTS_CHANGING_NAMES, partial(forget_projects, str(self.path)))
        self.embeddings: Embeddings | None = None
        if embedder:
            self.embeddings = Embeddings(self.db, clock, settings, scopes, embedder)
            self.db.on_commit(_STATEMENTS_CHANGING_WORDS, self.embeddings.wake)
        words_only = settings.embeddings.strip().casefold() == "off" and embedder is None
        self.lessons = LessonRepository(self.context)
        self.has_own_lessons = True  # else a Python program brings them (`use`), with fewer methods
        self.recalls = RecallRepository(
            self.context, embeddings=self.embeddings, words_only=words_only
        )
        self.outcomes = OutcomeRepository(self.context, self.recalls)
        self.projects = ProjectRepository(self.context)
        self.searches = SearchRepository(self.context)
        self.critique_sessions = CritiqueSessions(self.context)
        self.steps = StepBudget(self.context)
        self.usage = UsageStore(self.context)
        self.tokens = TokenRepository(self.context)

    @cached_property
    def reflections(self):
        from mcp_reflect.storage.reflections import ReflectionRepository

        return ReflectionRepository(self.context)

    @cached_property
    def guards(self):
        from mcp_reflect.storage.guards import GuardRepository

        return GuardRepository(self.context)

    @cached_property
    def warnings(self):
        from mcp_reflect.storage.warnings import WarningRepository

        return WarningRepository(self.context)

    @cached_property
    def findings(self):
        from mcp_reflect.storage.findings import FindingRepository

        return FindingRepository(self.context)

    @cached_property
    def promotions(self):
        from mcp_reflect.storage.promotions import PromotionRepository

        return PromotionRepository(self.context)

    @cached_property
    def proposals(self):
        from mcp_reflect.storage.proposals import ProposalRepository

        return ProposalRepository(self.context)

    @cached_property
    def roots(self):
        from mcp_reflect.storage.roots import RootRepository

        return RootRepository(self.context)

    @cached_property
    def effects(self):
        from mcp_reflect.storage.effects import EffectRepository

        return EffectRepository(self.context)

    @cached_property
    def consolidations(self):
        from mcp_reflect.storage.consolidation import ConsolidationRepository

        return ConsolidationRepository(self.context)

    @cached_property
    def views(self):
        from mcp_reflect.storage.views import Views

        return Views(self.context)

    @cached_property
    def transfer(self):
        from mcp_reflect.storage.transfer import Transfer

        return Transfer(self.context)

    def use(self, store: Any) -> None:
        """Keep lessons, recalls, outcomes and reflections in another store, whose attributes of these names are used."""
        for name in ("lessons", "recalls", "outcomes", "reflections"):
            setattr(self, name, getattr(store, name))
        self.has_own_lessons = isinstance(store.lessons, LessonRepository)

    async def open(self) -> Opened:
        """Open the bank now; return its schema version and whether it can be written."""
        return await self.db.opened()

    async def close(self) -> None:
        """Write the queued recalls if no other process writes, and close the bank."""
        try:
            if self.embeddings:
                await self.embeddings.close()
            self._closing.set()
            if self._copy_task is not None:
                await self._copy_task
            close_recalls = getattr(self.recalls, "close", None)  # another store may have none
            if close_recalls is not None:
                await close_recalls()
        finally:
            await self.db.close()

    def _copy_later(self) -> None:
        """Plan the daily copy in the background, unless that is done already."""
        if self._copy_task is None or self._copy_task.done():
            self._copy_task = asyncio.create_task(self._copy())

    async def _copy(self) -> None:
        """Make the daily copy some time after a write: a command that ends at once makes none."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), COPY_DELAY_SECONDS)
            return
        from mcp_reflect.storage.sqlite.backup import copy_in_background

        await copy_in_background(self.path, self.clock, self.context.log, self._closing.is_set)


def _database(settings: Settings, log: Log) -> Database:
    """Return the database that the settings name, a file or a server; its package is imported only for that."""
    if not isinstance(settings.bank, ServerUrl):
        from mcp_reflect.storage.sqlite.database import SqliteDatabase

        return SqliteDatabase(
            settings.bank_path,
            busy_seconds=settings.bank_busy_seconds,
            log=log,
            sets_aside=settings.sets_aside,
            durable=settings.durable,
        )
    try:
        from mcp_reflect.storage.postgres.database import PostgresDatabase
    except ImportError as error:
        raise BankError(
            f"The bank {settings.bank} needs psycopg. Run: pip install 'psycopg[binary,pool]'"
        ) from error
    return PostgresDatabase(settings.bank, busy_seconds=settings.bank_busy_seconds, log=log)
