"""Lessons: what the bank keeps of one, and how far it is trusted."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

EDITABLE: Final = tuple(
    "mistake correction why task_type importance tags wrong_call right_call guard".split()
)
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


class GuardMode(StrEnum):
    """What a guard does at a call that goes against its lesson; a lesson without a mode follows the setting."""

    ENFORCE = "enforce"  # refused every time
    HOLD = "hold"  # refused once, if a person stands behind the lesson
    TELL = "tell"
    OFF = "off"


_PRIOR_OUTCOMES: Final = 4
"""Outcomes, two good and two bad, that each lesson is taken to have had before its first: one alone says little."""
UNKNOWN_SCORE: Final = 0.5
"""The score of a record without a score."""
HARMFUL_RATE: Final = 0.25
"""The smoothed rate of good outcomes at which a lesson is no longer recalled."""


def is_kept(
    trust: Trust, source: Source, guard_mode: GuardMode | None, pinned_at: float | None
) -> bool:
    """Return whether a person keeps a record with these values: they wrote it, trust it, armed its guard or pinned it.

    Storage asks this of the columns of a row before it makes a `Lesson` of them. `pinned_at` is None for one that is
    not pinned.
    """
    is_trusted = trust is Trust.TRUSTED or source is Source.PERSON
    may_refuse_calls = guard_mode in (GuardMode.ENFORCE, GuardMode.HOLD)
    return is_trusted or may_refuse_calls or pinned_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonDraft:
    """A record to be stored. Scores are in 0..1."""

    kind: RecordKind = RecordKind.LESSON
    text: str
    mistake: str | None = None  # of lessons alone, as is the correction
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
    wrong_call: str | None = None  # a shell command, or JSON of {tool, arguments}
    right_call: str | None = None  # same
    guard: str | None = None  # the readable form of `guards.guard`: "`git push` with `--force`"
    unarmed: str | None = None  # why its guard does nothing yet, None if it does
    guard_mode: GuardMode | None = None
    state: State = State.ACTIVE
    trust: Trust = Trust.OBSERVED
    source: Source = Source.AGENT
    told: bool = False  # an agent gave it as a person's word


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson(LessonDraft):
    """A stored record. Times are seconds since 1970 (UTC)."""

    id: str
    project: str
    context_hash: str | None = None
    held: str | None = None  # why it is in quarantine, None if it is not
    outside: bool = False  # its words repeat words from outside
    agent: str | None = None  # the program whose agent stored it
    suspicion: str | None = None  # why hooks and prompts do not show it, None if they do
    rules_version: int = 0  # of the rules that judged the suspicion; 0: none did yet
    reflection_id: str | None = None
    strength: int = 1  # how often it was learned
    times_applied: int = 0
    effectiveness: float | None = None  # 0..1, None until the first outcome
    wins: float = 0.0  # the sum of good outcomes, weighted by evidence
    losses: float = 0.0  # the sum of bad ones, weighted in the same way
    proof: float = 0.0  # the weight of the outcomes that are more than an agent's own word
    guard_repeats: int = (
        0  # calls against its guard, one after the other, that were made and worked
    )
    pinned_at: float | None = None  # None if no person pinned it
    created_at: float
    updated_at: float

    @property
    def rate(self) -> float:
        """The rate of its good outcomes, 0..1, smoothed by four outcomes at an even chance: lessons rank by it."""
        outcomes = self.wins + self.losses
        return (self.wins + _PRIOR_OUTCOMES / 2) / (outcomes + _PRIOR_OUTCOMES)

    @property
    def harmful(self) -> bool:
        """True if its outcomes prove that it does more harm than good: four failures in a row, or as clear a record.

        Outcomes never take a lesson out of use that a person keeps.
        """
        return self.rate <= HARMFUL_RATE and not self.is_kept_by_person

    @property
    def is_kept_by_person(self) -> bool:
        """True if a person wrote, trusts, enforces or pinned it: an agent may propose a change of it, and never makes one."""
        return is_kept(self.trust, self.source, self.guard_mode, self.pinned_at)

    @property
    def is_told(self) -> bool:
        """True if an agent says that a person said so, and no person keeps it: nobody knows whether that is right."""
        return self.told and not self.is_kept_by_person

    def estimate(self) -> dict[str, float | bool]:
        """Return what its outcomes say: the smoothed rate (`mean`) to three places, and whether it is harmful."""
        return {"mean": round(self.rate, 3), "harmful": self.harmful}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The result of storing a lesson.

    | `status`    | `lesson_id` is of                                                        |
    |-------------|--------------------------------------------------------------------------|
    | stored      | the new lesson                                                           |
    | quarantined | the new lesson, which waits for a person                                 |
    | merged      | the stored lesson that says the same                                     |
    | proposed    | the stored lesson that a person keeps, and decides whether to change     |
    """

    lesson_id: str
    status: str
    reason: str | None = None
    text: str | None = None  # the lesson as it is kept, None in quarantine
    similar: tuple[str, str] | None = None  # a lesson of nearly the same meaning: its id, its text
    guard: str | None = None
    evidence: str | None = None  # "told" for a person's word that an agent gave
    scope: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """The result of `forget_lesson`. `reason` says why the lesson stays: a person decides."""

    lesson_id: str
    state: State
    reason: str | None = None
    scope: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Conditions on records; None and empty mean any. All `words` must occur, in any case (of ASCII letters).

    `held` asks for records in quarantine, False for others. Records without an outcome have no effectiveness (0..1).
    """

    words: tuple[str, ...] = ()
    kind: RecordKind | None = RecordKind.LESSON
    state: State | None = State.ACTIVE
    held: bool | None = None
    task_type: str | None = None
    tag: str | None = None
    min_effectiveness: float | None = None
    limit: int = 50
    offset: int = 0
