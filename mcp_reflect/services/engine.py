"""The engine: the services put together from settings. Usable from Python without MCP."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.log import Log
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import Ask, Forgotten, Hit, Lesson, LessonDraft, OutcomeResult, Recall, Stored
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services import lessons as remembering
from mcp_reflect.services.scopes import Scopes
from mcp_reflect.storage.bank import Bank, Means

if TYPE_CHECKING:
    from mcp_reflect.analysis.reflector import Scorer
    from mcp_reflect.llm.embeddings.embedders import Embedder
    from mcp_reflect.llm.prompts import Rendered
    from mcp_reflect.llm.protocol import LLM
    from mcp_reflect.llm.runner import ClientCapabilities, ModelRunner
    from mcp_reflect.models.consolidation import Dream, Undone
    from mcp_reflect.models.critique import Critique
    from mcp_reflect.models.reflection import Analysis, Reflection
    from mcp_reflect.models.search import SearchPlan
    from mcp_reflect.models.trigger import Advice
    from mcp_reflect.models.warning import AfterCall, CallWarning
    from mcp_reflect.services.context import Context
    from mcp_reflect.services.critique import Iteration, OnComplete, OnStart
    from mcp_reflect.services.reflect import Generated, Kept


# The part of the engine that looks back: when, on what, what is kept of it and how it is found again.
#
# Each method imports what it needs when it is called: the command line recalls without any of it.


class LookingBack:
    """Methods of `Engine`, which brings the parts that they work on."""

    @property
    def _context(self) -> "Context":
        return cast("Context", self)

    async def should_reflect(self, /, **arguments: Any) -> "Advice":
        """Whether to look back at this step, and why; a run's processes share the budget of its steps."""
        from mcp_reflect.services.triggers import should_reflect  # noqa: PLC0415 - see above

        return await should_reflect(self._context, arguments)

    async def reset_step_counts(self, run_id: str | None = None) -> None:
        """Give the steps of a run (null: of every run of the project) their whole budget of reflections again."""
        from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - see above

        await self._context.bank.steps.reset(self._context.scopes.own, run_id and clean_text(run_id))

    async def reflect(self, /, **arguments: Any) -> "Reflection":
        """Look back at a run, keep what it teaches; see `reflecting`."""
        return await self._reflect(arguments, None)

    async def _reflect(self, arguments: Mapping[str, Any], host: "ClientCapabilities | None") -> "Reflection":
        from mcp_reflect.llm.runner import NO_CLIENT  # noqa: PLC0415 - same
        from mcp_reflect.services.reflect import reflect  # noqa: PLC0415 - see above

        return await reflect(self._context, arguments, host or NO_CLIENT)

    async def generate_reflection(self, /, **arguments: Any) -> "Generated":
        """Look back at a run, and store nothing; the arguments are those of `reflect`."""
        from mcp_reflect.llm.runner import NO_CLIENT  # noqa: PLC0415 - same
        from mcp_reflect.services.reflect import generate  # noqa: PLC0415 - see above

        return await generate(self._context, arguments, NO_CLIENT)

    async def store_reflection(self, generated: "Generated") -> "Kept":
        """Store what `generate_reflection` gave; its ids. InputError where a check of its decision failed."""
        from mcp_reflect.services.reflect import store  # noqa: PLC0415 - see above

        return await store(self._context, generated)

    async def query_reflections(
        self, query_text: str | None = None, k: int = 5, min_importance: float = 0.5, tags: Sequence[str] = ()
    ) -> "tuple[Reflection, ...]":
        """At most `k` reflections (1 to 50) of that importance (0..1) with any of the tags.

        Those that fit the text, best first; without a text the most important first.
        """
        from mcp_reflect.services.reflect import query  # noqa: PLC0415 - see above

        asked = {"task": query_text, "limit": k, "min_importance": min_importance, "tags": tuple(tags)}
        return await query(self._context, asked)

    def build_reflection_prompt(self, /, **arguments: Any) -> "Rendered":
        """What a language model would be told to reflect on a run; asks none, and opens no bank."""
        from mcp_reflect.services.reflection_prompts import reflection_prompt  # noqa: PLC0415 - see above

        return reflection_prompt(self._context, arguments)

    def build_improvement_prompt(
        self,
        goal: str,
        steps: Sequence[str] | str,
        found: "Critique | Sequence[str]",
        tool_results: Sequence[Mapping[str, Any]] = (),
    ) -> "Rendered":
        """What a language model would be told to put right in `steps` what was `found` wrong; asks none.

        `found` is a critique or a list of issues.
        """
        from mcp_reflect.services.reflection_prompts import improvement_prompt  # noqa: PLC0415 - see above

        return improvement_prompt(self._context, goal, steps, found, tool_results)

    @staticmethod
    def parse_reflection(text: Any, event_ids: Sequence[str] = ()) -> "Analysis":
        """A model's reflection, JSON or markdown, as values; InputError names what cannot be used. Needs no bank."""
        from mcp_reflect.analysis.agent_analysis import read_analysis  # noqa: PLC0415 - see above

        return read_analysis(text, event_ids)


# The part of the engine that looks ahead: what is said before a call and at a session's start, and what came of it.
#
# Each method imports what it needs when it is called: the command line recalls without any of it.


if TYPE_CHECKING:

    class Watching(Context, Protocol):
        """The context, and the session that calls belong to where none is named."""

        @property
        def own_session(self) -> str: ...


class LookingAhead:
    """Methods of `Engine`, which brings the parts that they work on."""

    @property
    def _watching(self) -> "Watching":
        return cast("Watching", self)

    async def before_call(
        self,
        tool: str,
        arguments: Json = None,
        *,
        session: str | None = None,
        call_id: str | None = None,
        project: str | None = None,
    ) -> "CallWarning | None":
        """The word that is due before a call which is known to fail, or null; nothing is ever blocked.

        `session` names the agent's session (default: this engine's own), `call_id` the call.
        """
        from mcp_reflect.services.warnings import before_call  # noqa: PLC0415 - see above

        given = clean_text(session or self._watching.own_session)
        return await before_call(self._watching, tool, arguments, session=given, call_id=call_id, project=project)

    async def after_call(
        self,
        tool: str,
        arguments: Json = None,
        result: Json = None,
        *,
        error: str | None = None,
        session: str | None = None,
        project: str | None = None,
    ) -> "AfterCall":
        """Note what came of a call, so that it is known the next time, and that a warning proves itself.

        The call failed where `error` is given, or where `result` (text or JSON) is read as a failure.
        """
        from mcp_reflect.services.warnings import after_call  # noqa: PLC0415 - see above

        given = clean_text(session or self._watching.own_session)
        return await after_call(self._watching, tool, arguments, result, error=error, session=given, project=project)

    async def remind(self, session: str, task: str | None = None, *, anew: bool = False) -> str | None:
        """At most three lessons that the session has not been shown, in a fence; null where there are none.

        With a `task` those that fit it, else the project's best. `anew` forgets what was shown before.
        """
        from mcp_reflect.services.warnings import remind  # noqa: PLC0415 - see above

        return await remind(self._watching, clean_text(session), task, anew=anew)

    async def end_session(self, session: str) -> None:
        """A session is over: calls that were warned of and never made were heeded."""
        await self._watching.bank.watch.end(self._watching.scopes.own, clean_text(session))


# The engine: the parts put together from settings. It is the Python face, usable without MCP.
#
# Each method takes the arguments of the tool of its name (see docs/tools.md), raises InputError for what
# cannot be used and BankError where the bank cannot do it, and has stored nothing then.


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
        self._thinking: ModelRunner | None = None
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

    async def call(self, tool: str, arguments: Mapping[str, Any], host: "ClientCapabilities | None" = None) -> object:
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
        from mcp_reflect.llm.runner import NO_CLIENT  # noqa: PLC0415 - same
        from mcp_reflect.services.critique import stream  # noqa: PLC0415 - see `_critique`

        async with aclosing(stream(self, arguments, NO_CLIENT)) as found:
            async for one in found:
                yield one

    async def enhance_reasoning(self, query: str, steps: Sequence[str]) -> tuple[str, ...]:
        """The steps with what is wrong in them put right, as far as it can be; the same steps where nothing is."""
        found = await self.critique(goal=query, steps=list(steps))
        return found.corrected_steps or tuple(steps)

    async def _critique(
        self, arguments: Mapping[str, Any], host: "ClientCapabilities | None", **callbacks: Any
    ) -> "Critique":
        from mcp_reflect.llm.runner import NO_CLIENT  # noqa: PLC0415 - same
        from mcp_reflect.services.critique import critique  # noqa: PLC0415 - the checkers are needed by no other tool

        return await critique(self, arguments, host or NO_CLIENT, **callbacks)

    async def replan(self, /, **arguments: Any) -> "SearchPlan":
        """Plan the next queries of a search that found nothing; see `searching`."""
        return await self._replan(arguments, None)

    async def _replan(self, arguments: Mapping[str, Any], host: "ClientCapabilities | None") -> "SearchPlan":
        from mcp_reflect.llm.runner import NO_CLIENT  # noqa: PLC0415 - same
        from mcp_reflect.services.replan import replan  # noqa: PLC0415 - the planner is needed by no other tool

        return await replan(self, arguments, host or NO_CLIENT)

    @property
    def thinking(self) -> "ModelRunner":
        """The language models and prompts; made when first needed."""
        if self._thinking is None:
            from mcp_reflect.llm.runner import ModelRunner  # noqa: PLC0415 - see above

            self._thinking = ModelRunner(
                self.settings, self.bank.spending, llm=self._llm, log=self.log, clock=self.clock
            )
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
        from mcp_reflect.services.replan import settle  # noqa: PLC0415 - see `_replan`

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
        from mcp_reflect.services.consolidate import dream  # noqa: PLC0415 - no tool needs it

        return await dream(self, plan_only=plan_only, analysis=analysis, idle=idle)

    async def undo_dream(self, dream_id: str) -> "Undone":
        """Put back what a dream changed."""
        from mcp_reflect.services.consolidate import undo  # noqa: PLC0415 - no tool needs it

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
