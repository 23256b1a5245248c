"""The tools: their names, words, shapes and results. `generate` writes tools.json and docs/tools.md from this.

Nothing here is imported when the server starts: the list is served from the file.
"""

from dataclasses import dataclass
from typing import Final

from mcp_reflect.arguments.critique import CritiqueShape
from mcp_reflect.arguments.door import Shape
from mcp_reflect.arguments.lessons import ForgetShape, LessonShape, OutcomeShape, RecallShape
from mcp_reflect.arguments.run import ReflectShape
from mcp_reflect.arguments.search import ReplanShape
from mcp_reflect.arguments.triggers import StepShape
from mcp_reflect.models.critique import Critique
from mcp_reflect.models.lesson import Forgotten, OutcomeResult, Recall, Stored
from mcp_reflect.models.reflection import Reflection
from mcp_reflect.models.search import SearchPlan
from mcp_reflect.models.trigger import Advice


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool. The description starts with the words that a person would search for."""

    name: str
    description: str
    shape: type[Shape]
    result: type
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


TOOLS: Final = (
    ToolSpec(
        name="should_reflect",
        description="Should I stop and reflect now? Low confidence, risk, drift, failures, final or fifth step.",
        shape=StepShape,
        result=Advice,
        read_only=True,
    ),
    ToolSpec(
        name="reflect",
        description=(
            "Reflect on what you did and learn from failure: send task, outcome and events (calls, responses, "
            "errors) of a failed or hard-won run. Finds what failed first, loops, and what mended it; keeps the "
            "lesson. Add your `analysis`, now or later with reflection_id."
        ),
        shape=ReflectShape,
        result=Reflection,
        idempotent=True,
    ),
    ToolSpec(
        name="critique",
        description=(
            "Check, verify and critique your answer, plan or code before handing it over: claims against "
            "tool_results, arithmetic, units, dates, code. Says which step is wrong, corrects what can be "
            "computed, or what to verify first."
        ),
        shape=CritiqueShape,
        result=Critique,
        read_only=True,
    ),
    ToolSpec(
        name="recall_lessons",
        description=(
            "Recall lessons learned from past mistakes before a task, or when an error looks familiar: the few "
            "that fit, each with the reason. Afterwards send recall_id to record_outcome."
        ),
        shape=RecallShape,
        result=Recall,
        read_only=True,
    ),
    ToolSpec(
        name="replan_search",
        description=(
            "Replan a failed search (zero results, nothing found): send what the person asked, the queries you "
            "ran and what came back; get untried queries (relax, rewrite, pivot), a friendly message, or when to "
            "give up."
        ),
        shape=ReplanShape,
        result=SearchPlan,
        read_only=True,
    ),
    ToolSpec(
        name="store_lesson",
        description=(
            "Remember a lesson learned: a mistake and the correction that worked, with the exact error and fix, "
            "for later tasks."
        ),
        shape=LessonShape,
        result=Stored,
    ),
    ToolSpec(
        name="record_outcome",
        description=(
            "Record whether recalled lessons helped: what helps is shown first next time. Proof counts most: "
            "evidence test or metric with tool_results."
        ),
        shape=OutcomeShape,
        result=OutcomeResult,
        idempotent=True,
    ),
    ToolSpec(
        name="forget_lesson",
        description=("Forget a lesson that is wrong or outdated: it leaves every recall; a person can restore it."),
        shape=ForgetShape,
        result=Forgotten,
        destructive=True,
        idempotent=True,
    ),
)
