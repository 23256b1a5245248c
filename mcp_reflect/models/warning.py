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
    """What a host sent; None for what it did not send. `error` is set if the host reports a failure.

    `answer_key` is None if the host reads no text, `holds` true where it can refuse the call; `watched` is false
    in a session whose output no person reads. `anew` says that the agent has forgotten what it was shown, `resumed` that
    it has not, though the session starts. `message` is the agent's last one, `again` true where it stops after that
    was held, `of_agent` where a subagent stops. `parent` is the host's own name of a session to which a subagent's belongs,
    `child_prompt` that of an agent which the call starts.
    """

    event: str
    moment: Moment
    session: str
    answer_key: str | None = None
    holds: bool = False
    watched: bool = True
    witnessed: bool = True
    folder: str | None = None
    tool: str | None = None
    call_id: str | None = None
    arguments: Json = None
    result: Json = None
    error: str | None = None
    prompt: str | None = None
    transcript: str | None = None
    anew: bool = False
    resumed: bool = False
    message: str | None = None
    again: bool = False
    of_agent: bool = False
    parent: str | None = None
    child_prompt: str | None = None

    @property
    def root(self) -> str:
        """The session as its host names it, of which a subagent's is a part."""
        return self.parent or self.session


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcedGuard:
    """A guard that a person enforces, and what is said where it refuses a call."""

    lesson_id: str
    guard: str
    text: str


MAY_BE_EMPTY: Final = "a variable in it, which nobody here knows, may be empty"
"""Why a call cannot be read that goes against a guard without that variable."""


class Match(StrEnum):
    """The similarity of a call to one that failed, the surest first."""

    EXACT = "exact"  # the same call, or the same in more quotation marks
    LOOSE = "loose"  # the same but for dates, ids, ports and temporary paths
    TOOL_AND_ERROR = (
        "tool_and_error"  # its tool or command has failed with one error whatever the arguments
    )
    GUARD = "guard"  # it goes against a lesson


class Sequel(StrEnum):
    """The outcome of a warning."""

    HEEDED = "heeded"  # something else was done
    FAILED = "failed"  # the call was made and failed again
    WORKED = "worked"  # the call was made and worked: the warning was wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure(FailingCall):
    """A call of the bank that failed.

    `times` counts failures, `cases` the sessions in which it failed, `works` how often the same call worked, `wrong`
    warnings that it disproved. Times are seconds since 1970; `worked_at` is None unless it worked since it last failed.
    `last_step` is the number of the call in `last_session`.
    """

    row: int
    times: int
    cases: int
    works: int
    wrong: int
    last_at: float
    worked_at: float | None
    last_session: str | None
    last_step: int
    reflection_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCalls:
    """What the bank knows of a call: failures of the same call, failures in its session of the same head, lessons.

    `lessons` has those that may be shown, by the reflection that noted a failure, `guards` those that the call goes
    against; `guard_mode` is what a person chose for all of the project. `unread` is the reason why the call could not be
    read: then `guards` has those that it may go against.
    """

    same_call: tuple[KnownFailure, ...] = ()
    same_head: tuple[KnownFailure, ...] = ()
    lessons: Mapping[str, tuple[Lesson, ...]] = field(default_factory=dict[str, tuple[Lesson, ...]])
    guards: tuple[Lesson, ...] = ()
    guard_mode: GuardMode | None = None
    unread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A warning that is due: the failure it rests on, its match, and its certainty in 0..1."""

    known: KnownFailure
    match: Match
    certainty: float
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWarning:
    """A warning before a call.

    `text` is for the agent, fenced; `lesson_id` is the lesson in it. `hold`: the call is to be refused, once.
    """

    text: str
    match: Match
    certainty: float
    lesson_id: str | None = None
    hold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterCall:
    """The result of recording a call. `text` is a known correction or an ask for a lesson, fenced."""

    failed: bool
    text: str | None = None
    lesson_id: str | None = None
