"""The parts of an engine, from its settings to its bank, and the call of a tool by its name."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from mcp_reflect import services
from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankDamagedError, BankError
from mcp_reflect.log import Log
from mcp_reflect.projects import Scopes
from mcp_reflect.security.reading_allowance import shared_allowance
from mcp_reflect.services.checked_arguments import checked_arguments
from mcp_reflect.services.context import Context, open_bank
from mcp_reflect.services.tool_functions import ASKING_A_MODEL, CONFIRMED_TOOLS, function_of
from mcp_reflect.speaker import speaker_of_process
from mcp_reflect.storage.bank import Bank

if TYPE_CHECKING:
    from mcp_reflect.llm.embedders import Embedder
    from mcp_reflect.llm.protocol import LLM
    from mcp_reflect.llm.runner import ClientCapabilities
    from mcp_reflect.sessions.reflector import Scorer

_CHANGES_LESSONS: Final = frozenset({"lesson_change", "lesson_erase"})
"""Names of the statements after which a stored lesson differs from what a promoted file says."""


class EngineParts:
    """Settings, bank, clock, log and models of an engine: put together, opened once, and closed.

    The arguments are those of `Engine`.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        llm: "LLM | None" = None,
        embedder: "Embedder | None" = None,
        store: Any = None,
        scorer: "Scorer | None" = None,
        clock: Clock | None = None,
        reflection_bank_size: int | None = None,
        tenant_id: str = "local",
        scopes: Scopes | None = None,
    ) -> None:
        """Put the parts together; nothing is opened or read before `open`."""
        self.settings = settings or Settings.from_env()
        if reflection_bank_size is not None:
            self.settings = replace(self.settings, bank_size=reflection_bank_size)
        self.clock = clock or Clock()
        self.scopes: Scopes = scopes or Scopes.of(self.settings, tenant_id)
        self.log = Log.of(self.settings)
        is_open_bank = isinstance(store, Bank)
        has_repositories_of_caller = store is not None and not is_open_bank
        if is_open_bank:
            self.bank = store
        else:
            self.bank = open_bank(
                self.settings, self.scopes, clock=self.clock, log=self.log, embedder=embedder
            )
        if has_repositories_of_caller:
            self.bank.use(store)
        session = self.clock.new_id("ses")
        self.context = Context(
            self.settings, self.scopes, self.bank, self.clock, self.log, scorer, llm, session
        )
        self._have_lessons_changed = False
        self._start_time = self.clock.now()
        if scopes is None and not is_open_bank:
            # A person's own bank: the files into which lessons were promoted are on this machine.
            self.bank.db.on_commit(_CHANGES_LESSONS, self._note_changed_lessons)
        self._opening = asyncio.Lock()
        # Only a bank of ours knows names of projects, and whoever passes scopes knows the name already.
        self._is_project_resolved = scopes is not None or has_repositories_of_caller

    def _note_changed_lessons(self) -> None:
        """Note that promoted files have to be brought into step; called after each change of a lesson."""
        self._have_lessons_changed = True

    async def __aenter__(self) -> Self:
        if self.scopes.folder:
            await self.open()
        return self

    async def open(self) -> Self:
        """Find the name that the bank has for the project, once: it may have been renamed, or be in another folder.

        Records that are under an older name are moved to the project; a move that is interrupted goes on at the next
        start.
        """
        async with self._opening:
            if not self._is_project_resolved:
                scopes = await self.bank.projects.resolve(
                    self.scopes, stores=self.settings.stores_names
                )
                self.use(scopes)
                self._is_project_resolved = True
        return self

    def use(self, scopes: Scopes) -> None:
        """Work on in these projects."""
        self.scopes = scopes
        self.context = replace(self.context, scopes=scopes)
        if self.bank.embeddings:
            self.bank.embeddings.use(scopes)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close, also after an error, so that notes which wait in memory are written all the same."""
        await self.close()

    async def close(self) -> None:
        """Close the bank, after the files into which lessons were promoted are brought into step with them."""
        try:
            await self._keep_files_in_step()
        finally:
            await self.bank.close()

    async def _keep_files_in_step(self) -> None:
        """Bring the files into which lessons were promoted into step with the lessons that changed."""
        if self._have_lessons_changed:
            self._have_lessons_changed = False
            with suppress(BankError):
                await services.promotion_refresh.refresh(
                    self.context, speaker_of_process(), self._start_time
                )

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        client: "ClientCapabilities | None" = None,
        *,
        on_cut: Callable[[str], None] | None = None,
    ) -> Any:
        """Call a tool by its name; KeyError if there is none.

        `client` is what the MCP client of the call offers: its model, and questions to its person. `on_cut` is called
        with the words that tell what redaction cut out of the arguments, if it cut anything. All texts of the call share
        one allowance of redaction.
        """
        with shared_allowance():
            return await self._call(tool, arguments, client, on_cut)

    async def _call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        client: "ClientCapabilities | None",
        on_cut: Callable[[str], None] | None,
    ) -> Any:
        """Read the arguments, and call the function of a tool with them.

        A bank that cannot be opened fails the tools that need it, which say so themselves; a damaged one fails all.
        """
        try:
            await self.open()
        except BankDamagedError:
            raise
        except BankError:
            pass
        # The first import of a service takes .3 s, and other calls go on meanwhile.
        function = await asyncio.to_thread(function_of, tool)
        context = self.context
        if client is not None and client.confirm is not None and tool in CONFIRMED_TOOLS:
            context = replace(context, confirm=client.confirm)
        clean_arguments, words_on_cuts = await asyncio.to_thread(
            checked_arguments, tool, arguments, self.settings
        )
        if words_on_cuts and on_cut is not None:
            on_cut(words_on_cuts)
        if client is not None and tool in ASKING_A_MODEL:
            result = await function(context, clean_arguments, client)
        else:
            result = await function(context, clean_arguments)
        await self._keep_files_in_step()
        return result
