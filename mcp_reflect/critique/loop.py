"""Verify, judge, correct and verify again, bounded. The best version seen wins."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from mcp_reflect.critique.verify import Verified, Verify, correct, letters, quoted_claim
from mcp_reflect.models.common import RULES
from mcp_reflect.models.critique import Claim, Opinion, Stopped, Verdict

MODEL: Final = "model"

Critic = Callable[[Verified], Awaitable[Opinion | None]]
"""Asks a model for its opinion of a version; None where no model can be asked or it gave none."""

Corrector = Callable[[Verified, Sequence[str]], Awaitable[tuple[str, ...]]]
"""Asks a model for steps without the issues; empty where no model can be asked or it gave none."""


Report = Callable[[int, Verified, tuple[str, ...] | None], Awaitable[None]]
"""Hears of version 0 as it was sent, of each correction as it starts, with its issues, and as it is verified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of the steps with the judge's opinion, and who wrote it (None: as it was sent)."""

    verified: Verified
    opinion: Opinion | None = None
    author: str | None = None

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims with the judge's verdicts; what rules are certain of stays wrong."""
        said = {judged.number: judged for judged in self.opinion.verdicts} if self.opinion else {}
        return tuple(
            replace(said[claim.number], lines=claim.lines)
            if claim.verdict is None and claim.number in said
            else claim
            for claim in self.verified.claims
        )

    @property
    def issues(self) -> tuple[str, ...]:
        """What is certainly wrong, what the judge calls wrong, and its other issues."""
        judged = [
            _issue(claim)
            for claim in self.claims
            if claim.verdict is Verdict.WRONG and claim.judge != RULES
        ]
        issues = (*self.verified.issues, *judged, *(self.opinion.issues if self.opinion else ()))
        corrected = self.opinion.corrected_steps if self.opinion else ()
        if issues or corrected in ((), self.verified.steps):
            return issues
        pairs = enumerate(zip_longest(self.verified.steps, corrected), start=1)
        return tuple(
            f"Step {place}: the judge corrects it"
            for place, (step, other) in pairs
            if step != other
        )

    @property
    def unjudged(self) -> tuple[Claim, ...]:
        """The claims without a verdict.

        An opinion judges the whole work if the work claims nothing. An opinion that finds no fault also covers all
        claims if there is no evidence to compare them with.
        """
        opinion = self.opinion
        if opinion and (
            self.verified.claims_nothing or (opinion.accepts and not self.verified.has_evidence)
        ):
            return ()
        return tuple(claim for claim in self.claims if claim.verdict is None)

    @property
    def rank(self) -> tuple[int, bool, float]:
        """The sort key: fewer certain faults, then no fault at all, then a higher score of the judge."""
        faults, sound = -len(self.verified.wrong), self.opinion is not None and not self.issues
        if self.opinion is None:
            return faults, sound, 0.0
        holds = sum(claim.verdict is Verdict.HOLDS for claim in self.claims) / max(
            len(self.claims), 1
        )
        said = self.opinion.quality_score
        return faults, sound, holds if said is None else said


def _issue(claim: Claim) -> str:
    reason = (
        f" {claim.correction}" if claim.correction else f" {claim.reason}" if claim.reason else ""
    )
    return (
        f'Step {claim.step}: "{quoted_claim(claim.text)}" is wrong{":" if reason else ""}{reason}'
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The result of a loop: the version as it was sent, the best one, the number of corrections, why it ended.

    `uncorrected` are the numbers of claims that the host calls wrong and that its corrections leave as they are.
    """

    first: Version
    best: Version
    iterations: int
    stopped: Stopped | None
    uncorrected: tuple[int, ...] = ()


async def run(
    steps: Sequence[str],
    *,
    goal: str,
    verify: Verify,
    critic: Critic,
    corrector: Corrector,
    max_iterations: int,
    report: Report,
    until: float,
) -> Run:
    """Correct until no issue is left, nothing changes, `max_iterations` are used, or `until` (monotonic seconds)."""
    verified = await asyncio.to_thread(verify, steps)
    await report(0, verified, None)
    current = first = best = Version(verified=verified, opinion=await critic(verified))
    stopped = Stopped.BUDGET if current.issues else Stopped.PASSED
    iteration = 0
    while current.issues and iteration < max_iterations:
        if time.monotonic() >= until:
            stopped = Stopped.DEADLINE
            break
        iteration += 1
        await report(iteration, current.verified, current.issues)
        corrected = await _corrected(current, goal, verify, corrector)
        if corrected is None:
            stopped = Stopped.NO_CHANGE
            break
        before, current = current, replace(corrected, opinion=await critic(corrected.verified))
        await report(iteration, current.verified, None)
        best = max(best, current, key=lambda version: version.rank)
        if current.opinion is None and before.opinion is not None and not current.verified.wrong:
            # The critic had spoken and gave no opinion now: nobody knows if its issues are gone.
            stopped = Stopped.DEADLINE if time.monotonic() >= until else Stopped.BUDGET
            break
        stopped = Stopped.BUDGET if current.issues else Stopped.PASSED
        if current.issues and set(current.issues) == set(before.issues):
            stopped = Stopped.SAME_ISSUES
            break
    return Run(first=first, best=best, iterations=iteration, stopped=stopped)


async def _corrected(
    version: Version, goal: str, verify: Verify, corrector: Corrector
) -> Version | None:
    """Return the next version, None if nothing changes.

    Insert what rules can compute, then the judge's corrections of claims. For other issues use the judge's corrected
    steps, else ask the corrector.
    """
    steps = version.verified.steps
    computed = await asyncio.to_thread(correct, steps, version.verified.wrong, goal=goal)
    computed, author = with_corrections(computed, version.claims), RULES
    after = version.verified
    if computed != steps:
        after = await asyncio.to_thread(verify, computed)
    opinion = version.opinion or Opinion()
    proposed = opinion.corrected_steps if len(opinion.corrected_steps) >= len(steps) else ()
    if proposed in ((), steps):
        judged = [
            claim
            for claim in version.claims
            if claim.verdict is Verdict.WRONG and claim.judge != RULES
        ]
        open_issues = [
            _issue(claim)
            for claim in judged
            if not (claim.correction and claim.text in steps[claim.step - 1])
        ]
        issues = (*after.issues, *open_issues, *opinion.issues)
        proposed = await corrector(after, issues) if issues else ()
    if proposed:
        after, author = await asyncio.to_thread(verify, proposed), MODEL
    return None if after.steps == steps else Version(verified=after, author=author)


def uncorrected(version: Version, after: Verified) -> tuple[int, ...]:
    """Return the numbers of the claims that the judge calls wrong and that still stand in later steps."""
    if after.claims_nothing:
        return ()
    standing = {letters(claim.text) for claim in after.claims}
    wrong = (
        claim for claim in version.claims if claim.verdict is Verdict.WRONG and claim.judge != RULES
    )
    return tuple(claim.number for claim in wrong if letters(claim.text) in standing)


def with_corrections(steps: Sequence[str], claims: Sequence[Claim]) -> tuple[str, ...]:
    """Return the steps with the judge's corrections in the place of the claims."""
    corrected = list(steps)
    for claim in claims:
        step = corrected[claim.step - 1] if claim.step <= len(corrected) else ""
        if claim.correction and claim.text in step:
            corrected[claim.step - 1] = step.replace(claim.text, claim.correction, 1)
    return tuple(corrected)
