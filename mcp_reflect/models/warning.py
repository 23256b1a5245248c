"""Known failing calls, warnings before such calls, and their outcomes."""

from dataclasses import dataclass
from enum import StrEnum

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import FailingCall


class Match(StrEnum):
    """The similarity of a call to one that failed, the surest first."""

    EXACT = "exact"  # the same call, or the same in more quotation marks
    LOOSE = "loose"  # the same but for dates, ids, ports and temporary paths
    TOOL_AND_ERROR = "tool_and_error"  # its tool or command has failed with one error whatever the arguments


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
class SessionState:
    """The state of a session: the number of calls, and of the last call that changed something.

    `worked` holds the number of the last call that worked by its head; `shown` the ids of lessons shown.
    """

    id: str
    held_out: bool
    step: int = 0
    changed: int = 0
    worked: tuple[tuple[str, int], ...] = ()
    shown: tuple[str, ...] = ()

    def worked_step(self, head: str) -> int:
        """Return the number of the last call of `head` that worked, 0 for none."""
        return dict(self.worked).get(head, 0)


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

    `text` is for the agent, fenced. `worked` holds the arguments of a call that worked instead, `lesson_id` the lesson
    in `text`. `warning_id` is None where the warning could not be recorded. `hold`: the call is to be refused, once.
    """

    warning_id: str | None
    text: str
    match: Match
    certainty: float
    times: int
    error: str
    worked: Json = None
    lesson_id: str | None = None
    hold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterCall:
    """The result of recording a call. `recurrence`: it was known to fail. `text` is a known correction, fenced."""

    failed: bool
    recurrence: bool = False
    signature: str | None = None
    text: str | None = None
    lesson_id: str | None = None
