"""Calls that are known to fail: what to say before one and after it fails again, and which failures a call corrects.

`before` may return a warning whose `hold` refuses the call. The call's key is then stored in `held` of the session's
notes, so that the same call passes the second time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.lesson import Lesson, with_id
from mcp_reflect.models.run import ErrorCategory as C
from mcp_reflect.models.run import Failure
from mcp_reflect.models.session_state import SessionState
from mcp_reflect.models.shown_lesson import named_lesson
from mcp_reflect.models.warning import Due, KnownCalls, KnownFailure, Match
from mcp_reflect.moments.texts import REFUSED, correction_text, warning_text
from mcp_reflect.sessions.known_failures import Forms, drops_quotes, forms_of
from mcp_reflect.sessions.tools import Kind, is_code_search, kind_of
from mcp_reflect.text.signature import fingerprint

LEAST_HELD: Final = (
    2  # sessions in which a call has failed, and never worked since, before it is refused
)
_AT_A_CALL: Final = (
    "call:"  # before the id of a lesson that was shown at a call; a prompt shows it long before
)


@dataclass(frozen=True, slots=True)
class WatchedCall:
    """A call that is about to be made or was made, without secrets; what the bank knows of it, and its session."""

    tool: str
    arguments: Json
    forms: Forms
    known: KnownCalls
    session: SessionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """What is said before a call: the known failure, the lesson in the text, and what is noted as shown."""

    due: Due
    text: str
    lesson_id: str | None = None
    hold: bool = False
    shown: tuple[str, ...] = ()


def before(
    call: WatchedCall, *, certainty: float, holds: bool = False, only_advice: bool = False
) -> Warned | None:
    """Return the warning before a call, None if none is at least this certain.

    `certainty` is the least that is said, from 0 to 1. `holds`: the host lets a call be refused, so that one that
    is sure to fail is refused once. `only_advice`: nothing is said without a correction, and nothing that this
    session was told at a call.
    """
    expected_failure = due(call)
    if expected_failure is None or expected_failure.certainty < certainty:
        return None
    lesson = _lesson_of(call, expected_failure.known)
    if only_advice and not _new_advice(call, expected_failure.known, lesson):
        return None
    is_sure_to_fail = (
        expected_failure.match is Match.EXACT and expected_failure.known.cases >= LEAST_HELD
    )
    hold = holds and is_sure_to_fail and call.forms.exact_key not in call.session.notes.held
    text = warning_text(expected_failure, _lesson_words(call, lesson))
    if hold:
        text = f"{text}\n{REFUSED}"
    return Warned(
        due=expected_failure,
        text=text,
        lesson_id=lesson and lesson.id,
        hold=hold,
        shown=_shown_with(expected_failure.known, lesson),
    )


def _lesson_of(call: WatchedCall, known: KnownFailure) -> Lesson | None:
    """Return the lesson that names the failure's error among its symptoms, None if there is none.

    Symptoms are compared by fingerprint: the error text without its numbers, paths and other values.
    """
    lessons: Sequence[Lesson] = call.known.lessons.get(known.reflection_id or "", ())
    for lesson in lessons:
        if any(fingerprint(symptom) == known.fingerprint for symptom in lesson.symptoms):
            return lesson
    return None


def _lesson_words(call: WatchedCall, lesson: Lesson | None) -> str | None:
    """Return a lesson as it is shown: at the first call of a session in full, later only by its id; None for no lesson."""
    if lesson is None:
        return None
    if _AT_A_CALL + lesson.id in call.session.shown:
        return with_id(lesson.id, "shown before in this session")
    return named_lesson(lesson)


def _new_advice(call: WatchedCall, known: KnownFailure, lesson: Lesson | None) -> bool:
    """Return whether a failure has a correction, and this session was not told it at a call."""
    if lesson is None and known.worked is None:
        return False
    key_at_a_call = _shown_with(known, lesson)[0]
    return key_at_a_call not in call.session.shown


def _shown_with(known: KnownFailure, lesson: Lesson | None) -> tuple[str, ...]:
    """Return the keys that are noted as shown with a failure: of its lesson, at a call and as such; else of the failure."""
    if lesson is None:
        return (f"failure:{known.row}",)
    return (_AT_A_CALL + lesson.id, lesson.id)


# The warning that is due before a call. The certainties are chosen, not measured: they are the prior of a share of
# failures, which counts as much as PRIOR_CASES sessions. Each session in which the call failed, and each time that it
# worked, is one case more.

CERTAINTY: Final = {Match.EXACT: 0.95, Match.LOOSE: 0.8, Match.TOOL_AND_ERROR: 0.7}
PRIOR_CASES: Final = 2
PASSING: Final = 0.5  # times the certainty, for errors that pass by themselves, such as a timeout
RESULT: Final = 0.2  # times the certainty, for a failing test: the call itself did its work
SAME_ERRORS: Final = (
    3  # calls with other arguments and one error, after which the tool itself is known to fail
)

_PASSING: Final = frozenset({C.TIMEOUT, C.RATE_LIMIT, C.NETWORK, C.CONFLICT, C.RESOURCE_EXHAUSTION})
# Errors whose cause lies outside the values in the arguments: another id or date changes nothing.
_WHATEVER_VALUES: Final = frozenset({C.AUTH, C.PERMISSION, C.DEPENDENCY, C.SYNTAX})
_OF_THE_TOOL: Final = frozenset(
    {C.AUTH, C.PERMISSION, C.DEPENDENCY, C.NETWORK, C.RATE_LIMIT, C.RESOURCE_EXHAUSTION}
)
# Errors whose cause is the call itself: nothing that is done elsewhere makes it work.
_OF_THE_CALL: Final = frozenset({C.VALIDATION, C.SYNTAX})


def due(call: WatchedCall, *, failed: bool = False) -> Due | None:
    """Return the surest warning for a call, or None: the rules are tried from the surest to the least sure.

    `failed` is True if the call was made and failed again, rather than being about to be made.
    """
    still_failing = _still_failing(call, failed=failed)
    return (
        _same_call_failed(call, still_failing)
        or _other_values_failed_too(call, still_failing)
        or _tool_fails_whatever_the_arguments(call)
    )


def _still_failing(call: WatchedCall, *, failed: bool) -> list[KnownFailure]:
    """Return the known failures of such a call that never worked since.

    Before a call, those that may have been a single accident are left out; after it `failed` again, they count.
    """
    searches = _searches_a_service(call)
    return [
        known
        for known in call.known.same_call
        if known.worked_at is None and (failed or _is_sure(known, call.session, searches=searches))
    ]


def _same_call_failed(call: WatchedCall, still_failing: Sequence[KnownFailure]) -> Due | None:
    """The very call failed, or one that differs in quotation marks alone, and nothing changed since."""
    same = [
        known
        for known in still_failing
        if (known.exact_key == call.forms.exact_key or _same_quoted(call.forms, known))
        and not _changed_since(call, known)
    ]
    return _due(same, Match.EXACT) if same else None


def _other_values_failed_too(
    call: WatchedCall, still_failing: Sequence[KnownFailure]
) -> Due | None:
    """Return the warning that the call failed with other ids, dates or ports, None where it did not.

    The loose key of a call leaves such values out, the bare key only quotation marks. Two different values are
    asked for, since one may have been the cause itself; errors such as a missing right or program lie outside of
    all values, so that one is enough for them.
    """
    with_other_values = [
        known
        for known in still_failing
        if known.loose_key == call.forms.loose_key and known.bare_key != call.forms.bare_key
    ]
    if not with_other_values:
        return None
    values_tried = {known.exact_key for known in with_other_values}
    ever_worked = any(known.works for known in with_other_values)
    is_outside_values = all(known.category in _WHATEVER_VALUES for known in with_other_values)
    if is_outside_values or (len(values_tried) > 1 and not ever_worked):
        return _due(with_other_values, Match.LOOSE)
    return None


def _tool_fails_whatever_the_arguments(call: WatchedCall) -> Due | None:
    """Return the warning that the tool itself is broken, None where it is not.

    It is if several calls with different arguments failed with one error, and none worked since. In a shell, each
    program with its subcommand (the head of a call, `git push`) is a tool of its own. The certainty does not grow
    with the cases, because the next arguments are new to it.
    """
    step_it_last_worked = dict(call.session.worked).get(call.forms.head, 0)
    by_error: dict[str, list[KnownFailure]] = {}
    for known in call.known.same_head:
        is_of_the_tool = known.last_step > step_it_last_worked and known.category in _OF_THE_TOOL
        if is_of_the_tool and not _changed_since(call, known):
            by_error.setdefault(known.fingerprint, []).append(known)
    commonest = max(by_error.values(), key=len, default=list[KnownFailure]())
    arguments_tried = {known.exact_key for known in commonest}
    if len(arguments_tried) < SAME_ERRORS:
        return None
    match = Match.TOOL_AND_ERROR
    return _due(commonest, match, certainty=CERTAINTY[match])


def _is_sure(known: KnownFailure, session: SessionState, *, searches: bool) -> bool:
    """Return whether a failure is more than a single accident.

    It is if it occurred in two sessions or in this one, if its correction is known, if its cause is the call itself, or
    if a search found nothing, because nothing in the session changes what is searched.
    """
    return (
        known.category in _OF_THE_CALL
        or (searches and known.category is C.NO_RESULT)
        or known.cases > 1
        or known.last_session == session.id
        or known.worked is not None
    )


def _due(failures: Sequence[KnownFailure], match: Match, *, certainty: float | None = None) -> Due:
    """Return one warning for all the failures, about the latest one; without `certainty`, all their cases count."""
    latest = max(failures, key=lambda known: (known.last_at, known.last_step, known.row))
    if certainty is None:
        prior = CERTAINTY[match] * _weight(latest.category)
        certainty = _share_of_failures(failures, prior)
    times = sum(known.times for known in failures)
    return Due(known=latest, match=match, certainty=round(certainty, 2), times=times)


def _weight(category: C) -> float:
    """Return the factor of the certainty for an error, from 0 to 1: small where the next try may well work."""
    if category is C.ASSERTION:
        return RESULT
    if category in _PASSING:
        return PASSING
    return 1.0


def _share_of_failures(failures: Sequence[KnownFailure], prior: float) -> float:
    """Return the share of cases in which the call failed, from 0 to 1: the mean of the prior and what was seen.

    The first failure is what the prior is about, and counts as PRIOR_CASES cases with the share `prior`; each later
    one is a case that failed, and each time that the call worked, or a warning was wrong, one that did not.
    """
    cases = sum(known.cases for known in failures)
    works = sum(max(known.works, known.wrong) for known in failures)
    return (PRIOR_CASES * prior + cases - 1) / (PRIOR_CASES + cases - 1 + works)


def _same_quoted(forms: Forms, known: KnownFailure) -> bool:
    """Return whether only quotation marks differ; False for a call with fewer, which may be the correction.

    In a shell, marks decide what the words are: `-name '*.py'` corrects `-name *.py`.
    """
    if (
        forms.head.startswith("shell:") or known.bare_key != forms.bare_key
    ):  # the key of a call without quotation marks
        return False
    return not drops_quotes(forms, forms_of(known.tool, known.arguments))


def _changed_since(call: WatchedCall, known: KnownFailure) -> bool:
    """Return whether this session changed something, such as a file, since the call failed in it.

    Such a change may have put the call right, unless the cause is the call itself or a search of a service that no
    file changes.
    """
    session = call.session
    if known.last_session != session.id or session.changed <= known.last_step:
        return False
    if known.category in _OF_THE_CALL:
        return False
    return not (known.category is C.NO_RESULT and _searches_a_service(call))


def _searches_a_service(call: WatchedCall) -> bool:
    """Return whether a call searches what the session does not change: grep looks into files that it edits."""
    is_search = kind_of(call.tool, call.arguments) is Kind.SEARCH
    return is_search and not is_code_search(call.tool, call.arguments)


# After a call.

_LOOK_BACK: Final = (
    30  # calls of a session in which a failure may be corrected by a call that works
)
# Errors that say only that one thing does not exist: the correction of another call would name another thing.
_OF_ONE_CALL: Final = frozenset({C.NO_RESULT, C.NOT_FOUND, C.ASSERTION})


@dataclass(frozen=True, slots=True)
class Corrected:
    """What is said after a failure: a known correction, the lesson in it, and what is noted as shown."""

    text: str
    lesson_id: str | None
    shown: tuple[str, ...]


def recurs(call: WatchedCall) -> KnownFailure | None:
    """Return the known failure that a call which has just failed repeats, None for a new failure.

    Only the very same call counts: a call with other values, or another call of a broken tool, fails anew.
    """
    expected = due(call, failed=True)
    if expected is None or expected.match is not Match.EXACT:
        return None
    return expected.known


def after_failure(
    call: WatchedCall,
    failure: Failure,
    again: KnownFailure | None,
    same_error: Iterable[KnownFailure],
) -> Corrected | None:
    """Return the known correction of a call that failed, None where none is known.

    It is that of the same call (`again` is its known failure), else of another call of `same_error` with the same
    program.
    """
    if again is not None:
        return _known_correction(call, again, same_call=True)
    if failure.category in _OF_ONE_CALL:
        return None
    for known in same_error:
        if known.exact_key != call.forms.exact_key and _is_akin(known, call):
            correction = _known_correction(call, known, same_call=False)
            if correction is not None:
                return correction
    return None


def _is_akin(known: KnownFailure, call: WatchedCall) -> bool:
    """Return whether a failure with the same error is one of the same program or file as the call.

    In the shell "not found" of `git` is another error than that of `kubectl`. The calls of a tool that has no
    programs are all akin.
    """
    return _program(forms_of(known.tool, known.arguments)) == _program(call.forms)


def _program(forms: Forms) -> str:
    """Return the program or file in a head such as `shell:git push`; empty for the head of another tool."""
    return forms.head.partition(" ")[0].partition(":")[2]


def corrected(call: WatchedCall) -> Iterator[KnownFailure]:
    """Return the latest failures of the session that a call which worked may have put right; the caller compares the calls."""
    oldest = call.session.step - _LOOK_BACK
    return (
        known for known in call.known.same_head if known.worked is None and known.last_step > oldest
    )


def _known_correction(
    call: WatchedCall, known: KnownFailure, *, same_call: bool
) -> Corrected | None:
    """Return what put a failure right, None where that is not known or this session was told it before."""
    lesson = _lesson_of(call, known)
    if not _new_advice(call, known, lesson):
        return None
    text = correction_text(known, _lesson_words(call, lesson), same_call=same_call)
    return Corrected(text, lesson and lesson.id, _shown_with(known, lesson))
