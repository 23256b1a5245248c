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

_DROPPED: Final = ("title", "maxLength", "minLength", "additionalProperties", "default")


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
        answer="string: critique_id action; number: quality_score; array: verdicts issues corrected_steps; "
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
    """Return the input schema of a shape, without references, titles and limits; `read` checks all of them."""
    schema = shape.model_json_schema()
    plain = _plain(schema, schema.get("$defs", {}))
    return {name: item for name, item in plain.items() if name not in ("$defs", "description")}


def listed(schema: Any) -> Any:
    """Return an input schema as tools/list shows it: without UNLISTED arguments and bounds of whole numbers.

    Defaults that are empty or the first of a choice are left out too.
    """
    if isinstance(schema, list):
        return [listed(item) for item in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    items: dict[str, Any] = dict(schema)  # pyright: ignore[reportUnknownArgumentType]
    return {
        name: {key: listed(inner) for key, inner in item.items() if key not in UNLISTED}
        if name == "properties"
        else listed(item)
        for name, item in items.items()
        if name not in ("minimum", "maximum")
        and not (name == "default" and (not item or item == items.get("enum", [None])[0]))
    }


def output_schema(answer: str) -> dict[str, Any]:
    """Return the JSON schema of an answer. No field is required: what is empty is left out."""
    properties: dict[str, Any] = {}
    for part in answer.split(";"):
        kind, _, names = part.partition(":")
        properties |= {name: {"type": kind.strip()} for name in names.split()}
    return {"type": "object", "properties": properties}


def _plain(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """A schema without titles, references, unions with null and length limits."""
    if isinstance(schema, list):
        return [_plain(item, definitions) for item in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    items: dict[str, Any] = dict(schema)  # pyright: ignore[reportUnknownArgumentType]
    if "$ref" in items:
        referred = definitions.get(items.pop("$ref").rsplit("/", 1)[-1], {})
        return _plain(
            {**{name: item for name, item in referred.items() if name != "description"}, **items}, definitions
        )
    for union in ("anyOf", "oneOf"):
        options = [option for option in items.get(union, ()) if option != {"type": "null"}]
        if union in items and len(options) == 1:
            del items[union]
            return _plain({**options[0], **items}, definitions)
        if options:
            del items[union]
            items["type"] = [option["type"] for option in options]
    if "properties" in items:
        items["properties"] = {name: _plain(item, definitions) for name, item in items["properties"].items()}
    cleaned = {
        name: item if name == "properties" else _plain(item, definitions)
        for name, item in items.items()
        if name not in _DROPPED or (name == "default" and isinstance(item, int | float | str) and item != "")
    }
    bounds = ("minimum", "maximum") if items.get("type") == "number" else ()
    return {name: item for name, item in cleaned.items() if item != {} and name not in ("maxItems", *bounds)}
