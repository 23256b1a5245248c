"""The steps of a past session, its prompts and its calls: the moments at which a lesson may speak."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from mcp_reflect.guards.call import Call
from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import SessionCall
from mcp_reflect.sessions.calls import answered_call
from mcp_reflect.sessions.session_calls import session_call


@dataclass(frozen=True, slots=True)
class PromptStep:
    """A person's prompt.

    `line` is the number of its line in the session's file, `time` is in seconds since 1970 (None where the file tells
    none), and `work_seconds` counts the work in the session until then, without the pauses of the person.
    """

    text: str
    line: int
    time: float | None
    work_seconds: float


@dataclass
class CallStep:
    """A call with its answer; `line`, `time` and `work_seconds` are as for a `PromptStep`.

    `is_reported_failed` says that the host reports the call as failed, `exit_code` is None where the host tells none. What
    the call does and whether it failed is read when it is first asked for, since most calls meet no lesson.
    """

    tool: str
    arguments: Json
    answer: str
    is_reported_failed: bool
    exit_code: int | None
    line: int
    time: float | None
    work_seconds: float

    @cached_property
    def call(self) -> Call:
        """The call as guards see it."""
        return Call(self.tool, self.arguments)

    @cached_property
    def outcome(self) -> SessionCall:
        """The call as it is analyzed: with the line that tells how it ended."""
        call = answered_call(
            self.tool,
            self.arguments,
            self.answer,
            failed=self.is_reported_failed,
            code=self.exit_code,
        )
        return session_call(self.line, call)

    @property
    def ending_line(self) -> str:
        """The line of the answer that tells how the call ended, such as its error."""
        return self.outcome.line

    @property
    def failed(self) -> bool:
        """Whether the call failed, or its answer says no ("not ready")."""
        return self.outcome.failed or self.outcome.says_no


Step = PromptStep | CallStep


@dataclass(frozen=True, slots=True)
class SteppedSession:
    """A session as its steps, in order; `faults` say what could not be read ("line 7: not JSON")."""

    name: str
    steps: Sequence[Step]
    faults: Sequence[str]
