"""The engine: the parts put together from settings. It is the Python face, usable without MCP.

Each method takes the arguments of the tool of its name (see docs/tools.md), raises InputError for what
cannot be used and BankError where the bank cannot do it, and has stored nothing then.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from mcp_reflect import remembering
from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.log import Log
from mcp_reflect.looking_ahead import LookingAhead
from mcp_reflect.looking_back import LookingBack
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import Ask, Forgotten, Hit, Lesson, LessonDraft, OutcomeResult, Recall, Stored
from mcp_reflect.scopes import Scopes
from mcp_reflect.security.redact import clean_text
from mcp_reflect.storage.bank import Bank, Means

if TYPE_CHECKING:
    from mcp_reflect.analysis.reflector import Scorer
    from mcp_reflect.critics import OnComplete, OnStart
    from mcp_reflect.critiquing import Iteration
    from mcp_reflect.llm.embeddings.embedders import Embedder
    from mcp_reflect.llm.protocol import LLM
    from mcp_reflect.llm.runner import Host, Thinking
    from mcp_reflect.models.consolidation import Dream, Undone
    from mcp_reflect.models.critique import Critique
    from mcp_reflect.models.search import SearchPlan

# The work of each method is in a room of its own (`reflecting`, `critiquing`, `searching`, `remembering`), which
# is imported when it is first used where it brings more than the command line's recall needs. Names that are looked
# up (of a run, of a session) pass the door as they did when they were kept.


class Engine(LookingBack, LookingAhead):
    """Reflects, remembers, recalls. Use it as an async context manager, or call `close`.

    `llm` is a language model, `embedder` an embedding model, `store` a bank and `scorer` one that scores runs, made
    elsewhere; `settings` default to the environment's. `reflection_bank_size` goes before their `bank_size`.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        llm: "LLM | None" = None,
        embedder: "Embedder | None" = None,
        store: Bank | None = None,
        scorer: "Scorer | None" = None,
        clock: Clock | None = None,
        reflection_bank_size: int | None = None,
    ) -> None:
        self.settings = settings or Settings.from_env()
        if reflection_bank_size is not None:
            self.settings = replace(self.settings, bank_size=reflection_bank_size)
        self.scorer = scorer
        self.clock = clock or Clock()
        self.scopes = Scopes.of(self.settings)
        self.log = Log(self.settings.log_level, self.settings.log_format)
        self.bank = store or Bank(
            self.settings.bank_path,
            clock=self.clock,
            busy_seconds=self.settings.bank_busy_seconds,
            size=self.settings.bank_size,
            keep_days=self.settings.keep_days,
            log=self.log,
            sets_aside=self.settings.sets_aside,
            meaning=self._means(embedder),
        )
        self._llm = llm
        self._thinking: Thinking | None = None
        self.own_session = self.clock.new_id("ses")

    def _means(self, embedder: "Embedder | None") -> Means | None:
        """How the bank finds lessons by what they mean: by the embedder given here, else the settings'."""
        settings = self.settings
        if embedder is None and not settings.has_embeddings:
            return None

        def opened() -> "Embedder":
            from mcp_reflect.llm.embeddings.choose import open_embedder  # noqa: PLC0415 - same
            from mcp_reflect.llm.embeddings.embedders import Checked  # noqa: PLC0415 - most have no embedder

            return Checked(embedder, "the embedder") if embedder else open_embedder(settings.llm_settings)

        own = self.scopes.own
        scopes = [own, *(Scope(own.tenant, project) for project in self.scopes.others)]
        return Means(open_embedder=opened, scopes=scopes, seconds=settings.embeddings_seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the bank."""
        await self.bank.close()

    async def call(self, tool: str, arguments: Mapping[str, Any], host: "Host | None" = None) -> object:
        """Call a tool by its name, for a host that may offer its model; KeyError for no tool of ours."""
        if tool == "reflect":
            return await self._reflect(arguments, host)
        if tool == "replan_search":
            return await self._replan(arguments, host)
        if tool == "critique":
            return await self._critique(arguments, host)
        methods: dict[str, Callable[..., Awaitable[object]]] = {
            "should_reflect": self.should_reflect,
            "recall_lessons": self.recall,
            "store_lesson": self.store_lesson,
            "record_outcome": self.record_outcome,
            "forget_lesson": self.forget_lesson,
        }
        return await methods[tool](**arguments)

    async def critique(
        self, /, *, on_start: "OnStart | None" = None, on_complete: "OnComplete | None" = None, **arguments: Any
    ) -> "Critique":
        """Verify a piece of work against evidence, and correct it as far as it can be; see `critiquing`.

        `on_start(iteration, issues)` and `on_complete(iteration, steps)` are told of each correction.
        """
        return await self._critique(arguments, None, on_start=on_start, on_complete=on_complete)

    async def critique_stream(self, /, **arguments: Any) -> "AsyncIterator[Iteration | Critique]":
        """Each correction as it is verified, and the critique at the end."""
        from mcp_reflect.critiquing import stream  # noqa: PLC0415 - see `_critique`
        from mcp_reflect.llm.runner import NO_HOST  # noqa: PLC0415 - same

        async with aclosing(stream(self, arguments, NO_HOST)) as found:
            async for one in found:
                yield one

    async def enhance_reasoning(self, query: str, steps: Sequence[str]) -> tuple[str, ...]:
        """The steps with what is wrong in them put right, as far as it can be; the same steps where nothing is."""
        found = await self.critique(goal=query, steps=list(steps))
        return found.corrected_steps or tuple(steps)

    async def _critique(self, arguments: Mapping[str, Any], host: "Host | None", **callbacks: Any) -> "Critique":
        from mcp_reflect.critiquing import critique  # noqa: PLC0415 - the checkers are needed by no other tool
        from mcp_reflect.llm.runner import NO_HOST  # noqa: PLC0415 - same

        return await critique(self, arguments, host or NO_HOST, **callbacks)

    async def replan(self, /, **arguments: Any) -> "SearchPlan":
        """Plan the next queries of a search that found nothing; see `searching`."""
        return await self._replan(arguments, None)

    async def _replan(self, arguments: Mapping[str, Any], host: "Host | None") -> "SearchPlan":
        from mcp_reflect.llm.runner import NO_HOST  # noqa: PLC0415 - same
        from mcp_reflect.searching import replan  # noqa: PLC0415 - the planner is needed by no other tool

        return await replan(self, arguments, host or NO_HOST)

    @property
    def thinking(self) -> "Thinking":
        """The language models and prompts; made when first needed."""
        if self._thinking is None:
            from mcp_reflect.llm.runner import Thinking  # noqa: PLC0415 - see above

            self._thinking = Thinking(self.settings, self.bank.spending, llm=self._llm, log=self.log, clock=self.clock)
        return self._thinking

    async def recall(self, /, **arguments: Any) -> Recall:
        """The few lessons that fit a task, best first; see `remembering`."""
        return await remembering.recall(self, arguments)

    async def get_relevant_lessons(self, task: str, /, **arguments: Any) -> tuple[Hit, ...]:
        """The lessons of a recall alone."""
        return (await self.recall(task=task, **arguments)).lessons

    async def recall_for(self, ask: Ask, project: str | None = None, *, applied: bool = True) -> Recall:
        """Recall for what was read already; `applied` false does not count the lessons as applied."""
        return await remembering.recall_for(self, ask, project, applied=applied)

    async def store_lesson(self, /, **arguments: Any) -> Stored:
        """Keep a mistake and its correction."""
        return await remembering.store(self, arguments)

    async def record_outcome(self, /, **arguments: Any) -> OutcomeResult:
        """Note what became of using lessons, with as much weight as its evidence bears."""
        return await remembering.record_outcome(self, arguments, self._settle)

    async def record_lesson_outcome(self, lesson_id: str, success: bool | str, /, **arguments: Any) -> OutcomeResult:
        """Note what became of using one lesson; `success` is true, false or "partial"."""
        return await self.record_outcome(lesson_ids=[lesson_id], success=success, **arguments)

    async def _settle(self, scope: Scope, search_id: str, paid: float) -> None:
        from mcp_reflect.searching import settle  # noqa: PLC0415 - see `_replan`

        await settle(self, scope, search_id, paid=paid)

    async def forget_lesson(self, /, **arguments: Any) -> Forgotten:
        """Retire a lesson: out of every recall, kept in the history."""
        return await remembering.forget(self, arguments)

    async def edit_lesson(self, lesson_id: str, changes: Mapping[str, Any]) -> Lesson:
        """Change fields of a lesson as a person does; the wording before stays as a version."""
        return await remembering.edit(self, lesson_id, changes)

    async def reflected(self, run_id: str) -> str | None:
        """The id of the latest reflection on a run, null where there is none."""
        return await self.bank.reflections.of_run(self.scopes.own, clean_text(run_id))

    async def proof(self) -> Mapping[str, Json]:
        """Recurrences with and without warnings, with intervals; null where there are too few cases."""
        return await self.bank.proof(self.scopes.own)

    async def get_stats(self) -> Mapping[str, Json]:
        """What is in the bank, counted, and what it is measured by; see `bank.stats`."""
        return {
            **await self.bank.stats(self.scopes.own),
            "bank_capacity": self.settings.bank_size,
            "quality_threshold": self.settings.quality_threshold,
            "holdout": self.settings.holdout,
        }

    async def dream(
        self, *, plan_only: bool = False, analysis: Mapping[str, Any] | str | None = None, idle: bool = False
    ) -> "Dream":
        """Look over the project's records at rest, and apply what was planned; see `dreaming`."""
        from mcp_reflect.dreaming import dream  # noqa: PLC0415 - no tool needs it

        return await dream(self, plan_only=plan_only, analysis=analysis, idle=idle)

    async def undo_dream(self, dream_id: str) -> "Undone":
        """Put back what a dream changed."""
        from mcp_reflect.dreaming import undo  # noqa: PLC0415 - no tool needs it

        return await undo(self, dream_id)

    def import_drafts(self, lines: Iterable[tuple[int, Mapping[str, Any]]]) -> list[tuple[Scope, LessonDraft]]:
        """Numbered lines of an import as drafts; InputError names the first bad line, and nothing has been stored."""
        return remembering.import_drafts(self, lines)

    def import_lessons(
        self, drafts: list[tuple[Scope, LessonDraft]], *, merge: bool = False, processes: int = 1
    ) -> AsyncIterator[list[Stored]]:
        """Store drafts in short transactions; yields what became of each batch.

        More than one of `processes` share the work of thousands; they start your program's main module anew, as
        multiprocessing does, so it has to be safe to import.
        """
        return self.bank.imported(drafts, merge=merge, processes=processes)
