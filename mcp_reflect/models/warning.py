"""The input of a hook, calls known to fail, warnings before such calls, and the outcomes of warnings.

A *moment* is the point of a session at which a host calls a hook. A session is *held out* if it is in the control group,
which is shown no lessons, so that their effect can be measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.lesson import GuardMode, Lesson
from mcp_reflect.models.run import FailingCall


class Moment(StrEnum):
    """The moment at which a hook is called."""

    START = "start"
    PROMPT = "prompt"
    BEFORE = "before"
    AFTER = "after"
    STOP = "stop"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookInput:
    """What a host sent; None for what it did not send. `error` is set if the host reports a failure.

    `answer_key` is None if the host reads no text, `holds` true where it can refuse the call; `watched` is false
    in a session whose output no person reads. `anew` says that the agent has forgotten what it was shown, `resumed` that
    it has not, though the session starts. `message` is the agent's last one, `again` true where it stops after that
    was held, `of_agent` where a subagent stops. `parent` is the host's own name of a session to which a subagent's belongs,
    `child_prompt` that of an agent which the call starts.
    """

    event: str
    moment: Moment
    session: str
    answer_key: str | None = None
    holds: bool = False
    watched: bool = True
    witnessed: bool = True
    folder: str | None = None
    tool: str | None = None
    call_id: str | None = None
    arguments: Json = None
    result: Json = None
    error: str | None = None
    prompt: str | None = None
    transcript: str | None = None
    anew: bool = False
    resumed: bool = False
    message: str | None = None
    again: bool = False
    of_agent: bool = False
    parent: str | None = None
    child_prompt: str | None = None

    @property
    def root(self) -> str:
        """The session as its host names it, of which a subagent's is a part."""
        return self.parent or self.session


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcedGuard:
    """A guard that a person enforces, and what is said where it refuses a call."""

    lesson_id: str
    guard: str
    text: str


MAY_BE_EMPTY: Final = "a variable in it, which nobody here knows, may be empty"
"""Why a call cannot be read that goes against a guard without that variable."""

TOLD: Final = " told"
"""The suffix for a call against a lesson that was made while its agent was being told of the lesson."""

SETTLED: Final = " settled"
"""Behind one after which the agent's next call was judged."""

_MOST_HELD: Final = 50  # calls of a session that were refused, the last ones


class Match(StrEnum):
    """The similarity of a call to one that failed, the surest first."""

    EXACT = "exact"  # the same call, or the same in more quotation marks
    LOOSE = "loose"  # the same but for dates, ids, ports and temporary paths
    TOOL_AND_ERROR = (
        "tool_and_error"  # its tool or command has failed with one error whatever the arguments
    )
    GUARD = "guard"  # it goes against a lesson


class Sequel(StrEnum):
    """The outcome of a warning."""

    HEEDED = "heeded"  # something else was done
    FAILED = "failed"  # the call was made and failed again
    WORKED = "worked"  # the call was made and worked: the warning was wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure(FailingCall):
    """A call of the bank that failed.

    `times` counts failures, `cases` the sessions in which it failed, `works` how often the same call worked, `wrong`
    warnings that it disproved. Times are seconds since 1970; `worked_at` is None unless it worked since it last failed.
    `last_step` is the number of the call in `last_session`.
    """

    row: int
    times: int
    cases: int
    works: int
    wrong: int
    last_at: float
    worked_at: float | None
    last_session: str | None
    last_step: int
    reflection_id: str | None = None


LAST_WORD_COUNTS: Final = ("held", "ran", "corrected", "repeated", "told")


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWord:
    """What was said about the last messages of a session, and what came of it.

    `held` counts messages that were held; then the agent `ran` what it had claimed, `corrected` its message or
    `repeated` it. `told` counts those that were told at the next prompt, `due` is the text that waits for it. `said`
    has the keys of doubts, `open` the kinds that the latest held message claimed, `step` the number of calls before it.
    """

    held: int = 0
    told: int = 0
    ran: int = 0
    corrected: int = 0
    repeated: int = 0
    said: tuple[str, ...] = ()
    due: str = ""
    open: tuple[str, ...] = ()
    step: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNotes:
    """What hooks note of a session beside its calls; a field that an older release does not know is left out.

    `held` has the exact keys of the calls that were refused once, `guarded` the ids of lessons, each with the key of a
    call against it of which it was told.
    """

    held: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    last_word: LastWord = LastWord()

    def after_guard(self, watched: str) -> "SessionNotes":
        """Return the notes with a call against a lesson, by its key `watched`, as the latest."""
        earlier = [key for key in self.guarded if key != watched]
        return replace(self, guarded=(*earlier, watched)[-_MOST_HELD:])

    def after_hold(self, exact: str) -> "SessionNotes":
        """Return the notes with a call that was refused."""
        return replace(self, held=(*self.held, exact)[-_MOST_HELD:])


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """The state of a session: the number of calls, and of the last call that changed something.

    `worked` holds the number of the last call that worked by its head; `shown` the ids of lessons shown.
    """

    id: str
    held_out: bool
    step: int = 0
    changed: int = 0
    worked: tuple[tuple[str, int], ...] = ()
    shown: tuple[str, ...] = ()
    notes: SessionNotes = SessionNotes()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCalls:
    """What the bank knows of a call: failures of the same call, failures in its session of the same head, lessons.

    `lessons` has those that may be shown, by the reflection that noted a failure, `guards` those that the call goes
    against; `guard_mode` is what a person chose for all of the project. `unread` is the reason why the call could not be
    read: then `guards` has those that it may go against.
    """

    same_call: tuple[KnownFailure, ...] = ()
    same_head: tuple[KnownFailure, ...] = ()
    lessons: Mapping[str, tuple[Lesson, ...]] = field(default_factory=dict[str, tuple[Lesson, ...]])
    guards: tuple[Lesson, ...] = ()
    guard_mode: GuardMode | None = None
    unread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A warning that is due: the failure it rests on, its match, and its certainty in 0..1."""

    known: KnownFailure
    match: Match
    certainty: float
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWarning:
    """A warning before a call.

    `text` is for the agent, fenced; `lesson_id` is the lesson in it. `hold`: the call is to be refused, once.
    """

    text: str
    match: Match
    certainty: float
    lesson_id: str | None = None
    hold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterCall:
    """The result of recording a call. `text` is a known correction or an ask for a lesson, fenced."""

    failed: bool
    text: str | None = None
    lesson_id: str | None = None
