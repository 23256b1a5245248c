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
    WORKED = "the call worked"
    NEITHER = "neither"


class Verdict(StrEnum):
    """What a lesson would have been at a moment."""

    HELPED = "would have helped"
    NOISE = "would have been noise"
    REFUSED = "would have refused a call that worked"


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
    verdict: Verdict
