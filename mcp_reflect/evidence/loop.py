"""Verify, judge, correct and verify again, bounded. The best version seen wins."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from mcp_reflect.evidence.verifying import Verified, Verify, letters
from mcp_reflect.models.common import RULES
from mcp_reflect.models.critique import Claim, Opinion, StopReason, Verdict

MODEL: Final = "model"

Critic = Callable[[Verified], Awaitable[Opinion | None]]
"""Asks a model for its opinion of a version; None where no model can be asked or it gave none."""

Corrector = Callable[[Verified, Sequence[str]], Awaitable[tuple[str, ...]]]
"""Asks a model for steps without the issues; empty where no model can be asked or it gave none."""


OnStart = Callable[[int, tuple[str, ...]], None]
"""Hears of each correction as it starts: its number, and the issues that it is to solve."""

OnVersion = Callable[[int, Verified], Awaitable[None]]
"""Hears of each version as it is verified: version 0 is the work as it was sent, others have their correction's number."""


MOST_QUOTED: Final = 300
"""The most characters of a claim that is quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of the steps with the judge's opinion, and who wrote it (None: as it was sent)."""

    verified: Verified
    opinion: Opinion | None = None
    author: str | None = None

    @property
    def _opinion(self) -> Opinion:
        """The judge's opinion, without a word where it gave none."""
        return self.opinion or Opinion()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims with the judge's verdicts; what is certainly wrong stays wrong."""
        judged = {claim.number: claim for claim in self._opinion.verdicts}
        return tuple(
            _with_verdict(claim, judged.get(claim.number)) for claim in self.verified.claims
        )

    @property
    def judged_wrong(self) -> tuple[Claim, ...]:
        """The claims that the judge calls wrong."""
        return tuple(
            claim
            for claim in self.claims
            if claim.verdict is Verdict.WRONG and claim.judge != RULES
        )

    @property
    def issues(self) -> tuple[str, ...]:
        """What is certainly wrong, what the judge calls wrong, and its other issues."""
        certain = self.verified.issues
        judged = map(issue_of, self.judged_wrong)
        issues = (*certain, *judged, *self._opinion.issues)
        return issues or self._corrected_without_a_word

    @property
    def _corrected_without_a_word(self) -> tuple[str, ...]:
        """A judge that corrects steps and names no issue does not accept them."""
        corrected = self._opinion.corrected_steps
        if corrected in ((), self.verified.steps):
            return ()
        pairs = enumerate(zip_longest(self.verified.steps, corrected), start=1)
        return tuple(
            f"Step {number}: the judge corrects it"
            for number, (step, other) in pairs
            if step != other
        )

    @property
    def unjudged(self) -> tuple[Claim, ...]:
        """The claims without a verdict.

        An opinion in plain words that finds no fault covers all claims if there is no evidence to compare them with.
        """
        if self.opinion and self._covers_all(self.opinion):
            return ()
        return tuple(claim for claim in self.claims if claim.verdict is None)

    def _covers_all(self, opinion: Opinion) -> bool:
        """Return whether an opinion without verdicts is one on each claim."""
        return not self.verified.claims or (opinion.accepts and not self.verified.has_evidence)

    @property
    def share_that_holds(self) -> float:
        """The share of claims that hold, in 0..1."""
        holds = sum(claim.verdict in (Verdict.HOLDS, None) for claim in self.claims)
        return holds / max(len(self.claims), 1)

    @property
    def rank(self) -> tuple[int, bool, float]:
        """The sort key: fewer certain faults, then no fault at all, then a higher score of the judge."""
        faults = -len(self.verified.faults)
        if self.opinion is None:
            return faults, False, 0.0
        score = self.opinion.quality_score
        if score is None:
            score = self.share_that_holds
        return faults, not self.issues, score


def _with_verdict(claim: Claim, judged: Claim | None) -> Claim:
    """Return a claim with the judge's verdict, if it has one; a verdict by rules stays, since it is certain."""
    if claim.verdict is not None or judged is None:
        return claim
    return replace(judged, outputs=claim.outputs, computes=claim.computes)


def issue_of(claim: Claim) -> str:
    """Return a sentence that says which claim is wrong, and what is right."""
    sentence = f'Step {claim.step}: "{quoted_claim(claim.text)}" is wrong'
    reason = claim.correction or claim.reason
    if not reason:
        return sentence
    return f"{sentence}: {reason}"


def quoted_claim(claim: str, most: int = MOST_QUOTED) -> str:
    """Return a claim of at most so many characters, cut at its end."""
    if len(claim) <= most:
        return claim
    return f"{claim[: most - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopResult:
    """The result of a loop: the version as it was sent, the best one, the number of corrections, why it ended.

    `uncorrected` are the numbers of claims that the host calls wrong and that its corrections leave as they are.
    """

    first: Version
    best: Version
    iterations: int
    stopped: StopReason | None
    uncorrected: tuple[int, ...] = ()


async def run(
    steps: Sequence[str],
    *,
    verify: Verify,
    critic: Critic,
    corrector: Corrector,
    max_iterations: int,
    on_start: OnStart,
    on_version: OnVersion,
    until: float,
) -> LoopResult:
    """Correct until no issue is left, nothing changes, `max_iterations` are used, or `until` (monotonic seconds).

    | the loop ends where                                            | stopped                 |
    |----------------------------------------------------------------|-------------------------|
    | a version has no issue                                         | PASSED                  |
    | the time is over                                               | DEADLINE                |
    | a correction changes nothing                                   | NO_CHANGE               |
    | a correction leaves the same issues                            | SAME_ISSUES             |
    | the critic gives no opinion any more: its issues may be gone   | DEADLINE, or BUDGET     |
    | all corrections are used                                       | BUDGET                  |
    """
    verified = await asyncio.to_thread(verify, steps)
    await on_version(0, verified)
    first = Version(verified=verified, opinion=await critic(verified))
    current = best = first
    iteration = 0
    stopped: StopReason | None = None
    while stopped is None:
        if not current.issues:
            stopped = StopReason.PASSED
        elif iteration >= max_iterations:
            stopped = StopReason.BUDGET
        elif time.monotonic() >= until:
            stopped = StopReason.DEADLINE
        else:
            iteration += 1
            on_start(iteration, current.issues)
            corrected = await _corrected(current, verify, corrector)
            if corrected is None:
                stopped = StopReason.NO_CHANGE
                break
            before = current
            current = replace(corrected, opinion=await critic(corrected.verified))
            await on_version(iteration, current.verified)
            best = max(best, current, key=lambda version: version.rank)
            stopped = _reason_to_stop(before, current, until)
    return LoopResult(first=first, best=best, iterations=iteration, stopped=stopped)


def _reason_to_stop(before: Version, current: Version, until: float) -> StopReason | None:
    """Return why a correction is the last one, None where the next one may help."""
    has_lost_opinion = current.opinion is None and before.opinion is not None
    if has_lost_opinion and not current.verified.faults:
        if time.monotonic() >= until:
            return StopReason.DEADLINE
        return StopReason.BUDGET
    if current.issues and set(current.issues) == set(before.issues):
        return StopReason.SAME_ISSUES
    return None


async def _corrected(version: Version, verify: Verify, corrector: Corrector) -> Version | None:
    """Return the next version, None if nothing changes.

    Insert what code can compute, then the judge's corrections of claims. For other issues use the judge's corrected
    steps, else ask the corrector.
    """
    steps = version.verified.steps
    computed = await asyncio.to_thread(version.verified.corrected)
    corrected = with_corrections(computed, version.claims)
    after = version.verified
    author = RULES
    if corrected != steps:
        after = await asyncio.to_thread(verify, corrected)
    proposed = _steps_of_the_judge(version)
    if not proposed:
        proposed = await _steps_of_the_corrector(version, after, corrector)
    if proposed:
        after = await asyncio.to_thread(verify, proposed)
        author = MODEL
    if after.steps == steps:
        return None
    return Version(verified=after, author=author)


def _steps_of_the_judge(version: Version) -> tuple[str, ...]:
    """Return the steps that the judge corrected, if it gave all of them and changed any."""
    steps = version.verified.steps
    if version.opinion is None:
        return ()
    proposed = version.opinion.corrected_steps
    if len(proposed) < len(steps) or proposed == steps:
        return ()
    return proposed


async def _steps_of_the_corrector(
    version: Version, after: Verified, corrector: Corrector
) -> tuple[str, ...]:
    """Return what the corrector makes of the issues that are still open; empty if there are none."""
    steps = version.verified.steps
    still_open = [
        issue_of(claim)
        for claim in version.judged_wrong
        if not (claim.correction and claim.text in steps[claim.step - 1])
    ]
    issues = [*after.issues, *still_open]
    if version.opinion is not None:
        issues += version.opinion.issues
    if not issues:
        return ()
    return await corrector(after, issues)


def uncorrected(version: Version, after: Verified) -> tuple[int, ...]:
    """Return the numbers of the claims that the judge calls wrong and that still stand in later steps."""
    standing = {letters(claim.text) for claim in after.claims}
    return tuple(claim.number for claim in version.judged_wrong if letters(claim.text) in standing)


def with_corrections(steps: Sequence[str], claims: Sequence[Claim]) -> tuple[str, ...]:
    """Return the steps with the judge's corrections in the place of the claims."""
    corrected = list(steps)
    for claim in claims:
        if claim.step > len(corrected) or not claim.correction:
            continue
        step = corrected[claim.step - 1]
        if claim.text in step:
            corrected[claim.step - 1] = step.replace(claim.text, claim.correction, 1)
    return tuple(corrected)
