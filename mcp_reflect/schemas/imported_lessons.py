"""The lines of a file of lessons: how much each may say of its own trust depends on whose file it is.

A line of anybody's (`ImportArguments`) says least, one that a person writes (`PersonsArguments`) is advice of theirs,
and one of a person's own export (`OwnExportArguments`) is stored as it was.
"""

import dataclasses
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final

from pydantic import AwareDatetime, Field, JsonValue

from mcp_reflect.guards.guard import MOST_CHARS as MOST_GUARD_CHARS
from mcp_reflect.models.lesson import GuardMode, Lesson, LessonDraft, Source, State, Trust
from mcp_reflect.models.outcome import Evidence
from mcp_reflect.schemas import fields
from mcp_reflect.schemas.fields import Arguments
from mcp_reflect.schemas.lessons import LessonArguments, Texts

_MOST_PROJECT_CHARS: Final = 1_000
"""Characters of a project's name: it may be a path, and lines from outside bring names of their own."""


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
    project: Annotated[str, Field(max_length=_MOST_PROJECT_CHARS)] | None = None
    state: State = State.ACTIVE
    trust: Trust = Trust.OBSERVED

    @property
    def _advice(self) -> str | None:
        """None: older banks have such lessons, and a lesson may be edited step by step."""
        return None

    def _texts(self) -> Texts:
        """Return the texts of the lesson. Exports of 0.2.0 have an empty correction beside a lesson in one text."""
        was_one_text = self.lesson is None and "correction" in self.model_fields_set
        if was_one_text and self.mistake and not self.correction:
            return Texts(self.mistake, self.mistake, "")
        return super()._texts()

    def draft(self, source: Source) -> LessonDraft:
        """Return the lesson that the bank stores, with its state, and in quarantine if the line says so."""
        trust = Trust.OBSERVED
        if self.trust is Trust.QUARANTINED:
            trust = Trust.QUARANTINED
        return replace(
            super().draft(source),
            external_id=self.external_id,
            guard=self.guard or None,
            state=self.state,
            trust=trust,
        )


class PersonsArguments(ImportArguments):
    """A lesson that a person writes: it is refused where none of its words says what to do ("be careful")."""

    @property
    def _advice(self) -> str | None:
        """All words of the lesson: one of them has to say what to do, unless a guard does."""
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
    pinned_at: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
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

    def _texts(self) -> Texts:
        """Return the texts as they were stored; nothing is read out of a text."""
        if self.lesson is None:
            return super()._texts()
        correction = self.correction or ""
        mistake = self.mistake or ""
        if not correction:
            mistake = mistake or self.lesson
        return Texts(self.lesson, mistake, correction)

    def _importance(self, source: Source) -> float:
        """Return the importance as it was stored: a person may have raised an agent's."""
        if self.importance is None:
            return super()._importance(source)
        return self.importance


_AS_STORED: Final = (
    "id trust tags strength times_applied effectiveness wins losses proof held outside told agent unarmed guard_mode "
    "pinned_at"
).split()
