"""Reads a session's file into its steps, to see at which of them a lesson would have spoken."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.sessions.call_reader import CallReader
from mcp_reflect.sessions.own_calls import is_own_refusal, is_own_tool
from mcp_reflect.sessions.past_sessions import is_word_of_host
from mcp_reflect.sessions.records import PromptAuthor, Record
from mcp_reflect.sessions.session_lines import is_value, name_of_session, open_session, read_file
from mcp_reflect.sessions.session_steps import CallStep, PromptStep, Step, SteppedSession
from mcp_reflect.sessions.session_times import seconds_of
from mcp_reflect.sessions.text import ends
from mcp_reflect.sessions.tools import without_labels

_MOST_ANSWER: Final = 4_000  # characters of an answer that are looked at, half from each end
_MOST_PROMPT: Final = 4_000


def read_steps(path: Path, copied: frozenset[str] = frozenset()) -> SteppedSession:
    """Read a session's file to its end. OSError if it cannot be read.

    Records whose keys are among the `copied` ones are left out: they were read in the session that this one copies.
    """
    reader = StepReader(session=None)
    reader.read_elsewhere = copied
    with open_session(path) as file:
        faults = read_file(file, reader, is_value=is_value(path))
    return SteppedSession(reader.session or name_of_session(path), reader.steps, faults)


@dataclass(slots=True)
class StepReader(CallReader):
    """Gathers the prompts and calls of a session in order."""

    steps: list[Step] = field(default_factory=list[Step])

    def begin_record(self, number: int, record: Record) -> None:
        """Note the line of the next record, and its time."""
        self.note_record(number, seconds_of(record.get("timestamp")))

    def prompted(self, text: str, by: PromptAuthor = PromptAuthor.PERSON) -> None:
        """Note a person's prompt; words of a program or of the host are none."""
        if by is PromptAuthor.PERSON and text.strip() and not is_word_of_host(text):
            self.steps.append(
                PromptStep(
                    text=text[:_MOST_PROMPT],
                    line=self.line,
                    time=self.time,
                    work_seconds=self.work_seconds,
                )
            )

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
                is_reported_failed=failed,
                exit_code=code,
                line=self.line,
                time=self.time,
                work_seconds=self.work_seconds,
            )
        )
