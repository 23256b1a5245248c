"""The arguments of the tools on lessons: recall, store, record an outcome, forget."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, cast

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    JsonValue,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticKnownError

from mcp_reflect.errors import InputError
from mcp_reflect.guards.guard import MOST_CHARS as MOST_GUARD_CHARS
from mcp_reflect.limits import DEFAULT
from mcp_reflect.models.lesson import (
    UNKNOWN_SCORE,
    Evidence,
    GuardMode,
    Lesson,
    LessonDraft,
    RecallQuery,
    RecordKind,
    Source,
    State,
    Trust,
    has_content,
    lesson_parts,
    lesson_text,
)
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.schemas import fields
from mcp_reflect.schemas.critique import Results
from mcp_reflect.schemas.fields import Arguments, field_of, normalized
from mcp_reflect.security.redact import quoted

_WORDS: Final = frozenset(
    """
    a about act acting again alert all always an and any are as attention attentive attentively avoid aware be become
    before being best better bugs careful carefully caution cautious check checking checks closely closer concentrate
    correct correctly details diligent do does doing don't double down easy effort else error errors every everything
    extra fail failing fewer first focus focused for from future get go going good great hard harder have i importance
    important improve in is issues it just keep learn less lesson let make making me mind mindful mistake mistakes more
    most must my need needs never next no not now of on once our out pass patient pay please plus precise problems
    properly prudent quality really remember repeat result results review right same should slow slower smarter so stay
    stop sure take task test testing tests than that the them then things think thinking this thorough thoroughly
    thought time to too try twice us verify very vigilant was watch we well when while will with without work working
    works would wrong you your
    """.split()
)
_WORD: Final = lazy_compile(r"[^\s,.;:!?()…–—-]+")


def is_vague(text: str) -> bool:
    """Return whether a text only says in English to be careful, to test more or to do better."""
    words = _WORD.findall(text.lower().replace("’", "'"))
    return bool(words) and _WORDS.issuperset(words)


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
    """Return a call as a lesson keeps it: a shell command, else the JSON text of {tool, arguments}."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        value = fields.parsed(value, fields.ReadContext.of(info))
    if isinstance(value, list | tuple):
        return " ".join(map(str, cast("list[Any]", value)))
    if not isinstance(value, Mapping):
        return value
    call = cast("Mapping[str, Any]", value)
    arguments = call.get("arguments", call.get("input", call.get("tool_input", {})))
    tool = call.get("tool", call.get("tool_name", call.get("name")))
    if tool is None and isinstance(command := call.get("command"), str):
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
    """Return a date as the end of that day, and a time without a zone as one of UTC."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        fault = f"'{quoted(value, 40)}' is not a date"
        raise InputError("valid_until", fault, "Send one like 2027-01-31.") from None
    if len(value.strip()) <= len("2027-01-31"):
        moment += timedelta(days=1, seconds=-1)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _up_to(name: str) -> tuple[Any, ...]:
    """Allow 1 to the limit `name`."""

    def check(value: int, info: ValidationInfo) -> int:
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
        """Recall by symptoms or a task type alone: they are the task."""
        own = {field_of(cls, name): value for name, value in values.items()}
        instead = own.get("symptoms") or own.get("task_type")
        return (
            {**values, "task": fields.as_text(instead)} if instead and "task" not in own else values
        )

    def ask(self) -> RecallQuery:
        """Return the query for the bank."""
        own = {
            name: getattr(self, name)
            for name in type(self).model_fields
            if name not in ("project", "detail")
        }
        return RecallQuery(**own)


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
        texts = self.lesson, self.mistake, self.correction
        if not any(texts):
            raise InputError(
                "lesson", "it is missing", "Send the lesson in one text, or mistake and correction."
            )
        if not has_content(*texts, letters=self.FEWEST_LETTERS):
            fix = "Say what failed, with the exact error, and what works."
            raise InputError("lesson" if self.lesson else "mistake", "it has no content", fix)
        told = self._advice
        if told and not (self.wrong_call or self.right_call) and is_vague(told):
            fault = f"'{quoted(told, 60)}' does not say what to do differently"
            fix = "Name the command, input, order or place to use the next time."
            raise InputError("correction" if self.correction else "lesson", fault, fix)
        return self

    @property
    def _advice(self) -> str | None:
        """The words that have to say what to do; None where none have to."""
        return self.correction or self.lesson

    def draft(self, source: Source) -> LessonDraft:
        """Return the lesson that the bank stores."""
        text, mistake, correction = self._texts()
        return LessonDraft(
            **self.model_dump(include=_AS_SENT),
            text=text,
            mistake=mistake,
            correction=correction,
            tags=tuple(dict.fromkeys((*self.tags, *((self.task_type,) if self.task_type else ())))),
            importance=self._importance(source),
            confidence=UNKNOWN_SCORE if self.confidence is None else self.confidence,
            source=source,
        )

    def _importance(self, source: Source) -> float:
        """Return the importance as sent by a person.

        An agent's stays below what prevents archiving, unless the person told it the lesson.
        """
        sent = UNKNOWN_SCORE if self.importance is None else self.importance
        if self.evidence is Evidence.USER:
            return max(sent, TOLD_BY_PERSON)
        if source is Source.PERSON:
            return sent
        return min(sent, MOST_OF_AGENT)

    def _texts(self) -> tuple[str, str, str]:
        """Return the whole text, the mistake and the correction, from what was sent of them."""
        mistake, correction = self.mistake or "", self.correction or ""
        if self.lesson is not None:
            return _texts_beside(self.lesson, mistake, correction)
        if mistake and correction:
            return lesson_text(mistake, correction), mistake, correction
        if correction:
            return correction, "", correction
        return f"Tried without success: {mistake}", mistake, ""


def _texts_beside(lesson: str, mistake: str, correction: str) -> tuple[str, str, str]:
    """Return the whole text, the mistake and the correction of a lesson in one text, which stands for what is missing."""
    if mistake or correction:
        correction = correction or lesson
        return lesson_text(mistake or lesson, correction), mistake, correction
    mistake, correction = lesson_parts(lesson)
    if mistake:
        return lesson, mistake, correction
    return lesson, lesson, ""


class ImportArguments(LessonArguments):
    """A line of a file of lessons.

    A retired lesson stays retired, and a quarantined one in quarantine; no line makes itself trusted. A state or trust
    that cannot be read is refused: without it a quarantined lesson would be shown. Fields that only a person's own
    export may set are ignored.
    """

    STRICT: ClassVar[frozenset[str]] = frozenset({"state", "trust", "source"})
    FEWEST_LETTERS: ClassVar[int] = 2

    mistake: Annotated[str, fields.most("max_lesson_chars")] | None = None
    correction: Annotated[str, fields.most("max_lesson_chars")] | None = None
    external_id: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    guard: Annotated[str, Field(max_length=MOST_GUARD_CHARS)] | None = None
    project: str | None = None
    state: State = State.ACTIVE
    trust: Trust = Trust.OBSERVED

    @property
    def _advice(self) -> str | None:
        """None: older banks have such lessons, and a lesson may be edited step by step."""
        return None

    def draft(self, source: Source) -> LessonDraft:
        """Return the lesson that the bank stores, with its state and trust."""
        return replace(
            super().draft(source),
            external_id=self.external_id,
            guard=self.guard or None,
            state=self.state,
            trust=Trust.QUARANTINED if self.trust is Trust.QUARANTINED else Trust.OBSERVED,
        )


class PersonsArguments(ImportArguments):
    """A lesson that a person writes: it is refused where none of its words says what to do ("be careful")."""

    @property
    def _advice(self) -> str | None:
        if self.guard:
            return None
        return " ".join(filter(None, (self.lesson, self.mistake, self.correction)))


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


class OwnExportArguments(ImportArguments):
    """A line of a person's own export; every field is stored as it is."""

    id: Annotated[str, Field(pattern=r"^les_[0-9a-z]{8,40}$")]
    source: Source = Source.AGENT
    created_at: AwareDatetime
    updated_at: AwareDatetime
    strength: Annotated[int, Field(ge=1)] = 1
    outside: bool = False
    told: bool = False
    agent: str | None = None
    times_applied: Annotated[int, Field(ge=0)] = 0
    effectiveness: fields.Share | None = None
    wins: Annotated[float, Field(ge=0)] = 0.0
    losses: Annotated[float, Field(ge=0)] = 0.0
    proof: Annotated[float, Field(ge=0)] = 0.0
    held: str | None = None
    unarmed: str | None = None
    guard_mode: GuardMode | None = None
    versions: tuple[VersionArguments, ...] = ()
    outcomes: tuple[PastOutcomeArguments, ...] = ()

    def record(self, project: str) -> Lesson:
        """Return the lesson as it was stored."""
        draft = self.draft(self.source)
        values: dict[str, Any] = {
            field.name: getattr(draft, field.name) for field in dataclasses.fields(draft)
        }
        values |= {name: getattr(self, name) for name in _AS_STORED}
        values |= {
            "created_at": self.created_at.timestamp(),
            "updated_at": self.updated_at.timestamp(),
        }
        return Lesson(**values, project=project)


_AS_STORED: Final = (
    "id trust tags strength times_applied effectiveness wins losses proof held outside told agent unarmed guard_mode"
).split()


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
    if isinstance(value, int | float):
        return "partial" if 0 < value < 1 else value > 0
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
        if self.recall_id is None and not self.lesson_ids:
            fault, fix = (
                "it is missing, and so is lesson_ids",
                "Send the recall_id, or the lesson_ids.",
            )
            raise InputError("recall_id", fault, fix)
        return self


class ForgetArguments(Arguments):
    """Arguments of forget_lesson."""

    SYNONYMS: ClassVar = {"lesson_id": "id lesson lesson_ids", "reason": "why note because"}

    lesson_id: fields.Label
    reason: fields.Phrase = "no reason given"
    detail: fields.Detail = False
    project: fields.Label | None = None
