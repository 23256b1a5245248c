"""The arguments of the tools on lessons: recall, store, record an outcome, forget."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import BeforeValidator, Field, JsonValue, WithJsonSchema, model_validator

from mcp_reflect.config import DEFAULT
from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import (
    UNKNOWN_SCORE,
    Evidence,
    LessonDraft,
    RecallQuery,
    RecordKind,
    Source,
    State,
    Trust,
    lesson_text,
)
from mcp_reflect.schemas.fields import (
    Arguments,
    Detail,
    Label,
    Labels,
    Passage,
    Phrase,
    Phrases,
    Share,
    Task,
    at_most,
    most,
    most_items,
    read,
)

__all__ = [
    "ForgetArguments",
    "ImportArguments",
    "LessonArguments",
    "OutcomeArguments",
    "RecallArguments",
    "Results",
    "read",
]


class RecallArguments(Arguments):
    """Arguments of recall_lessons."""

    ALIASES: ClassVar[Mapping[str, str]] = {"query_text": "task", "query": "task", "k": "limit"}

    task: Annotated[Task, Field(description="What you are about to do")]
    task_type: Label | None = None
    context: Task | None = None
    symptoms: Annotated[Phrases, Field(description="Error texts you see")] = ()
    limit: Annotated[int, Field(ge=1, json_schema_extra={"maximum": DEFAULT.max_recalled}), at_most("max_recalled")] = 3
    max_chars: Annotated[
        int, Field(ge=1, json_schema_extra={"maximum": DEFAULT.max_recalled_chars}), at_most("max_recalled_chars")
    ] = 1500
    tags: Annotated[Labels, Field(description="Any of them")] = ()
    kinds: Annotated[tuple[RecordKind, ...], Field(max_length=3)] = ()
    min_importance: Share = 0
    min_effectiveness: Share = 0
    detail: Detail = False
    project: Label | None = None

    def ask(self) -> RecallQuery:
        """What is asked of the bank."""
        return RecallQuery(
            **{name: getattr(self, name) for name in type(self).model_fields if name not in ("project", "detail")}
        )


class LessonArguments(Arguments):
    """Arguments of store_lesson."""

    mistake: Annotated[Passage, Field(description="What went wrong, exact error or input")]
    correction: Annotated[Passage, Field(description="What works instead")]
    task_type: Label | None = None
    context: Task | None = None
    symptoms: Phrases = ()
    keywords: Labels = ()
    importance: Annotated[Share | None, Field(description="0 trivial to 1 critical")] = None
    confidence: Share | None = None
    tags: Labels = ()
    visibility: Literal["project", "global"] = "project"
    detail: Detail = False
    project: Label | None = None

    def draft(self, source: Source) -> LessonDraft:
        """The lesson on its way into the bank."""
        return LessonDraft(
            text=lesson_text(self.mistake, self.correction),
            mistake=self.mistake,
            correction=self.correction,
            task_type=self.task_type,
            context=self.context,
            symptoms=self.symptoms,
            keywords=self.keywords,
            tags=tuple(dict.fromkeys((*self.tags, *((self.task_type,) if self.task_type else ())))),
            importance=UNKNOWN_SCORE if self.importance is None else self.importance,
            confidence=UNKNOWN_SCORE if self.confidence is None else self.confidence,
            source=source,
        )


class ImportArguments(LessonArguments):
    """A line of an import: a lesson, perhaps with what export says beside it.

    A retired lesson stays retired, and a quarantined one in quarantine; no line makes itself trusted.
    """

    why: Passage | None = None
    external_id: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    project: str | None = None
    id: JsonValue = None
    state: State = State.ACTIVE
    trust: Trust = Trust.OBSERVED
    source: JsonValue = None
    created_at: JsonValue = None

    def draft(self, source: Source) -> LessonDraft:
        """The lesson on its way into the bank, with what only an import can say."""
        quarantined = self.trust is Trust.QUARANTINED
        return replace(
            super().draft(source),
            why=self.why,
            external_id=self.external_id,
            state=self.state,
            trust=Trust.QUARANTINED if quarantined else Trust.OBSERVED,
        )


class ResultArguments(Arguments):
    """Evidence: what a tool printed."""

    tool: Label | None = None
    content: Annotated[str, most("max_result_chars")]
    exit_code: int | None = None


Results: TypeAlias = Annotated[
    tuple[ResultArguments, ...],
    most_items("max_results"),
    # What is inside is in the words: listing it twice would cost every client 250 bytes.
    WithJsonSchema({"type": "array", "items": {"type": "object"}, "description": "[{tool, content, exit_code}]"}),
]

_WORDS: Final = {"true": True, "success": True, "false": False, "failure": False}


def _success(value: Any) -> Any:
    """The words that reflect knows an outcome by, as true, false or partial."""
    if not isinstance(value, str):
        return value
    word = value.strip().lower()
    return _WORDS.get(word, word)


class OutcomeArguments(Arguments):
    """Arguments of record_outcome."""

    success: Annotated[Literal[True, False, "partial"], BeforeValidator(_success)]
    recall_id: Label | None = None
    lesson_ids: Annotated[Labels, Field(description="The ones you used; else all of the recall")] = ()
    evidence: Annotated[Evidence, Field(description="user needs a quoted word in note")] = Evidence.SELF
    tool_results: Results = ()
    note: Phrase | None = None
    detail: Detail = False
    project: Label | None = None

    @model_validator(mode="after")
    def _names_something(self) -> "OutcomeArguments":
        if self.recall_id is None and not self.lesson_ids:
            raise InputError(
                "recall_id", "neither it nor lesson_ids is there", "Send the recall_id, or name the lessons."
            )
        return self


class ForgetArguments(Arguments):
    """Arguments of forget_lesson."""

    lesson_id: Label
    reason: Phrase
    detail: Detail = False
    project: Label | None = None
