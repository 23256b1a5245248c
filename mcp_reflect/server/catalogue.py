"""The tools: their names, words, shapes and results. `generate` writes tools.json and docs/tools.md from this.

Nothing here is imported when the server starts: the list is served from the file.
"""

from dataclasses import dataclass
from typing import Final

from mcp_reflect.arguments.door import Shape
from mcp_reflect.arguments.lessons import ForgetShape, LessonShape, OutcomeShape, RecallShape
from mcp_reflect.arguments.run import ReflectShape
from mcp_reflect.arguments.search import ReplanShape
from mcp_reflect.records.lesson import Forgotten, OutcomeResult, Recall, Stored
from mcp_reflect.records.reflection import Reflection
from mcp_reflect.records.search import SearchPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool. The description starts with the words that a person would search for."""

    name: str
    title: str
    description: str
    shape: type[Shape]
    result: type
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


TOOLS: Final = (
    ToolSpec(
        name="reflect",
        title="Reflect on a run",
        description=(
            "Reflect on what you did, find what went wrong and learn from failure: after a failed, partial or hard-won "
            "run, send the task, outcome and events (tool calls, responses, errors). Finds the first failing event, "
            "loops, and what changed between a failing call and the one that worked; stores reflection, strategy and "
            "lesson. Send `analysis` with your own judgement, now or later with `reflection_id`."
        ),
        shape=ReflectShape,
        result=Reflection,
        idempotent=True,
    ),
    ToolSpec(
        name="recall_lessons",
        title="Recall lessons",
        description=(
            "Recall lessons learned from past mistakes before you start a task or when an error looks familiar: "
            "the few that fit, each with the reason. Put error texts in `symptoms`. Afterwards tell "
            "record_outcome the recall_id."
        ),
        shape=RecallShape,
        result=Recall,
        read_only=True,
    ),
    ToolSpec(
        name="replan_search",
        title="Replan a search",
        description=(
            "Replan a failed search: zero results, no matches, nothing found. Send what the person asked, the queries "
            "you ran and what came back; get new queries to run (relax, rewrite or pivot) that were not tried yet, a "
            "friendly message, or when to give up. Report again with search_id."
        ),
        shape=ReplanShape,
        result=SearchPlan,
        read_only=True,
    ),
    ToolSpec(
        name="store_lesson",
        title="Store a lesson",
        description=(
            "Remember a lesson learned: a mistake and the correction that worked, so that later tasks start with it. "
            "Be specific: exact error, exact fix. A near-duplicate strengthens the one that is there."
        ),
        shape=LessonShape,
        result=Stored,
    ),
    ToolSpec(
        name="record_outcome",
        title="Record the outcome",
        description=(
            "Record whether recalled lessons helped (success, failure, partial): what helps is shown first next time. "
            "Proof counts most: evidence test or metric with tool_results."
        ),
        shape=OutcomeShape,
        result=OutcomeResult,
        idempotent=True,
    ),
    ToolSpec(
        name="forget_lesson",
        title="Forget a lesson",
        description=(
            "Forget a lesson that is wrong or outdated: it leaves every recall and stays in the history; a person can "
            "restore it."
        ),
        shape=ForgetShape,
        result=Forgotten,
        destructive=True,
        idempotent=True,
    ),
)
