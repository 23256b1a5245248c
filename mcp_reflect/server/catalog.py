"""The tools: names, descriptions, schemas and answers. `generate` writes tools.json and docs/tools.md from this.

Nothing here is imported when the server starts: tools/list is answered from tools.json.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_reflect.schemas.critique import CritiqueArguments
from mcp_reflect.schemas.fields import Arguments
from mcp_reflect.schemas.lessons import ForgetArguments, LessonArguments, OutcomeArguments, RecallArguments
from mcp_reflect.schemas.run import ReflectArguments
from mcp_reflect.schemas.search import ReplanArguments
from mcp_reflect.schemas.triggers import StepArguments

UNLISTED: Final = frozenset(
    "project trigger related_ids min_importance min_effectiveness step_description timestamp metadata decided "
    "executed detail kinds allowed_actions decision execution run_id zero_result_tables retry_count "
    "max_chars max_iterations".split()
)
"""Arguments that tools/list leaves out: settings, hooks and callers in Python send them. docs/tools.md has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool. The description starts with the words that a person would search for.

    `answer` lists the fields of the default answer by their JSON type: `"string: note; array: lessons"`. `example` is
    the smallest call that works; errors show it.
    """

    name: str
    example: str
    description: str
    shape: type[Arguments]
    answer: str
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


TOOLS: Final = (
    ToolSpec(
        name="should_reflect",
        example='{"confidence": 0.4, "tool_failures": 2}',
        description=(
            "Should I stop and reflect now? Send what you know of this step: confidence, risk_level and goal_drift "
            "(0..1), tool_failures, step_number (counts)."
        ),
        shape=StepArguments,
        answer="boolean: reflect; string: trigger reason; integer: reflections_left",
        read_only=True,
    ),
    ToolSpec(
        name="reflect",
        example=(
            '{"task": "Fix the build", "outcome": "partial", '
            '"analysis": {"mistake": "make failed: no rule for docs", "correction": "run make -C docs"}}'
        ),
        description=(
            "Reflect on what you did and learn from failure. Send task, outcome and analysis {mistake, correction}: "
            "your own words make the best lesson. With events (calls, responses, errors; message lists work too) "
            "rules find the first failure, loops and the fix. The analysis may follow later with reflection_id."
        ),
        shape=ReflectArguments,
        answer="string: reflection_id reflection strategy first_failing_event; array: lessons ignored; object: next",
        idempotent=True,
    ),
    ToolSpec(
        name="critique",
        example='{"goal": "Add the totals", "response": "12 + 30 = 42"}',
        description=(
            "Check, verify and critique your answer, plan or code before handing it over: claims against "
            "tool_results, arithmetic, units, dates, code. Says which step is wrong, corrects what can be "
            "computed, or what to verify first."
        ),
        shape=CritiqueArguments,
        answer="string: critique_id action; number: quality_score; array: issues corrected_steps; "
        "object: coverage next",
        read_only=True,
    ),
    ToolSpec(
        name="recall_lessons",
        example='{"task": "deploy the web service"}',
        description=(
            "Recall lessons learned from past mistakes before a task, or when an error looks familiar, unless a "
            "fitting lesson was shown to you already. Afterwards send recall_id to record_outcome."
        ),
        shape=RecallArguments,
        answer="string: recall_id; array: lessons ignored",
        read_only=True,
    ),
    ToolSpec(
        name="replan_search",
        example='{"user_message": "orders of last week", "queries": ["orders last week"]}',
        description=(
            "Replan a failed search of any kind (grep, command line, database, web) that found nothing. Send "
            '{user_message, queries: ["what you searched"]}; get untried queries (relax, rewrite, pivot), a friendly '
            "message, or when to give up."
        ),
        shape=ReplanArguments,
        answer="string: search_id strategy user_message; array: new_queries; boolean: give_up",
        read_only=True,
    ),
    ToolSpec(
        name="store_lesson",
        example='{"mistake": "pytest failed: No module named app", "correction": "run it in services/api"}',
        description=(
            "Remember a lesson learned for later tasks: one text in `lesson`, or mistake and correction. Name the "
            "exact error or input and what works."
        ),
        shape=LessonArguments,
        answer="string: lesson_id status reason",
    ),
    ToolSpec(
        name="record_outcome",
        example='{"success": "helped", "recall_id": "rec_…"}',
        description=(
            "Record whether recalled lessons helped, were irrelevant, wrong or partly right: what helps is shown "
            "first next time. Proof counts most: evidence test or metric with tool_results."
        ),
        shape=OutcomeArguments,
        answer="integer: lessons; string: evidence reason",
        idempotent=True,
    ),
    ToolSpec(
        name="forget_lesson",
        example='{"lesson_id": "les_…", "reason": "the API changed"}',
        description="Forget a lesson that is wrong or outdated: it leaves every recall; a person can restore it.",
        shape=ForgetArguments,
        answer="string: lesson_id state",
        destructive=True,
        idempotent=True,
    ),
)


def input_schema(shape: type[Arguments]) -> dict[str, Any]:
    """Return the input schema of a shape, without references, titles and limits of texts; `read` checks them all."""
    schema = shape.model_json_schema()
    definitions = schema.get("$defs", {})
    properties = {name: _flat(item, definitions) for name, item in schema["properties"].items()}
    return {"properties": properties, **{name: schema[name] for name in ("required", "type") if name in schema}}


def listed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an input schema as tools/list shows it: without UNLISTED arguments, bounds, and defaults that are obvious.

    Obvious are empty ones and the first of a choice.
    """
    properties = {name: dict(item) for name, item in schema["properties"].items() if name not in UNLISTED}
    for item in properties.values():
        if not item.get("default") or item["default"] == item.get("enum", [None])[0]:
            item.pop("default", None)
        item.pop("minimum", None)
        item.pop("maximum", None)
    return {**schema, "properties": properties}


def output_schema(answer: str) -> dict[str, Any]:
    """Return the JSON schema of an answer. No field is required: what is empty is left out."""
    properties: dict[str, Any] = {}
    for part in answer.split(";"):
        kind, _, names = part.partition(":")
        properties |= {name: {"type": kind.strip()} for name in names.split()}
    return {"type": "object", "properties": properties}


def _flat(schema: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of one argument, without references and null."""
    if "$ref" in schema:
        definition = definitions[schema["$ref"].rsplit("/", 1)[-1]]
        schema = {"type": definition.get("type"), "enum": definition.get("enum"), **schema}
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        return _flat({**options[0], **{name: value for name, value in schema.items() if name != "anyOf"}}, definitions)
    kept = ("description", "type", "enum", "items", "default", "minimum", "maximum")
    flat = {name: schema[name] for name in kept if schema.get(name) is not None}
    if options:
        flat["type"] = [option["type"] for option in options]
    if isinstance(flat.get("items"), dict):
        flat["items"] = _flat(flat["items"], definitions)
    if not isinstance(flat.get("default"), int | float | str) or flat["default"] == "":
        flat.pop("default", None)
    hidden = ("minimum", "maximum") if flat.get("type") == "number" else ()
    return {name: value for name, value in flat.items() if name not in hidden and value != {}}
