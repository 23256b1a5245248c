"""Recalls: the query for the lessons that fit a task, and the answer with the few that do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from mcp_reflect.models.lesson import RecordKind, Source, Trust

FEW: Final = 3
"""Lessons that a recall returns where the caller says nothing else."""

BETWEEN_REASONS: Final = "; "
"""What stands between the reasons in `Hit.why`."""


class Fit(StrEnum):
    """How well a lesson fits a task. A weak hit never scores as much as a strong one."""

    STRONG = "strong"
    WEAK = "weak"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """A query of lessons."""

    task: str
    task_type: str | None = None
    context: str | None = None
    symptoms: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    kinds: tuple[RecordKind, ...] = ()
    limit: int = FEW
    max_chars: int = 4000  # of all lessons together
    min_importance: float = 0.0  # 0..1
    min_effectiveness: float = 0.0  # 0..1
    strong_only: bool = False  # leave out weak hits, as hooks and prompts do

    @property
    def wants_more(self) -> bool:
        """True if the caller asks for more lessons than an answer has by default."""
        return self.limit > FEW


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recalled lesson."""

    id: str
    external_id: str | None = None
    kind: RecordKind
    text: str  # as it is shown: whole, apart from the few that are very long
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
    is_told: bool = False
    age_days: int
    score: float  # 0..1, strong from .5; comparable between answers
    fit: Fit
    why: str  # the score explained in words, reason by reason
    scope: str | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons in `why`, the strongest first: ("same error", "imported from outside")."""
        return tuple(self.why.split(BETWEEN_REASONS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The result of `recall_lessons`."""

    recall_id: str
    lessons: tuple[Hit, ...]
    hidden: Mapping[str, int] = field(
        default_factory=dict[str, int]
    )  # how many were left out, by reason
    mode: str = (
        "lexical"  # "id" where a lesson was asked for by its id: its text is whole, however long
    )
    scope: str
    ignored: tuple[str, ...] = ()
