"""What code witnesses in a session: two calls and a line; and lessons that were written into an instruction file."""

from dataclasses import dataclass
from enum import StrEnum

from mcp_reflect.models.common import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCall:
    """A call of a session."""

    number: int
    tool: str
    arguments: Json = None
    line: str = ""  # the most telling line of its answer
    failed: bool = False
    says_no: bool = (
        False  # it failed, or answers that there is nothing or that something is not done
    )
    expected: bool = (
        False  # its failure teaches nothing: a search without a match, a user's refusal
    )
    exit_code: int | None = None
    phrases: tuple[int, ...] = ()  # what is remembered of the answer's words (`security.phrases`)


class FindingKind(StrEnum):
    """What happened in the session."""

    WORKED = "worked"  # the same act worked after a failure
    TURNED = "turned"  # a check that said no says yes
    FAILED = "failed"  # it failed, and nothing in the session put it right
    SAID = "said"  # no call: the person said it
    CORRECTION = "correction"  # the person refused a call and said what to do instead
    UNDONE = "undone"  # the person said something, and the agent undid its work


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCall:
    """A call of a finding, with its number in the session; 0 where an older bank did not keep it."""

    tool: str
    arguments: Json = None
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A lesson of a finding in the words of the language model `by`, for a person to decide about."""

    mistake: str
    correction: str
    wrong_call: Json = None
    right_call: Json = None
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Two calls and a line: the call that failed or said no, its most telling line, and the call that worked.

    It has facts alone and is never recalled: the agent, a person or a language model words a lesson of it.
    """

    kind: FindingKind
    act: str  # what was done, as `git push`
    thing: str  # a text that is the same for the same failure in other sessions
    line: str  # of SAID the person's words; empty where it may be another command's
    exit_code: int | None = None
    failed: FoundCall | None = None
    worked: FoundCall | None = None  # None for what a person said
    wording: Wording | None = None
    # Of TURNED, the last two calls that changed something between the check's no and its yes; how many there were.
    between: tuple[FoundCall, ...] = ()
    done_between: int = 0


class FindingState(StrEnum):
    """What became of a finding."""

    OPEN = "open"
    KEPT = "kept"  # somebody made a lesson of it
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The evidence of a finding in one past session of a host."""

    session: str
    host: str
    at: float | None  # seconds since 1970 (UTC), None if the session has no times
    seconds: float  # of work that it cost
    times: int = 1  # how often it happened
    lines: tuple[str, ...] = ()  # of the session's file, each with its number from 1 in front


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFinding:
    """A finding in the bank."""

    id: str
    project: str
    state: FindingState
    session: str  # the last one in which it was found
    sessions: int  # how many it was found in
    asked: int  # how often the last one was asked for a lesson of it
    finding: Finding
    lesson_id: str | None
    created_at: float  # seconds since 1970 (UTC)
    seen: tuple[Seen, ...] = ()  # its evidence in past sessions
    weight: float = 1.0  # the seconds that it cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A block of ours in a file of a project: all that it takes to write the block anew, or to take it out again."""

    file: str
    lessons: tuple[str, ...]  # the ids of those in the block
    said: tuple[str, ...] = ()  # the ids of those that the rest of the file says already
    lead: str = ""  # the line ends in front of the block, which part it from the rest
    head: str = ""  # the beginning of a file that was made for the block
    made: bool = False  # the file was made for the block
