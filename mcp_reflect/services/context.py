"""The context of every service function: settings, the bank, the clock, the log, and the memory of an engine."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.log import Log
from mcp_reflect.models.common import Scope
from mcp_reflect.projects import Scopes
from mcp_reflect.services.session_files import SessionFiles
from mcp_reflect.storage.bank import Bank

if TYPE_CHECKING:
    from mcp_reflect.llm.embedders import Embedder
    from mcp_reflect.llm.protocol import LLM
    from mcp_reflect.llm.runner import ModelRunner
    from mcp_reflect.sessions.reflector import Scorer
    from mcp_reflect.speaker import Confirm


_MOST_SESSIONS: Final = 16  # whose reported calls are known
_MOST_REPORTED: Final = 200  # of a session, the latest


class ReportedCalls:
    """The ids of calls that an agent reported by the hook tool, by session, to be compared with the session's transcript.

    A call that only an agent reports proves nothing: `missing` has those that their transcript did not show in time.
    Calls of subagents, which have transcripts of their own, are not among them.
    """

    def __init__(self) -> None:
        self._by_session: dict[str, tuple[str, ...]] = {}
        self.missing: set[str] = set()

    def note(self, session: str, call_id: str, *, is_missing: bool) -> None:
        """Add a call. Of the sessions, and of the calls of each, the latest stay."""
        if is_missing and len(self.missing) < _MOST_REPORTED * _MOST_SESSIONS:
            self.missing.add(call_id)
        earlier_calls = self._by_session.pop(session, ())
        # A key that was taken out comes last when it is put in again, so that the first key is the oldest.
        self._by_session[session] = (*earlier_calls, call_id)[-_MOST_REPORTED:]
        while len(self._by_session) > _MOST_SESSIONS:
            oldest_session = next(iter(self._by_session))
            self._by_session.pop(oldest_session)

    def of(self, session: str) -> frozenset[str]:
        """Return the calls of a session."""
        return frozenset(self._by_session.get(session, ()))


@dataclass(frozen=True)
class Context:
    """Settings, storage and helpers, the same for every call of an engine."""

    settings: Settings
    scopes: Scopes
    bank: Bank
    clock: Clock
    log: Log
    scorer: "Scorer | None" = None
    """An object of a Python program that scores runs."""
    llm: "LLM | None" = None
    """An object of a Python program that takes the place of the configured models."""
    session: str = ""
    """The id of the engine's own session."""
    latest_step: dict[Scope, int] = field(default_factory=dict[Scope, int])
    """The step at which should_reflect was asked last without a run, by project."""
    latest_task: dict[tuple[Scope, str], str] = field(default_factory=dict[tuple[Scope, str], str])
    """The task that a tool was called for last, by project and tool."""
    begun_tasks: set[Scope] = field(default_factory=set[Scope])
    """The projects in which a new task began, so that their counts of steps are to be reset."""
    session_files: SessionFiles = field(default_factory=SessionFiles)
    """The transcripts that were read last."""
    transcripts: dict[Scope, str] = field(default_factory=dict[Scope, str])
    """The path of the transcript that a hook named last, by project."""
    reported: ReportedCalls = field(default_factory=ReportedCalls)
    confirm: "Confirm | None" = None
    """Asks the person of the calling host; None where it shows no questions."""

    @cached_property
    def runner(self) -> "ModelRunner":
        """The language models and their prompts. Created when first used: a recall needs none of it."""
        from mcp_reflect.llm.runner import ModelRunner  # noqa: PLC0415 - see above

        return ModelRunner(
            self.settings, self.bank.usage.of(self.scopes.own.tenant), llm=self.llm, log=self.log
        )


def open_bank(
    settings: Settings,
    scopes: Scopes,
    *,
    clock: Clock,
    log: Log,
    embedder: "Embedder | None" = None,
) -> Bank:
    """Return the bank of the settings, not opened yet. `embedder` replaces the one that the settings name."""
    if embedder is None and not settings.has_embeddings:
        return Bank(settings, scopes, clock=clock, log=log)
    from mcp_reflect.llm import embedders  # noqa: PLC0415 - most have no embedder

    def open_embedder() -> "Embedder":
        """Return the embedder, which is opened when it is first needed: a model takes seconds to load."""
        if embedder is not None:
            return embedders.CheckedEmbedder(embedder, "the embedder")
        return embedders.open_embedder(settings.llm_settings)

    patient = embedders.Patient(open_embedder, clock)
    return Bank(settings, scopes, clock=clock, log=log, embedder=patient)
