"""What rules find in a session, and lessons that were written into a file which a host gives to its model."""

from dataclasses import dataclass
from enum import StrEnum

from mcp_reflect.models.common import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCall:
    """A call of a session.

    `line` is the most telling line of its answer. `failed`: it failed; `says_no`: it failed, or its answer says that
    there is nothing or that something is not done. `expected`: a failure that teaches nothing by itself, as a search
    without a match or a refusal of the user. `checksum` is of the whole answer; empty where it is not known.
    """

    number: int
    tool: str
    arguments: Json = None
    line: str = ""
    failed: bool = False
    says_no: bool = False
    expected: bool = False
    checksum: str = ""


class FindingKind(StrEnum):
    """How a call that had failed came to work, or what else was found."""

    CHANGED = "changed"  # it was made in another form
    PREPARED = "prepared"  # something was done before it
    RETRIED = "retried"  # it failed several times, and files were edited in between
    FAILED = "failed"  # it failed, and nothing in the session put it right
    SAID = "said"  # no call: the person said it
    CORRECTION = "correction"  # the person corrected how the agent works, or refused a call and said what to do

    @classmethod
    def _missing_(cls, value: object) -> "FindingKind | None":
        return cls.CORRECTION if value == "refused" else None  # as an older bank has it


@dataclass(frozen=True, slots=True)
class Draft:
    """A lesson that an agent can store as it is or rewrite. `wrong_call` and `right_call` have tool and arguments.

    `guards`: a later call like the wrong one goes against the lesson, whatever was done before it. `by` names the
    language model that wrote it; empty for rules.
    """

    mistake: str
    correction: str
    wrong_call: Json
    right_call: Json
    guards: bool = False
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something hard-won in a session. It is never recalled: the agent or a person makes a lesson of it.

    `thing` is the same for findings about one thing. `failed` are the numbers of the calls that failed, `worked` of the
    one that then worked. `form`: the correction holds for any task, so that rules may write a lesson of it.
    """

    kind: FindingKind
    thing: str
    tool: str
    line: str
    failed: tuple[int, ...]
    worked: int
    draft: Draft
    form: bool = False


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
