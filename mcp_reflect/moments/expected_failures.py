"""Whether a call is expected to fail as an earlier one did, and how certainly.

Three rules say so, the surest first; for the call `Bash(command="git push origin main")`:

| rule                                 | what failed before                                    | match            |
|--------------------------------------|-------------------------------------------------------|------------------|
| `_same_call_failed`                  | `git push origin main`                                | `EXACT`          |
| `_other_values_failed_too`           | the call with another id, date or port                | `LOOSE`          |
| `_tool_fails_whatever_the_arguments` | three other calls of `git push`, each "access denied" | `TOOL_AND_ERROR` |

The certainties are chosen, not measured: they are the prior of a share of failures, which counts as much as
PRIOR_CASES sessions. Each session in which the call failed, and each time that it worked, is one case more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.models.session_state import SessionState
from mcp_reflect.models.warning import DueWarning, KnownCalls, KnownFailure, Match
from mcp_reflect.sessions.call_forms import Forms, drops_quotes, forms_of
from mcp_reflect.sessions.tools import Kind, is_code_search, kind_of

CERTAINTY: Final = {Match.EXACT: 0.95, Match.LOOSE: 0.8, Match.TOOL_AND_ERROR: 0.7}
PRIOR_CASES: Final = 2
PASSING_FACTOR: Final = 0.5
"""What the certainty is multiplied by where the error passes by itself, as a timeout does."""

ASSERTION_FACTOR: Final = 0.2
"""The same where a test fails: the call itself did its work."""

SAME_ERRORS: Final = 3
"""Calls with other arguments and one error, after which the tool itself is expected to fail."""

_PASSING: Final = frozenset(
    {
        ErrorCategory.TIMEOUT,
        ErrorCategory.RATE_LIMIT,
        ErrorCategory.NETWORK,
        ErrorCategory.CONFLICT,
        ErrorCategory.RESOURCE_EXHAUSTION,
    }
)
"""Errors that may pass by themselves, so that the next try works."""

_OUTSIDE_THE_VALUES: Final = frozenset(
    {
        ErrorCategory.AUTH,
        ErrorCategory.PERMISSION,
        ErrorCategory.DEPENDENCY,
        ErrorCategory.SYNTAX,
    }
)
"""Errors whose cause lies outside the values in the arguments: another id or date changes
nothing.
"""

_OF_THE_TOOL: Final = frozenset(
    {
        ErrorCategory.AUTH,
        ErrorCategory.PERMISSION,
        ErrorCategory.DEPENDENCY,
        ErrorCategory.NETWORK,
        ErrorCategory.RATE_LIMIT,
        ErrorCategory.RESOURCE_EXHAUSTION,
    }
)
"""Errors that may be those of a tool which is broken, whatever its arguments."""

_OF_THE_CALL: Final = frozenset({ErrorCategory.VALIDATION, ErrorCategory.SYNTAX})
"""Errors whose cause is the call itself: nothing that is done elsewhere makes it work."""


@dataclass(frozen=True, slots=True)
class WatchedCall:
    """A call that is about to be made or was made, without secrets; what the bank knows of it, and its session."""

    tool: str
    arguments: Json
    forms: Forms
    known: KnownCalls
    session: SessionState


def expected_failure(call: WatchedCall, *, has_failed: bool = False) -> DueWarning | None:
    """Return the surest reason to expect that a call fails, None if there is none; the module's table has the rules.

    `has_failed` is True if the call was made and failed again, rather than being about to be made.
    """
    unresolved = _unresolved_failures(call, has_failed=has_failed)
    for rule in (_same_call_failed, _other_values_failed_too):
        due = rule(call, unresolved)
        if due is not None:
            return due
    return _tool_fails_whatever_the_arguments(call)


def _unresolved_failures(call: WatchedCall, *, has_failed: bool) -> list[KnownFailure]:
    """Return the failures of such a call after which it never worked.

    Before a call, those that may have been a single accident are left out; once it `has_failed` again, none was.
    """
    unresolved = [failure for failure in call.known.same_call if failure.worked_at is None]
    if has_failed:
        return unresolved
    searches = _searches_a_service(call)
    return [
        failure
        for failure in unresolved
        if _is_no_accident(failure, call.session, searches=searches)
    ]


def _same_call_failed(call: WatchedCall, unresolved: Sequence[KnownFailure]) -> DueWarning | None:
    """Return the warning that this very call failed, and nothing changed since; None where it did not.

    A call that differs in quotation marks alone is the same.
    """
    of_same_call: list[KnownFailure] = []
    for failure in unresolved:
        is_same = failure.exact_key == call.forms.exact_key
        if (is_same or _differs_in_quotes(call.forms, failure)) and not _changed_since(
            call, failure
        ):
            of_same_call.append(failure)
    if not of_same_call:
        return None
    return _warning_about(of_same_call, Match.EXACT)


def _other_values_failed_too(
    call: WatchedCall, unresolved: Sequence[KnownFailure]
) -> DueWarning | None:
    """Return the warning that the call failed with other ids, dates or ports, None where it did not.

    After `show --id 17` and `show --id 23` failed, `show --id 42` is expected to: their loose key, which leaves such
    values out, is one, and their bare keys differ.

    | what failed with other values                         | is expected to fail again                     |
    |-------------------------------------------------------|-----------------------------------------------|
    | only errors outside of all values, as a missing right | yes, also after one value                     |
    | two values or more, and the call never worked         | yes                                           |
    | one value alone                                       | no: that value may have been the cause itself |
    | any, and the call has worked with some value          | no                                            |
    """
    with_other_values = [
        failure
        for failure in unresolved
        if failure.loose_key == call.forms.loose_key and failure.bare_key != call.forms.bare_key
    ]
    if not with_other_values:
        return None
    values_tried = {failure.exact_key for failure in with_other_values}
    ever_worked = any(failure.works for failure in with_other_values)
    is_outside_values = all(
        failure.category in _OUTSIDE_THE_VALUES for failure in with_other_values
    )
    if is_outside_values or (len(values_tried) > 1 and not ever_worked):
        return _warning_about(with_other_values, Match.LOOSE)
    return None


def _tool_fails_whatever_the_arguments(call: WatchedCall) -> DueWarning | None:
    """Return the warning that the tool itself is broken, None where it is not.

    It is if several calls with different arguments failed with one error, and none worked since. In a shell, each
    program with its subcommand (the head of a call, `git push`) is a tool of its own. The certainty does not grow
    with the cases, because the next arguments are new to it.
    """
    failures = _commonest_failures_of_tool(call)
    arguments_tried = {failure.exact_key for failure in failures}
    if len(arguments_tried) < SAME_ERRORS:
        return None
    match = Match.TOOL_AND_ERROR
    return _warning_about(failures, match, certainty=CERTAINTY[match])


def _commonest_failures_of_tool(call: WatchedCall) -> list[KnownFailure]:
    """Return the failures of this session, since the tool last worked in it, that share the commonest error."""
    step_it_last_worked = dict(call.session.worked).get(call.forms.head, 0)
    by_error: dict[str, list[KnownFailure]] = {}
    for failure in call.known.same_head:
        is_since = failure.last_step > step_it_last_worked
        is_of_the_tool = failure.category in _OF_THE_TOOL
        if is_since and is_of_the_tool and not _changed_since(call, failure):
            by_error.setdefault(failure.fingerprint, []).append(failure)
    return max(by_error.values(), key=len, default=list[KnownFailure]())


def _is_no_accident(failure: KnownFailure, session: SessionState, *, searches: bool) -> bool:
    """Return whether a failure is more than a single accident, so that it may come again.

    | the failure                                              | may come again                           |
    |----------------------------------------------------------|------------------------------------------|
    | has its cause in the call                                | yes                                      |
    | found nothing in a service, such as the web (`searches`) | yes: no session changes what that finds  |
    | occurred twice, or in this very session                  | yes                                      |
    | was corrected by somebody                                | yes                                      |
    | occurred once in another session                         | no: the machine was busy, a file missing |
    """
    if failure.category in _OF_THE_CALL:
        return True
    if searches and failure.category is ErrorCategory.NO_RESULT:
        return True
    occurred_twice = failure.cases > 1
    occurred_here = failure.last_session == session.id
    is_corrected = failure.worked is not None
    return occurred_twice or occurred_here or is_corrected


def _warning_about(
    failures: Sequence[KnownFailure], match: Match, *, certainty: float | None = None
) -> DueWarning:
    """Return one warning for all the failures, about the latest one.

    Without `certainty` it is the share of cases in which the call failed, see `_share_of_failures`.
    """
    latest = max(failures, key=lambda failure: (failure.last_at, failure.last_step, failure.row))
    if certainty is None:
        prior = CERTAINTY[match] * _weight(latest.category)
        certainty = _share_of_failures(failures, prior)
    times = sum(failure.times for failure in failures)
    return DueWarning(known=latest, match=match, certainty=round(certainty, 2), times=times)


def _weight(category: ErrorCategory) -> float:
    """Return the factor of the certainty for an error, from 0 to 1: small where the next try may well work."""
    if category is ErrorCategory.ASSERTION:
        return ASSERTION_FACTOR
    if category in _PASSING:
        return PASSING_FACTOR
    return 1.0


def _share_of_failures(failures: Sequence[KnownFailure], prior: float) -> float:
    """Return the share of cases in which the call failed, from 0 to 1: the mean of the prior and what was seen.

    The first failure is what the prior is about, and counts as PRIOR_CASES cases with the share `prior`; each later
    one is a case that failed, and each time that the call worked, or a warning was wrong, one that did not. With a prior
    of 0.95, a call that failed in two sessions and worked once since has (2 * 0.95 + 1) / (2 + 1 + 1) = 0.73.
    """
    later_cases = sum(failure.cases for failure in failures) - 1
    works = sum(max(failure.works, failure.wrong) for failure in failures)
    return (PRIOR_CASES * prior + later_cases) / (PRIOR_CASES + later_cases + works)


def _differs_in_quotes(forms: Forms, failure: KnownFailure) -> bool:
    """Return whether a call is the failed one with other quotation marks: a search for `'a b'` after one for `a b`.

    A call with fewer marks may be the correction, and is not taken for the same. Nor is any command of a shell, where
    marks decide what the words are: `-name '*.py'` corrects `-name *.py`.
    """
    if forms.head.startswith("shell:") or failure.bare_key != forms.bare_key:
        return False
    return not drops_quotes(forms, forms_of(failure.tool, failure.arguments))


def _changed_since(call: WatchedCall, failure: KnownFailure) -> bool:
    """Return whether this session changed something, such as a file, since the call failed in it.

    Such a change may have put the call right, unless the cause is the call itself or a search of a service that no
    file changes.
    """
    session = call.session
    if failure.last_session != session.id or session.changed <= failure.last_step:
        return False
    if failure.category in _OF_THE_CALL:
        return False
    return not (failure.category is ErrorCategory.NO_RESULT and _searches_a_service(call))


def _searches_a_service(call: WatchedCall) -> bool:
    """Return whether a call searches what the session does not change, such as the web.

    A search of code does not count: grep looks into the files that the session edits.
    """
    is_search = kind_of(call.tool, call.arguments) is Kind.SEARCH
    return is_search and not is_code_search(call.tool, call.arguments)
