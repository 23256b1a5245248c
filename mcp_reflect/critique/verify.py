"""All checkers over a piece of work, and what their findings add up to."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.critique.checks.checker import Finding, Work
from mcp_reflect.critique.checks.registry import checkers
from mcp_reflect.records.critique import Basis
from mcp_reflect.records.verdict import Status, Verdict

EVIDENCE: Final = ("evidence", "execution")
"""The checkers whose word rests on tool results; the others compute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A version of the steps and what the checkers said of it."""

    steps: tuple[str, ...]
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """What evidence or computation contradicts."""
        return tuple(verdict for verdict in self.verdicts if verdict.status is Status.FAIL)

    @property
    def passed(self) -> int:
        return sum(verdict.status is Status.PASS for verdict in self.verdicts)

    @property
    def unchecked(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.status is Status.UNCHECKED)

    @property
    def score(self) -> float | None:
        """passed / (passed + failed), null where nothing was checked."""
        checked = self.passed + len(self.failed)
        return self.passed / checked if checked else None

    @property
    def first_error(self) -> int | None:
        return min((verdict.step for verdict in self.failed), default=None)

    @property
    def basis(self) -> Basis:
        """What the verdicts rest on; tool results count before computation."""
        known = {verdict.checker for verdict in self.verdicts if verdict.status is not Status.UNCHECKED}
        if known & set(EVIDENCE):
            return Basis.TOOL_RESULTS
        return Basis.CHECKED if known else Basis.NONE

    @property
    def issues(self) -> tuple[str, ...]:
        """One sentence for each failure."""
        return tuple(_issue(verdict) for verdict in self.failed)


Verify = Callable[[Sequence[str]], Verified]


def verifier(work: Work) -> Verify:
    """A function that checks other steps for the same goal and evidence."""

    def verify(steps: Sequence[str]) -> Verified:
        return _verified(
            Work(
                goal=work.goal,
                steps=tuple(steps),
                tool_results=work.tool_results,
                decided=work.decided,
                executed=work.executed,
            )
        )

    return verify


def _verified(work: Work) -> Verified:
    named = [(checker.name, finding) for checker in checkers() for finding in checker.check(work)]
    named.sort(key=lambda pair: pair[1].step)
    return Verified(
        steps=work.steps,
        findings=tuple(finding for _, finding in named),
        verdicts=tuple(_verdicts(named)),
    )


def _verdicts(named: Iterable[tuple[str, Finding]]) -> Iterable[Verdict]:
    for name, finding in named:
        yield Verdict(
            step=finding.step,
            status=finding.status,
            checker=name,
            claim=finding.claim,
            expected=finding.expected,
            detail=finding.detail,
        )


def _issue(verdict: Verdict) -> str:
    expected = f": expected {verdict.expected}" if verdict.expected else ""
    detail = f" ({verdict.detail})" if verdict.detail else ""
    return f"Step {verdict.step}: {verdict.claim}{expected}{detail}"


def told(verified: Verified) -> str:
    """The state of a version in words a person can follow."""
    checked = len({verdict.step for verdict in verified.verdicts if verdict.status is not Status.UNCHECKED})
    line = f"{len(verified.steps)} steps, {checked} checked"
    first = verified.failed[0] if verified.failed else None
    if first is None:
        return line
    return f"{line}; step {first.step}: {first.expected or 'contradicted'}, not {first.claim}"
