"""Notice that a check that said no says yes after something else was done."""

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
from mcp_reflect.sessions.session_calls import is_bare_no

MOST_BETWEEN: Final = 2  # calls between two checks that are named


def turned_check(before: Sequence[SessionCall], call: SessionCall) -> Finding | None:
    """Return the finding that `call` completes: its last act is a check whose last answer was no."""
    if call.says_no:
        return None
    check = _check_in(call)
    if check is None:
        return None
    asked = [place for place, item in enumerate(before) if check in acts_of(item)]
    if not asked or not before[asked[-1]].says_no:
        return None
    no = before[asked[-1]]
    was_worked_on = any(_works_for(item, check) for item in before[: asked[-1] + 1])
    done_since = [item for item in (*before[asked[-1] + 1 :], call) if _does_more_than(item, check)]
    if not was_worked_on or not done_since:
        return None  # it was looked at before the work, or waited for
    line = _telling_line(before, no, check)
    found = finding_of(FindingKind.TURNED, check.name, no, call, line)
    between = _different(item for item in done_since if item is not call)
    named = tuple(found_call(item) for item in between[-MOST_BETWEEN:])
    return replace(found, between=named, done_between=len(between))


def _different(calls: Iterable[SessionCall]) -> list[SessionCall]:
    """Return the calls in order; the same call made again counts once, where it was made last."""
    last: dict[tuple[str, str], SessionCall] = {}
    for call in calls:
        key = (call.tool, normalized(call.arguments))
        last.pop(key, None)
        last[key] = call
    return [*last.values()]


def _does_more_than(call: SessionCall, check: SessionAct) -> bool:
    """True for a call that may have changed something, beside the check itself."""
    return changes_something(call) and (
        is_edit(call) or any(act != check and not act.is_own_check for act in acts_of(call))
    )


def _check_in(call: SessionCall) -> SessionAct | None:
    """Return the check with which a call ends, None where it ends with anything else."""
    acts = acts_of(call)
    last = acts[-1] if acts else None
    return last if last and last.is_own_check else None


def _works_for(call: SessionCall, check: SessionAct) -> bool:
    """True for an earlier call of the same program that does more than check."""
    acts = [act for act in acts_of(call) if not act.is_own_check]
    return any(act.program == check.program for act in acts)


def _telling_line(before: Sequence[SessionCall], no: SessionCall, check: SessionAct) -> str:
    """Return the line of the last failure of the same program, which says more than "not done"; else of the check.

    Where the check stands in one line with another program, the line of the whole may be that one's: it is left out.
    """
    is_certain = is_bare_no(no.line) or _runs_only(no, check.program)
    if no.failed and is_certain and not is_bare_no(no.line):
        return no.line
    for call in reversed(before):
        is_failure = call.failed and _works_for(call, check) and _runs_only(call, check.program)
        if is_failure and not is_bare_no(call.line):
            return call.line
    return no.line if is_certain else ""


def _runs_only(call: SessionCall, program: str) -> bool:
    """True where one program alone can have written what the call printed."""
    return all(act.program == program for act in acts_of(call))
