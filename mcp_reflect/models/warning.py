"""What hooks read and say: the input of a hook, calls known to fail, and warnings before such calls.

A *moment* is the point of a session at which a host calls a hook.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.lesson import GuardMode, Lesson
from mcp_reflect.models.run import FailingCall


class Moment(StrEnum):
    """The moment at which a hook is called."""

    START = "start"
    PROMPT = "prompt"
    BEFORE = "before"
    AFTER = "after"
    STOP = "stop"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookInput:
    """What a host sent to a hook, the same for all hosts; None for what it did not send."""

    event: str
    moment: Moment
    session: str
    answer_key: str | None = (
        None  # under which the host reads a text for the agent, None if it reads none
    )
    holds: bool = False  # the host can refuse the call
    watched: bool = True  # False in a session whose output no person reads
    witnessed: bool = True  # False where a tool alone reported the call
    folder: str | None = None
    tool: str | None = None
    call_id: str | None = None
    arguments: Json = None
    result: Json = None
    error: str | None = None  # the failure that the host reports
    prompt: str | None = None
    transcript: str | None = None
    anew: bool = False  # the agent has forgotten what it was shown
    resumed: bool = False  # the session starts, and the agent remembers what it was shown
    message: str | None = None  # the agent's last one
    again: bool = False  # the agent stops once more, after its last message was held
    of_agent: bool = False  # a subagent stops
    parent: str | None = None  # the host's name of the session that a subagent works for
    child_prompt: str | None = None  # the prompt of the agent that the call starts
    began_with: str | None = None  # the project, or the folder, with which the session began

    @property
    def root(self) -> str:
        """The session as its host names it: a subagent's is a part of the session that it works for."""
        return self.parent or self.session


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcedGuard:
    """A guard that a person enforces, and what is said where it refuses a call."""

    lesson_id: str
    guard: str
    text: str


MAY_BE_EMPTY: Final = "a variable in it, which nobody here knows, may be empty"
"""Why it is unsure that a call goes against a guard: `git push $FLAGS origin main` may push nothing else."""


class Match(StrEnum):
    """Why a call is warned of: what it has in common with one that failed, the surest first; last, a lesson's guard."""

    EXACT = "exact"  # the same call, or the same in more quotation marks
    LOOSE = "loose"  # the same but for dates, ids, ports and temporary paths
    TOOL_AND_ERROR = "tool_and_error"  # its tool or command fails so, whatever the arguments
    GUARD = "guard"  # it goes against a lesson


class Sequel(StrEnum):
    """What came after a warning."""

    HEEDED = "heeded"  # something else was done
    FAILED = "failed"  # the call was made and failed again
    WORKED = "worked"  # the call was made and worked: the warning was wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure(FailingCall):
    """A call of the bank that failed. Points of time are seconds since 1970 (UTC)."""

    row: int  # its key in the bank
    times: int  # how often it failed
    cases: int  # the sessions in which it failed
    works: int  # how often the same call worked
    wrong: int  # warnings of it after which the call worked all the same
    last_at: float
    worked_at: float | None  # None unless it worked since it last failed
    last_session: str | None
    last_step: int  # the number of the call in that session
    reflection_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCalls:
    """What the bank knows of a call."""

    same_call: tuple[KnownFailure, ...] = ()
    same_head: tuple[KnownFailure, ...] = ()  # failures in its session, as of `shell:git push`
    # The lessons that may be shown, by the id of the reflection that noted a failure.
    lessons: Mapping[str, tuple[Lesson, ...]] = field(default_factory=dict[str, tuple[Lesson, ...]])
    guards: tuple[Lesson, ...] = ()  # lessons that the call goes against
    guard_mode: GuardMode | None = None  # what a person chose for the whole project
    unread: str = (
        ""  # why the call could not be read; `guards` are then those that it may go against
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DueWarning:
    """A warning that is due before a call."""

    known: KnownFailure  # the failure that it rests on
    match: Match
    certainty: float  # 0..1
    times: int  # how often it and those like it failed


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWarning:
    """A warning before a call."""

    text: str  # for the agent, fenced
    match: Match
    certainty: float  # 0..1
    lesson_id: str | None = None  # of the lesson in the text
    hold: bool = False  # the call is to be refused, once


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterCall:
    """The result of recording a call."""

    failed: bool
    text: str | None = None  # for the agent, fenced: a known correction, or an ask for a lesson
    lesson_id: str | None = None
