"""The tools: names, descriptions, arguments and answers. `tests.server.generate` writes tools.json and docs/tools.md.

Nothing here is imported when the server starts: tools/list is answered from tools.json.
"""

from dataclasses import dataclass
from typing import Any, Final

from mcp_reflect.schemas.critique import CritiqueArguments
from mcp_reflect.schemas.fields import Arguments
from mcp_reflect.schemas.lessons import (
    ForgetArguments,
    LessonArguments,
    OutcomeArguments,
    RecallArguments,
)
from mcp_reflect.schemas.run import ReflectArguments
from mcp_reflect.schemas.search import ReplanArguments
from mcp_reflect.schemas.step import StepArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool."""

    name: str
    title: str  # what a person is shown
    examples: tuple[dict[str, Any], ...]  # calls that work, the smallest first: errors show one
    description: str  # starts with the words that a person would search for
    shape: type[Arguments]
    listed: str  # the arguments that tools/list shows; docs/tools.md has the others too
    answer: str  # the main fields of the answer by their JSON type: "string: note; array: lessons"
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


_ANALYSIS: Final = {"mistake": "make failed: no rule for docs", "correction": "run make -C docs"}
TOOLS: Final = (
    ToolSpec(
        name="should_reflect",
        title="Should I reflect?",
        examples=({"confidence": 0.4, "tool_failures": 2},),
        description=(
            "Should I reflect now? Send confidence, risk_level, goal_drift, tool_failures, step_number, "
            "run_id per task."
        ),
        shape=StepArguments,
        listed="confidence risk_level goal_drift tool_failures step_number run_id is_final_step verification_failed",
        answer="boolean: reflect; string: reason",
        read_only=True,
    ),
    ToolSpec(
        name="reflect",
        title="Reflect on a run",
        examples=(
            {"task": "Fix the build", "outcome": "partial", "analysis": _ANALYSIS},
            {"reflection_id": "ref_…", "analysis": _ANALYSIS},
            {
                "task": "Fix the build",
                "outcome": "failure",
                "events": [
                    {"tool": "bash", "arguments": {"command": "make docs"}},
                    {"content": "no rule for docs", "exit_code": 2},
                ],
            },
        ),
        description=(
            "Reflect: look back on a failed run or hard task and learn from it. Send task, outcome and analysis "
            "{mistake, correction}: your own words make the best lesson. In events (calls and responses) rules "
            "find the failure and the fix."
        ),
        shape=ReflectArguments,
        listed="task outcome events analysis reflection_id task_type",
        answer="string: reflection_id; array: lessons; object: next",
        idempotent=True,
    ),
    ToolSpec(
        name="critique",
        title="Check work",
        examples=(
            {"goal": "Add the totals", "response": "12 + 30 = 42"},
            {
                "goal": "Run the tests",
                "steps": ["All 12 tests pass"],
                "tool_results": [{"tool": "bash", "content": "12 passed", "exit_code": 0}],
            },
            {
                "critique_id": "crit_…",
                "verdicts": [{"claim": 1, "verdict": "wrong", "correction": "11 of 12 tests pass"}],
            },
        ),
        description=(
            "Check, verify or review your answer, plan or code before handing it over: its claims "
            "beside the outputs that bear on them."
        ),
        shape=CritiqueArguments,
        listed="goal response steps tool_results criteria critique_id verdicts",
        answer="string: critique_id; array: claims; object: next",
        read_only=True,
    ),
    ToolSpec(
        name="recall_lessons",
        title="Recall lessons",
        examples=({"task": "deploy the web service"},),
        description=(
            "Recall lessons learned from mistakes before a task, or at a familiar error, unless a fitting one was "
            "shown to you. Then send recall_id to record_outcome."
        ),
        shape=RecallArguments,
        listed="task task_type symptoms limit",
        answer="string: recall_id; array: lessons",
        read_only=True,
    ),
    ToolSpec(
        name="replan_search",
        title="Plan a search anew",
        examples=(
            {"user_message": "orders of last week", "queries": ["orders last week"]},
            {
                "queries": ["orders last week"],
                "catalog": [{"table": "orders", "fields": ["date"], "search_modes": ["keyword"]}],
            },
            {"search_id": "srch_…", "queries": ["orders 2026"], "results": {"search": 0}},
            {
                "search_id": "srch_…",
                "analysis": {
                    "strategy": "relax",
                    "new_queries": [{"table": "search", "query_text": "orders"}],
                },
            },
        ),
        description=(
            "Replan a search of any kind (grep, command line, database, web) that found nothing. Send "
            '{user_message, queries: ["what you searched"]}; get new queries, or when to give up.'
        ),
        shape=ReplanArguments,
        listed="user_message queries results catalog search_id analysis",
        answer="string: search_id; array: new_queries; boolean: give_up",
        read_only=True,
    ),
    ToolSpec(
        name="store_lesson",
        title="Keep a lesson",
        examples=(
            {
                "mistake": "pytest failed: No module named app",
                "correction": "run it in services/api",
            },
            {
                "mistake": "Ran `tsc` alone: it writes .js files beside the sources",
                "correction": "Always `npx tsc --noEmit`",
                "wrong_call": "tsc -p .",
                "right_call": "npx tsc --noEmit",
            },
            {"lesson": "pytest failed: No module named app. Run it in services/api."},
        ),
        description=(
            "Remember a lesson for later tasks: one text in lesson, or mistake and correction. Name the exact error "
            "or input and what works; in wrong_call and right_call, the calls (a command or {tool, arguments}), to "
            "be told at the next."
        ),
        shape=LessonArguments,
        listed=(
            "lesson mistake correction why wrong_call right_call task_type symptoms importance visibility evidence "
            "replaces files valid_until"
        ),
        answer="string: lesson_id status",
    ),
    ToolSpec(
        name="record_outcome",
        title="Record an outcome",
        examples=(
            {"success": "helped", "recall_id": "rec_…"},
            {
                "success": "helped",
                "lesson_ids": ["les_…"],
                "evidence": "test",
                "tool_results": [{"tool": "bash", "content": "12 passed", "exit_code": 0}],
            },
        ),
        description=(
            "Record whether lessons helped, were irrelevant, wrong or partly right. Proof counts most: calls that "
            "hooks saw and that do as the lesson says."
        ),
        shape=OutcomeArguments,
        listed="success recall_id lesson_ids evidence tool_results note",
        answer="integer: lessons; string: evidence",
        idempotent=True,
    ),
    ToolSpec(
        name="forget_lesson",
        title="Forget a lesson",
        examples=({"lesson_id": "les_…", "reason": "the API changed"},),
        description="Forget a lesson that is wrong or outdated. A person can restore it.",
        shape=ForgetArguments,
        listed="lesson_id reason",
        answer="string: lesson_id state",
        destructive=True,
        idempotent=True,
    ),
)
