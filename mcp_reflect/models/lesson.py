"""Lessons, how they are recalled, and the outcomes of using them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from mcp_reflect.patterns import lazy_compile

EDITABLE: Final = ("mistake", "correction", "why", "task_type", "importance", "tags")
"""The fields of a stored lesson that a person may change."""


class RecordKind(StrEnum):
    """The kind of a record: lessons are semantic memory, strategies procedural, reflections episodic."""

    LESSON = "lesson"
    STRATEGY = "strategy"
    REFLECTION = "reflection"


class State(StrEnum):
    """Whether a record is recalled: only an active one is. Only a person's `erase` deletes records."""

    ACTIVE = "active"
    RETIRED = "retired"
    ARCHIVED = "archived"


class Trust(StrEnum):
    """How far a record is trusted: `quarantined` waits for a person, a proven outcome confirms, a person trusts."""

    QUARANTINED = "quarantined"
    OBSERVED = "observed"
    CONFIRMED = "confirmed"
    TRUSTED = "trusted"


class Source(StrEnum):
    """The author of a record."""

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
    """The basis of an outcome; an agent's own word counts least."""

    SELF = "self"
    USER = "user"
    METRIC = "metric"
    TEST = "test"


_SHORT_ID_CHARS: Final = 6  # 30 random bits
_WORD: Final = lazy_compile(r"[^\W\d_]{2,}")
UNKNOWN_SCORE: Final = 0.5
"""The score of a record that nobody scored."""


def lesson_text(mistake: str, correction: str) -> str:
    """Return a lesson as one text: the mistake, then the correction."""
    end = "" if mistake.rstrip()[-1:] in ".!?。！？" else "."
    return f"{mistake.rstrip()}{end} {correction.strip()}"


def with_id(lesson_id: str, text: str) -> str:
    """Return a lesson as hooks show it: behind the end of its id, which record_outcome and forget_lesson take."""
    return f"les_{lesson_id[-_SHORT_ID_CHARS:]}: {text}"


def told_lesson(mistake: str | None, correction: str | None) -> str | None:
    """Return the text of a lesson of which only one part may be known; None where neither is."""
    if mistake and correction:
        return lesson_text(mistake, correction)
    return f"Tried without success: {mistake}" if mistake else correction


def has_content(*texts: str | None, letters: int = 3) -> bool:
    """Return whether the words of the texts have that many letters together."""
    words = {word.lower() for text in texts for word in _WORD.findall(text or "")}
    return sum(map(len, words)) >= letters


ORIGINS: Final = {"imported": "imported from outside", "repeated": "repeats text from outside"}
"""What `Hit.why` says of words that came from outside."""


def waits(reason: str) -> str:
    """Return the text that stands in place of one in quarantine."""
    return f"(in quarantine: {reason}. A person sees it with `mcp-reflect lessons review`.)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonDraft:
    """A record to be stored. Only lessons have `mistake` and `correction`. Scores are in 0..1."""

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
    """A stored record. Times are seconds since 1970 (UTC); `effectiveness` is None until the first outcome.

    `wins` and `losses` are sums of outcomes, weighted by evidence; `proof` is the weight of those that are more than
    an agent's own word. `strength` counts how often the lesson was learned. `held` is the reason of a quarantine.
    `outside` says that its words repeat words from outside, `agent` names the program whose agent stored it.
    `suspicion` is the reason why hooks and prompts do not show it, by the rules of `rules_version` (0: not judged yet).
    """

    id: str
    project: str
    context_hash: str | None = None
    held: str | None = None
    outside: bool = False
    agent: str | None = None
    suspicion: str | None = None
    rules_version: int = 0
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
    """A query of lessons. `strong_only` leaves out weak hits and neighbors: hooks and prompts show neither."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A linked record and its relation; `(back)` marks a link that starts at the other record."""

    id: str
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recalled lesson. `score` (0..1, strong from .5) is comparable between answers; `why` explains it in words."""

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
    """The result of `recall_lessons`. `hidden` counts the lessons that were held back, by reason."""

    recall_id: str
    lessons: tuple[Hit, ...]
    hidden: Mapping[str, int] = field(default_factory=dict[str, int])
    mode: str = "lexical"
    scope: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The result of storing a lesson: `status` is stored, merged (`lesson_id` is the other one) or quarantined."""

    lesson_id: str
    status: str
    reason: str | None = None
    text: str | None = None
    scope: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeDraft:
    """An outcome to be recorded. `success` is 1, 0.5 (partial) or 0; a recall, lessons, or both are named.

    `of_task` credits none of the recall's lessons: it is the task's outcome alone. `backed`: an agent's word, with
    results or a quotation that it typed.
    """

    success: float
    recall_id: str | None
    lesson_ids: tuple[str, ...]
    evidence: Evidence
    note: str | None
    of_task: bool = False
    backed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """A lesson after an outcome. Effectiveness is in 0..1."""

    id: str
    effectiveness: float
    times_applied: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeResult:
    """The result of `record_outcome`. `reason` says why it counts for less than was sent, or for nothing.

    `evidence` is `told` for results and quotations that an agent typed and no hook saw, else one of `Evidence`.
    """

    updated: tuple[Updated, ...]
    evidence: str
    reason: str | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """The result of `forget_lesson`."""

    lesson_id: str
    state: State
    scope: str
    ignored: tuple[str, ...] = ()
