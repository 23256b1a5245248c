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
    """An output that bears on the work, with its few telling lines."""

    result: int  # its number among the outputs, from 1
    tool: str
    exit_code: int | None = None
    lines: tuple[str, ...] = ()
    failed_beside: tuple[int, ...] = ()  # claims that say the newest run went well, which failed
    status: str | None = None  # what no line says: an edit was rejected, nothing was printed
    is_plain: bool = True  # False if it only shares much with the claims, and may decide none

    @property
    def text(self) -> str:
        """The output in one line: "pytest, exit 1, failed (claim 2 says it went well): 1 failed | FAILED test_a"."""
        head = [self.tool]
        if self.exit_code is not None:
            head.append(f"exit {self.exit_code}")
        if self.failed_beside:
            numbers = ", ".join(map(str, self.failed_beside))
            head.append(f"failed (claim {numbers} says it went well)")
        if self.status:
            head.append(self.status)
        if not self.lines:
            return ", ".join(head)
        has_tables = any("|" in line for line in self.lines)
        separator = _BESIDE_TABLES if has_tables else _BETWEEN_LINES
        return f"{', '.join(head)}: {separator.join(self.lines)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement of the work and the verdict on it."""

    number: int  # from 1
    step: int  # from 1
    text: str
    outputs: tuple[int, ...] = ()  # the numbers of the outputs that bear on it, from 1
    unproven: bool = (
        False  # it says that a run went well, and none shows that, or the newest failed
    )
    computes: bool = (
        False  # its sum is right; whether it is the sum to make is for the judge to say
    )
    verdict: Verdict | None = None
    judge: str | None = None  # who gave the verdict: `rules`, `host` or a model
    reason: str | None = None  # what shows the verdict
    correction: str | None = None  # what would be right


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
    """The result of `critique`. Claims, score, gate and first error describe the work as it was sent.

    Gate and score are None until the host or a model has judged every claim; where one is certainly wrong, the gate is
    False.
    """

    critique_id: str
    thinker: str
    note: str | None = None
    evidence: str | None = None  # where the outputs came from, if not from the call
    passes_quality_gate: bool | None = None
    quality_score: float | None = None  # 0..1
    action: Action | None  # None where nothing is left but to judge the claims
    claims: tuple[Claim, ...] = ()
    outputs: tuple[ShownOutput, ...] = ()  # those that bear on the work, the plain ones first
    other_outputs: int | None = None  # how many others there are
    left_out: str | None = None  # which sentences of the work are no statements
    first_error_step: int | None = None  # from 1
    issues: tuple[str, ...] = ()
    suggested_fix: str | None = None
    should_retry: bool
    retry_guidance: str | None = None
    corrected_steps: tuple[str, ...] = ()  # the better version, where there is one
    corrected_by: str | None = None  # the author of that: `rules`, `host` or a model
    criteria: Mapping[str, Score] = field(default_factory=dict[str, Score])
    iterations: int
    stopped: StopReason | None = None
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    triggered_by: str | None = None
    reflection_time_ms: int
    ignored: tuple[str, ...] = ()
    next: Mapping[str, object] = field(default_factory=dict[str, object])
