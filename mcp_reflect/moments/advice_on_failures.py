"""What is said of a call that failed before: the warning before it, and the correction after it failed again.

Both show the lesson about the failure, or else the call that worked instead. A session is shown a lesson in full once,
and by its id from then on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.lesson_words import with_id
from mcp_reflect.models.run import ErrorCategory, Failure
from mcp_reflect.models.shown_lesson import named_lesson
from mcp_reflect.models.warning import DueWarning, KnownFailure, Match
from mcp_reflect.moments.expected_failures import WatchedCall, expected_failure
from mcp_reflect.moments.texts import REFUSED, correction_text, warning_text
from mcp_reflect.sessions.call_forms import Forms, forms_of
from mcp_reflect.text.signature import fingerprint

LEAST_CASES_TO_REFUSE: Final = 2
"""Sessions in which a call has failed, and never worked since, before it is refused."""

_AT_A_CALL: Final = "call:"
"""Before the id of a lesson that a call showed. One that only a prompt showed, long before, is
shown again at a call.
"""

_LOOK_BACK: Final = 30
"""Calls of a session in which a failure may be corrected by a call that works."""

_CATEGORIES_OF_ONE_CALL: Final = frozenset(
    {ErrorCategory.NO_RESULT, ErrorCategory.NOT_FOUND, ErrorCategory.ASSERTION}
)
"""Errors that say only that one thing does not exist: the correction of another call would name
another thing.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningBefore:
    """What is said before a call: the known failure, the lesson in the text, and what is noted as shown.

    With `hold` the call is refused. The session then notes its key among `held`, so that the same call passes the second
    time.
    """

    due: DueWarning
    text: str
    lesson_id: str | None = None
    hold: bool = False
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CorrectionAfter:
    """What is said after a failure: a known correction, the lesson in it, and what is noted as shown."""

    text: str
    lesson_id: str | None
    shown: tuple[str, ...]


def warn_before(
    call: WatchedCall, *, certainty: float, can_refuse: bool = False, only_advice: bool = False
) -> WarningBefore | None:
    """Return the warning before a call, None if none is at least this certain.

    `certainty` is the least that is said, from 0 to 1.

    | argument      | what it means                                                                                       |
    |---------------|-----------------------------------------------------------------------------------------------------|
    | `can_refuse`  | the host lets a call be refused: a call which is sure to fail is refused once                       |
    | `only_advice` | no warning of a failure without a known correction, nor of one that a call of this session was told |
    """
    due = expected_failure(call)
    if due is None or due.certainty < certainty:
        return None
    lesson = _lesson_about(call, due.known)
    if only_advice and not _has_new_advice(call, due.known, lesson):
        return None
    is_refused = can_refuse and _is_sure_to_fail(due) and not _was_refused(call)
    text = warning_text(due, _lesson_words(call, lesson))
    if is_refused:
        text = f"{text}\n{REFUSED}"
    return WarningBefore(
        due=due,
        text=text,
        lesson_id=_id_of(lesson),
        hold=is_refused,
        shown=_shown_keys(due.known, lesson),
    )


def _id_of(lesson: Lesson | None) -> str | None:
    """Return the id of a lesson, None for none."""
    if lesson is None:
        return None
    return lesson.id


def _is_sure_to_fail(due: DueWarning) -> bool:
    """Return whether the very same call failed in several sessions: one failure may be an accident of its session."""
    return due.match is Match.EXACT and due.known.cases >= LEAST_CASES_TO_REFUSE


def _was_refused(call: WatchedCall) -> bool:
    """Return whether this session was refused the call before: an agent that insists may know better."""
    return call.forms.exact_key in call.session.notes.held


def recurring_failure(call: WatchedCall) -> KnownFailure | None:
    """Return the known failure that a call which has just failed repeats, None for a new failure.

    Only the very same call counts: a call with other values, or another call of a broken tool, fails anew.
    """
    due = expected_failure(call, has_failed=True)
    if due is None or due.match is not Match.EXACT:
        return None
    return due.known


def correct_after(
    call: WatchedCall,
    failure: Failure,
    recurring: KnownFailure | None,
    same_error: Iterable[KnownFailure],
) -> CorrectionAfter | None:
    """Return the known correction of a call that failed, None where none is known.

    | the call                                                              | its correction is that of |
    |-----------------------------------------------------------------------|---------------------------|
    | repeats a known failure (`recurring`)                                 | that failure              |
    | failed with an error of its own thing, such as a file that is missing | none                      |
    | failed as other calls of its program did (`same_error`)               | the first that has one    |
    """
    if recurring is not None:
        return _known_correction(call, recurring, same_call=True)
    if failure.category in _CATEGORIES_OF_ONE_CALL:
        return None
    for other in same_error:
        if other.exact_key == call.forms.exact_key or not _has_same_program(other, call):
            continue
        correction = _known_correction(call, other, same_call=False)
        if correction is not None:
            return correction
    return None


def maybe_corrected(call: WatchedCall) -> Iterator[KnownFailure]:
    """Yield the latest failures of the session that a call which worked may have put right.

    They are failures of the same tool or program without a known correction. Whether the call does what the failed one
    was meant to do is for the caller to say.
    """
    oldest = call.session.step - _LOOK_BACK
    for failure in call.known.same_head:
        if failure.worked is None and failure.last_step > oldest:
            yield failure


def _known_correction(
    call: WatchedCall, failure: KnownFailure, *, same_call: bool
) -> CorrectionAfter | None:
    """Return what put a failure right: its lesson, or the call that worked.

    None where neither is known, or where an earlier call of this session showed it already.
    """
    lesson = _lesson_about(call, failure)
    if not _has_new_advice(call, failure, lesson):
        return None
    text = correction_text(failure, _lesson_words(call, lesson), same_call=same_call)
    return CorrectionAfter(text, _id_of(lesson), _shown_keys(failure, lesson))


def _has_same_program(failure: KnownFailure, call: WatchedCall) -> bool:
    """Return whether a failure with the same error is one of the same program or file as the call.

    In the shell "not found" of `git` is another error than that of `kubectl`. A tool that runs no programs counts as
    one program.
    """
    return _program(forms_of(failure.tool, failure.arguments)) == _program(call.forms)


def _program(forms: Forms) -> str:
    """Return the program or file of a call: "git" for the head `shell:git push`, empty for the head `search`."""
    kind_and_program = forms.head.partition(" ")[0]
    return kind_and_program.partition(":")[2]


def _lesson_about(call: WatchedCall, failure: KnownFailure) -> Lesson | None:
    """Return the lesson that names the failure's error among its symptoms, None if there is none.

    Symptoms are compared by fingerprint: the error text without its numbers, paths and other values.
    """
    lessons: Sequence[Lesson] = call.known.lessons.get(failure.reflection_id or "", ())
    for lesson in lessons:
        if any(fingerprint(symptom) == failure.fingerprint for symptom in lesson.symptoms):
            return lesson
    return None


def _lesson_words(call: WatchedCall, lesson: Lesson | None) -> str | None:
    """Return a lesson as a call shows it: in full at the first call of a session, later by its id; None for no lesson."""
    if lesson is None:
        return None
    if _AT_A_CALL + lesson.id in call.session.shown:
        return with_id(lesson.id, "shown before in this session")
    return named_lesson(lesson)


def _has_new_advice(call: WatchedCall, failure: KnownFailure, lesson: Lesson | None) -> bool:
    """Return whether a failure has a correction, a lesson or a call that worked, which no call of this session showed."""
    if lesson is None and failure.worked is None:
        return False
    return _key_at_a_call(failure, lesson) not in call.session.shown


def _key_at_a_call(failure: KnownFailure, lesson: Lesson | None) -> str:
    """Return the key under which a session notes what a call showed: "call:les_1" for a lesson, else "failure:7"."""
    if lesson is None:
        return f"failure:{failure.row}"
    return _AT_A_CALL + lesson.id


def _shown_keys(failure: KnownFailure, lesson: Lesson | None) -> tuple[str, ...]:
    """Return all keys that a session notes as shown with a failure: ("failure:7",) or ("call:les_1", "les_1").

    The id alone is for the next prompt, which shows no lesson again that the session has read in any way.
    """
    key_at_a_call = _key_at_a_call(failure, lesson)
    if lesson is None:
        return (key_at_a_call,)
    return (key_at_a_call, lesson.id)
