"""A run of an agent: what it was asked, what it did, how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mcp_reflect.records.json import Json


class EventType(StrEnum):
    """What kind of thing happened."""

    TOOL_CALL = "tool_call"
    TOOL_RESPONSE = "tool_response"
    LLM_CALL = "llm_call"
    DECISION = "decision"
    OBSERVATION = "observation"
    ERROR_EVENT = "error_event"
    USER_FEEDBACK = "user_feedback"
    SYSTEM_EVENT = "system_event"


class Outcome(StrEnum):
    """How the run ended, in the caller's words."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    TIMEOUT = "timeout"
    ERROR = "error"


class ErrorCategory(StrEnum):
    """The kinds of failure that rules tell apart."""

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
        """The word used in tags and prose: `timeout` for `timeout_error`."""
        return self.value.removesuffix("_error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened. Content, tool or error is there; `id` is unique in its trace."""

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
    """What the caller says went wrong with the run as a whole."""

    category: ErrorCategory | None = None
    message: str = ""
    context: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What an oversized trace lost before it was read: events dropped from its middle, characters cut."""

    events: int
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A run of an agent, in the order in which things happened."""

    task: str
    outcome: Outcome
    events: tuple[Event, ...] = ()
    goal: str | None = None
    error: RunError | None = None
    task_type: str | None = None
    tags: tuple[str, ...] = ()
    run_id: str | None = None
    cut: Cut | None = None
