"""Notice that a check that said no says yes after something else was done."""

from collections.abc import Sequence
from dataclasses import replace

from mcp_reflect.models.finding import Finding, FindingKind, FoundCall, SessionCall
from mcp_reflect.sessions.acts import (
    SessionAct,
    acts_of,
    changes_something,
    is_edit,
    normalized,
)
from mcp_reflect.sessions.found import finding_of, found_call
from mcp_reflect.sessions.session_calls import is_bare_no


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
    return replace(found, deciding=_deciding(done_since, call))


def _deciding(done: Sequence[SessionCall], check: SessionCall) -> FoundCall | None:
    """Return the one call that was made between both checks, None where there were several or the check has it itself.

    The same call made again counts once.
    """
    different = {(item.tool, normalized(item.arguments)): item for item in done}
    if len(different) != 1 or done[-1] is check:
        return None
    return found_call(done[-1])


def _does_more_than(call: SessionCall, check: SessionAct) -> bool:
    """True for a call that may have changed something, beside the check itself."""
    return changes_something(call) and (
        is_edit(call) or any(act != check and not act.is_own_check for act in acts_of(call))
    )


def _check_in(call: SessionCall) -> SessionAct | None:
    acts = acts_of(call)
    last = acts[-1] if acts else None
    return last if last and last.is_own_check else None


def _works_for(call: SessionCall, check: SessionAct) -> bool:
    """True for an earlier call of the same program that does more than check."""
    acts = [act for act in acts_of(call) if not act.is_own_check]
    return any(act.program == check.program for act in acts)


def _telling_line(before: Sequence[SessionCall], no: SessionCall, check: SessionAct) -> str:
    """Return the line of the last failure of the same program, which says more than "not done"; else of the check."""
    if no.failed and not is_bare_no(no.line):
        return no.line
    failures = [call for call in before if call.failed and _works_for(call, check)]
    telling = [call.line for call in failures if not is_bare_no(call.line)]
    return telling[-1] if telling else no.line
