"""All checkers over a piece of work, and what their findings add up to."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.critique.checks.checker import Finding, Work
from mcp_reflect.critique.checks.foreign import Foreign
from mcp_reflect.critique.checks.registry import checkers
from mcp_reflect.models.critique import Basis, Status, Verdict

CLAIM: Final = 300
"""The most characters of a claim that is quoted."""

EVIDENCE: Final = ("evidence", "execution")
"""The checkers whose word rests on tool results; the others compute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A version of the steps and what the checkers said of it."""

    steps: tuple[str, ...]
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    problems: tuple[str, ...] = ()

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
    named: list[tuple[str, Finding]] = []
    problems: list[str] = []
    for checker in checkers():
        found = checker.findings(work) if isinstance(checker, Foreign) else tuple(checker.check(work))
        if isinstance(found, str):
            problems.append(found)
        else:
            named += [(checker.name, finding) for finding in found]
    named.sort(key=lambda pair: pair[1].step)
    return Verified(
        steps=work.steps,
        findings=tuple(finding for _, finding in named),
        verdicts=tuple(_verdicts(named)),
        problems=tuple(problems),
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
    detail = verdict.detail or ""
    told = verdict.checker == "arithmetic" or detail.startswith(verdict.claim)
    return f"Step {verdict.step}: {in_words(verdict)}{f' ({detail})' if detail and not told else ''}"


def in_words(verdict: Verdict) -> str:
    """What is right and what is wrong: `15 × 12.99 = 194.85, not 195.00`."""
    claim = verdict.claim if len(verdict.claim) <= CLAIM else f"{verdict.claim[: CLAIM - 1]}…"
    if verdict.expected is None:
        return f"{claim}: contradicted"
    left, equals, right = claim.rpartition("=")
    if equals and left.strip() and "=" not in verdict.expected and left.strip()[-1] not in "<>!=":
        return f"{left.rstrip()} = {verdict.expected}, not {right.strip()}"
    return f"{verdict.expected}, not: {claim}"


def told(verified: Verified) -> str:
    """The state of a version in words a person can follow."""
    checked = len({verdict.step for verdict in verified.verdicts if verdict.status is not Status.UNCHECKED})
    line = f"{len(verified.steps)} steps, {checked} checked"
    first = verified.failed[0] if verified.failed else None
    if first is None:
        return line
    return f"{line}; step {first.step}: {in_words(first)}"
