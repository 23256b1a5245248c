"""The arguments of reflect, and the run made of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, cast

from pydantic import BeforeValidator, Field, JsonValue, ValidationInfo, WithJsonSchema, model_validator

from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError
from mcp_reflect.models.run import Cut, ErrorCategory, Event, EventType, Outcome, RunError, Trace
from mcp_reflect.schemas.events import Content, EventArguments, as_events
from mcp_reflect.schemas.fields import (
    Arguments,
    Category,
    Detail,
    Label,
    Labels,
    Task,
    as_category,
    as_json,
    as_text,
    choice,
    in_all,
    most_items,
)
from mcp_reflect.schemas.reading import ReadContext, named, parsed
from mcp_reflect.security.redact import quoted

_OUTCOMES: Final = {
    **dict.fromkeys(
        ("succeeded", "successful", "ok", "done", "passed", "completed", "fixed", "solved", "true"), "success"
    ),
    **dict.fromkeys(("failed", "fail", "false", "unsuccessful", "not_solved", "gave_up"), "failure"),
    **dict.fromkeys(("partly", "partially", "mixed", "incomplete", "partial_success", "hard_won"), "partial"),
    **dict.fromkeys(("timed_out", "timedout", "time_out"), "timeout"),
    **dict.fromkeys(("errored", "exception", "crashed"), "error"),
}
_ANALYSIS: Final = (
    "reflection mistake correction strategy symptoms keywords importance confidence lesson root_cause why "
    "next_time what_went_wrong fix prevention lessons_learned"
).split()
_TITLE_CHARS: Final = 300  # of a text that stands for a missing task


class ErrorArguments(Arguments):
    """What went wrong with the run as a whole."""

    ALIASES: ClassVar[Mapping[str, str]] = {"error_category": "category", "error_message": "message"}
    SYNONYMS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("type", "kind", "code", "name"), "category"),
        **dict.fromkeys(("text", "error", "detail", "details", "description"), "message"),
    }

    category: Category | None = None
    message: Content = ""
    context: JsonValue = None


def _run_error(value: Any, info: ValidationInfo) -> Any:
    """The run's error under our names. A text is its message; a category that is unknown is left out."""
    context = ReadContext.of(info)
    value = parsed(value, context)
    if not isinstance(value, dict):
        return {"message": as_text(value)}
    error = named(ErrorArguments, cast("dict[str, Any]", value), context, "error.")
    category = as_category(error.get("category"))
    if category is not None and category not in [*ErrorCategory]:
        del error["category"]
        context.ignored.append(f"error.category: {quoted(category)} is not one of its values")
    return error


class ReflectArguments(Arguments):
    """Arguments of reflect. With `reflection_id` the run is the stored one."""

    ALIASES: ClassVar[Mapping[str, str]] = {
        "task_description": "task",
        "task_goal": "goal",
        "session_id": "run_id",
        "related_memory_ids": "related_ids",
    }
    SYNONYMS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("description", "prompt", "query", "request", "objective", "task_name"), "task"),
        **dict.fromkeys(("status", "result", "success", "final_status"), "outcome"),
        **dict.fromkeys(
            ("trace", "steps", "messages", "transcript", "history", "log", "actions", "trajectory"), "events"
        ),
        **dict.fromkeys(("error_message", "errors", "exception"), "error"),
        **dict.fromkeys(("judgement", "insight", "insights"), "analysis"),
    }

    task: Annotated[Task | None, Field(description="What you were asked")] = None
    outcome: Annotated[Outcome | None, choice(Outcome, _OUTCOMES), BeforeValidator(as_text)] = None
    events: Annotated[
        tuple[EventArguments, ...],
        most_items("max_sent_events"),
        BeforeValidator(as_events),
        WithJsonSchema(
            {
                "type": "array",
                "items": {"type": "object"},
                "description": "In order: {tool, arguments} for a call, {content, error, exit_code} for its response",
            }
        ),
    ] = ()
    goal: Task | None = None
    error: Annotated[
        ErrorArguments | None,
        BeforeValidator(_run_error),
        # The categories are in docs/tools.md; listing them here would cost every client 300 bytes.
        WithJsonSchema({"type": "object", "description": "{category, message, context} of the run"}),
    ] = None
    # A failed check of these two is a result, not an error: see `analysis.decisions`.
    decision: Annotated[
        JsonValue,
        BeforeValidator(as_json),
        WithJsonSchema({"type": "object", "description": "{action, component, error}"}),
    ] = None
    execution: Annotated[
        JsonValue,
        BeforeValidator(as_json),
        WithJsonSchema({"type": "object", "description": "{component, result, error, metrics{latency, accuracy}}"}),
    ] = None
    allowed_actions: Labels = ()
    criteria: Annotated[Labels, WithJsonSchema({"type": "array", "items": {"type": "string"}})] = ()
    analysis: Annotated[
        JsonValue,
        Field(
            description="Any of {mistake, correction, reflection, strategy, symptoms, keywords, importance, "
            "confidence, tags}, or text; mistake + correction make a lesson"
        ),
        in_all("max_analysis_chars"),
        BeforeValidator(as_json),
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

    @classmethod
    def gathered(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Move fields of an analysis that were sent beside it into it."""
        beside = {name: values[name] for name in _ANALYSIS if name in values}
        if not beside:
            return values
        analysis = parsed(values.get("analysis"))
        if isinstance(analysis, str):
            beside = {"reflection": analysis, **beside}
        elif isinstance(analysis, dict):
            beside = {**beside, **cast("dict[str, Any]", analysis)}
        rest = {name: value for name, value in values.items() if name not in beside}
        return {**rest, "analysis": beside}

    @model_validator(mode="before")
    @classmethod
    def _with_task_and_outcome(cls, values: Any, info: ValidationInfo) -> Any:
        """Take a task and an outcome that were left out from the events, the error or the analysis."""
        if not isinstance(values, dict) or "reflection_id" in values:
            return values  # pyright: ignore[reportUnknownVariableType]
        sent: dict[str, Any] = dict(values)  # pyright: ignore[reportUnknownArgumentType]
        if "task" in sent and "outcome" in sent:
            return sent
        events: Any = as_events(sent["events"], info) if "events" in sent else []
        if not isinstance(events, list):
            return sent
        if "events" in sent:
            sent["events"] = events
        task, outcome = _missing_task(sent), _missing_outcome(sent)
        if "task" not in sent and task:
            sent["task"] = task
        if "outcome" not in sent and outcome:
            sent["outcome"] = outcome
        return sent

    @model_validator(mode="after")
    def _has_a_run(self) -> "ReflectArguments":
        if self.reflection_id is None:
            for name in ("task", "outcome"):
                if getattr(self, name) is None:
                    fix = "Send task, outcome and analysis or events, or the reflection_id of a stored run."
                    raise InputError(name, "it is missing", fix)
        elif self.analysis is None:
            raise InputError("analysis", "it is missing beside reflection_id", "Send your analysis of that run.")
        return self


def _missing_task(sent: dict[str, Any]) -> str | None:
    """A title for a run without a task: the person's words, the goal, or the start of the analysis."""
    said = [event.get("content") for event in sent.get("events", ()) if event.get("type") == "user_feedback"]
    analysis = sent.get("analysis")
    if isinstance(analysis, str):
        analysis = parsed(analysis)
    texts: list[Any] = [*said[:1], sent.get("goal")]
    if isinstance(analysis, dict):
        fields = cast("dict[str, Any]", analysis)
        texts += [fields.get(name) for name in ("mistake", "reflection", "correction", "strategy")]
        texts += [value for value in fields.values() if isinstance(value, str)]
    else:
        texts.append(analysis)
    if sent.get("events"):
        texts.append("A run without a task in its record")
    title = next((text for text in texts if isinstance(text, str) and text.strip()), None)
    return None if title is None else " ".join(title.split())[:_TITLE_CHARS]


def _missing_outcome(sent: dict[str, Any]) -> str | None:
    """How a run ended, where its events, its error or an analysis show it."""
    if sent.get("error"):
        return Outcome.FAILURE
    results = [
        bool(event.get("error")) or event.get("metadata", {}).get("exit_code") not in (None, 0)
        for event in sent.get("events", ())
        if event.get("type") in ("tool_response", "error_event", "observation")
    ]
    if results:
        return Outcome.FAILURE if results[-1] else Outcome.SUCCESS
    return Outcome.PARTIAL if sent.get("analysis") or sent.get("events") else None


# From the arguments to the JSON values that are stored, and from those to a `Trace`.
#
# An oversized run is cut, not refused. A long text loses its middle. A long run loses events from its middle: one
# fifth of the limit is for the start, where the plan is, the rest for the end, where it failed.


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
