"""The arguments of reflect and should_reflect, and the run made of them."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Final, cast

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from mcp_reflect.errors import InputError
from mcp_reflect.limits import Limits, characters
from mcp_reflect.models.run import ErrorCategory, Outcome
from mcp_reflect.schemas import fields
from mcp_reflect.schemas.events import Content, EventArguments, as_events
from mcp_reflect.schemas.fields import Arguments, ReadContext, normalized, parsed
from mcp_reflect.schemas.reading import named
from mcp_reflect.security.gate import ends_of
from mcp_reflect.security.redact import clean, quoted

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
_ENDS: Final = ("tool_response", "error_event", "observation")
_TITLE_CHARS: Final = 300  # of a text that stands for a missing task
_CATEGORY: Final = re.compile(r"[a-z][a-z0-9_]{1,40}_error")


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
    for category in (word, f"{word}_error"):
        if category in {*ErrorCategory}:
            return {**error, "category": category, "word": None}
    if _CATEGORY.fullmatch(word):
        return {**error, "category": None, "word": word}
    if "category" in error and word != "unknown":
        sent = quoted(error["category"])
        context.ignored.append(f"error.category: {sent} is not one of its values")
    return {**error, "category": None, "word": None}


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

    GATHERED: ClassVar = frozenset(_ANALYSIS)

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
        # The categories are in models/run.py; listing them here would cost every client 300 bytes.
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
        sent_beside = {name: values[name] for name in _ANALYSIS if name in values}
        if not sent_beside:
            return values
        whole = sent_beside
        analysis = parsed(values.get("analysis"))
        if isinstance(analysis, str):
            whole = {"reflection": analysis, **sent_beside}
        elif isinstance(analysis, dict):
            whole = {**sent_beside, **cast("dict[str, Any]", analysis)}
        others = {name: value for name, value in values.items() if name not in whole}
        return {**others, "analysis": whole}

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
        found: dict[str, Any] = {}
        task = _missing_task(sent, events)
        if task:
            found["task"] = task
        outcome = _missing_outcome(sent, events)
        if outcome:
            found["outcome"] = outcome
        return {**found, **sent, "events": events}

    @model_validator(mode="after")
    def _has_a_run(self) -> "ReflectArguments":
        """Refuse a new run without task or outcome, and a stored one without the analysis that the call is for."""
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
    """Return a title for a run without a task, empty if nothing gives one.

    It is the first text of these: the person's words, the goal, the analysis, what says what kind of run it is.
    """
    asked = [event.get("content") for event in events if event.get("type") == "user_feedback"]
    analysis = _as_object(parsed(sent.get("analysis")), "text")
    texts = (
        *asked[:1],
        sent.get("goal"),
        *(analysis.get(name) for name in _ANALYSIS),
        *analysis.values(),
        _kind_of_run(sent, events),
    )
    for text in texts:
        if isinstance(text, str) and text.strip():
            return " ".join(text.split())[:_TITLE_CHARS]
    return ""


def _kind_of_run(sent: dict[str, Any], events: list[dict[str, Any]]) -> str | None:
    """Return a title for a run of which only events, or only a decision and its execution, are known."""
    if events:
        return "A run without a task in its record"
    if sent.get("execution") is None and parsed(sent.get("decision")) is None:
        return None
    component = _as_object(parsed(sent.get("decision")), "decision").get("component", "")
    return f"Decide what becomes of the component '{component}'"


def _as_object(value: Any, name: str) -> dict[str, Any]:
    """Return an object; anything else as an object that has it under a name."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {name: value}


def _missing_outcome(sent: dict[str, Any], events: list[dict[str, Any]]) -> str | None:
    """Return how a run ended, where its error, its events or an analysis show it; the last result decides."""
    if sent.get("error"):
        return Outcome.FAILURE
    results = [event for event in events if event.get("type") in _ENDS]
    if results:
        if _is_failure(results[-1]):
            return Outcome.FAILURE
        return Outcome.SUCCESS
    if sent.get("decision") is not None or sent.get("execution") is not None:
        return Outcome.SUCCESS  # with an error it fails its checks
    if sent.get("analysis") or events:
        return Outcome.PARTIAL
    return None


def _is_failure(event: dict[str, Any]) -> bool:
    """True for an event that shows an error or an exit code other than 0."""
    if event.get("type") == "error_event" or event.get("error"):
        return True
    return event.get("metadata", {}).get("exit_code") not in (None, 0)


_START_SHARE: Final = 5
"""One part in so many of a limit is for the start of a run, where the plan is, the rest for its end."""

_DECIDED: Final = ("decision", "execution", "allowed_actions")


def plain_run(sent: ReflectArguments, limits: Limits) -> dict[str, Any]:
    """Return the run as JSON values without secrets, cut to its limits; `cut` is there where something was lost.

    An oversized run is cut, not refused: a long text loses its middle, a long run events from its middle.
    """
    names = {"task", "outcome", "goal", "error", "task_type", "tags", "run_id", *_DECIDED}
    run = sent.model_dump(mode="json", include=names, exclude_none=True, exclude_defaults=True)
    cutter = _Cutter(limits.max_event_chars)
    run["events"] = _kept_events(sent, limits, cutter)
    for name in ("error", *_DECIDED):
        if name in run:
            run[name] = cutter.cut(run[name])
    context_size = characters(run.get("error", {}).get("context"))
    if context_size > limits.max_trace_chars:
        cutter.lost += context_size
        del run["error"]["context"]
    lost = {"events": len(sent.events) - len(run["events"]), "characters": cutter.lost}
    if any(lost.values()):
        run["cut"] = lost
    return clean(run)


def _kept_events(sent: ReflectArguments, limits: Limits, cutter: "_Cutter") -> list[dict[str, Any]]:
    """Return the events within the limits, the first and the last ones of a long run."""
    events = [
        sent.events[place].model_dump(mode="json", exclude_defaults=True)
        for place in _kept_places([1] * len(sent.events), limits.max_events)
    ]
    sizes = [cutter.size_of(event) for event in events]
    kept = [events[place] for place in _kept_places(sizes, limits.max_trace_chars)]
    return [{**cutter.cut(event), "id": event["id"]} for event in kept]


class _Cutter:
    """Cuts the middle out of texts over a length, and counts the characters that are lost."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.lost = 0

    def size_of(self, value: Any) -> int:
        """Return how many characters of a value are kept, before it is cut: cutting redacts, which takes longer."""
        if isinstance(value, dict):
            pairs = cast("dict[str, Any]", value).items()
            return sum(characters(key) + self.size_of(item) for key, item in pairs)
        if isinstance(value, list):
            return sum(map(self.size_of, cast("list[Any]", value)))
        return min(self._most, characters(value))

    def cut(self, value: Any) -> Any:
        """Return a value in which no text is too long."""
        if isinstance(value, dict):
            return {name: self.cut(item) for name, item in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self.cut(item) for item in cast("list[Any]", value)]
        if not isinstance(value, str) or len(value) <= self._most:
            return value
        text, gone = _cut_text(value, self._most)
        self.lost += gone
        return text


def _kept_places(sizes: list[int], most: int) -> list[int]:
    """Return the places of the items to keep, so that the sum of their sizes is at most `most`.

    What is too much goes from the middle.
    """
    if sum(sizes) <= most:
        return list(range(len(sizes)))
    most_at_start = most // _START_SHARE
    first = _count_within(sizes, most_at_start)
    last = _count_within(reversed(sizes), most - most_at_start)
    return [*range(first), *range(len(sizes) - last, len(sizes))]


def _count_within(sizes: Iterable[int], most: int) -> int:
    """Return how many of the first items are together at most `most`."""
    count = total = 0
    for size in sizes:
        total += size
        if total > most:
            break
        count += 1
    return count


def _cut_text(text: str, most: int) -> tuple[str, int]:
    """Return a text without its secrets and middle, and the number of characters that were cut."""
    ends = ends_of(text, most // 2)
    if ends.tail is None:
        return ends.head, 0
    gone = len(text) - most
    return ends.around(f"[… {gone} characters cut …]"), gone


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
        """Refuse a call that says nothing of the step."""
        if not self.model_fields_set - {"run_id", "project"}:
            fix = "Send what you know of this step, such as confidence (0..1)."
            raise InputError("confidence", "it is missing", fix)
        return self
