"""A past session once more, as its prompts and calls in order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from mcp_reflect.guards.call import Call
from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import SessionCall
from mcp_reflect.sessions.call_reader import CallReader
from mcp_reflect.sessions.calls import CallWithAnswer
from mcp_reflect.sessions.past_sessions import AWAY, is_word_of_host
from mcp_reflect.sessions.records import PromptAuthor, Record
from mcp_reflect.sessions.session_calls import session_call
from mcp_reflect.sessions.session_lines import is_value, name_of_session, open_session, read_file
from mcp_reflect.sessions.session_times import seconds_of
from mcp_reflect.sessions.text import ends
from mcp_reflect.sessions.tools import is_own_refusal, is_own_tool, without_labels

_MOST_ANSWER: Final = 4_000  # characters of an answer that are looked at, half from each end
_MOST_PROMPT: Final = 4_000


@dataclass(frozen=True, slots=True)
class PromptStep:
    """A person's words. `line` is the line of the session's file, `at` the time, in seconds since 1970.

    `worked` has the seconds of work in the session until then, without the times at which nobody was there.
    """

    text: str
    line: int
    at: float | None
    worked: float


@dataclass
class CallStep:
    """A call with its answer, and when it was made as for a `PromptStep`.

    What it does and whether it failed is read when it is first asked for: most calls meet no lesson. `marked` says that
    the host reports it as failed, `exit_code` is None where the host tells none.
    """

    tool: str
    arguments: Json
    answer: str
    marked: bool
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
        call = CallWithAnswer(
            event_id="",
            tool=self.tool,
            arguments=self.arguments,
            answer=self.answer,
            answered=True,
            marked=self.marked,
        )
        if self.marked:
            call.error = self.answer or "error"
        if self.exit_code is not None:
            call.facts["exit_code"] = self.exit_code
        return session_call(self.line, call)

    @property
    def ending_line(self) -> str:
        """The line of its answer that tells how it ended, such as its error."""
        return self.outcome.line

    @property
    def failed(self) -> bool:
        """Whether it failed, or its answer says no."""
        return self.outcome.failed or self.outcome.says_no


Step = PromptStep | CallStep


@dataclass(slots=True)
class StepReader(CallReader):
    """Gathers the prompts and calls of a session in order."""

    line: int = 0
    at: float | None = None
    steps: list[Step] = field(default_factory=list[Step])

    def begin(self, place: int, record: Record) -> None:
        """Note on which line the next record stands, and when it was written.

        The time since the record before counts as work, but no more than `AWAY`: a person who is gone does not work.
        """
        self.line = place
        at = seconds_of(record.get("timestamp"))
        if at is None:
            return
        if self.at is not None:
            self.worked += min(max(at - self.at, 0.0), AWAY)
        self.at = at

    def asked(self, text: str, by: PromptAuthor = PromptAuthor.PERSON) -> None:
        """Note a person's words."""
        if by is PromptAuthor.PERSON and text.strip() and not is_word_of_host(text):
            self.steps.append(PromptStep(text[:_MOST_PROMPT], self.line, self.at, self.worked))

    def told(self, text: str) -> None:
        """Leave out the agent's words: no lesson speaks at them."""

    def met(
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
                marked=failed,
                exit_code=code,
                line=self.line,
                at=self.at,
                worked=self.worked,
            )
        )


@dataclass(frozen=True, slots=True)
class SteppedSession:
    """A session that was read: its name, its steps, and what could not be read."""

    name: str
    steps: Sequence[Step]
    faults: Sequence[str]


def read_steps(path: Path, known: frozenset[str] = frozenset()) -> SteppedSession:
    """Read a session's file to its end. Records with `known` keys are left out. OSError if it cannot be read."""
    reader = StepReader(session=None)
    reader.told_elsewhere = known
    with open_session(path) as file:
        faults = read_file(file, reader, is_value=is_value(path))
    return SteppedSession(reader.session or name_of_session(path), reader.steps, faults)
