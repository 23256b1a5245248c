"""What code witnesses in a session: two calls and a line; and lessons that were written into an instruction file."""

from dataclasses import dataclass
from enum import StrEnum

from mcp_reflect.models.common import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCall:
    """A call of a session.

    `line` is the most telling line of its answer. `failed`: it failed; `says_no`: it failed, or its answer says that
    there is nothing or that something is not done. `expected`: a failure that teaches nothing by itself, as a search
    without a match or a refusal of the user. `phrases`: what is remembered of the answer's words (`security.phrases`).
    """

    number: int
    tool: str
    arguments: Json = None
    line: str = ""
    failed: bool = False
    says_no: bool = False
    expected: bool = False
    exit_code: int | None = None
    phrases: tuple[int, ...] = ()


class FindingKind(StrEnum):
    """What was seen."""

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

    It holds facts alone and is never recalled: the agent, a person or a language model words a lesson of it. `act` is
    what was done, as `git push`; `thing` is the same for the same failure in other sessions. What a person said has
    their words as its line, and no call that worked. `line` is empty where it may be another command's. `between` are the
    last calls that changed something between a check that said no and the same check that says yes, two at most;
    `done_between` says how many there were.
    """

    kind: FindingKind
    act: str
    thing: str
    line: str
    exit_code: int | None = None
    failed: FoundCall | None = None
    worked: FoundCall | None = None
    wording: Wording | None = None
    between: tuple[FoundCall, ...] = ()
    done_between: int = 0


class FindingState(StrEnum):
    """What became of a finding."""

    OPEN = "open"
    KEPT = "kept"  # somebody made a lesson of it
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The evidence of a finding in one past session of a host.

    `at` is in seconds since 1970 (UTC), None if the session has no times; `seconds` is the work that it cost, and
    `times` how often it happened. `lines` are lines of the session's file, each with its number from 1 in front.
    """

    session: str
    host: str
    at: float | None
    seconds: float
    times: int = 1
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFinding:
    """A finding in the bank. `sessions` counts the sessions that it was found in, `asked` how often the last was asked.

    `seen` is its evidence in past sessions, `weight` what it cost in seconds. `created_at` is in seconds since 1970
    (UTC).
    """

    id: str
    project: str
    state: FindingState
    session: str
    sessions: int
    asked: int
    finding: Finding
    lesson_id: str | None
    created_at: float
    seen: tuple["Seen", ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A block of ours in a file of a project.

    `lessons` are the ids of those in the block, `said` of those that the rest of the file says already. `lead` is what
    was put in front of the block to part it from the rest, `head` the beginning of a file that was made for the block.
    """

    file: str
    lessons: tuple[str, ...]
    said: tuple[str, ...] = ()
    lead: str = ""
    head: str = ""
    made: bool = False
