"""Lessons, how they are recalled, and the outcomes of using them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class RecordKind(StrEnum):
    """Lessons are semantic memory, strategies procedural, reflections episodic."""

    LESSON = "lesson"
    STRATEGY = "strategy"
    REFLECTION = "reflection"


class State(StrEnum):
    """Only an active lesson is recalled; none is ever deleted but by a person's `erase`."""

    ACTIVE = "active"
    RETIRED = "retired"
    ARCHIVED = "archived"


class Trust(StrEnum):
    """From text that waits for a person to what a person vouches for.

    `confirmed` takes a proven outcome or a person, `trusted` a person.
    """

    QUARANTINED = "quarantined"
    OBSERVED = "observed"
    CONFIRMED = "confirmed"
    TRUSTED = "trusted"


class Source(StrEnum):
    """Who wrote it."""

    AGENT = "agent"
    MODEL = "model"
    PERSON = "person"
    IMPORT = "import"
    RULES = "rules"


class Fit(StrEnum):
    """How well a lesson fits a task. A weak hit never scores as much as a strong one."""

    STRONG = "strong"
    WEAK = "weak"


class Evidence(StrEnum):
    """What an outcome rests on; an agent's own word counts least."""

    SELF = "self"
    USER = "user"
    METRIC = "metric"
    TEST = "test"


UNKNOWN_SCORE: Final = 0.5
"""What a record is ranked by where nobody gave a score."""


def lesson_text(mistake: str, correction: str) -> str:
    """A lesson in one text: what went wrong, then what works."""
    end = "" if mistake.rstrip()[-1:] in ".!?。！？" else "."
    return f"{mistake.rstrip()}{end} {correction.strip()}"


def told_lesson(mistake: str | None, correction: str | None) -> str | None:
    """A lesson of which only a part is known: what was tried without success, or what works; None for neither."""
    if mistake and correction:
        return lesson_text(mistake, correction)
    return f"Tried without success: {mistake}" if mistake else correction


def waits(reason: str) -> str:
    """What stands in the place of a text in quarantine."""
    return f"(in quarantine: {reason}. A person sees it with `mcp-reflect lessons review`.)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonDraft:
    """A lesson on its way into the bank, or what a strategy or reflection shows of itself to recall.

    Scores are in 0..1. `mistake` and `correction` are there for a lesson; `text` alone for the others.
    """

    kind: RecordKind = RecordKind.LESSON
    text: str
    mistake: str | None = None
    correction: str | None = None
    why: str | None = None
    task_type: str | None = None
    context: str | None = None
    symptoms: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 0.5
    external_id: str | None = None
    state: State = State.ACTIVE
    trust: Trust = Trust.OBSERVED
    source: Source = Source.AGENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson(LessonDraft):
    """A stored lesson. Times are seconds since 1970 (UTC); effectiveness is null until the first outcome.

    `wins` and `losses` are the outcomes so far, weighed by their evidence, `proof` the weight of those that
    are more than an agent's own word; `strength` counts how often it was learnt. `held` says why it waits in
    quarantine for a person; it is null elsewhere.
    """

    id: str
    project: str
    context_hash: str | None = None
    held: str | None = None
    reflection_id: str | None = None
    strength: int = 1
    times_applied: int = 0
    effectiveness: float | None = None
    wins: float = 0.0
    losses: float = 0.0
    proof: float = 0.0
    created_at: float
    updated_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """A question to the bank, and how much of an answer is wanted.

    `strong_only` leaves out lessons that fit weakly: for readers who did not ask, such as hooks.
    """

    task: str
    task_type: str | None = None
    context: str | None = None
    symptoms: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    kinds: tuple[RecordKind, ...] = ()
    limit: int = 3
    max_chars: int = 1500
    min_importance: float = 0.0
    min_effectiveness: float = 0.0
    strong_only: bool = False

    @property
    def text(self) -> str:
        """Everything that words are taken from."""
        return "\n".join((self.task, *self.symptoms))


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A record one step from another one, and what ties them; `(back)` says that the tie is the other's."""

    id: str
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A lesson as recall shows it.

    `score` (0..1, strong hits from .5 on) orders the hits and can be compared between answers; `why` gives the
    reasons in words.
    """

    id: str
    external_id: str | None = None
    kind: RecordKind
    text: str
    mistake: str | None = None
    correction: str | None = None
    task_type: str | None = None
    tags: tuple[str, ...] = ()
    importance: float
    confidence: float
    effectiveness: float | None = None
    times_applied: int
    trust: Trust
    source: Source
    age_days: int
    score: float
    fit: Fit
    why: str
    related: tuple[Near, ...] = ()
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What `recall_lessons` returns. `hidden` counts what was held back, by reason."""

    recall_id: str
    lessons: tuple[Hit, ...]
    hidden: Mapping[str, int] = field(default_factory=dict[str, int])
    mode: str = "lexical"
    scope: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What became of a lesson that was to be stored: stored, merged (with which) or quarantined (why)."""

    lesson_id: str
    status: str
    reason: str | None = None
    text: str | None = None
    scope: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeDraft:
    """An outcome on its way in. `success` is 1, 0.5 (partial) or 0; a recall, lessons, or both are named."""

    success: float
    recall_id: str | None
    lesson_ids: tuple[str, ...]
    evidence: Evidence
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """A lesson after an outcome. Effectiveness is in 0..1."""

    id: str
    effectiveness: float
    times_applied: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeResult:
    """What `record_outcome` returns; `evidence` is what it was recorded as, `reason` why it was lowered."""

    updated: tuple[Updated, ...]
    evidence: Evidence
    reason: str | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What `forget_lesson` returns: retired, out of every recall, kept in the history."""

    lesson_id: str
    state: State
    scope: str
    ignored: tuple[str, ...] = ()
