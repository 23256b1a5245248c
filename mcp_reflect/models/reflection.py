"""Reflections: the judgement of an agent or a model, and the record that is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_reflect.models.common import Json
from mcp_reflect.models.decision import Validation
from mcp_reflect.models.lesson import LessonDraft
from mcp_reflect.models.run import Failure, WorkedCall

# Looking back: what the agent or a model judged, and what a stored reflection says.


@dataclass(frozen=True, slots=True, kw_only=True)
class Insights:
    """What a reflection says, by heading. `raw_sections` keeps the headings as they were written."""

    summary: str | None = None
    strengths: tuple[str, ...] = ()
    improvements: tuple[str, ...] = ()
    recommendation: str | None = None
    raw_sections: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What an evaluator makes of one criterion: 0..1, null where it cannot be known, and why."""

    score: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """Whether the decision was right and its execution did what it should; null where nobody said.

    `confidence` is high, medium or low. `scores` are an evaluator's, by criterion.
    """

    decision_appropriate: bool | None = None
    execution_effective: bool | None = None
    confidence: str | None = None
    scores: Mapping[str, Score] = field(default_factory=dict[str, Score])


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A judgement that came from the host or a model, validated. Scores are in 0..1, null where not given.

    `insights` and `assessment` are read off its text; `scores` are what it says of criteria.
    """

    reflection: str
    strategy: str | None = None
    importance: float | None = None
    confidence: float | None = None
    tags: tuple[str, ...] = ()
    mistake: str | None = None
    correction: str | None = None
    symptoms: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    source_event_ids: tuple[str, ...] = ()
    insights: Insights | None = None
    assessment: Assessment | None = None
    scores: Mapping[str, Score] = field(default_factory=dict[str, Score])
    raw_sections: Mapping[str, str] = field(default_factory=dict[str, str])
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntLesson:
    """What became of a lesson that a reflection made: stored, merged or quarantined."""

    id: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """What `reflect` returns. Scores are in 0..1; what nobody could know is null, and left out.

    `thinker` names who thought (host, rules, or a model), `note` says why nobody above that rung did, or
    how the answer was read; `next` says what would make it better. Where a check of the decision failed,
    `validation` says which, nothing was stored, and `reflection_id` and `reflection` are empty.
    """

    reflection_id: str = ""
    strategy_id: str | None = None
    thinker: str
    note: str | None = None
    reflection: str = ""
    strategy: str | None = None
    importance: float | None = None
    confidence: float | None = None
    tags: tuple[str, ...] = ()
    error_category: str | None = None
    first_failing_event: str | None = None
    source_event_ids: tuple[str, ...] = ()
    insights: Insights | None = None
    assessment: Assessment | None = None
    validation: Validation | None = None
    lessons: tuple[LearntLesson, ...] = ()
    related: tuple[str, ...] = ()
    triggered_by: str | None = None
    generated_at: str
    cut: Mapping[str, int] = field(default_factory=dict[str, int])
    scope: str
    ignored: tuple[str, ...] = ()
    next: Mapping[str, object] = field(default_factory=dict[str, object])


# A reflection as it is written into the bank, with all that belongs to it, in one transaction.


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A tie from a record to another one, or to an event, tool, file or error code."""

    relation: str
    to_kind: str
    to_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionDraft:
    """A reflection on its way into the bank. `body` is `reflection` as JSON, without the ids that storage assigns.

    `digest` identifies the run and its analysis: the same one again is not stored twice. `run_digest` identifies the
    run alone, to find an equal reflection before a model is asked.
    """

    task: str
    task_type: str | None
    outcome: str
    run_id: str | None
    thinker: str
    trace: Json
    reflection: Reflection
    body: dict[str, Json]
    digest: str
    run_digest: str
    face: LessonDraft
    strategy: LessonDraft | None
    lessons: tuple[LessonDraft, ...]
    failures: tuple[Failure, ...]
    worked: tuple[WorkedCall, ...] = ()
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReflection:
    """A reflection in the bank. Times are seconds since 1970 (UTC)."""

    id: str
    project: str
    task: str
    outcome: str
    thinker: str
    trace: Json
    body: dict[str, Json]
    digest: str
    version: int
    created_at: float
    updated_at: float
