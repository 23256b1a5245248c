"""Where lessons would have spoken in a past session, and what came next there."""

from dataclasses import dataclass
from enum import StrEnum


class Trigger(StrEnum):
    """What a lesson would have spoken at."""

    PROMPT = "prompt"
    CALL = "call"


class Next(StrEnum):
    """What came next in the session."""

    FAILURE = "the same failure"
    CURE = "the cure"  # the agent did by itself as the lesson says
    USELESS_CURE = "what it says failed"
    WORKED = "the call worked"
    NEITHER = "neither"
    UNKNOWN = "nothing that can be compared"  # the lesson names no call


class MomentVerdict(StrEnum):
    """What a lesson would have been at a moment."""

    HELPED = "would have helped"
    NOISE = "would have been noise"
    REFUSED = "would have refused a call that worked"
    UNKNOWN = "cannot be told"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenMoment:
    """A moment at which a lesson would have spoken.

    `line` is its place in the session's file, `said` the prompt or call, `fact` the line that tells what came next, and
    `minutes` the work until the cure, None where there was none. `holds`: the call would have been refused once.
    """

    session: str
    host: str
    line: int
    at: float | None
    trigger: Trigger
    said: str
    lesson_id: str
    lesson: str
    armed: bool
    holds: bool
    next: Next
    fact: str
    minutes: float | None
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

    `against` counts the calls that go against it, `followed` those that do as it says; `worked_since` those against it
    that worked after the latest that failed. `failures` are those that it is about, `unwarned` of them before it would
    have spoken in their session; `minutes` is the work from them to the cure. `names_calls`: calls are known that it is
    about. `changed` says what changed of what it is true of. None is not known.
    """

    lesson_id: str
    lesson: str
    guard: str | None
    changed: str
    names_calls: bool
    moments: tuple[SpokenMoment, ...]
    against: int
    against_failed: int
    worked_since: int | None
    followed: int
    followed_failed: int
    followed_error: FailedStep | None
    failures: tuple[FailedStep, ...]
    unwarned: int
    minutes: float | None

    def count(self, verdict: MomentVerdict) -> int:
        """Return at how many moments it would have been that; a guard that is off counts as well."""
        return sum(moment.verdict is verdict for moment in self.moments)
