"""The claims of a piece of work, the verdicts on them, and the result of `critique`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mcp_reflect.models.reflection import Score


class Status(StrEnum):
    """The verdict on a claim.

    Evidence or computation supports (`pass`) or contradicts (`fail`) it. `unsupported`: it says that something was run
    or done, and no tool result shows it. `unchecked`: every other open claim.
    """

    PASS = "pass"  # noqa: S105 - a verdict, no password
    FAIL = "fail"
    UNSUPPORTED = "unsupported"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Evidence: the output of a tool, and its exit code where it had one."""

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

    `checked` = `supported` + `contradicted`; the rest is `unsupported` or `open`. `open_claims` quotes up to five of
    the rest, unsupported ones first.
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
    """The basis of the judgement."""

    CHECKED = "checked"
    TOOL_RESULTS = "tool_results"
    MODEL = "model"
    NONE = "none"


class Stopped(StrEnum):
    """The reason why the loop ended."""

    PASSED = "passed"
    BUDGET = "budget"
    SAME_ISSUES = "same_issues"
    NO_CHANGE = "no_change"
    DEADLINE = "deadline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """The validated critique of the host or a model. `quality_score` is in 0..1.

    `claims` has its verdict on each claim that it quotes, `unchecked` for what states no fact. The contradicted ones
    are issues too.
    """

    quality_score: float | None = None
    claims: Mapping[str, Status] = field(default_factory=dict[str, Status])
    issues: tuple[str, ...] = ()
    suggested_fix: str | None = None
    criteria: Mapping[str, Score] = field(default_factory=dict[str, Score])
    corrected_steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Critique:
    """The result of `critique`.

    Verdicts, coverage, score (0..1), gate and first_error_step (from 1) describe the work as it was sent. Rules give a
    score only where they checked every claim. The gate passes if nothing is contradicted or unsupported and either
    every claim was checked or the host or a model judged the work; it is None where this is unknown. `corrected_steps`
    is the best version, checked again, if it is better; `corrected_by` is its author: `rules`, `host` or a model.
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
    criteria: Mapping[str, Score] = field(default_factory=dict[str, Score])
    iterations: int
    stopped: Stopped | None = None
    basis: Basis
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    triggered_by: str | None = None
    reflection_time_ms: int
    ignored: tuple[str, ...] = ()
    next: Mapping[str, object] = field(default_factory=dict[str, object])
