"""Verify, critique, correct and verify again, bounded. The best version seen wins."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final, Protocol

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.checkers.correct import correct
from mcp_reflect.checkers.opinions import disputed, letters
from mcp_reflect.checkers.verify import Verified, Verify, issue_of
from mcp_reflect.models.common import RULES
from mcp_reflect.models.critique import Opinion, Status, Stopped, Verdict

MODEL: Final = "model"

Critic = Callable[[Verified], Awaitable[Opinion | None]]
"""Asks a model for its opinion of a version; None where no model can be asked or it gave none."""

Corrector = Callable[[Verified, Sequence[str]], Awaitable[tuple[str, ...]]]
"""Asks a model for steps without the issues; empty where no model can be asked or it gave none."""


class Listener(Protocol):
    """Hears of each iteration as it starts and ends."""

    async def on_verified(self, version: Verified) -> None: ...
    async def on_start(self, iteration: int, issues: tuple[str, ...]) -> None: ...
    async def on_complete(self, iteration: int, version: Verified) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of the steps with its verdicts, the critic's opinion, and who wrote it (None: as it was sent)."""

    verified: Verified
    opinion: Opinion | None = None
    author: str | None = None

    @property
    def disputed(self) -> tuple[Verdict, ...]:
        """The claims that rules say results contradict, and that the judge calls supported."""
        return disputed(self.opinion, self.verified)

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """The claims that rules contradict and the judge does not dispute."""
        doubtful = self.disputed
        return tuple(verdict for verdict in self.verified.failed if verdict not in doubtful)

    @property
    def issues(self) -> tuple[str, ...]:
        """The contradicted claims and the judge's issues, else the steps that it corrects without a word."""
        issues = (*map(issue_of, self.failed), *(self.opinion.issues if self.opinion else ()))
        if issues or not self.needs_change or self.opinion is None:
            return issues
        if Status.UNSUPPORTED in self.opinion.claims.values():
            return ()
        pairs = enumerate(zip_longest(self.verified.steps, self.opinion.corrected_steps), start=1)
        return tuple(f"Step {place}: the judge corrects it" for place, (step, other) in pairs if step != other)

    @property
    def needs_change(self) -> bool:
        """True if something is contradicted, or the judge has issues or other steps."""
        opinion, steps = self.opinion, self.verified.steps
        return bool(self.failed or (opinion and (opinion.issues or opinion.corrected_steps not in ((), steps))))

    @property
    def unsettled(self) -> tuple[tuple[int, str], ...]:
        """The open claims, as (step, text), that the judge did not settle either.

        It must name each one where there are results to compare with, or a number in the claim. Of other prose its
        whole judgement is enough. An act or run that no result shows stays unsettled, and what rules and judge
        see differently becomes so.
        """
        if self.opinion is None:
            return self.verified.open_claims
        said = {letters(claim): status for claim, status in self.opinion.claims.items()}
        unshown = {(verdict.step, verdict.claim) for verdict in self.verified.unsupported}
        doubtful = [(verdict.step, verdict.claim) for verdict in self.disputed]
        return *doubtful, *(
            (step, claim)
            for step, claim in self.verified.open_claims
            if (step, claim) in unshown or not self._is_settled(claim, said)
        )

    def _is_settled(self, claim: str, said: Mapping[str, Status]) -> bool:
        own_letters = letters(claim)
        quotes = [quote for quote in said if own_letters in quote or quote in own_letters]
        if any(said[quote] is Status.UNSUPPORTED for quote in quotes):
            return False
        must_be_named = self.verified.has_evidence or any(map(str.isdigit, claim))
        return not must_be_named or 2 * sum(map(len, quotes)) >= len(own_letters)

    @property
    def rank(self) -> tuple[int, float, int]:
        """Fewer failures first, then the critic's score, then more that passed."""
        score = self.opinion.quality_score if self.opinion and self.opinion.quality_score is not None else 0.0
        return -len(self.verified.failed), score, self.verified.passed


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The result of a loop: the version as it was sent, the best one, the number of corrections, why it ended."""

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
    """Correct until no issue is left, `max_iterations` are used, nothing changes, or `until` (monotonic seconds)."""
    verified = await asyncio.to_thread(verify, steps)
    await listener.on_verified(verified)
    current = first = best = Version(verified=verified, opinion=await critic(verified))
    stopped = Stopped.PASSED if not current.needs_change else Stopped.BUDGET
    iteration = 0
    while current.needs_change and iteration < max_iterations:
        if time.monotonic() >= until:
            stopped = Stopped.DEADLINE
            break
        iteration += 1
        await listener.on_start(iteration, current.issues)
        corrected = await _corrected(current, goal, verify, corrector)
        if corrected is None:
            stopped = Stopped.NO_CHANGE
            break
        before, current = current, replace(corrected, opinion=await critic(corrected.verified))
        await listener.on_complete(iteration, current.verified)
        best = max(best, current, key=lambda version: version.rank)
        if current.opinion is None and before.opinion is not None and not current.verified.failed:
            # The critic had spoken and gave no opinion now: nobody knows if its issues are gone.
            stopped = Stopped.DEADLINE if time.monotonic() >= until else Stopped.BUDGET
            break
        stopped = Stopped.PASSED if not current.needs_change else Stopped.BUDGET
        if current.needs_change and set(current.issues) == set(before.issues):
            stopped = Stopped.SAME_ISSUES
            break
    return Run(first=first, best=best, iterations=iteration, stopped=stopped)


async def _corrected(version: Version, goal: str, verify: Verify, corrector: Corrector) -> Version | None:
    """Return the next version, None where nothing changes.

    Rules put in what can be computed. Other issues are for the critic's own corrected steps, else the corrector.
    """
    steps = version.verified.steps

    def check(work: Work) -> Sequence[Finding]:
        return verify(work.steps).findings

    computed = await asyncio.to_thread(correct, steps, version.verified.findings, goal=goal, check=check)
    after, author = version.verified, RULES
    if computed != steps:
        after = await asyncio.to_thread(verify, computed)
    proposed = version.opinion.corrected_steps if version.opinion else ()
    said = version.issues[len(version.failed) :]
    issues = (*after.issues, *said)
    if issues or not version.issues:
        if len(proposed) < len(steps) or proposed == steps:
            proposed = await corrector(after, issues) if issues else ()
        if proposed:
            after, author = await asyncio.to_thread(verify, proposed), MODEL
    return None if after.steps == steps else Version(verified=after, author=author)
