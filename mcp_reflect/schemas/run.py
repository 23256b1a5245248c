"""The arguments of reflect and should_reflect, the forms in which agents send events, and the run made of them."""

import re
from itertools import accumulate, chain, count, takewhile
from typing import Annotated, Any, ClassVar, Final, cast

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from mcp_reflect.config import Limits, characters
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import to_json
from mcp_reflect.models.run import ErrorCategory, EventType, Outcome
from mcp_reflect.schemas import fields
from mcp_reflect.schemas.event_errors import are_messages, read_error
from mcp_reflect.schemas.fields import (
    Arguments,
    ReadContext,
    field_of,
    named,
    normalized,
    parsed,
    without_class,
)
from mcp_reflect.security.redact import clean, clean_text, quoted

Content = Annotated[str, BeforeValidator(fields.as_text)]

_EVENT_TYPES: Final = fields.meanings(
    {
        "tool_call": "call tool_use function_call action command tool invocation request",
        "tool_response": "response result output tool_result function_call_output tool_output return",
        "error_event": "error exception failure crash",
        "llm_call": "assistant llm model message thought text llm_response",
        "user_feedback": "user human feedback user_message correction",
        "system_event": "system info log",
        "decision": "plan choice",
        "observation": "note observe finding",
    }
)
_OUTCOMES: Final = {
    "success": "succeeded successful ok done passed completed fixed solved true",
    "failure": "failed fail false unsuccessful not_solved gave_up",
    "partial": "partly partially mixed incomplete partial_success hard_won",
    "timeout": "timed_out timedout time_out",
    "error": "errored exception crashed",
}
_ANALYSIS: Final = (
    "reflection mistake correction strategy symptoms keywords importance confidence lesson root_cause why "
    "next_time what_went_wrong fix prevention lessons_learned"
).split()
_TITLE_CHARS: Final = 300  # of a text that stands for a missing task
_COMMAND: Final = re.compile(r"^\s*\$ (?P<command>.+)")
_NO_OUTPUT: Final = "(no output)"
_CATEGORY: Final = re.compile(r"[a-z][a-z0-9_]{1,40}_error")
_ARGUMENTS: Final = ("arguments", "args", "parameters", "params", "tool_input")
_NO_ERROR: Final = (False, "", "none", "None", "null")


class EventArguments(Arguments):
    """One thing that happened in a run. Unknown fields are kept in `metadata`."""

    ALIASES: ClassVar = {
        "event_id": "id",
        "event_type": "type",
        "tool_name": "tool",
        "error_message": "error",
    }
    SYNONYMS: ClassVar = {
        "type": "kind role",
        "tool": "name function function_name action",
        "arguments": "args input inputs params parameters kwargs tool_input",
        "content": "output result response stdout text message observation data tool_output",
        "error": "stderr exception traceback failure",
        "id": "call_id tool_call_id tool_use_id",
        "timestamp": "time ts created_at",
        "exit_code": "exit_code exitcode returncode return_code exit_status",
        "command": "command cmd shell",
    }

    type: EventType
    content: Content = ""
    tool: fields.Label | None = None
    arguments: JsonValue = None
    error: Content | None = None
    id: fields.Label | None = None
    timestamp: str | float | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)


def as_events(value: Any, info: ValidationInfo) -> Any:
    """Return events under our names, each with a type and an id of its own."""
    context = ReadContext.of(info)
    value = parsed(value, context)
    if isinstance(value, dict):
        value = [value]
    if isinstance(value, str):
        value = value.splitlines() if _COMMAND.match(value) else [value]
    if not isinstance(value, list | tuple):
        return value
    events: list[dict[str, Any]] = []
    ids: set[str] = set()
    empty: list[str] = []
    for place, item in enumerate(cast("list[Any]", value)):
        for event in _events_of(parsed(to_json(item), context), context, events):
            if not any(str(event.get(name) or "").strip() for name in ("content", "tool", "error")):
                if event["type"] != "tool_response":
                    empty.append(f"events[{place}]")
                    continue
                event["content"] = _NO_OUTPUT  # a command that works is often silent
            name = str(event.get("id") or f"e{len(events) + 1}")
            own = next(
                own for own in chain([name], (f"{name}-{n}" for n in count(2))) if own not in ids
            )
            ids.add(own)  # a response may have the id of its call
            if own != name:
                event["metadata"] = {**event.get("metadata", {}), "tool_call_id": name}
            events.append({**event, "id": own})
    if empty:  # one note names them all: a note for each would be cut
        has = "it has" if len(empty) == 1 else "they have"
        context.ignored.append(f"{', '.join(empty)}: {has} neither content, tool nor error")
    return events


def _events_of(
    item: Any, context: ReadContext, before: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the events of an item: two where a call was sent together with its result."""
    after_call = bool(before) and before[-1].get("type") == "tool_call"
    if not isinstance(item, dict):
        text = fields.as_text(item)
        if match := _COMMAND.match(str(text)):
            return [
                {"type": "tool_call", "tool": "bash", "arguments": {"command": match["command"]}}
            ]
        return [{"type": "tool_response" if after_call else "observation", "content": text}]
    event = _named_event(cast("dict[Any, Any]", item))
    _read_values(event, context)
    kind, has_call = event.get("type"), event.get("arguments") is not None
    failed = bool(event.get("error")) or "exit_code" in event.get("metadata", {})
    has_result = failed or bool(event.get("content"))
    is_result = has_result or (after_call and "content" in event)
    if has_call and ((kind is None and has_result) or (kind == "tool_call" and failed)):
        call = {
            name: event[name] for name in ("id", "tool", "arguments", "timestamp") if name in event
        }
        result = {
            name: event[name]
            for name in ("tool", "content", "error", "metadata", "timestamp")
            if name in event
        }
        return [{"type": "tool_call", **call}, {"type": "tool_response", **result}]
    alone = "error_event" if failed else "observation"
    of_tool = "tool_response" if event.get("tool") or after_call else alone
    return [{**event, "type": kind or ("tool_call" if has_call or not is_result else of_tool)}]


def _named_event(item: dict[Any, Any]) -> dict[str, Any]:
    """Return an event under our names. `metadata` has the rest: unknown fields, the exit code, the command."""
    if item.get("role") in ("user", "human") and "tool" not in str(item.get("type")):
        item = {**item, "type": EventType.USER_FEEDBACK.value}
    event: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for name, value in ((str(name), value) for name, value in item.items() if value is not None):
        own = field_of(EventArguments, name) or name
        if own in EventArguments.model_fields and own not in event:
            event[own] = value
        else:
            metadata[own if own in ("exit_code", "command") else name] = value
    own_metadata = event.pop("metadata", {})
    metadata = {
        **(own_metadata if isinstance(own_metadata, dict) else {"metadata": own_metadata}),
        **metadata,
    }
    if not isinstance(event.get("timestamp", ""), str | int | float):
        metadata["timestamp"] = event.pop("timestamp")
    name = metadata.get("tool") or metadata.get("tool_name")
    if isinstance(name, str) and "tool" not in event:
        event["tool"] = name
    if "arguments" not in event:
        sent = next(
            (metadata[name] for name in _ARGUMENTS if isinstance(metadata.get(name), dict)), None
        )
        event |= {} if sent is None else {"arguments": sent}
    if "command" in metadata and "arguments" not in event:
        event = {"tool": "bash", **event, "arguments": {"command": metadata.pop("command")}}
    word = normalized(without_class(str(event.get("type", ""))))
    if word in {*EventType} or word in _EVENT_TYPES:
        event["type"] = _EVENT_TYPES.get(word, word)
    elif "type" in event:
        metadata["type"] = event.pop("type")
    return {**event, "metadata": metadata} if metadata else event


def _read_values(event: dict[str, Any], context: ReadContext) -> None:
    """Read the tool and its arguments from a function object or JSON text, the exit code, and whether it failed."""
    if isinstance(event.get("tool"), dict):  # {"function": {"name": ..., "arguments": ...}}
        function = cast("dict[str, Any]", event["tool"])
        event["tool"] = function.get("name")
        event.setdefault("arguments", function.get("arguments"))
    if "arguments" in event:
        event["arguments"] = parsed(event["arguments"], context)
    code = str(event.get("metadata", {}).get("exit_code", "")).strip()
    if code.lstrip("-").isdigit() and len(code) < 10:
        event["metadata"]["exit_code"] = int(code)
    content = str(event.get("content") or "")
    if event.get("error") is True:  # {"error": true, "content": "..."}
        event["error"] = content or "error"
    elif event.get("error") in _NO_ERROR:
        del event["error"]
    elif are_messages(event.get("error")):
        event["error"] = "; ".join(str(item["message"]) for item in event["error"])
    elif isinstance(event.get("error"), dict):
        read_error(event, cast("dict[str, Any]", event["error"]), content)


class ErrorArguments(Arguments):
    """What went wrong with the run as a whole."""

    ALIASES: ClassVar = {"error_category": "category", "error_message": "message"}
    SYNONYMS: ClassVar = {
        "category": "type kind code name",
        "message": "text error detail details description",
    }

    category: ErrorCategory | None = None
    word: str | None = None
    message: Content = ""
    context: JsonValue = None


def _run_error(value: Any, info: ValidationInfo) -> Any:
    """Return the run's error under our names. A text is its message.

    A category of another list (`database_error`) stays as the caller's word; what is no category is left out.
    """
    context = ReadContext.of(info)
    value = parsed(value, context)
    if not isinstance(value, dict):
        return {"message": fields.as_text(value)}
    error = named(ErrorArguments, cast("dict[str, Any]", value), context, "error.")
    word = normalized(str(error.get("category")))
    known = [name for name in (word, f"{word}_error") if name in {*ErrorCategory}]  # also `timeout`
    is_of_another_list = bool(_CATEGORY.fullmatch(word))
    if "category" in error and not known and not is_of_another_list and word != "unknown":
        context.ignored.append(
            f"error.category: {quoted(error['category'])} is not one of its values"
        )
    own = word if is_of_another_list and not known else None
    return {**error, "category": known[0] if known else None, "word": own}


class ReflectArguments(Arguments):
    """Arguments of reflect. With `reflection_id` the run is the stored one."""

    ALIASES: ClassVar = {
        "task_description": "task",
        "task_goal": "goal",
        "session_id": "run_id",
        "related_memory_ids": "related_ids",
    }
    SYNONYMS: ClassVar = {
        "task": "description prompt query request objective task_name",
        "outcome": "status result success final_status",
        "events": "trace steps messages transcript history log actions trajectory",
        "error": "error_message errors exception",
        "analysis": "judgement judgment insight insights",
    }

    task: fields.Task | None = None
    outcome: Annotated[
        Outcome | None, fields.choice(Outcome, _OUTCOMES), BeforeValidator(fields.as_text)
    ] = None
    events: Annotated[
        tuple[EventArguments, ...],
        fields.most("max_sent_events"),
        BeforeValidator(as_events),
        WithJsonSchema(
            {
                "type": "array",
                "items": {"type": "object"},
                "description": "In order: {tool, arguments}, then its {content, error, exit_code}",
            }
        ),
    ] = ()
    goal: fields.Task | None = None
    error: Annotated[
        ErrorArguments | None,
        BeforeValidator(_run_error),
        # The categories are in docs/tools.md; listing them here would cost every client 300 bytes.
        WithJsonSchema(
            {"type": "object", "description": "{category, message, context} of the run"}
        ),
    ] = None
    # A failed check of these two is a result, not an error: see `decisions.checks`.
    decision: Annotated[
        JsonValue,
        BeforeValidator(fields.as_json),
        WithJsonSchema({"type": "object", "description": "{action, component, error}"}),
    ] = None
    execution: Annotated[
        JsonValue,
        BeforeValidator(fields.as_json),
        WithJsonSchema(
            {
                "type": "object",
                "description": "{component, result, error, metrics{latency, accuracy}}",
            }
        ),
    ] = None
    allowed_actions: fields.Labels = ()
    criteria: Annotated[
        fields.Labels, WithJsonSchema({"type": "array", "items": {"type": "string"}})
    ] = ()
    analysis: Annotated[
        fields.Judgment,
        Field(
            json_schema_extra={"type": ["object", "string"]},
            description="Any of {mistake, correction, why, strategy, symptoms, keywords, importance}, or text",
        ),
    ] = None
    reflection_id: fields.Label | None = None
    recall_id: fields.Label | None = None
    trigger: fields.Label | None = None
    task_type: fields.Label | None = None
    tags: fields.Labels = ()
    related_ids: fields.Labels = ()
    run_id: fields.Label | None = None
    detail: fields.Detail = False
    project: fields.Label | None = None

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
        return {
            **{name: value for name, value in values.items() if name not in beside},
            "analysis": beside,
        }

    @model_validator(mode="before")
    @classmethod
    def _with_task_and_outcome(cls, values: Any, info: ValidationInfo) -> Any:
        """Take a missing task and outcome from the events, the error or the analysis."""
        sent = cast("dict[str, Any]", values)
        if "reflection_id" in sent or ("task" in sent and "outcome" in sent):
            return sent
        events: Any = as_events(sent.get("events", []), info)
        if not isinstance(events, list):
            return sent
        events = cast("list[dict[str, Any]]", events)
        missing = {"task": _missing_task(sent, events), "outcome": _missing_outcome(sent, events)}
        return {
            **{name: value for name, value in missing.items() if value},
            **sent,
            "events": events,
        }

    @model_validator(mode="after")
    def _has_a_run(self) -> "ReflectArguments":
        if self.reflection_id is None:
            for name in ("task", "outcome"):
                if getattr(self, name) is None:
                    fix = "Send task, outcome and analysis or events, or the reflection_id of a stored run."
                    raise InputError(name, "it is missing", fix)
        elif self.analysis is None:
            raise InputError(
                "analysis", "it is missing beside reflection_id", "Send your analysis of that run."
            )
        return self


def _missing_task(sent: dict[str, Any], events: list[dict[str, Any]]) -> str:
    """Return a title for a run without a task: the person's words, the goal, or the first text of the analysis."""
    asked = [event.get("content") for event in events if event.get("type") == "user_feedback"]
    analysis, decision = parsed(sent.get("analysis")), parsed(sent.get("decision"))
    told = cast("dict[str, Any]", analysis) if isinstance(analysis, dict) else {"text": analysis}
    last = "A run without a task in its record" if events else None
    if decision is not None or sent.get("execution") is not None:
        made = cast("dict[str, Any]", decision) if isinstance(decision, dict) else {}
        last = last or f"Decide what becomes of the component '{made.get('component', '')}'"
    texts = (
        *asked[:1],
        sent.get("goal"),
        *(told.get(name) for name in _ANALYSIS),
        *told.values(),
        last,
    )
    title = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    return " ".join(title.split())[:_TITLE_CHARS]


def _missing_outcome(sent: dict[str, Any], events: list[dict[str, Any]]) -> str | None:
    """Return how a run ended, where its events, its error or an analysis show it."""
    if sent.get("error"):
        return Outcome.FAILURE
    failed = [
        event.get("type") == "error_event"
        or bool(event.get("error"))
        or event.get("metadata", {}).get("exit_code") not in (None, 0)
        for event in events
        if event.get("type") in ("tool_response", "error_event", "observation")
    ]
    if failed:
        return Outcome.FAILURE if failed[-1] else Outcome.SUCCESS
    if (
        sent.get("decision") is not None or sent.get("execution") is not None
    ):  # with an error it fails its checks
        return Outcome.SUCCESS
    return Outcome.PARTIAL if sent.get("analysis") or events else None


_START_SHARE: Final = (
    5  # one fifth of a limit is for the start of a run, where the plan is, the rest for its end
)
_DECIDED: Final = ("decision", "execution", "allowed_actions")
_CLEANED: Final = 8  # times what is kept: cleaning all of a text of many megabytes takes seconds


def plain_run(sent: ReflectArguments, limits: Limits) -> dict[str, Any]:
    """Return the run as JSON values without secrets, cut to its limits; `cut` is there where something was lost.

    An oversized run is cut, not refused: a long text loses its middle, a long run events from its middle.
    """
    names = {"task", "outcome", "goal", "error", "task_type", "tags", "run_id", *_DECIDED}
    run = sent.model_dump(mode="json", include=names, exclude_none=True, exclude_defaults=True)
    lost = {"events": 0, "characters": 0}

    def cut(value: Any) -> Any:
        """Return a value whose texts lost their middle where they are longer than `max_event_chars`."""
        if isinstance(value, dict):
            return {name: cut(item) for name, item in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [cut(item) for item in cast("list[Any]", value)]
        if not isinstance(value, str) or len(value) <= limits.max_event_chars:
            return value
        text, gone = _cut_text(value, limits.max_event_chars)
        lost["characters"] += gone
        return text

    places = _kept_places([1] * len(sent.events), limits.max_events)
    dumped = [sent.events[place].model_dump(mode="json", exclude_defaults=True) for place in places]
    events: list[dict[str, Any]] = [{**cut(event), "id": event["id"]} for event in dumped]
    sizes = [characters(event) for event in events]
    run["events"] = [events[place] for place in _kept_places(sizes, limits.max_trace_chars)]
    lost["events"] = len(sent.events) - len(run["events"])
    for name in ("error", *_DECIDED):
        if name in run:
            run[name] = cut(run[name])
    context_size = characters(run.get("error", {}).get("context"))
    if context_size > limits.max_trace_chars:
        lost["characters"] += context_size
        del run["error"]["context"]
    return clean({**run, "cut": lost} if any(lost.values()) else run)


def _kept_places(sizes: list[int], most: int) -> list[int]:
    """Return the places of the items to keep, so that the sum of their sizes is at most `most`."""
    if sum(sizes) <= most:
        return list(range(len(sizes)))
    left_at_start, left_at_end = most // _START_SHARE, most - most // _START_SHARE
    start = sum(1 for _ in takewhile(lambda size: size <= left_at_start, accumulate(sizes)))
    end = sum(1 for _ in takewhile(lambda size: size <= left_at_end, accumulate(reversed(sizes))))
    return [*range(start), *range(len(sizes) - end, len(sizes))]


def _cut_text(text: str, most: int) -> tuple[str, int]:
    """Return a text without its secrets and middle, and the number of characters that were cut.

    Secrets are removed first, because half of a secret would not be recognized.
    """
    end = most * _CLEANED // 2
    is_huge = len(text) > 2 * end
    cleaned = clean_text(text[:end] + text[-end:] if is_huge else text)
    if len(cleaned) <= most and not is_huge:
        return cleaned, 0
    gone, half = len(text) - most, most // 2
    return f"{cleaned[:half]}\n[… {gone} characters cut …]\n{cleaned[-half:]}", gone


class StepArguments(Arguments):
    """Arguments of should_reflect. Without a `run_id` the steps of the session are counted."""

    ALIASES: ClassVar = {"session_id": "run_id"}
    SYNONYMS: ClassVar = {
        "tool_failures": "failures errors failed_calls tool_errors failure_count recent_failures failed_attempts",
        "step_number": "step steps iteration turn",
        "risk_level": "risk stakes",
        "goal_drift": "drift",
        "is_final_step": "final is_final last_step final_step",
        "confidence": "confidence_level confidence_score certainty",
        "verification_failed": "tests_failed",
    }

    confidence: fields.Share = 1
    risk_level: fields.Share = 0
    goal_drift: fields.Share = 0
    tool_failures: Annotated[fields.Count, Field(ge=0, le=1_000_000)] = 0
    step_number: Annotated[fields.Count, Field(ge=0, le=1_000_000_000)] = 0
    is_final_step: bool = False
    verification_failed: bool = False
    run_id: fields.Label | None = None
    project: fields.Label | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "StepArguments":
        if not self.model_fields_set - {"run_id", "project"}:
            fix = "Send what you know of this step, such as confidence (0..1)."
            raise InputError("confidence", "it is missing", fix)
        return self
