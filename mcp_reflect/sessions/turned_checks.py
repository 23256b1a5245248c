"""A program's own check that said no, and says yes after something else was done.

`shopctl check` says "3 prices missing"; `shopctl import prices.csv` runs; `shopctl check` says "ok".
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from mcp_reflect.models.finding import Finding, FindingKind, SessionCall
from mcp_reflect.sessions.acts import (
    SessionAct,
    acts_of,
    changes_something,
    is_edit,
    normalized,
)
from mcp_reflect.sessions.found import finding_of, found_call
from mcp_reflect.sessions.session_calls import only_says_no

MOST_BETWEEN: Final = 2  # calls between two checks that are named


def turned_check(before: Sequence[SessionCall], call: SessionCall) -> Finding | None:
    """Return the finding that `call` completes: it ends with a check whose answer was no before; None for none.

    The program must have done other work before, and something must have been done since: else the check was only looked
    at too early, or waited for.
    """
    if call.says_no:
        return None
    check = _check_in(call)
    if check is None:
        return None
    earlier_checks = [index for index, item in enumerate(before) if check in acts_of(item)]
    if not earlier_checks:
        return None
    last_index = earlier_checks[-1]
    last_check = before[last_index]
    if not last_check.says_no:
        return None
    was_worked_on = any(_works_for(item, check) for item in before[: last_index + 1])
    calls_since = (*before[last_index + 1 :], call)
    done_since = [item for item in calls_since if _does_more_than(item, check)]
    if not was_worked_on or not done_since:
        return None
    line = _telling_line(before, last_check, check)
    finding = finding_of(FindingKind.TURNED, check.name, failed=last_check, worked=call, line=line)
    between = _each_once(item for item in done_since if item is not call)
    named = tuple(found_call(item) for item in between[-MOST_BETWEEN:])
    return replace(finding, between=named, done_between=len(between))


def _each_once(calls: Iterable[SessionCall]) -> list[SessionCall]:
    """Return the calls in order; the same call made again counts once, where it was made last."""
    last: dict[tuple[str, str], SessionCall] = {}
    for call in calls:
        key = (call.tool, normalized(call.arguments))
        last.pop(key, None)
        last[key] = call
    return [*last.values()]


def _does_more_than(call: SessionCall, check: SessionAct) -> bool:
    """True for a call that may have changed something, beside the check itself."""
    if not changes_something(call):
        return False
    other_acts = [act for act in acts_of(call) if act != check and not act.is_own_check]
    return is_edit(call) or bool(other_acts)


def _check_in(call: SessionCall) -> SessionAct | None:
    """Return the check with which a call ends, None where it ends with anything else."""
    acts = acts_of(call)
    if not acts or not acts[-1].is_own_check:
        return None
    return acts[-1]


def _works_for(call: SessionCall, check: SessionAct) -> bool:
    """True for an earlier call of the same program that does more than check."""
    acts = [act for act in acts_of(call) if not act.is_own_check]
    return any(act.program == check.program for act in acts)


def _telling_line(before: Sequence[SessionCall], said_no: SessionCall, check: SessionAct) -> str:
    """Return the line that says why a check said no; the first of these that there is.

    | line                                                        | where                                                   |
    |-------------------------------------------------------------|---------------------------------------------------------|
    | that of the check                                           | its program ran alone and failed ("3 prices missing")   |
    | that of the last failure of the same program                | it says why                                             |
    | that of the check                                           | its program ran alone, or the line only says no         |
    | none                                                        | another program in the command may have printed it      |
    """
    tells_no_reason = only_says_no(said_no.line)
    ran_alone = _runs_only(said_no, check.program)
    if said_no.failed and ran_alone and not tells_no_reason:
        return said_no.line
    for call in reversed(before):
        is_failure = call.failed and _works_for(call, check) and _runs_only(call, check.program)
        if is_failure and not only_says_no(call.line):
            return call.line
    if ran_alone or tells_no_reason:
        return said_no.line
    return ""


def _runs_only(call: SessionCall, program: str) -> bool:
    """True where one program alone can have written what the call printed."""
    return all(act.program == program for act in acts_of(call))
