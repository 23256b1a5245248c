"""The tools: names, descriptions, schemas and results; and the files generated from them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from mcp_reflect.models.critique import Critique
from mcp_reflect.models.lesson import Forgotten, OutcomeResult, Recall, Stored
from mcp_reflect.models.reflection import Reflection
from mcp_reflect.models.search import SearchPlan
from mcp_reflect.models.trigger import Advice
from mcp_reflect.schemas.critique import CritiqueShape
from mcp_reflect.schemas.fields import Shape
from mcp_reflect.schemas.lessons import ForgetShape, LessonShape, OutcomeShape, RecallShape
from mcp_reflect.schemas.run import ReflectShape
from mcp_reflect.schemas.search import ReplanShape
from mcp_reflect.schemas.triggers import StepShape

# Shapes and results as small JSON schemas: no titles, no null unions, results one level deep.


UNLISTED = frozenset(
    "project trigger related_ids min_importance min_effectiveness step_description timestamp metadata "
    "decided executed".split()
)
"""Accepted, and never something a model must guess: settings, hooks and callers in Python say it."""

_DROPPED = ("title", "maxLength", "minLength", "additionalProperties", "default")


def input_schema(shape: type[Shape]) -> dict[str, Any]:
    """The input schema of a shape, shallow and without what only costs bytes; the door checks all of it."""
    schema = shape.model_json_schema()
    found = _plain(schema, schema.get("$defs", {}))
    found.pop("$defs", None)
    found.pop("description", None)
    return found


def listed(schema: Any) -> Any:
    """An input schema as tools/list shows it: without what is UNLISTED and the bounds of whole numbers.

    Defaults that go without saying (none, false, the first of a choice) are left out too.
    """
    if isinstance(schema, list):
        return [listed(item) for item in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    given: dict[str, Any] = dict(schema)  # pyright: ignore[reportUnknownArgumentType]
    return {
        name: {key: listed(inner) for key, inner in item.items() if key not in UNLISTED and not inner.get("unlisted")}
        if name == "properties"
        else listed(item)
        for name, item in given.items()
        if name not in ("minimum", "maximum")
        and not (name == "default" and (not item or item == given.get("enum", [None])[0]))
    }


def output_schema(result: type) -> dict[str, Any]:
    """The fields of a result and their types; nothing is required, for what is null or empty is left out."""
    hints = get_type_hints(result)
    return {
        "type": "object",
        "properties": {item.name: {"type": _json_type(hints[item.name])} for item in fields(result)},
    }


def _plain(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """A schema without titles, references, null unions and length limits."""
    if isinstance(schema, list):
        return [_plain(item, definitions) for item in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    given: dict[str, Any] = dict(schema)  # pyright: ignore[reportUnknownArgumentType]
    if "$ref" in given:
        referred = definitions.get(given.pop("$ref").rsplit("/", 1)[-1], {})
        return _plain(
            {**{name: item for name, item in referred.items() if name != "description"}, **given}, definitions
        )
    for union in ("anyOf", "oneOf"):
        options = [option for option in given.get(union, ()) if option != {"type": "null"}]
        if union in given and len(options) == 1:
            del given[union]
            return _plain({**options[0], **given}, definitions)
        if options:
            del given[union]
            given["type"] = [option["type"] for option in options]
    if "properties" in given:
        given["properties"] = {name: _plain(item, definitions) for name, item in given["properties"].items()}
    cleaned = {
        name: item if name == "properties" else _plain(item, definitions)
        for name, item in given.items()
        if name not in _DROPPED or (name == "default" and isinstance(item, int | float | str) and item != "")
    }
    bounds = ("minimum", "maximum") if given.get("type") == "number" else ()
    return {name: item for name, item in cleaned.items() if item != {} and name not in ("maxItems", *bounds)}


def _json_type(hint: Any) -> str:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _json_type(next(part for part in get_args(hint) if part is not NoneType))
    kind = origin or hint
    if kind is Literal:
        return "string"
    if kind is bool:
        return "boolean"
    if kind is int:
        return "integer"
    if kind is float:
        return "number"
    if isinstance(kind, type) and issubclass(kind, str | Enum):
        return "string"
    return "array" if kind in (tuple, list) else "object"


# The tools: their names, words, shapes and results. `generate` writes tools.json and docs/tools.md from this.
#
# Nothing here is imported when the server starts: the list is served from the file.


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
