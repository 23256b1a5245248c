"""verify → critique → correct → verify again, bounded. The best version seen wins, and it has been verified."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from mcp_reflect.critique.checks.checker import Finding, Work
from mcp_reflect.critique.correct import correct
from mcp_reflect.critique.verify import Verified, Verify
from mcp_reflect.models.critique import Opinion, Status, Stopped

Critic = Callable[[Verified], Awaitable[Opinion | None]]
"""Asks a model for its opinion of a version; null where there is none to ask or it said nothing."""

Corrector = Callable[[Verified, Sequence[str]], Awaitable[tuple[str, ...]]]
"""Asks a model for steps without the issues; empty where there is none to ask or it said nothing."""


class Listener(Protocol):
    """Told of each iteration as it starts and ends."""

    async def on_verified(self, version: Verified) -> None: ...
    async def on_start(self, iteration: int, issues: tuple[str, ...]) -> None: ...
    async def on_complete(self, iteration: int, version: Verified) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of the steps: what checkers found, and what the critic thinks of it."""

    verified: Verified
    opinion: Opinion | None = None

    @property
    def issues(self) -> tuple[str, ...]:
        return (*self.verified.issues, *(self.opinion.issues if self.opinion else ()))

    @property
    def rank(self) -> tuple[int, float, int]:
        """Fewer failures first, then the critic's score, then more that passed."""
        score = self.opinion.quality_score if self.opinion and self.opinion.quality_score is not None else 0.0
        return -len(self.verified.failed), score, self.verified.passed

    @property
    def unjudged(self) -> bool:
        """Whether no critic spoke of it."""
        return self.opinion is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a loop came to: the version that was sent, the best one, corrections tried, why it ended."""

    first: Version
    best: Version
    iterations: int
    stopped: Stopped | None


async def run(
    steps: Sequence[str],
    *,
    goal: str,
    verify: Verify,
    critic: Critic,
    corrector: Corrector,
    max_iterations: int,
    listener: Listener,
    until: float,
) -> Run:
    """Correct until it passes, `max_iterations` are used, nothing changes, or `until` (monotonic seconds)."""
    verified = await asyncio.to_thread(verify, steps)
    await listener.on_verified(verified)
    current = first = best = Version(verified=verified, opinion=await critic(verified))
    stopped = Stopped.PASSED if not current.issues else Stopped.BUDGET
    iteration = 0
    while current.issues and iteration < max_iterations:
        if time.monotonic() >= until:
            stopped = Stopped.DEADLINE
            break
        iteration += 1
        await listener.on_start(iteration, current.issues)
        after = await _corrected(current, goal, verify, corrector)
        if after is None:
            stopped = Stopped.NO_CHANGE
            break
        before, current = current, Version(verified=after, opinion=await critic(after))
        await listener.on_complete(iteration, current.verified)
        best = max(best, current, key=lambda version: version.rank)
        if current.unjudged and not before.unjudged and not after.failed:
            # The critic had spoken and fell silent: nobody knows whether its issues are gone.
            stopped = Stopped.DEADLINE if time.monotonic() >= until else Stopped.BUDGET
            break
        stopped = Stopped.PASSED if not current.issues else Stopped.BUDGET
        if current.issues and set(current.issues) == set(before.issues):
            stopped = Stopped.SAME_ISSUES
            break
    return Run(first=first, best=best, iterations=iteration, stopped=stopped)


async def _corrected(version: Version, goal: str, verify: Verify, corrector: Corrector) -> Verified | None:
    """The next version: what can be computed is, the rest is asked for; null where nothing changes."""
    steps = version.verified.steps
    after = await asyncio.to_thread(_computed, version.verified, goal, verify)
    issues = (*after.issues, *(version.opinion.issues if version.opinion else ()))
    if issues:
        asked = await corrector(after, issues)
        after = await asyncio.to_thread(verify, asked) if asked else after
    return None if after.steps == steps else after


def _computed(verified: Verified, goal: str, verify: Verify) -> Verified:
    """The steps with what can be computed put right, verified."""

    def check(work: Work) -> Sequence[Finding]:
        return verify(work.steps).findings

    steps = correct(verified.steps, verified.findings, goal=goal, check=check)
    return verified if steps == verified.steps else verify(steps)


def capped(opinion: Opinion, verified: Verified) -> Opinion:
    """An opinion that says no better of the work than the verdicts allow.

    The score of correctness, and the whole score where something failed, are at most the share that passed.
    """
    share = verified.score
    if share is None:
        return opinion
    criteria = {
        name: replace(score, score=min(score.score, share)) if name.strip().lower() == "correctness" else score
        for name, score in opinion.criteria.items()
    }
    whole = opinion.quality_score
    if whole is not None and any(verdict.status is Status.FAIL for verdict in verified.verdicts):
        whole = min(whole, share)
    return replace(opinion, quality_score=whole, criteria=criteria)
