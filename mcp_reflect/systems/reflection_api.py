"""The reflection API: for agents with a model of their own, which check their output before they hand it over.

It says when to reflect, builds the prompts, reads the model's reply, and keeps lessons with their effectiveness. Its
prompts and its reader ask no model and open no bank. Its lessons stand in the bank under a tenant of their own, so
that the bank size that the document wants archives no lesson of anybody else.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, TypeVar

from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.schemas.step import StepArguments
from mcp_reflect.security.redact import clean_text, context_hash
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.triggers import trigger_of
from mcp_reflect.storage.retrieval.candidates import is_same_type
from mcp_reflect.systems import run
from mcp_reflect.systems.judge_replies import read_judgment
from mcp_reflect.text.signature import digest

_T = TypeVar("_T")
_TENANT: Final = "reflection_api"
_START: Final = 0.5  # the effectiveness of a lesson without an outcome, by the document
_MOST_EVIDENCE: Final = 20_000  # characters of tool results in a prompt, from their end
_NO_FAULT_NAMED: Final = "The reply names no fault: check the work again."
_COUNTED: Final = ("total_reflections", "retries_triggered", "improvements_made")
_OF_BANK: Final = (
    "lessons_stored",
    "bank_capacity",
    "average_lesson_effectiveness",
    "quality_threshold",
)


class ReflectionTrigger(StrEnum):
    """The signal that asks for a reflection."""

    LOW_CONFIDENCE = "low_confidence"
    HIGH_RISK = "high_risk"
    GOAL_DRIFT = "goal_drift"
    TOOL_FAILURE = "tool_failure"
    USER_CRITICAL = "user_critical"
    PERIODIC = "periodic"


@dataclass
class ReflectionResult:
    """A reply as read: a score in 0..1, and what to do about it."""

    triggered_by: ReflectionTrigger
    passes_quality_gate: bool
    quality_score: float
    issues_found: list[str]
    suggested_fix: str | None
    should_retry: bool
    retry_guidance: str
    reflection_time_ms: float


@dataclass
class ReflectionLesson:
    """A stored lesson; `created_at` is in seconds since 1970, `effectiveness` is .5 before the first outcome."""

    lesson_id: str
    task_type: str
    mistake: str
    correction: str
    context_hash: str
    created_at: float = field(default_factory=time.time)
    times_applied: int = 0
    effectiveness: float = _START


class ReflectionEngine:
    """The engine of the document. Plain functions: they also work while an event loop runs.

    `settings` (default: those of the environment) names the bank; the four numbers take precedence over it.
    """

    def __init__(
        self,
        quality_threshold: float = 0.5,
        max_reflections_per_step: int = 2,
        reflection_bank_size: int = 100,
        periodic_interval: int = 5,
        *,
        settings: Settings | None = None,
    ) -> None:
        self.settings = replace(
            settings or Settings.from_env(),
            quality_threshold=quality_threshold,
            max_reflections_per_step=max_reflections_per_step,
            bank_size=reflection_bank_size,
            periodic_interval=periodic_interval,
        )
        self._taken: Counter[int] = Counter()  # reflections by step
        self._did: Counter[str] = Counter()

    # When to reflect.

    def should_reflect(
        self,
        confidence: float,
        risk_level: float = 0.0,
        goal_drift: float = 0.0,
        tool_failures: int = 0,
        step_number: int = 0,
        is_final_step: bool = False,
    ) -> tuple[bool, ReflectionTrigger | None]:
        """Return whether to reflect, and the signal. A yes uses one of the reflections that the step may have."""
        step = StepArguments.model_construct(  # a value out of its range is compared as it is
            confidence=confidence,
            risk_level=risk_level,
            goal_drift=goal_drift,
            tool_failures=tool_failures,
            step_number=step_number,
            is_final_step=is_final_step,
        )
        trigger = trigger_of(step, self.settings)
        if trigger is None or self._taken[step_number] >= self.settings.max_reflections_per_step:
            return False, None
        self._taken[step_number] += 1
        name_of_trigger = trigger[0]
        return True, ReflectionTrigger(name_of_trigger)

    def reset_step_counts(self) -> None:
        """Give every step its reflections again, at the start of a task."""
        self._taken.clear()

    # Prompts, and the reader of the reply.

    def build_reflection_prompt(
        self,
        goal: str,
        step_description: str,
        response: str,
        tool_results: Sequence[Mapping[str, Any]] = (),
        relevant_lessons: Sequence[ReflectionLesson] | None = None,
    ) -> str:
        """Return the prompt that asks for a critique of `response` as JSON."""
        lessons = [f"- {lesson.mistake}: {lesson.correction}" for lesson in relevant_lessons or ()]
        evidence = "\n\n".join(map(_evidence, tool_results))
        return self._prompt(
            "judge_response",
            goal=goal,
            step_description=step_description,
            response=response,
            evidence=evidence[-_MOST_EVIDENCE:],
            lessons="\n".join(lessons),
        )

    def parse_reflection(
        self, llm_response: str, trigger: ReflectionTrigger | str
    ) -> ReflectionResult:
        """Read a judgment: JSON, headings, a list or prose. Where it names no score, its words give one: .3 or .8.

        A reply that says nothing of the work scores 0, does not pass and is to be asked for again; `retry_guidance` says
        why.
        """
        began = time.perf_counter()
        judged = read_judgment(llm_response)
        passes = judged.fault is None and judged.score >= self.settings.quality_threshold
        guidance = judged.fault or judged.suggested_fix or "; ".join(judged.issues)
        self._did["total_reflections"] += 1
        self._did["retries_triggered"] += not passes
        return ReflectionResult(
            triggered_by=ReflectionTrigger(trigger),
            passes_quality_gate=passes,
            quality_score=judged.score,
            issues_found=list(judged.issues),
            suggested_fix=judged.suggested_fix,
            should_retry=not passes,
            retry_guidance="" if passes else guidance or _NO_FAULT_NAMED,
            reflection_time_ms=(time.perf_counter() - began) * 1000,
        )

    def build_improvement_prompt(
        self, original_response: str, issues: Sequence[str], goal: str
    ) -> str:
        """Return the prompt that asks for `original_response` without the issues."""
        self._did["improvements_made"] += 1
        listed = "\n".join(f"- {issue}" for issue in issues)
        return self._prompt(
            "improve_response", goal=goal, response=original_response, issues=listed
        )

    # Lessons.

    def store_lesson(
        self, task_type: str, mistake: str, correction: str, context: str = ""
    ) -> ReflectionLesson:
        """Store a lesson. A near-duplicate strengthens the one that is stored, which is returned."""

        async def work(engine: Engine) -> Lesson:
            """Store it, and read it as it is stored."""
            sent = {
                "task_type": task_type,
                "mistake": mistake,
                "correction": correction,
                "context": context or None,
            }
            stored = await engine.store_lesson(**sent)
            return await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id, "lesson_id")

        return _lesson(self._in_bank(work))

    def get_relevant_lessons(
        self, task_type: str, context: str = "", limit: int = 5
    ) -> list[ReflectionLesson]:
        """Return lessons of the task type: those of the same context first, then the most effective ones."""

        async def work(engine: Engine) -> list[Lesson]:
            """Find lessons, and read them whole."""
            asked = {"task_type": task_type, "context": context or None, "limit": limit}
            hits = await engine.get_relevant_lessons(**asked)
            return [
                await engine.bank.lessons.get(engine.scopes.own, hit.id, "lesson_id")
                for hit in hits
            ]

        lessons = [
            _lesson(lesson)
            for lesson in self._in_bank(work)
            if is_same_type(lesson.task_type, task_type)
        ]
        hash_of_context = context_hash(context) or digest("")
        return sorted(
            lessons,
            key=lambda lesson: (lesson.context_hash != hash_of_context, -lesson.effectiveness),
        )

    def record_lesson_outcome(self, lesson_id: str, success: bool) -> None:
        """Record whether a lesson helped; its effectiveness moves toward it."""
        self._in_bank(lambda engine: engine.record_lesson_outcome(lesson_id, success))

    def get_stats(self) -> dict[str, Any]:
        """Return counts of this engine's calls and of its lessons by name.

        The average effectiveness of the lessons is None before the first outcome.
        """
        stats = self._in_bank(lambda engine: engine.get_stats())
        return {name: self._did[name] for name in _COUNTED} | {
            name: stats[name] for name in _OF_BANK
        }

    def _prompt(self, name: str, **inputs: str) -> str:
        """Return a prompt as one text, its inputs without secrets."""
        clean = {key: clean_text(text) for key, text in inputs.items()}
        prompt = self._engine().context.runner.render(name, clean)
        return f"{prompt.system}\n\n{prompt.user}"

    def _engine(self) -> Engine:
        """Return an engine over the bank of the settings, under the tenant of these lessons."""
        return Engine(self.settings, tenant_id=_TENANT)

    def _in_bank(self, work: Callable[[Engine], Coroutine[Any, Any, _T]]) -> _T:
        """Run some work on an engine that is opened and closed for it, from plain code."""

        async def opened() -> _T:
            """Do the work while the engine is open."""
            async with self._engine() as engine:
                return await work(engine)

        return run(opened)


def _evidence(result: Mapping[str, Any]) -> str:
    """Return a tool result of any form as the prompt shows it: "bash (exit code 1):", with the output below.

    A result without a text as its content is shown as JSON.
    """
    title = result.get("tool") or result.get("tool_name") or result.get("name") or "tool"
    exit_code = result.get("exit_code")
    if exit_code is not None:
        title = f"{title} (exit code {exit_code})"
    text = result.get("content")
    if not isinstance(text, str):
        text = json.dumps(dict(result), ensure_ascii=False, default=str)
    return f"{title}:\n{text}"


def _lesson(lesson: Lesson) -> ReflectionLesson:
    """Return a stored lesson under the names of the document."""
    return ReflectionLesson(
        lesson_id=lesson.id,
        task_type=lesson.task_type or "",
        mistake=lesson.mistake or "",
        correction=lesson.correction or "",
        context_hash=lesson.context_hash or digest(""),
        created_at=lesson.created_at,
        times_applied=lesson.times_applied,
        effectiveness=_START if lesson.effectiveness is None else lesson.effectiveness,
    )
