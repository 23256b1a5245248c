"""Reflections: an agent's decision and its checks, the judgment of an agent or a model, and the stored record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_reflect.models.common import Json, Link
from mcp_reflect.models.lesson import LessonDraft
from mcp_reflect.models.run import Failure, WorkedCall

ACTIONS = ("keep", "kill", "marry")
"""The allowed actions where the caller names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionCheck:
    """The result of one check; `detail` is the fault where it failed."""

    check: str
    passed: bool
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The results of the checks. `reflection_success` is False if a language model failed to reflect."""

    valid: bool
    failed_check: str | None = None
    checks: tuple[DecisionCheck, ...] = ()
    reflection_success: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision that passed its checks. `action` is in lower case."""

    action: str
    component: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Insights:
    """The sections of a reflection. `raw_sections` keeps their headings as they were written."""

    summary: str | None = None
    strengths: tuple[str, ...] = ()
    improvements: tuple[str, ...] = ()
    recommendation: str | None = None
    raw_sections: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The score of one criterion in 0..1, None if it is unknown, and its reason."""

    score: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A verdict on a decision and its execution. `confidence` is high, medium or low; `scores` are by criterion."""

    decision_appropriate: bool | None = None
    execution_effective: bool | None = None
    confidence: str | None = None
    scores: Mapping[str, Score] = field(default_factory=dict[str, Score])


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A validated judgment of the host or a model. Scores are in 0..1.

    `insights` and `assessment` are read from its text; `scores` are by criterion.
    """

    reflection: str
    strategy: str | None = None
    importance: float | None = None
    confidence: float | None = None
    tags: tuple[str, ...] = ()
    mistake: str | None = None
    correction: str | None = None
    wrong_call: str | None = None
    right_call: str | None = None
    symptoms: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    source_event_ids: tuple[str, ...] = ()
    insights: Insights | None = None
    assessment: Assessment | None = None
    scores: Mapping[str, Score] = field(default_factory=dict[str, Score])
    raw_sections: Mapping[str, str] = field(default_factory=dict[str, str])
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedLesson:
    """A lesson of a reflection; `status` is stored, merged or quarantined."""

    id: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """The result of `reflect`. Scores are in 0..1, None if they are unknown.

    Where a check of the decision failed, `validation` names it and nothing was stored: `reflection_id` and `reflection`
    are empty.
    """

    reflection_id: str = ""
    strategy_id: str | None = None
    thinker: str  # host, rules or a model
    note: str | None = None  # why no model thought, or how its reply was read
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
    lessons: tuple[LearnedLesson, ...] = ()
    related: tuple[str, ...] = ()
    triggered_by: str | None = None
    generated_at: str
    cut: Mapping[str, int] = field(default_factory=dict[str, int])
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])  # by "input" and "output"
    scope: str
    ignored: tuple[str, ...] = ()
    next: Mapping[str, object] = field(default_factory=dict[str, object])  # a call that adds to it


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionDraft:
    """A reflection to be stored, with the records that come of it."""

    run: dict[str, Any]  # the JSON of a `Trace`
    reflection: Reflection
    body: dict[str, Json]  # the JSON of the reflection without ids
    digest: str  # of the run and its analysis: the same is not stored twice
    run_digest: str  # of the run alone: an equal reflection is found before a model is asked
    face: LessonDraft  # the record by which the reflection is recalled
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
