"""The arguments of reflect, and the run made of them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, cast

from pydantic import BeforeValidator, Field, JsonValue, WithJsonSchema, model_validator

from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError
from mcp_reflect.models.run import Cut, ErrorCategory, Event, EventType, Outcome, RunError, Trace
from mcp_reflect.schemas.fields import (
    Arguments,
    Category,
    Detail,
    Label,
    Labels,
    Task,
    in_all,
    most_items,
    named_criteria,
    renamed,
)

# The arguments of reflect: a run of an agent, and what the agent itself makes of it.


def _as_text(value: Any) -> Any:
    """Content that is an object, a list or a number is kept as its JSON text."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


Content = Annotated[str, BeforeValidator(_as_text)]


class EventArguments(Arguments):
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
    def _says_something(self) -> "EventArguments":
        if not (self.content.strip() or self.tool or (self.error or "").strip()):
            raise ValueError("it has neither content, tool nor error|Send at least one of them.")
        return self


class ErrorArguments(Arguments):
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
        _under_our_names(EventArguments, event, f"events[{place}].")
        for place, event in enumerate(cast("list[Any]", value))
    ]


def _run_error(value: Any) -> Any:
    return {"message": value} if isinstance(value, str) else _under_our_names(ErrorArguments, value, "error.")


def _under_our_names(shape: type[Arguments], value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        return value
    sent = cast("dict[Any, Any]", value)
    return renamed(shape, {str(name): item for name, item in sent.items() if item is not None}, path)


class ReflectArguments(Arguments):
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
        tuple[EventArguments, ...],
        BeforeValidator(_events),
        Field(description="In order; each has content, tool or error"),
        most_items("max_sent_events"),
    ] = ()
    goal: Task | None = None
    error: Annotated[
        ErrorArguments | None,
        BeforeValidator(_run_error),
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
        WithJsonSchema({"type": "array", "items": {"type": "string"}}),
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
    detail: Detail = False
    project: Label | None = None

    @model_validator(mode="after")
    def _has_a_run(self) -> "ReflectArguments":
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


# A run as it was sent, made into the plain values that are stored, and those into a `Trace`.
#
# An oversized run is cut, never refused: a long text loses its middle, a long run loses events from its
# middle (the first fifth of the room is kept for the start, where the plan is, the rest for the end,
# where it failed). The result says how much went.


_START_SHARE: Final = 5
_DECIDED: Final = ("decision", "execution", "allowed_actions")
_LOOK: Final = 8  # a long text is cleaned over so many times what is kept of it, half at each end


def plain_run(sent: ReflectArguments, limits: Limits, clean: Callable[[str], str]) -> dict[str, Any]:
    """The run as JSON values, cut to its limits; `cut` is there where something was lost.

    `clean` takes the secrets out of a text before it is cut: half of one would not be known as one.
    """
    run = sent.model_dump(
        mode="json",
        include={"task", "outcome", "goal", "error", "task_type", "tags", "run_id", *_DECIDED},
        exclude_none=True,
        exclude_defaults=True,
    )
    lost = {"events": 0, "characters": 0}
    events = [
        _plain_event(event.model_dump(mode="json", exclude_defaults=True), place) for place, event in _numbered(sent)
    ]
    scissors = _Scissors(limits.max_event_chars, clean, lost)
    kept = [_shortened(event, scissors) for event in _within(events, limits.max_events, lost)]
    if "error" in run:
        run["error"] = _error_within(scissors.short(run["error"]), limits.max_trace_chars, lost)
    for name in _DECIDED:
        if name in run:
            run[name] = scissors.short(run[name])
    run["events"] = _within_chars(kept, limits.max_trace_chars, lost)
    if any(lost.values()):
        run["cut"] = lost
    return run


def trace_from(run: dict[str, Any]) -> Trace:
    """The stored values of a run as the record that rules and prompts read."""
    error = run.get("error")
    return Trace(
        task=run["task"],
        outcome=Outcome(run["outcome"]),
        events=tuple(_event(event) for event in run.get("events", ())),
        goal=run.get("goal"),
        error=_trace_error(error) if error else None,
        task_type=run.get("task_type"),
        tags=tuple(run.get("tags", ())),
        run_id=run.get("run_id"),
        cut=Cut(**run["cut"]) if "cut" in run else None,
    )


def _numbered(sent: ReflectArguments) -> list[tuple[str, Any]]:
    """Each event with its id: its own, else e1, e2, … by its place, stepping past ids that are taken."""
    taken = {event.id for event in sent.events}
    found: list[tuple[str, Any]] = []
    for place, event in enumerate(sent.events, start=1):
        name = event.id or f"e{place}"
        while event.id is None and name in taken:
            name += "'"
        found.append((name, event))
    return found


def _plain_event(event: dict[str, Any], name: str) -> dict[str, Any]:
    return {**event, "id": name}


def _within(events: list[dict[str, Any]], most: int, lost: dict[str, int]) -> list[dict[str, Any]]:
    if len(events) <= most:
        return events
    start = most // _START_SHARE
    lost["events"] += len(events) - most
    return [*events[:start], *events[len(events) - (most - start) :]]


def _within_chars(events: list[dict[str, Any]], most: int, lost: dict[str, int]) -> list[dict[str, Any]]:
    sizes = [_size(event) for event in events]
    if sum(sizes) <= most:
        return events
    room_start, room_end = most // _START_SHARE, most - most // _START_SHARE
    start = end = 0
    while start < len(events) and sizes[start] <= room_start:
        room_start -= sizes[start]
        start += 1
    while end < len(events) - start and sizes[-1 - end] <= room_end:
        room_end -= sizes[-1 - end]
        end += 1
    lost["events"] += len(events) - start - end
    return events[:start] + events[len(events) - end :]


def _shortened(event: dict[str, Any], scissors: "_Scissors") -> dict[str, Any]:
    return {name: scissors.short(value) if name != "id" else value for name, value in event.items()}


def _error_within(error: dict[str, Any], most: int, lost: dict[str, int]) -> dict[str, Any]:
    """The run's error without its context, where that alone is larger than a run may be."""
    size = _size(error.get("context"))
    if size <= most:
        return error
    lost["characters"] += size
    return {name: value for name, value in error.items() if name != "context"}


@dataclass(frozen=True, slots=True)
class _Scissors:
    """Cuts the middle out of texts longer than `most`, and counts in `lost` what went."""

    most: int
    clean: Callable[[str], str]
    lost: dict[str, int]

    def short(self, value: Any) -> Any:
        match value:
            case str():
                return self._short_text(value) if len(value) > self.most else value
            case dict():
                return {name: self.short(item) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
            case list():
                return [self.short(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
            case _:
                return value

    def _short_text(self, text: str) -> str:
        room = self.most * _LOOK
        parts = [text] if len(text) <= room else [text[: room // 2], text[len(text) - room // 2 :]]
        looked = "".join(self.clean(part) for part in parts)
        gone = len(text) - sum(map(len, parts)) + max(len(looked) - self.most, 0)
        if not gone:
            return looked
        self.lost["characters"] += gone
        half = min(self.most, len(looked)) // 2
        tail = len(looked) - (min(self.most, len(looked)) - half)
        return f"{looked[:half]}\n[… {gone} characters cut …]\n{looked[tail:]}"


def _size(value: Any) -> int:
    """Characters of text in a value, and one for each thing in it."""
    match value:
        case str():
            return len(value) + 1
        case dict():
            return sum(_size(name) + _size(item) for name, item in value.items())  # pyright: ignore[reportUnknownVariableType]
        case list():
            return sum(_size(item) for item in value) + 1  # pyright: ignore[reportUnknownVariableType]
        case _:
            return 1


def _event(event: dict[str, Any]) -> Event:
    values: dict[str, Any] = {**event, "type": EventType(event["type"])}
    return Event(**values)


def _trace_error(error: dict[str, Any]) -> RunError:
    category = error.get("category")
    return RunError(
        category=ErrorCategory(category) if category else None,
        message=error.get("message", ""),
        context=error.get("context"),
    )
