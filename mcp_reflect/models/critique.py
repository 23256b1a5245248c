"""A piece of work's claims, what is known of them, and the result of `critique`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Status(StrEnum):
    """What is known of a claim.

    `pass` is supported and `fail` contradicted, by evidence or computation. `unsupported` says that something
    was run or done and no tool result shows it. `unchecked` is every other open claim.
    """

    PASS = "pass"  # noqa: S105 - a verdict, no password
    FAIL = "fail"
    UNSUPPORTED = "unsupported"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Evidence: what a tool printed or returned, and its exit code where it had one."""

    content: str
    tool: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One checker's verdict on one claim of one step. Steps count from 1."""

    step: int
    status: Status
    checker: str
    claim: str
    expected: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of the work the verdicts cover, in numbers of claims.

    `checked` = `supported` + `contradicted`; the rest is `unsupported` or `open`. `open_claims` quotes up to
    five of the rest, unsupported ones first.
    """

    claims: int
    checked: int
    supported: int
    contradicted: int
    unsupported: int
    open: int
    open_claims: tuple[str, ...] = ()


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
class CriterionScore:
    """A criterion's score in 0..1, and why."""

    score: float
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """The validated critique of the host or a model. `quality_score` is in 0..1, None where it gave none."""

    quality_score: float | None = None
    issues: tuple[str, ...] = ()
    suggested_fix: str | None = None
    criteria: Mapping[str, CriterionScore] = field(default_factory=dict[str, CriterionScore])
    corrected_steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Critique:
    """The result of `critique`.

    Verdicts, coverage, score, gate and first_error_step describe the work as it was sent. `corrected_steps` is
    the best version seen, checked again, where there is a better one; `corrected_by` names its author: `rules`,
    `host` or a model. Steps count from 1. The score is in 0..1. Rules give a score only where they checked every
    claim. The gate passes if nothing is contradicted or unsupported and either every claim was checked or the
    host or a model judged the work; it is None where this is unknown.
    """

    critique_id: str
    thinker: str
    note: str | None = None
    passes_quality_gate: bool | None = None
    quality_score: float | None = None
    action: Action
    coverage: Coverage
    verdicts: tuple[Verdict, ...] = ()
    first_error_step: int | None = None
    issues: tuple[str, ...] = ()
    suggested_fix: str | None = None
    should_retry: bool
    retry_guidance: str | None = None
    corrected_steps: tuple[str, ...] = ()
    corrected_by: str | None = None
    criteria: Mapping[str, CriterionScore] = field(default_factory=dict[str, CriterionScore])
    iterations: int
    stopped: Stopped | None = None
    basis: Basis
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    triggered_by: str | None = None
    reflection_time_ms: int
    ignored: tuple[str, ...] = ()
    next: Mapping[str, object] = field(default_factory=dict[str, object])
