"""The arguments of the tools on lessons: recall, store, record an outcome, forget."""

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, cast

from pydantic import AwareDatetime, BeforeValidator, Field, JsonValue, ValidationInfo, WithJsonSchema, model_validator

from mcp_reflect.config import DEFAULT
from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import (
    UNKNOWN_SCORE,
    Evidence,
    Lesson,
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
    Count,
    Detail,
    Label,
    Labels,
    Passage,
    Phrase,
    Phrases,
    Share,
    Task,
    as_objects,
    as_text,
    at_most,
    choice,
    most,
    most_items,
    read,
)
from mcp_reflect.schemas.reading import ReadContext, named

__all__ = ["ForgetArguments", "ImportArguments", "LessonArguments", "OutcomeArguments", "RecallArguments", "read"]

_LABELED: Final = re.compile(
    r"(?is)^\W*(?:mistake|problem|what went wrong|wrong)\W*:\W*(?P<mistake>.+?)"
    r"\W*\b(?:correction|fix|solution|instead|what works|right)\W*:\W*(?P<correction>.+)$"
)
_TWO_SENTENCES: Final = re.compile(r"(?s)(?P<mistake>\S.{8,}?[.!?;。！？])\s*(?P<correction>\S.+)")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


class RecallArguments(Arguments):
    """Arguments of recall_lessons."""

    ALIASES: ClassVar[Mapping[str, str]] = {"query_text": "task", "query": "task", "k": "limit"}
    SYNONYMS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("description", "task_description", "prompt", "goal", "question", "text", "topic"), "task"),
        **dict.fromkeys(("error", "errors", "error_message"), "symptoms"),
        **dict.fromkeys(("max_results", "max_lessons", "top_k", "n", "count"), "limit"),
        "tool": "context",
    }

    task: Annotated[Task, Field(description="What you are about to do")]
    task_type: Label | None = None
    context: Task | None = None
    symptoms: Annotated[Phrases, Field(description="Error texts you see")] = ()
    limit: Annotated[
        Count, Field(ge=1, json_schema_extra={"maximum": DEFAULT.max_recalled}), at_most("max_recalled")
    ] = 3
    max_chars: Annotated[
        Count, Field(ge=1, json_schema_extra={"maximum": DEFAULT.max_recalled_chars}), at_most("max_recalled_chars")
    ] = 1500
    tags: Annotated[Labels, Field(description="Any of them")] = ()
    kinds: Annotated[tuple[RecordKind, ...], Field(max_length=3)] = ()
    min_importance: Share = 0
    min_effectiveness: Share = 0
    detail: Detail = False
    project: Label | None = None

    @classmethod
    def gathered(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Recall by symptoms alone: they are the task."""
        names = {name for name in values if name in cls.ALIASES or name in cls.SYNONYMS or name in cls.model_fields}
        symptoms = next((values[name] for name in ("symptoms", "error", "error_message") if name in values), None)
        own = {cls.ALIASES.get(name, cls.SYNONYMS.get(name, name)) for name in names}
        return {**values, "task": as_text(symptoms)} if symptoms and "task" not in own else values

    def ask(self) -> RecallQuery:
        """The query to send to the bank."""
        own = {name: getattr(self, name) for name in type(self).model_fields if name not in ("project", "detail")}
        return RecallQuery(**own)


class LessonArguments(Arguments):
    """Arguments of store_lesson: one text, or mistake and correction."""

    SYNONYMS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("text", "lesson_text", "content", "insight", "learning", "note", "summary"), "lesson"),
        **dict.fromkeys(("problem", "what_went_wrong", "issue", "wrong", "failure"), "mistake"),
        **dict.fromkeys(("fix", "solution", "resolution", "what_works", "instead", "right"), "correction"),
        **dict.fromkeys(("reason", "rationale", "root_cause", "because", "explanation"), "why"),
        **dict.fromkeys(("error", "errors", "error_message"), "symptoms"),
        "type": "task_type",
        "category": "task_type",
        "scope": "visibility",
    }

    FEWEST_LETTERS: ClassVar[int] = 3  # of a lesson's words

    lesson: Annotated[Passage | None, Field(description="The lesson in one text")] = None
    mistake: Annotated[Passage | None, Field(description="What went wrong, exact error or input")] = None
    correction: Annotated[Passage | None, Field(description="What works instead")] = None
    why: Passage | None = None
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

    @model_validator(mode="after")
    def _says_something(self) -> "LessonArguments":
        texts = [text for text in (self.lesson, self.mistake, self.correction) if text]
        if not texts:
            raise InputError("lesson", "it is missing", "Send the lesson in one text, or mistake and correction.")
        words = {word.lower() for text in texts for word in _WORD.findall(text)}
        if sum(map(len, words)) < self.FEWEST_LETTERS:
            fault = "it is empty of content"
            raise InputError(
                "lesson" if self.lesson else "mistake", fault, "Say what failed, with the exact error, and what works."
            )
        return self

    def draft(self, source: Source) -> LessonDraft:
        """The lesson on its way into the bank."""
        text, mistake, correction = self._texts()
        return LessonDraft(
            text=text,
            mistake=mistake,
            correction=correction,
            why=self.why,
            task_type=self.task_type,
            context=self.context,
            symptoms=self.symptoms,
            keywords=self.keywords,
            tags=tuple(dict.fromkeys((*self.tags, *((self.task_type,) if self.task_type else ())))),
            importance=UNKNOWN_SCORE if self.importance is None else self.importance,
            confidence=UNKNOWN_SCORE if self.confidence is None else self.confidence,
            source=source,
        )

    def _texts(self) -> tuple[str, str, str]:
        """The whole text, the mistake and the correction."""
        if self.mistake and self.correction:
            return lesson_text(self.mistake, self.correction), self.mistake, self.correction
        if self.lesson is None:
            if self.correction:
                return self.correction, "", self.correction
            return f"Tried without success: {self.mistake}", self.mistake or "", ""
        mistake, correction = self.mistake or "", self.correction or ""
        if mistake or correction:
            return lesson_text(mistake or self.lesson, correction or self.lesson), mistake, correction or self.lesson
        parts = _LABELED.match(self.lesson) or _TWO_SENTENCES.match(self.lesson)
        if parts is None:
            return self.lesson, self.lesson, ""
        return self.lesson, parts["mistake"].strip(), parts["correction"].strip()


class LineArguments(LessonArguments):
    """A line of a file of lessons.

    A retired lesson stays retired, and a quarantined one in quarantine; no line makes itself trusted. A state or trust
    that cannot be read is refused: without it a quarantined lesson would be shown.
    """

    STRICT: ClassVar[frozenset[str]] = frozenset({"state", "trust", "source"})
    FEWEST_LETTERS: ClassVar[int] = 2

    mistake: Annotated[str, most("max_lesson_chars")] | None = None
    correction: Annotated[str, most("max_lesson_chars")] | None = None
    external_id: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    project: str | None = None
    state: State = State.ACTIVE
    trust: Trust = Trust.OBSERVED

    def draft(self, source: Source) -> LessonDraft:
        """The lesson on its way into the bank, with what only an import can say."""
        return replace(
            super().draft(source),
            external_id=self.external_id,
            state=self.state,
            trust=Trust.QUARANTINED if self.trust is Trust.QUARANTINED else Trust.OBSERVED,
        )


class ImportArguments(LineArguments):
    """A line of an import; fields that only a person's own export may set are ignored."""

    id: JsonValue = None
    source: JsonValue = None
    created_at: JsonValue = None
    updated_at: JsonValue = None
    strength: JsonValue = None
    times_applied: JsonValue = None
    effectiveness: JsonValue = None
    wins: JsonValue = None
    losses: JsonValue = None
    proof: JsonValue = None
    held: JsonValue = None
    versions: JsonValue = None
    outcomes: JsonValue = None


class VersionArguments(Arguments):
    """An earlier wording in an export."""

    reason: str
    body: dict[str, JsonValue]
    created_at: AwareDatetime


class PastOutcomeArguments(Arguments):
    """An outcome in an export."""

    recall_id: str
    success: Annotated[float, Field(ge=0, le=1, multiple_of=0.5)]
    evidence: Evidence
    weight: Annotated[float, Field(gt=0, le=1)]
    note: str | None = None
    created_at: AwareDatetime


class OwnExportArguments(LineArguments):
    """A line of a person's own export: all of it is taken as it was."""

    id: Annotated[str, Field(pattern=r"^les_[0-9a-z]{8,40}$")]
    source: Source = Source.AGENT
    created_at: AwareDatetime
    updated_at: AwareDatetime
    strength: Annotated[int, Field(ge=1)] = 1
    times_applied: Annotated[int, Field(ge=0)] = 0
    effectiveness: Share | None = None
    wins: Annotated[float, Field(ge=0)] = 0.0
    losses: Annotated[float, Field(ge=0)] = 0.0
    proof: Annotated[float, Field(ge=0)] = 0.0
    held: str | None = None
    versions: tuple[VersionArguments, ...] = ()
    outcomes: tuple[PastOutcomeArguments, ...] = ()

    def record(self, project: str) -> Lesson:
        """The lesson as it was stored."""
        draft = self.draft(self.source)
        return Lesson(
            **{
                field.name: getattr(draft, field.name) for field in fields(draft) if field.name not in ("trust", "tags")
            },
            **{name: getattr(self, name) for name in _AS_IT_WAS},
            project=project,
            created_at=self.created_at.timestamp(),
            updated_at=self.updated_at.timestamp(),
        )


_AS_IT_WAS: Final = (
    *("id", "trust", "tags", "strength", "times_applied", "effectiveness", "wins", "losses", "proof", "held"),
)


class ResultArguments(Arguments):
    """Evidence: what a tool printed."""

    SYNONYMS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("output", "stdout", "result", "text", "response", "message", "stderr", "error"), "content"),
        **dict.fromkeys(("tool_name", "name", "command", "cmd"), "tool"),
        **dict.fromkeys(("exitcode", "code", "status", "returncode", "return_code"), "exit_code"),
    }

    tool: Label | None = None
    content: Annotated[str, most("max_result_chars"), BeforeValidator(as_text)] = ""
    exit_code: Count | None = None


def _results(value: Any, info: ValidationInfo) -> Any:
    """Tool results under our names; a text is a result."""
    value = as_objects(value, info)
    if not isinstance(value, list | tuple):
        return value
    context = ReadContext.of(info)
    items: list[Any] = [item for item in value if item is not None]  # pyright: ignore[reportUnknownVariableType]
    return [
        named(ResultArguments, cast("dict[str, Any]", item), context, f"tool_results[{place}].")
        if isinstance(item, dict)
        else {"content": item}
        for place, item in enumerate(items)
    ]


Results: TypeAlias = Annotated[
    tuple[ResultArguments, ...],
    most_items("max_results"),
    BeforeValidator(_results),
    # The description has the fields: a nested schema would cost every client 250 bytes more.
    WithJsonSchema({"type": "array", "items": {"type": "object"}, "description": "[{tool, content, exit_code}]"}),
]

_OUTCOMES: Final = {
    **dict.fromkeys(("helped", "true", "success", "yes", "useful", "worked", "helpful", "ok", "1", "succeeded"), True),
    **dict.fromkeys(("wrong", "false", "failure", "no", "harmful", "misleading", "failed", "0", "incorrect"), False),
    **dict.fromkeys(("partial", "partly", "partially", "mixed", "some"), "partial"),
    **dict.fromkeys(("irrelevant", "unused", "not_relevant", "unrelated", "not_used", "ignored"), "irrelevant"),
}


def _outcome(value: Any) -> Any:
    """The words and numbers that mean an outcome, as true, false, partial or irrelevant."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return True if value >= 1 else False if value <= 0 else "partial"
    if not isinstance(value, str):
        return value
    word = value.strip().lower()
    return _OUTCOMES.get(word.replace(" ", "_").replace("-", "_"), word)


class OutcomeArguments(Arguments):
    """Arguments of record_outcome."""

    SYNONYMS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("outcome", "result", "status", "helped", "worked", "useful", "verdict"), "success"),
        **dict.fromkeys(("lesson_id", "id", "ids", "lessons"), "lesson_ids"),
        **dict.fromkeys(("comment", "reason", "explanation", "details"), "note"),
        **dict.fromkeys(("output", "results", "proof", "tool_result"), "tool_results"),
        "recall": "recall_id",
    }

    success: Annotated[
        Literal[True, False, "partial", "irrelevant"],
        BeforeValidator(_outcome),
        WithJsonSchema({"enum": ["helped", "irrelevant", "wrong", "partial"], "description": "or true, false"}),
    ]
    recall_id: Label | None = None
    lesson_ids: Annotated[Labels, Field(description="The ones you used; else all of the recall")] = ()
    evidence: Annotated[
        Evidence,
        Field(description="user needs a quoted word in note"),
        choice(Evidence, {"tests": "test", "tested": "test", "metrics": "metric", "person": "user", "human": "user"}),
    ] = Evidence.SELF
    tool_results: Results = ()
    note: Phrase | None = None
    detail: Detail = False
    project: Label | None = None

    @model_validator(mode="after")
    def _names_something(self) -> "OutcomeArguments":
        if self.recall_id is None and not self.lesson_ids:
            raise InputError(
                "recall_id", "neither it nor lesson_ids is there", "Send the recall_id, or the lesson_ids."
            )
        return self


class ForgetArguments(Arguments):
    """Arguments of forget_lesson."""

    SYNONYMS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("id", "lesson", "lesson_ids"), "lesson_id"),
        **dict.fromkeys(("why", "note", "because"), "reason"),
    }

    lesson_id: Label
    reason: Phrase = "no reason given"
    detail: Detail = False
    project: Label | None = None
