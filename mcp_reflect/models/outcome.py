"""The outcomes of lessons: whether using one helped, and on what basis somebody says so."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

PARTIAL: Final = 0.5
"""The success of an outcome that says "partial"."""


class Evidence(StrEnum):
    """The basis of an outcome; an agent's own word counts least."""

    SELF = "self"
    USER = "user"
    METRIC = "metric"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeDraft:
    """An outcome to be recorded. It names a recall, lessons, or both."""

    success: float  # 1, PARTIAL or 0
    recall_id: str | None
    lesson_ids: tuple[str, ...]
    evidence: Evidence
    note: str | None
    of_task: bool = False  # the task's outcome alone: none of the recall's lessons is credited
    backed: bool = False  # an agent's word, with results or a quotation that the agent typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """A lesson after an outcome."""

    id: str
    effectiveness: float | None  # 0..1, None where no outcome counts for its worth yet
    times_applied: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeResult:
    """The result of `record_outcome`."""

    updated: tuple[Updated, ...]
    evidence: str  # "told" for what an agent typed and no hook saw, else one of `Evidence`
    reason: str | None = None  # why it counts for less than was sent, or for nothing
    counts: bool = True  # False where it changes the worth of no lesson
    ignored: tuple[str, ...] = ()
