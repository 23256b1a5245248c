"""Where lessons would have spoken in a past session, and what came next there.

To *speak* is to be shown to the agent at a prompt or a call. The *cure* is the call that put a failure right.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_EXPECTED_FAILURES: Final = 3
"""If so many failures are expected and none comes, that is chance once in twenty times (Poisson: exp(-3) is .05)."""


class Trigger(StrEnum):
    """At what the lesson would have been shown."""

    PROMPT = "prompt"
    CALL = "call"


class Next(StrEnum):
    """What came next in the session."""

    FAILURE = "the same failure"
    CURE = "the cure"  # the agent did by itself as the lesson says
    USELESS_CURE = "what it says failed"
    WORKED = "the call worked"
    NEITHER = "nothing of it came"
    UNKNOWN = "nothing that can be compared"  # the lesson names no call


class MomentVerdict(StrEnum):
    """What a lesson would have been at a moment."""

    HELPED = "would have helped"
    NOISE = "would have been noise"
    REFUSED = "would have refused a call that worked"
    UNKNOWN = "cannot be told"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenMoment:
    """A moment at which a lesson would have spoken."""

    session: str
    host: str
    line: int  # of the session's file
    at: float | None  # seconds since 1970, None if the session has no times
    trigger: Trigger
    said: str  # the prompt or the call
    lesson_id: str
    lesson: str
    armed: bool  # its guard is on
    holds: bool  # the call would have been refused once
    next: Next
    fact: str  # the line of the session that shows what came next
    minutes: float | None  # of work until the cure, None where none came
    verdict: MomentVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedStep:
    """A call that failed in a past session: where, when, and the line that tells its error."""

    session: str
    line: int
    at: float | None
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedLesson:
    """A lesson in past sessions: where it would have spoken, and how often what it is about came at all.

    None is not known.
    """

    lesson_id: str
    lesson: str
    guard: str | None
    is_kept_by_person: bool
    changed: str  # what changed of the files and packages that it was true of, empty for nothing
    is_doubted: bool  # it may no longer be true
    names_calls: bool  # calls are known that it is about
    moments: tuple[SpokenMoment, ...]
    against: int  # calls that go against it
    against_failed: int
    worked_since: int | None  # calls against it that worked after the latest that failed
    followed: int  # calls that do as it says
    followed_failed: int
    followed_error: FailedStep | None
    failures: tuple[FailedStep, ...]  # those that it is about
    unwarned: int  # of these, the ones that came before it would have spoken in their session
    minutes: float | None  # of work from these failures to the cure

    def count(self, verdict: MomentVerdict) -> int:
        """Return at how many moments the verdict on it is this one; a guard that is off counts as well."""
        return sum(moment.verdict is verdict for moment in self.moments)

    @property
    def is_met(self) -> bool:
        """Whether anything of it came: a moment at which it would have spoken, its failure, or a call that it names."""
        return bool(self.moments or self.failures or self.against or self.followed)

    @property
    def is_judged(self) -> bool:
        """Whether the sessions can tell anything of the lesson.

        They can if it names the calls that it is about: that none of these came is an answer too. A lesson without calls
        is found only by its error, so that one of its failures has to be there.
        """
        helped = self.count(MomentVerdict.HELPED)
        return self.names_calls or bool(self.failures or helped)

    @property
    def is_over(self) -> bool:
        """Whether its failure has ended: if it came as often as before, three would have come since, and none did.

        4 of the first 10 calls failed. After 8 that worked, 8 × 4 / 10 = 3.2 failures would have come: it is over. If 1
        of 10 failed, 8 that worked are none too many: it is not over. Failures for another reason than the lesson's do
        not count.
        """
        if not self.worked_since:
            return False
        calls_until_then = self.against - self.worked_since
        failed = min(len(self.failures), self.against_failed)
        # `worked_since * (failed / calls_until_then) >= _EXPECTED_FAILURES`, without a division by 0
        return self.worked_since * failed >= _EXPECTED_FAILURES * calls_until_then
