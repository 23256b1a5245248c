"""The arguments of reflect: a run of an agent, and what the agent itself makes of it."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, cast

from pydantic import BeforeValidator, Field, JsonValue, WithJsonSchema, model_validator

from mcp_reflect.arguments.door import Shape, renamed
from mcp_reflect.arguments.texts import Category, Label, Labels, Task, in_all, most_items, named_criteria
from mcp_reflect.errors import InputError
from mcp_reflect.models.run import EventType, Outcome


def _as_text(value: Any) -> Any:
    """Content that is an object, a list or a number is kept as its JSON text."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


Content = Annotated[str, BeforeValidator(_as_text)]


class EventShape(Shape):
    """One thing that happened in a run."""

    ALIASES: ClassVar[Mapping[str, str]] = {
        "event_id": "id",
        "event_type": "type",
        "tool_name": "tool",
        "error_message": "error",
    }

    type: EventType
    content: Content = ""
    tool: Label | None = None
    arguments: JsonValue = None
    error: Content | None = None
    id: Label | None = None
    timestamp: str | float | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_something(self) -> "EventShape":
        if not (self.content.strip() or self.tool or (self.error or "").strip()):
            raise ValueError("it has neither content, tool nor error|Send at least one of them.")
        return self


class ErrorShape(Shape):
    """What went wrong with the run as a whole."""

    ALIASES: ClassVar[Mapping[str, str]] = {"error_category": "category", "error_message": "message"}

    category: Category | None = None
    message: Content = ""
    context: JsonValue = None


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _events(value: Any) -> Any:
    """Events under our names, so that an unknown one is named with its place."""
    if not isinstance(value, list | tuple):
        return value
    return [
        _under_our_names(EventShape, event, f"events[{place}].") for place, event in enumerate(cast("list[Any]", value))
    ]


def _error(value: Any) -> Any:
    return {"message": value} if isinstance(value, str) else _under_our_names(ErrorShape, value, "error.")


def _under_our_names(shape: type[Shape], value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        return value
    sent = cast("dict[Any, Any]", value)
    return renamed(shape, {str(name): item for name, item in sent.items() if item is not None}, path)


class ReflectShape(Shape):
    """Arguments of reflect. With `reflection_id` the run is the stored one."""

    ALIASES: ClassVar[Mapping[str, str]] = {
        "task_description": "task",
        "task_goal": "goal",
        "session_id": "run_id",
        "related_memory_ids": "related_ids",
    }

    task: Annotated[Task | None, Field(description="What you were asked")] = None
    outcome: Annotated[Outcome | None, BeforeValidator(_lower)] = None
    events: Annotated[
        tuple[EventShape, ...],
        BeforeValidator(_events),
        Field(description="In order; each has content, tool or error"),
        most_items("max_sent_events"),
    ] = ()
    goal: Task | None = None
    error: Annotated[
        ErrorShape | None,
        BeforeValidator(_error),
        # The categories are in docs/tools.md; listing them here would cost every client 300 bytes.
        WithJsonSchema({"type": "object", "description": "{category, message, context} of the run"}),
    ] = None
    # What stands in them is checked in order, and a failed check is a result: see `reflect.decisions.checks`.
    decision: Annotated[JsonValue, WithJsonSchema({"type": "object", "description": "{action, component, error}"})] = (
        None
    )
    execution: Annotated[
        JsonValue,
        WithJsonSchema({"type": "object", "description": "{component, result, error, metrics{latency, accuracy}}"}),
    ] = None
    allowed_actions: Labels = ()
    criteria: Annotated[
        Labels,
        BeforeValidator(named_criteria),
        WithJsonSchema({"type": "array", "items": {"type": "string"}, "unlisted": True}),
    ] = ()
    analysis: Annotated[
        JsonValue,
        Field(
            description="{reflection, strategy, importance, confidence, tags, mistake, correction, symptoms, "
            "keywords}; mistake + correction make a lesson"
        ),
        in_all("max_analysis_chars"),
    ] = None
    reflection_id: Label | None = None
    recall_id: Label | None = None
    trigger: Label | None = None
    task_type: Label | None = None
    tags: Labels = ()
    related_ids: Labels = ()
    run_id: Label | None = None
    project: Label | None = None

    @model_validator(mode="after")
    def _has_a_run(self) -> "ReflectShape":
        if self.reflection_id is None:
            for name in ("task", "outcome"):
                if getattr(self, name) is None:
                    raise InputError(
                        name, "it is missing", "Send task and outcome, or the reflection_id of a stored run."
                    )
        elif self.analysis is None:
            raise InputError("analysis", "it is missing beside reflection_id", "Send your analysis of that run.")
        seen: set[str] = set()
        for place, event in enumerate(self.events):
            if event.id is not None and event.id in seen:
                raise InputError(
                    f"events[{place}].id",
                    f"another event has the id '{event.id}' too",
                    "Give each its own id, or none.",
                )
            seen.add(event.id or "")
        return self
