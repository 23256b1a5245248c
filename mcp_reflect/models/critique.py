"""The result of checking a piece of work."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

# What checking a piece of work against evidence said.


class Status(StrEnum):
    """What is known of a claim: contradicted by evidence is fail, merely unsupported is unchecked."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    FAIL = "fail"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Evidence: what a tool printed or returned, and its exit code where it had one."""

    content: str
    tool: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One checker's word on one claim of one step. Steps count from 1."""

    step: int
    status: Status
    checker: str
    claim: str
    expected: str | None = None
    detail: str | None = None


# What critique says of a piece of work.


class Action(StrEnum):
    """What to do with the work: hand it over, change it, or get evidence first."""

    KEEP = "keep"
    REVISE = "revise"
    VERIFY_FIRST = "verify_first"


class Basis(StrEnum):
    """What the judgement rests on: computed checks, what tools returned, a model's opinion, or nothing."""

    CHECKED = "checked"
    TOOL_RESULTS = "tool_results"
    MODEL = "model"
    NONE = "none"


class Stopped(StrEnum):
    """Why the loop ended."""

    PASSED = "passed"
    BUDGET = "budget"
    SAME_ISSUES = "same_issues"
    NO_CHANGE = "no_change"
    DEADLINE = "deadline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A criterion's score in 0..1, and why."""

    score: float
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What the host or a model said of the work, validated. A score in 0..1 is null where it gave none."""

    quality_score: float | None = None
    issues: tuple[str, ...] = ()
    suggested_fix: str | None = None
    criteria: Mapping[str, Score] = field(default_factory=dict[str, Score])
    corrected_steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Critique:
    """What `critique` returns.

    Verdicts, score, gate and first_error_step are those of the work as it was sent; `corrected_steps` is
    the best version seen, verified, where there is a better one. Steps count from 1. The score is in 0..1,
    and null, as the gate is, where nothing could be checked and nobody judged.
    """

    critique_id: str
    thinker: str
    note: str | None = None
    passes_quality_gate: bool | None = None
    quality_score: float | None = None
    action: Action
    verdicts: tuple[Verdict, ...] = ()
    first_error_step: int | None = None
    issues: tuple[str, ...] = ()
    suggested_fix: str | None = None
    should_retry: bool
    retry_guidance: str | None = None
    corrected_steps: tuple[str, ...] = ()
    criteria: Mapping[str, Score] = field(default_factory=dict[str, Score])
    iterations: int
    stopped: Stopped | None = None
    basis: Basis
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    triggered_by: str | None = None
    reflection_time_ms: int
    next: Mapping[str, object] = field(default_factory=dict[str, object])
