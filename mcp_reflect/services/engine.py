"""The engine: the Python interface to every service. Needs no MCP.

Each method takes the arguments of the tool of its name (docs/tools.md). It raises InputError for arguments that
cannot be used and BankError if the bank cannot do what was asked; nothing is stored then.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from mcp_reflect import services
from mcp_reflect.models.common import Json, to_json
from mcp_reflect.models.lesson import Forgotten, Lesson, Stored
from mcp_reflect.models.outcome import OutcomeResult
from mcp_reflect.models.recall import Hit, Recall
from mcp_reflect.models.shown_digest import NOTHING_SEEN, Seen
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.engine_parts import EngineParts
from mcp_reflect.speaker import Speaker

if TYPE_CHECKING:
    from mcp_reflect.llm.prompts import Rendered
    from mcp_reflect.llm.protocol import TextChunk, TextListener
    from mcp_reflect.models.critique import Critique
    from mcp_reflect.models.dream import Dream, Undone
    from mcp_reflect.models.reflection import Analysis, Reflection
    from mcp_reflect.models.search import SearchPlan
    from mcp_reflect.models.warning import AfterCall, CallWarning
    from mcp_reflect.services.critique import Callback, Iteration
    from mcp_reflect.services.reflect import Generated
    from mcp_reflect.services.triggers import Advice


def as_sent(arguments: Any) -> dict[str, Any]:
    """Return arguments of a Python program as a client would send them."""
    return cast("dict[str, Any]", to_json(arguments))


class Engine(EngineParts):
    """Reflects on runs, stores lessons and recalls them. Use it as an async context manager, or call `close`.

    Without `settings` those of the environment are used. `llm`, `embedder` and `scorer` take the place of what they
    configure, `reflection_bank_size` that of `bank_size`, `scopes` that of `tenant_id` and the configured project.
    `store` is an open bank, or an object with repositories of your own (docs/python.md).
    """

    # Reflections.

    async def should_reflect(self, /, **arguments: Any) -> "Advice":
        """Return whether to reflect at this step, and why. All processes of a run share one count per step."""
        return await self.call("should_reflect", arguments)

    async def reset_step_counts(self, run_id: str | None = None) -> None:
        """Reset the counts of reflections per step for a run, or (None) for every run of the project."""
        if run_id is not None:
            run_id = clean_text(run_id)
        await self.bank.steps.reset(self.scopes.own, run_id)

    async def reflect(self, /, **arguments: Any) -> "Reflection":
        """Analyze a run and store what it teaches. Times, ids and members of enums may be Python's own."""
        return await self.call("reflect", as_sent(arguments))

    async def generate_reflection(self, context: Any = None, /, **arguments: Any) -> "Generated":
        """Analyze a run and store nothing. The arguments are those of `reflect`, or one object that has them."""
        sent = {**as_sent(context or {}), **as_sent(arguments)}
        return await services.reflect.generate(self.context, sent)

    async def store_reflection(self, generated: "Generated") -> "Reflection":
        """Store the result of `generate_reflection`. InputError if a check of its decision failed."""
        return await services.reflect.store(self.context, generated)

    async def query_reflections(
        self,
        query_text: str | None = None,
        k: int = 5,
        min_importance: float = 0.5,
        tags: Sequence[str] = (),
    ) -> "tuple[Reflection, ...]":
        """Return at most `k` (1 to 50) reflections of that importance (0 to 1) with any of the tags; counts as no use.

        Those that fit `query_text` come first, then the most important ones.
        """
        arguments = {
            "task": query_text,
            "limit": k,
            "min_importance": min_importance,
            "tags": tuple(tags),
        }
        return await services.reflect.query(self.context, arguments)

    def build_reflection_prompt(self, /, **arguments: Any) -> "Rendered":
        """Build the prompt that asks a language model to reflect on a run. Opens no bank."""
        return services.reflect.reflection_prompt(self.context, as_sent(arguments))

    def build_improvement_prompt(
        self,
        goal: str,
        steps: Sequence[str] | str,
        critique: "Critique | Sequence[str] | str",
        tool_results: Sequence[Mapping[str, Any]] = (),
    ) -> "Rendered":
        """Build the prompt that asks a language model to correct `steps`; `critique` may be issues or one issue."""
        return services.critique_models.improvement_prompt(
            self.context, goal, steps, critique, tool_results
        )

    @staticmethod
    def parse_reflection(text: Any, event_ids: Sequence[str] = ()) -> "Analysis":
        """Read a model's reflection (JSON or markdown). InputError names what cannot be used."""
        from mcp_reflect.schemas.analysis import read_analysis

        return read_analysis(text, event_ids)

    # Critique and searches.

    async def critique(
        self,
        /,
        *,
        on_start: "Callback | None" = None,
        on_complete: "Callback | None" = None,
        on_text: "TextListener | None" = None,
        **arguments: Any,
    ) -> "Critique":
        """Check a piece of work against evidence and correct it as far as possible.

        `on_start(iteration, issues)` and `on_complete(iteration, steps)` are called for each correction,
        `on_text(chunk)` for the text of the critic and the corrector as they write it.
        """
        return await services.critique.critique(
            self.context, arguments, on_start=on_start, on_complete=on_complete, on_text=on_text
        )

    async def critique_stream(
        self, /, **arguments: Any
    ) -> "AsyncIterator[TextChunk | Iteration | Critique]":
        """Yield text as the models write it, each correction after it was verified, and the critique last."""
        async with aclosing(services.critique.stream(self.context, arguments)) as results:
            async for result in results:
                yield result

    async def enhance_reasoning(
        self, query: str, steps: Sequence[str], **arguments: Any
    ) -> tuple[str, ...]:
        """Return the steps corrected as far as possible. The arguments are those of `critique`."""
        critique = await self.critique(goal=query, steps=list(steps), **arguments)
        return critique.corrected_steps or tuple(steps)

    async def replan(self, /, **arguments: Any) -> "SearchPlan":
        """Plan the next queries of a search that found nothing."""
        return await self.call("replan_search", arguments)

    # Lessons.

    async def recall(self, /, **arguments: Any) -> Recall:
        """Return the few lessons that fit a task, best first."""
        return await services.lessons.recall(self.context, arguments)

    async def get_relevant_lessons(
        self, task: str | None = None, /, **arguments: Any
    ) -> tuple[Hit, ...]:
        """Return the lessons of a recall without its other fields; a `task_type` may stand for the task."""
        if task is not None:
            arguments["task"] = task
        recall = await self.recall(**arguments)
        return recall.lessons

    async def store_lesson(self, /, **arguments: Any) -> Stored:
        """Store a lesson."""
        return await services.lessons.store(self.context, arguments)

    async def record_outcome(self, /, **arguments: Any) -> OutcomeResult:
        """Record whether lessons helped. Evidence decides how much the outcome counts: the program saw its results."""
        return await services.outcomes.record_outcome(self.context, arguments, by_program=True)

    async def record_lesson_outcome(
        self, lesson_id: str, success: bool | str, /, **arguments: Any
    ) -> OutcomeResult:
        """Record whether one lesson helped; `success` is True, False or "partial"."""
        return await self.record_outcome(lesson_ids=[lesson_id], success=success, **arguments)

    async def forget_lesson(self, /, **arguments: Any) -> Forgotten:
        """Retire a lesson. It leaves every recall and stays in the history."""
        return await services.lessons.forget(self.context, arguments)

    async def edit_lesson(
        self,
        lesson_id: str,
        changes: Mapping[str, Any],
        *,
        by: Speaker = Speaker.AGENT,
        seen: Seen = NOTHING_SEEN,
    ) -> Lesson:
        """Change fields of a lesson; only `by` a person those of one that a person keeps.

        The earlier wording stays as a version. ChangedError if the lesson is not as the person was shown it (`seen`).
        """
        return await services.lesson_edits.edit(self.context, lesson_id, changes, by=by, seen=seen)

    def import_lessons(
        self, lines: Iterable[tuple[int, Mapping[str, Any]]]
    ) -> AsyncIterator[list[Stored]]:
        """Store numbered lines in short transactions and yield the results of each batch.

        InputError names the first bad line; nothing is stored then.
        """
        return services.imports.import_lessons(self.context, lines)

    # Calls of a session: warnings before them, and what came of them.

    async def before_call(
        self,
        tool: str,
        arguments: Json = None,
        *,
        session: str | None = None,
        call_id: str | None = None,
        project: str | None = None,
    ) -> "CallWarning | None":
        """Return a warning where a call is known to fail, else None. Nothing is ever blocked.

        `session` is the id of the agent's session (default: one for this engine), `call_id` the id of the call.
        """
        return await services.warnings.before_call(
            self.context,
            tool,
            arguments,
            session=session or self.context.session,
            call_id=call_id,
            project=project,
        )

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
        """Record the result of a call, for later warnings and for the effect of earlier ones.

        The call failed where `error` is given, or where `result` (text or JSON) reads as a failure.
        """
        return await services.warnings.after_call(
            self.context,
            tool,
            arguments,
            result,
            error=error,
            session=session or self.context.session,
            project=project,
        )

    async def end_session(self, session: str) -> None:
        """End a session. Warned calls that were never made count as heeded."""
        await self.bank.warnings.end_session(self.scopes.own, clean_text(session))

    async def get_stats(self) -> Mapping[str, Json]:
        """Return counts of the bank's records, and the settings that limit or measure them."""
        return await services.statistics.statistics_of(self.context)

    async def dream(
        self, *, plan_only: bool = False, analysis: Mapping[str, Any] | str | None = None
    ) -> "Dream":
        """Consolidate the project's records: plan merges and removals, then apply them unless `plan_only`.

        `analysis` are merges that an agent proposes, as an object or as JSON in a text; None asks a model for them, where
        one is configured.
        """
        return await services.consolidate.dream(
            self.context, plan_only=plan_only, analysis=analysis
        )

    async def undo_dream(self, dream_id: str, *, by: Speaker = Speaker.AGENT) -> "Undone":
        """Revert the changes of a dream; only `by` a person those of lessons that a person keeps."""
        return await services.consolidate.undo(self.context, dream_id, by=by)
