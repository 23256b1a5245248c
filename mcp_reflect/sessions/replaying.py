"""A past session once more: what was said and called, and what came after a moment at which a lesson speaks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from mcp_reflect.evidence.following import LessonCalls
from mcp_reflect.guards.call import Call
from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import SessionCall
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.replay import Next
from mcp_reflect.sessions.call_reader import CallReader
from mcp_reflect.sessions.calls import CallWithAnswer
from mcp_reflect.sessions.past_sessions import AWAY, is_word_of_host
from mcp_reflect.sessions.records import PromptAuthor, Record
from mcp_reflect.sessions.session_calls import session_call
from mcp_reflect.sessions.session_lines import is_value, name_of_session, open_session, read_file
from mcp_reflect.sessions.session_times import seconds_of
from mcp_reflect.sessions.text import ends, telling_words
from mcp_reflect.sessions.tools import is_own_refusal, is_own_tool, without_labels

_MOST_ANSWER: Final = 4_000  # characters of an answer that are looked at, half from each end
_MOST_AHEAD: Final = 400  # calls after a moment in which the failure or the cure is looked for
SHARED: Final = 3  # telling words that a failure shares with a lesson which names no call
_MOST_PROMPT: Final = 4_000


@dataclass(frozen=True, slots=True)
class SaidStep:
    """A person's words; `worked` has the seconds of work until then."""

    text: str
    line: int
    at: float | None
    worked: float


@dataclass
class MadeStep:
    """A call with its answer. What it does and whether it failed is read when it is first asked for."""

    tool: str
    arguments: Json
    answer: str
    marked: bool
    code: int | None
    line: int
    at: float | None
    worked: float

    @cached_property
    def call(self) -> Call:
        """The call as guards see it."""
        return Call(self.tool, self.arguments)

    @cached_property
    def seen(self) -> SessionCall:
        """The call with its outcome."""
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
        if self.code is not None:
            call.facts["exit_code"] = self.code
        return session_call(self.line, call)

    @property
    def failed(self) -> bool:
        """Whether it failed, or its answer says no."""
        return self.seen.failed or self.seen.says_no


Step = SaidStep | MadeStep


@dataclass(slots=True)
class StepReader(CallReader):
    """Gathers the prompts and calls of a session in order."""

    line: int = 0
    at: float | None = None
    steps: list[Step] = field(default_factory=list[Step])

    def begin(self, place: int, record: Record) -> None:
        """Note where the next record stands, and when it was written."""
        self.line = place
        at = seconds_of(record.get("timestamp"))
        if at is not None:
            self.worked += min(max(at - (self.at or at), 0.0), AWAY)
            self.at = at

    def asked(self, text: str, by: PromptAuthor = PromptAuthor.PERSON) -> None:
        """Note a person's words."""
        if by is PromptAuthor.PERSON and text.strip() and not is_word_of_host(text):
            self.steps.append(SaidStep(text[:_MOST_PROMPT], self.line, self.at, self.worked))

    def told(self, text: str) -> None:
        """Leave out the agent's words."""

    def met(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        """Note a call with its answer."""
        if is_own_tool(tool, arguments) or (failed and is_own_refusal(content)):
            return
        answer = ends(content, _MOST_ANSWER)
        values = without_labels(tool, arguments)
        self.steps.append(
            MadeStep(tool, values, answer, failed, code, self.line, self.at, self.worked)
        )


@dataclass(frozen=True, slots=True)
class PastSession:
    """A session that was read: its name, its steps, and what could not be read."""

    name: str
    steps: Sequence[Step]
    faults: Sequence[str]


def read_steps(path: Path, known: frozenset[str] = frozenset()) -> PastSession:
    """Read a session's file to its end. Records with `known` keys are left out. OSError if it cannot be read."""
    reader = StepReader(session=None)
    reader.told_elsewhere = known
    with open_session(path) as file:
        faults = read_file(file, reader, is_value=is_value(path))
    return PastSession(reader.session or name_of_session(path), reader.steps, faults)


@dataclass(frozen=True, slots=True)
class ComparedLesson:
    """A lesson with what is compared with calls: the calls that it names, and the words that tell its failure."""

    lesson: Lesson
    calls: LessonCalls
    words: frozenset[str]
    every_word: frozenset[str]

    @classmethod
    def of(cls, lesson: Lesson) -> "ComparedLesson":
        """Return a lesson as it is replayed."""
        told = " ".join((lesson.mistake or lesson.text, *lesson.symptoms))
        words = telling_words(told)
        whole = words | telling_words(f"{lesson.text} {lesson.correction}")
        return cls(lesson, LessonCalls.of(lesson), words, whole)

    @property
    def names_calls(self) -> bool:
        """Whether it names a call: only of such a lesson it can be seen that nothing of it came."""
        calls = self.calls
        return not (calls.guard is None and calls.wrong is None and calls.right is None)

    def is_repeated_by(self, step: MadeStep) -> bool:
        """Return whether a call may be the failure that the lesson is about: its wrong call, or an error in its words."""
        if not step.failed:
            return False
        return self.calls.is_opposed_by(step.call) or self.has_error_of(step.seen.line)

    def has_error_of(self, line: str) -> bool:
        """Return whether an error is told in the words of the lesson's mistake or symptoms."""
        return len(telling_words(line) & self.words) >= SHARED

    def is_told_by(self, line: str) -> bool:
        """Return whether the error of a call against the lesson, or a person's refusal, speaks of what the lesson does."""
        return not telling_words(line).isdisjoint(self.every_word)


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What came after a moment: the line that tells it, and the minutes of work until the cure, if there was one."""

    next: Next
    fact: str
    minutes: float | None


def after(steps: Sequence[Step], place: int, advice: ComparedLesson) -> Aftermath:
    """Return what came after a moment for a lesson: the same failure, else the cure, else neither.

    A call against it that failed is its failure only where the error speaks of it, or the cure came later: it may have
    failed for another reason.
    """
    began = steps[place].worked
    failure: MadeStep | None = None
    useless: MadeStep | None = None
    for step in _calls_after(steps, place):
        if failure is None and advice.is_repeated_by(step):
            failure = step
        elif advice.calls.is_followed_by(step.call):
            if not step.failed:
                return _cured(failure, round((step.worked - began) / 60, 1))
            useless = useless or step
    if failure is not None and advice.is_told_by(failure.seen.line):
        return Aftermath(Next.FAILURE, failure.seen.line, None)
    if useless is not None:
        return Aftermath(Next.USELESS_CURE, useless.seen.line, None)
    if advice.names_calls:
        return Aftermath(Next.NEITHER, "", None)
    return Aftermath(Next.UNKNOWN, "", None)


def _cured(failure: MadeStep | None, minutes: float) -> Aftermath:
    """Return what came before the cure: the failure that it put right, or nothing."""
    if failure is None:
        return Aftermath(Next.CURE, "", minutes)
    return Aftermath(Next.FAILURE, failure.seen.line, minutes)


def _calls_after(steps: Sequence[Step], place: int) -> Iterator[MadeStep]:
    """Yield the calls soon after a place: `_MOST_AHEAD` of them at most."""
    left = _MOST_AHEAD
    for step in steps[place + 1 :]:
        if isinstance(step, MadeStep):
            left -= 1
            if left < 0:
                return
            yield step
