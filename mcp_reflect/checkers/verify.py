"""Run all checkers over a piece of work, and add up what they found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mcp_reflect.checkers.base import Finding, ForeignChecker, Work, checkers
from mcp_reflect.checkers.coverage import coverage, open_claims
from mcp_reflect.models.critique import Basis, Coverage, Status, Verdict

MOST_QUOTED: Final = 300
"""The most characters of a claim that is quoted."""

_BY_EVIDENCE: Final = frozenset({"evidence", "execution"})
"""The checkers whose verdicts rest on tool results; the others compute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A version of the steps with its verdicts.

    `left_open` are the claims that no checker decided, as (step, text). `problems` says which checkers of other
    packages failed.
    """

    steps: tuple[str, ...]
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    left_open: tuple[tuple[int, str], ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """The claims that evidence or computation contradicts."""
        return self._of(Status.FAIL)

    @property
    def passed(self) -> int:
        return len(self._of(Status.PASS))

    @property
    def unsupported(self) -> tuple[Verdict, ...]:
        return self._of(Status.UNSUPPORTED)

    def _of(self, *statuses: Status) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.status in statuses)

    @property
    def coverage(self) -> Coverage:
        return coverage(self.findings, self.left_open)

    @property
    def complete(self) -> bool:
        """True if there are claims and a checker decided each of them."""
        counted = self.coverage
        return counted.claims > 0 and counted.checked == counted.claims

    @property
    def share(self) -> float | None:
        """Return passed / (passed + failed), None where nothing was decided."""
        decided = self.passed + len(self.failed)
        return self.passed / decided if decided else None

    @property
    def first_error(self) -> int | None:
        return min((verdict.step for verdict in self.failed), default=None)

    @property
    def basis(self) -> Basis:
        """The basis of the decided verdicts; tool results outweigh computation."""
        deciding = {verdict.checker for verdict in self._of(Status.PASS, Status.FAIL)}
        if deciding & _BY_EVIDENCE:
            return Basis.TOOL_RESULTS
        return Basis.CHECKED if deciding else Basis.NONE

    @property
    def issues(self) -> tuple[str, ...]:
        """One sentence for each contradicted claim."""
        return tuple(_issue(verdict) for verdict in self.failed)


Verify = Callable[[Sequence[str]], Verified]


def verifier(work: Work) -> Verify:
    """Return a function that checks other steps for the same goal and evidence."""
    return lambda steps: _verified(replace(work, steps=tuple(steps)))


def _verified(work: Work) -> Verified:
    named: list[tuple[str, Finding]] = []
    problems: list[str] = []
    for checker in checkers():
        findings = checker.findings(work) if isinstance(checker, ForeignChecker) else tuple(checker.check(work))
        if isinstance(findings, str):
            problems.append(findings)
        else:
            named += [(checker.name, finding) for finding in findings]
    named.sort(key=lambda pair: pair[1].step)
    findings = tuple(finding for _, finding in named)
    return Verified(
        steps=work.steps,
        findings=findings,
        verdicts=tuple(
            Verdict(step=f.step, status=f.status, checker=name, claim=f.claim, expected=f.expected, detail=f.detail)
            for name, f in named
        ),
        left_open=open_claims(work.steps, findings),
        problems=tuple(problems),
    )


def _issue(verdict: Verdict) -> str:
    detail = verdict.detail or ""
    repeats = verdict.checker == "arithmetic" or detail.startswith(verdict.claim)
    return f"Step {verdict.step}: {in_words(verdict)}{f' ({detail})' if detail and not repeats else ''}"


def quoted_claim(claim: str) -> str:
    """Return a claim cut to MOST_QUOTED characters."""
    return claim if len(claim) <= MOST_QUOTED else f"{claim[: MOST_QUOTED - 1]}…"


def in_words(verdict: Verdict) -> str:
    """Say what is right and what is wrong: `15 × 12.99 = 194.85, not 195.00`."""
    claim = quoted_claim(verdict.claim)
    if verdict.expected is None:
        return f"{claim}: contradicted"
    left, equals, right = claim.rpartition("=")
    if equals and left.strip() and "=" not in verdict.expected and left.strip()[-1] not in "<>!=":
        return f"{left.rstrip()} = {verdict.expected}, not {right.strip()}"
    return f"{verdict.expected}, not: {claim}"


def progress_of(verified: Verified) -> str:
    """Say how far a version is, in one line."""
    steps = {verdict.step for verdict in verified.verdicts if verdict.status in (Status.PASS, Status.FAIL)}
    line = f"{len(verified.steps)} steps, {len(steps)} checked"
    if not verified.failed:
        return line
    first = verified.failed[0]
    return f"{line}; step {first.step}: {in_words(first)}"
