"""The arguments of the tools on lessons: recall, store, record an outcome, forget."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, cast

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticKnownError

from mcp_reflect.errors import InputError
from mcp_reflect.limits import DEFAULT
from mcp_reflect.models.lesson import UNKNOWN_SCORE, LessonDraft, RecordKind, Source
from mcp_reflect.models.lesson_words import has_content, lesson_parts, lesson_text
from mcp_reflect.models.outcome import Evidence
from mcp_reflect.models.recall import RecallQuery
from mcp_reflect.schemas import fields
from mcp_reflect.schemas.critique import Results
from mcp_reflect.schemas.fields import Arguments, normalized
from mcp_reflect.schemas.reading import field_of
from mcp_reflect.schemas.vague_advice import is_vague
from mcp_reflect.security.redact import quoted

TOLD_BY_PERSON: Final = 0.9
"""The least importance of a lesson that a person told: an agent may send as much, and words from outside are judged."""

MOST_OF_AGENT: Final = 0.75
"""The most importance that an agent gives its own lesson: a full bank archives it, and a person's counts for more."""

_AS_SENT: Final = {
    "why",
    "task_type",
    "context",
    "symptoms",
    "keywords",
    "wrong_call",
    "right_call",
}


def _as_call(value: Any, info: ValidationInfo) -> Any:
    """Return a call as a lesson keeps it: a shell command, else the JSON text of {tool, arguments}.

    | sent                                           | kept                                       |
    |------------------------------------------------|--------------------------------------------|
    | "npm test" or {"command": "npm test"}          | npm test                                   |
    | ["npm", "test"]                                | npm test                                   |
    | {"name": "Read", "input": {"path": "a"}}       | {"tool": "Read", "arguments": {"path": "a"}} |
    """
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        value = fields.parsed(value, fields.ReadContext.of(info))
    if isinstance(value, list | tuple):
        return " ".join(map(str, cast("list[Any]", value)))
    if not isinstance(value, Mapping):
        return value
    call = cast("Mapping[str, Any]", value)
    arguments = call.get("arguments", call.get("input", call.get("tool_input", {})))
    tool = call.get("tool", call.get("tool_name", call.get("name")))
    command = call.get("command")
    if tool is None and isinstance(command, str):
        return command
    return json.dumps({"tool": str(tool or ""), "arguments": arguments}, ensure_ascii=False)


_Call: TypeAlias = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(fields.not_blank),
    fields.most("max_lesson_chars"),
    BeforeValidator(_as_call),
    WithJsonSchema({"type": ["string", "object"]}),
]
"""A call: a shell command as text, or {tool, arguments}."""


_DATE: Final = WithJsonSchema({"type": "string", "format": "date"})


def _as_moment(value: Any) -> Any:
    """Return a date as the end of that day, and a time without a zone as one of UTC: "2027-01-31" -> 23:59:59 UTC."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        fault = f"'{quoted(value, 40)}' is not a date"
        raise InputError("valid_until", fault, "Send one like 2027-01-31.") from None
    if len(value.strip()) <= len("2027-01-31"):
        moment += timedelta(days=1, seconds=-1)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment


def _up_to(name: str) -> tuple[Any, ...]:
    """Return annotations that allow a field the numbers from 1 to the limit `name`, and say so in its schema."""

    def check(value: int, info: ValidationInfo) -> int:
        """Refuse a number over the limit of this call, as pydantic refuses one over a fixed limit."""
        most = getattr(fields.ReadContext.of(info).limits, name)
        if value > most:
            raise PydanticKnownError("less_than_equal", {"le": most})
        return value

    return Field(ge=1, json_schema_extra={"maximum": getattr(DEFAULT, name)}), AfterValidator(check)


class RecallArguments(Arguments):
    """Arguments of recall_lessons."""

    ALIASES: ClassVar = {"query_text": "task", "query": "task", "k": "limit"}
    SYNONYMS: ClassVar = {
        "task": "description task_description prompt goal question text topic",
        "symptoms": "error errors error_message",
        "limit": "max_results max_lessons top_k n count",
        "context": "tool",
    }

    task: Annotated[fields.Task, Field(description="What you are about to do")]
    task_type: fields.Label | None = None
    context: fields.Task | None = None
    symptoms: Annotated[fields.Phrases, Field(description="Error texts you see")] = ()
    limit: Annotated[fields.Count, *_up_to("max_recalled")] = 3
    max_chars: Annotated[fields.Count, *_up_to("max_recalled_chars")] = 4000
    tags: Annotated[fields.Labels, Field(description="Any of them")] = ()
    kinds: Annotated[tuple[RecordKind, ...], Field(max_length=3)] = ()
    min_importance: fields.Share = 0
    min_effectiveness: fields.Share = 0
    detail: fields.Detail = False
    project: fields.Label | None = None

    @classmethod
    def gathered(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Let symptoms, or a task type, stand for a missing task, so that one may recall by them alone."""
        by_field = {field_of(cls, name): value for name, value in values.items()}
        stand_in = by_field.get("symptoms") or by_field.get("task_type")
        if "task" in by_field or not stand_in:
            return values
        return {**values, "task": fields.as_text(stand_in)}

    def ask(self) -> RecallQuery:
        """Return the query for the bank."""
        fields_of_query = type(self).model_fields.keys() - {"project", "detail"}
        return RecallQuery(**{name: getattr(self, name) for name in fields_of_query})


class LessonArguments(Arguments):
    """Arguments of store_lesson: one text, or mistake and correction."""

    SYNONYMS: ClassVar = {
        "lesson": "text lesson_text content insight learning note summary",
        "mistake": "problem what_went_wrong issue wrong failure",
        "correction": "fix solution resolution what_works instead right",
        "why": "reason rationale root_cause because explanation",
        "symptoms": "error errors error_message",
        "task_type": "type category",
        "visibility": "scope",
    }
    FEWEST_LETTERS: ClassVar[int] = 3  # of a lesson's words

    lesson: fields.Passage | None = None
    mistake: fields.Passage | None = None
    correction: fields.Passage | None = None
    why: fields.Passage | None = None
    wrong_call: _Call | None = None
    right_call: _Call | None = None
    task_type: fields.Label | None = None
    context: fields.Task | None = None
    symptoms: fields.Phrases = ()
    keywords: fields.Labels = ()
    importance: Annotated[fields.Share | None, Field(description="0..1")] = None
    confidence: fields.Share | None = None
    tags: fields.Labels = ()
    visibility: Literal["project", "global"] = "project"
    evidence: Annotated[
        Literal[Evidence.SELF, Evidence.USER],
        Field(description="user: a person told you, in this conversation"),
    ] = Evidence.SELF
    replaces: Annotated[
        fields.Label | None,
        Field(description="lesson_id of one that is outdated or in worse words"),
    ] = None
    files: Annotated[fields.Labels, Field(description="it is true of")] = ()
    valid_until: Annotated[AwareDatetime | None, BeforeValidator(_as_moment), _DATE] = None
    detail: fields.Detail = False
    project: fields.Label | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "LessonArguments":
        """Refuse a lesson without words, and one without a call that only says to be careful."""
        texts = self.lesson, self.mistake, self.correction
        if not any(texts):
            raise InputError(
                "lesson", "it is missing", "Send the lesson in one text, or mistake and correction."
            )
        if not has_content(*texts, letters=self.FEWEST_LETTERS):
            fix = "Say what failed, with the exact error, and what works."
            raise InputError("lesson" if self.lesson else "mistake", "it has no content", fix)
        advice = self._advice
        has_call = self.wrong_call or self.right_call
        if advice and not has_call and is_vague(advice):
            fault = f"'{quoted(advice, 60)}' does not say what to do differently"
            fix = "Name the command, input, order or place to use the next time."
            raise InputError("correction" if self.correction else "lesson", fault, fix)
        return self

    @property
    def _advice(self) -> str | None:
        """The words that have to say what to do; None where none have to."""
        return self.correction or self.lesson

    def draft(self, source: Source) -> LessonDraft:
        """Return the lesson that the bank stores; its task type is one of its tags."""
        texts = self._texts()
        tags = self.tags
        if self.task_type:
            tags = (*tags, self.task_type)
        confidence = self.confidence
        if confidence is None:
            confidence = UNKNOWN_SCORE
        return LessonDraft(
            **self.model_dump(include=_AS_SENT),
            text=texts.text,
            mistake=texts.mistake,
            correction=texts.correction,
            tags=tuple(dict.fromkeys(tags)),
            importance=self._importance(source),
            confidence=confidence,
            source=source,
        )

    def _importance(self, source: Source) -> float:
        """Return the importance (0..1) with which the lesson is stored; .5 where none was sent.

        | the lesson                 | importance                                       |
        |----------------------------|--------------------------------------------------|
        | a person told the agent so | as sent, at least TOLD_BY_PERSON                 |
        | is a person's              | as sent                                          |
        | is an agent's own          | as sent, at most MOST_OF_AGENT                   |
        """
        importance = self.importance
        if importance is None:
            importance = UNKNOWN_SCORE
        if self.evidence is Evidence.USER:
            return max(importance, TOLD_BY_PERSON)
        if source is Source.PERSON:
            return importance
        return min(importance, MOST_OF_AGENT)

    def _texts(self) -> "Texts":
        """Return the texts of the lesson.

        | sent                    | text                                 | mistake  | correction |
        |-------------------------|--------------------------------------|----------|------------|
        | mistake and correction  | both                                 | as sent  | as sent    |
        | correction              | the correction                       | ""       | as sent    |
        | mistake                 | "Tried without success: …"           | as sent  | ""         |
        | lesson                  | see `_texts_beside`                  |          |            |
        """
        mistake, correction = self.mistake or "", self.correction or ""
        if self.lesson is not None:
            return _texts_beside(self.lesson, mistake, correction)
        if mistake and correction:
            return Texts(lesson_text(mistake, correction), mistake, correction)
        if correction:
            return Texts(correction, "", correction)
        return Texts(f"Tried without success: {mistake}", mistake, "")


class Texts(NamedTuple):
    """A lesson as a whole, and its mistake and correction, empty where they are not known."""

    text: str
    mistake: str
    correction: str


def _texts_beside(lesson: str, mistake: str, correction: str) -> Texts:
    """Return the texts of a lesson that was sent as one text, perhaps with its mistake or correction beside it.

    The one text stands for a part that is missing. Alone it is taken apart, if it can be.
    """
    if mistake or correction:
        correction = correction or lesson
        return Texts(lesson_text(mistake or lesson, correction), mistake, correction)
    mistake, correction = lesson_parts(lesson)
    if mistake:
        return Texts(lesson, mistake, correction)
    return Texts(lesson, lesson, "")


_OUTCOMES: Final[dict[str, Any]] = {
    **fields.meanings(
        {
            "partial": "partial partly partially mixed some",
            "irrelevant": "irrelevant unused not_relevant unrelated not_used ignored",
        }
    ),
    **dict.fromkeys("helped true success yes useful worked helpful ok 1 succeeded".split(), True),
    **dict.fromkeys("wrong false failure no harmful misleading failed 0 incorrect".split(), False),
}


def _outcome(value: Any) -> Any:
    """Return what a word or a number (0..1) says of a lesson: True, False, "partial" or "irrelevant".

    "helped, it built" -> True; "wrong - it failed" -> False; .5 -> "partial". InputError for an unknown word.
    """
    if isinstance(value, int | float):
        if 0 < value < 1:
            return "partial"
        return value > 0
    word = str(value).partition(",")[0].partition(" - ")[0]
    meaning = _OUTCOMES.get(normalized(word))
    if meaning is None:
        fault = f"'{quoted(value, 40)}' is not one of its values"
        raise InputError("success", fault, "Send helped, irrelevant, wrong or partial.")
    return meaning


class OutcomeArguments(Arguments):
    """Arguments of record_outcome."""

    SYNONYMS: ClassVar = {
        "success": "outcome result status helped worked useful verdict",
        "lesson_ids": "lesson_id id ids lessons",
        "note": "comment reason explanation details",
        "tool_results": "output results proof tool_result",
        "recall_id": "recall",
    }

    success: Annotated[
        Literal[True, False, "partial", "irrelevant"],
        BeforeValidator(_outcome),
        WithJsonSchema({"type": "string", "enum": ["helped", "irrelevant", "wrong", "partial"]}),
    ]
    recall_id: fields.Label | None = None
    lesson_ids: Annotated[
        fields.Labels, Field(description="The ones you used; else all of the recall")
    ] = ()
    evidence: Annotated[
        Evidence,
        Field(description="user needs a quoted word in note"),
        fields.choice(
            Evidence, {"test": "tests tested", "metric": "metrics", "user": "person human"}
        ),
    ] = Evidence.SELF
    tool_results: Results = ()
    note: fields.Phrase | None = None
    detail: fields.Detail = False
    project: fields.Label | None = None

    @model_validator(mode="after")
    def _names_something(self) -> "OutcomeArguments":
        """Refuse an outcome of which nobody knows what it is about."""
        if self.recall_id is None and not self.lesson_ids:
            fault = "it is missing, and so is lesson_ids"
            raise InputError("recall_id", fault, "Send the recall_id, or the lesson_ids.")
        return self


class ForgetArguments(Arguments):
    """Arguments of forget_lesson."""

    SYNONYMS: ClassVar = {"lesson_id": "id lesson lesson_ids", "reason": "why note because"}

    lesson_id: fields.Label
    reason: fields.Phrase = "no reason given"
    detail: fields.Detail = False
    project: fields.Label | None = None
