"""The arguments of reflect: a run as an agent sends it, whose missing task and outcome are taken from its other parts."""

import re
from typing import Annotated, Any, ClassVar, Final, Self, cast

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from mcp_reflect.errors import InputError
from mcp_reflect.models.run import ErrorCategory, Outcome
from mcp_reflect.schemas import fields
from mcp_reflect.schemas.events import Content, EventArguments, as_events
from mcp_reflect.schemas.fields import Arguments, ReadContext, normalized, parsed
from mcp_reflect.schemas.reading import named
from mcp_reflect.security.redact import quoted

_SYNONYMS_OF_OUTCOMES: Final = {
    "success": "succeeded successful ok done passed completed fixed solved true",
    "failure": "failed fail false unsuccessful not_solved gave_up",
    "partial": "partly partially mixed incomplete partial_success hard_won",
    "timeout": "timed_out timedout time_out",
    "error": "errored exception crashed",
}
_ANALYSIS_FIELDS: Final = (
    "reflection mistake correction strategy symptoms keywords importance confidence lesson root_cause why "
    "next_time what_went_wrong fix prevention lessons_learned"
).split()
_RESULT_TYPES: Final = ("tool_response", "error_event", "observation")
_MAX_TITLE_CHARS: Final = 300  # of a text that stands for a missing task
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

    | sent as its category      | category        | word                                |
    |---------------------------|-----------------|-------------------------------------|
    | "timeout" or "Timeout Error" | timeout_error | None                                |
    | "database_error"          | None            | database_error: it is of another list |
    | "E42"                     | None            | None, and a note says so            |
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

    GATHERED: ClassVar = frozenset(_ANALYSIS_FIELDS)

    task: fields.Task | None = None
    outcome: Annotated[
        Outcome | None,
        fields.choice(Outcome, _SYNONYMS_OF_OUTCOMES),
        BeforeValidator(fields.as_text),
    ] = None
    events: Annotated[
        tuple[EventArguments, ...],
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
        """Move fields of an analysis that were sent beside it into it.

        {"task": "Fix it", "mistake": "ran npm"} -> {"task": "Fix it", "analysis": {"mistake": "ran npm"}}

        A field that the analysis has itself wins over the same one beside it. An analysis in words is its reflection.
        """
        sent_beside = {name: values[name] for name in _ANALYSIS_FIELDS if name in values}
        if not sent_beside:
            return values
        whole_analysis = sent_beside
        analysis = parsed(values.get("analysis"))
        if isinstance(analysis, str):
            whole_analysis = {"reflection": analysis, **sent_beside}
        elif isinstance(analysis, dict):
            whole_analysis = {**sent_beside, **cast("dict[str, Any]", analysis)}
        others = {name: value for name, value in values.items() if name not in whole_analysis}
        return {**others, "analysis": whole_analysis}

    _unread_events: int = PrivateAttr(default=0)

    @property
    def unread_events(self) -> int:
        """How many events of a very long run were not read, from its middle."""
        return self._unread_events

    @model_validator(mode="after")
    def _with_unread_events(self, info: ValidationInfo) -> Self:
        """Take over how many events were not read."""
        self._unread_events = ReadContext.of(info).unread.get("events", 0)
        return self

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
        missing: dict[str, Any] = {}
        task = _missing_task(sent, events)
        if task:
            missing["task"] = task
        outcome = _missing_outcome(sent, events)
        if outcome:
            missing["outcome"] = outcome
        return {**missing, **sent, "events": events}

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
    """Return a title for a run without a task, empty if nothing gives one: the first of these texts.

    1. The first message of the person.
    2. The goal.
    3. A field of the analysis, then any other text in it.
    4. A sentence about this sort of run (`_kind_of_run`).
    """
    messages_of_person = [
        event.get("content") for event in events if event.get("type") == "user_feedback"
    ]
    analysis = _as_object(parsed(sent.get("analysis")), "text")
    texts = (
        *messages_of_person[:1],
        sent.get("goal"),
        *(analysis.get(name) for name in _ANALYSIS_FIELDS),
        *analysis.values(),
        _kind_of_run(sent, events),
    )
    for text in texts:
        if isinstance(text, str) and text.strip():
            return " ".join(text.split())[:_MAX_TITLE_CHARS]
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
    """Return how a run ended; the first row that fits decides.

    | sent                                   | outcome                                                    |
    |----------------------------------------|------------------------------------------------------------|
    | an error of the run                    | failure                                                    |
    | events with results                    | failure or success, by the last one                        |
    | a decision, or its execution           | success: one with an error in it fails its checks later    |
    | an analysis, or events without results | partial                                                    |
    | anything else                          | None                                                       |
    """
    if sent.get("error"):
        return Outcome.FAILURE
    results = [event for event in events if event.get("type") in _RESULT_TYPES]
    if results:
        if _is_failure(results[-1]):
            return Outcome.FAILURE
        return Outcome.SUCCESS
    if sent.get("decision") is not None or sent.get("execution") is not None:
        return Outcome.SUCCESS
    if sent.get("analysis") or events:
        return Outcome.PARTIAL
    return None


def _is_failure(event: dict[str, Any]) -> bool:
    """Return whether an event shows an error, or an exit code other than 0: {"metadata": {"exit_code": 1}} -> True."""
    if event.get("type") == "error_event" or event.get("error"):
        return True
    return event.get("metadata", {}).get("exit_code") not in (None, 0)
