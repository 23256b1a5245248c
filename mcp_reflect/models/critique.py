"""The claims of a piece of work, the outputs that bear on it, and the result of `critique`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mcp_reflect.models.reflection import Score

NO_OUTPUT = "none was sent"
NO_GOAL = "Check this work"
"""Stands for the goal of work that was sent without one."""


_BETWEEN_LINES = " | "
_BESIDE_TABLES = " ⏎ "
"""Between lines with a `|` of their own."""


class Verdict(StrEnum):
    """A judge's verdict on a claim: what shows it, what contradicts it, or neither."""

    HOLDS = "holds"
    WRONG = "wrong"
    NOT_SHOWN = "not_shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Evidence: the output of a tool, and its exit code where it had one."""

    content: str
    tool: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOutput:
    """An output that bears on the work: its number from 1, its tool, how it ended, and its few telling lines.

    `failed_beside` are the numbers of the claims that say it went well, where it is the newest run and failed. `status`
    says what its lines do not: that an edit was rejected, that nothing was printed, that a file was changed since.
    """

    result: int
    tool: str
    exit_code: int | None = None
    lines: tuple[str, ...] = ()
    failed_beside: tuple[int, ...] = ()
    status: str | None = None

    @property
    def text(self) -> str:
        """The output in one line."""
        exit_code = "" if self.exit_code is None else f", exit {self.exit_code}"
        failed = ""
        if self.failed_beside:
            numbers = ", ".join(map(str, self.failed_beside))
            failed = f", failed (claim {numbers} says it went well)"
        status = f", {self.status}" if self.status else ""
        head = f"{self.tool}{exit_code}{failed}{status}"
        if not self.lines:
            return head
        mark = _BESIDE_TABLES if any("|" in line for line in self.lines) else _BETWEEN_LINES
        return f"{head}: {mark.join(self.lines)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement of the work and the verdict on it. Numbers and steps count from 1.

    `outputs` are the places of the outputs that are shown for it; `unproven` marks one that says that something went
    well, where no run shows it or the newest one failed. `computes` marks an equation that holds; if it is
    the one to make is for the judge. `judge` gave the verdict: `rules`, `host` or a model. `reason` is what shows it,
    `correction` what would be right.
    """

    number: int
    step: int
    text: str
    outputs: tuple[int, ...] = ()
    unproven: bool = False
    computes: bool = False
    verdict: Verdict | None = None
    judge: str | None = None
    reason: str | None = None
    correction: str | None = None


class Action(StrEnum):
    """What to do with the work: hand it over, change it, or get evidence first."""

    KEEP = "keep"
    REVISE = "revise"
    VERIFY_FIRST = "verify_first"


class StopReason(StrEnum):
    """The reason why the loop ended."""

    PASSED = "passed"
    BUDGET = "budget"
    SAME_ISSUES = "same_issues"
    NO_CHANGE = "no_change"
    DEADLINE = "deadline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """The critique of the host or a model, as read. `quality_score` is in 0..1."""

    accepts: bool = False
    verdicts: tuple[Claim, ...] = ()
    issues: tuple[str, ...] = ()
    quality_score: float | None = None
    suggested_fix: str | None = None
    criteria: Mapping[str, Score] = field(default_factory=dict[str, Score])
    corrected_steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Critique:
    """The result of `critique`.

    Claims, score (0..1), gate and first_error_step (from 1) describe the work as it was sent. Gate and score are None
    until the host or a model has judged every claim; where one is certainly wrong, the gate is False. `outputs` are
    those that bear on the work, `other_outputs` counts the rest; `left_out` says which sentences are no statements.
    `corrected_steps` is the better version, if there is one; `corrected_by` is its author: `rules`, `host` or a model.
    `action` is None where nothing is left but to judge the claims.
    `evidence` says where the outputs came from, if not from the call: those of the session, or none.
    """

    critique_id: str
    thinker: str
    note: str | None = None
    evidence: str | None = None
    passes_quality_gate: bool | None = None
    quality_score: float | None = None
    action: Action | None
    claims: tuple[Claim, ...] = ()
    outputs: tuple[ShownOutput, ...] = ()
    other_outputs: int | None = None
    left_out: str | None = None
    first_error_step: int | None = None
    issues: tuple[str, ...] = ()
    suggested_fix: str | None = None
    should_retry: bool
    retry_guidance: str | None = None
    corrected_steps: tuple[str, ...] = ()
    corrected_by: str | None = None
    criteria: Mapping[str, Score] = field(default_factory=dict[str, Score])
    iterations: int
    stopped: StopReason | None = None
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    triggered_by: str | None = None
    reflection_time_ms: int
    ignored: tuple[str, ...] = ()
    next: Mapping[str, object] = field(default_factory=dict[str, object])
