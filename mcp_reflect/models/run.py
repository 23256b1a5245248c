"""A run of an agent, and what the rules find in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mcp_reflect.models.common import Json


class EventType(StrEnum):
    """The kind of an event."""

    TOOL_CALL = "tool_call"
    TOOL_RESPONSE = "tool_response"
    LLM_CALL = "llm_call"
    DECISION = "decision"
    OBSERVATION = "observation"
    ERROR_EVENT = "error_event"
    USER_FEEDBACK = "user_feedback"
    SYSTEM_EVENT = "system_event"


class Outcome(StrEnum):
    """The end of a run, in the caller's words."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    TIMEOUT = "timeout"
    ERROR = "error"


class ErrorCategory(StrEnum):
    """The kinds of failure that rules distinguish."""

    TIMEOUT = "timeout_error"
    RATE_LIMIT = "rate_limit_error"
    AUTH = "auth_error"
    PERMISSION = "permission_error"
    NOT_FOUND = "not_found_error"
    VALIDATION = "validation_error"
    SYNTAX = "syntax_error"
    DEPENDENCY = "dependency_error"
    NETWORK = "network_error"
    RESOURCE_EXHAUSTION = "resource_exhaustion_error"
    ASSERTION = "assertion_error"
    CONFLICT = "conflict_error"
    NO_RESULT = "no_result_error"
    LOOP = "loop_error"
    UNKNOWN = "unknown_error"

    @property
    def short(self) -> str:
        """The word in tags and prose: `timeout` for `timeout_error`."""
        return self.value.removesuffix("_error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a run. It has content, a tool or an error; `id` is unique in its trace."""

    id: str
    type: EventType
    content: str = ""
    tool: str | None = None
    arguments: Json = None
    error: str | None = None
    timestamp: str | float | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunError:
    """The error of a run as a whole, as the caller reports it."""

    category: ErrorCategory | None = None
    word: str | None = None  # the caller's category, where it is none of ours
    message: str = ""
    context: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A run of an agent: its task, its events in order, and its outcome."""

    task: str
    outcome: Outcome
    events: tuple[Event, ...] = ()
    goal: str | None = None
    error: RunError | None = None
    task_type: str | None = None
    tags: tuple[str, ...] = ()
    run_id: str | None = None
    cut: Mapping[str, int] | None = (
        None  # what was cut from a long one: {"events": 40, "characters": 9000}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingCall:
    """A failing call in a form that later calls can be compared with.

    Its head and its keys are those of the call's forms (`sessions.known_failures.Forms`).
    """

    tool: str
    arguments: Json
    head: str
    exact_key: str
    bare_key: str
    loose_key: str
    fingerprint: str  # the error without numbers, paths, ids and times
    signature: str  # 16 hex digits over tool, call and fingerprint
    category: ErrorCategory
    error: str
    worked: Json = None  # the arguments of the later call that worked, if there is one


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure(FailingCall):
    """A failing call of a run."""

    event_id: str
    call: str  # the tool and its arguments in one line (`text.signature.normalized_call`)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedCall:
    """A call that worked, by keys of its forms."""

    bare_key: str
    exact_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A fact about some events, in a short sentence that names them."""

    event_ids: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The facts of a run."""

    summary: str  # the facts as one text
    category: ErrorCategory | None = (
        None  # the caller's, else that of the first failure which nothing put right
    )
    first_failing_event: str | None = None
    facts: tuple[Observation, ...] = ()
    source_event_ids: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    worked: tuple[WorkedCall, ...] = ()
    calls: int = 0  # how many there were
    wasted: int = 0  # how many of them failed or repeated others
