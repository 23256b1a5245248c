"""A past session as a list of steps, its prompts and its calls, to see at which of them a lesson would have spoken."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from mcp_reflect.guards.call import Call
from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import SessionCall
from mcp_reflect.sessions.call_reader import CallReader
from mcp_reflect.sessions.calls import answered_call
from mcp_reflect.sessions.own_calls import is_own_refusal, is_own_tool
from mcp_reflect.sessions.past_sessions import AWAY, is_word_of_host
from mcp_reflect.sessions.records import PromptAuthor, Record
from mcp_reflect.sessions.session_calls import session_call
from mcp_reflect.sessions.session_lines import is_value, name_of_session, open_session, read_file
from mcp_reflect.sessions.session_times import seconds_of
from mcp_reflect.sessions.text import ends
from mcp_reflect.sessions.tools import without_labels

_MOST_ANSWER: Final = 4_000  # characters of an answer that are looked at, half from each end
_MOST_PROMPT: Final = 4_000


@dataclass(frozen=True, slots=True)
class PromptStep:
    """A person's prompt.

    `line` is its line in the session's file, `at` its time in seconds since 1970, None where the file tells none.
    `worked` counts the seconds of work in the session until then, without the pauses of the person.
    """

    text: str
    line: int
    at: float | None
    worked: float


@dataclass
class CallStep:
    """A call with its answer; `line`, `at` and `worked` are as for a `PromptStep`.

    `marked_failed` says that the host reports the call as failed, `exit_code` is None where the host tells none. What the
    call does and whether it failed is read when it is first asked for, since most calls meet no lesson.
    """

    tool: str
    arguments: Json
    answer: str
    marked_failed: bool
    exit_code: int | None
    line: int
    at: float | None
    worked: float

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
            failed=self.marked_failed,
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


@dataclass(slots=True)
class StepReader(CallReader):
    """Gathers the prompts and calls of a session in order. `line` and `at` are those of the latest record."""

    line: int = 0
    at: float | None = None
    steps: list[Step] = field(default_factory=list[Step])

    def begin_record(self, number: int, record: Record) -> None:
        """Note the line of the next record, and its time.

        The time since the record before counts as work, but no more than `AWAY`: nobody works who is gone for longer.
        """
        self.line = number
        at = seconds_of(record.get("timestamp"))
        if at is None:
            return
        if self.at is not None:
            self.worked += min(max(at - self.at, 0.0), AWAY)
        self.at = at

    def prompted(self, text: str, by: PromptAuthor = PromptAuthor.PERSON) -> None:
        """Note a person's prompt; words of a program or of the host are none."""
        if by is PromptAuthor.PERSON and text.strip() and not is_word_of_host(text):
            self.steps.append(PromptStep(text[:_MOST_PROMPT], self.line, self.at, self.worked))

    def spoke(self, text: str) -> None:
        """Leave out the agent's words: no lesson speaks at them."""

    def call_ended(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        """Note a call with its answer; a call of our own tools and one that we refused are no work of the agent."""
        if is_own_tool(tool, arguments) or (failed and is_own_refusal(content)):
            return
        self.steps.append(
            CallStep(
                tool=tool,
                arguments=without_labels(tool, arguments),
                answer=ends(content, _MOST_ANSWER),
                marked_failed=failed,
                exit_code=code,
                line=self.line,
                at=self.at,
                worked=self.worked,
            )
        )


@dataclass(frozen=True, slots=True)
class SteppedSession:
    """A session as its steps, in order; `faults` say what could not be read ("line 7: not JSON")."""

    name: str
    steps: Sequence[Step]
    faults: Sequence[str]


def read_steps(path: Path, copied: frozenset[str] = frozenset()) -> SteppedSession:
    """Read a session's file to its end. OSError if it cannot be read.

    Records whose keys are among the `copied` ones are left out: they were read in the session that this one copies.
    """
    reader = StepReader(session=None)
    reader.read_elsewhere = copied
    with open_session(path) as file:
        faults = read_file(file, reader, is_value=is_value(path))
    return SteppedSession(reader.session or name_of_session(path), reader.steps, faults)
