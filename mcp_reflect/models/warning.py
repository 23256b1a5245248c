"""Failing calls that are known, warnings before such calls, and what the agent then did."""

from dataclasses import dataclass
from enum import StrEnum

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import ErrorCategory


class Match(StrEnum):
    """How a call is like one that failed, the surest first."""

    EXACT = "exact"  # the same call, or the same in more quotation marks
    LOOSE = "loose"  # the same but for what differs from day to day: dates, ids, ports, temporary paths
    TOOL_AND_ERROR = "tool_and_error"  # what it calls has failed with one error whatever the arguments
    SIMILAR = "similar"  # the same tool on similar arguments


class Sequel(StrEnum):
    """What came of a warning."""

    HEEDED = "heeded"  # something else was done
    FAILED = "failed"  # the call was made and failed again
    WORKED = "worked"  # the call was made and worked: the warning was wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """A call of the bank that failed.

    `head`, `exact`, `bare` and `loose` are its forms' keys (see `reflect.forms`). `times` counts failures,
    `works` how often the same call worked, `wrong` warnings that it proved wrong. Times are seconds since
    1970; `worked_at` is null unless the same call has worked since it last failed; `last_step` is the number
    of the call in `last_session`.
    """

    row: int
    signature: str
    tool: str
    head: str
    exact: str
    bare: str
    loose: str
    arguments: Json
    category: ErrorCategory
    fingerprint: str
    error: str
    worked: Json
    times: int
    works: int
    wrong: int
    last_at: float
    worked_at: float | None
    last_session: str | None
    last_step: int
    reflection_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """What is remembered of a session: calls so far, and at which of them something was last changed.

    `worked` holds the number of the last call that worked by what it was a call of; `shown` the ids of
    lessons that the session has been shown.
    """

    id: str
    held_out: bool
    step: int = 0
    changed: int = 0
    worked: tuple[tuple[str, int], ...] = ()
    shown: tuple[str, ...] = ()

    def worked_step(self, head: str) -> int:
        """The number of the last call of `head` that worked, 0 for none."""
        return dict(self.worked).get(head, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A warning that is due: the failure it rests on, by which match, how certain (0..1)."""

    known: KnownFailure
    match: Match
    certainty: float
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWarning:
    """A warning before a call, as `Engine.before_call` returns it.

    `text` is for the agent, fenced; `certainty` in 0..1; `times` how often the call failed. `worked` holds
    the arguments of a call that worked instead, `lesson_id` the lesson that `text` tells, where there is one.
    `warning_id` is null where the warning could not be noted.
    """

    warning_id: str | None
    text: str
    match: Match
    certainty: float
    times: int
    error: str
    worked: Json = None
    lesson_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterCall:
    """What `Engine.after_call` made of a call.

    `recurrence` says that a call failed which was known to fail; `text` tells a known correction, fenced,
    null where there is none or it was told already.
    """

    failed: bool
    recurrence: bool = False
    signature: str | None = None
    text: str | None = None
    lesson_id: str | None = None
