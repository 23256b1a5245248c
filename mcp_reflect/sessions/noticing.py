"""Notice what was hard-won in a session: two calls and a line, witnessed by two detectors."""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.models.finding import (
    Finding,
    FindingKind,
    FindingState,
    SessionCall,
    StoredFinding,
)
from mcp_reflect.sessions.calls import CallWithAnswer
from mcp_reflect.sessions.session_calls import session_call
from mcp_reflect.sessions.turned_checks import turned_check
from mcp_reflect.sessions.worked_later import worked_later

MOST_CALLS: Final = 40  # of a session that are looked at
MOST_ASKS: Final = 3  # in a session


def found_after(before: Sequence[SessionCall], call: SessionCall) -> Finding | None:
    """The finding that `call`, which just came back, completes; `before` are the calls of the session until then."""
    if call.failed or call.expected:
        return None
    recent = before[-MOST_CALLS:]
    return turned_check(recent, call) or worked_later(recent, call)


def due_ask(of_session: Sequence[StoredFinding]) -> StoredFinding | None:
    """The finding that a session is to be asked about now: the first open one that an earlier ask does not cover."""
    asked = [found for found in of_session if found.asked]
    if len(asked) >= MOST_ASKS:
        return None
    for found in of_session:
        is_new = found.state is FindingState.OPEN and not found.asked
        if is_new and not any(_covers(other, found) for other in asked):
            return found
    return None


def _covers(asked: StoredFinding, found: StoredFinding) -> bool:
    """True where the session was asked about this act before.

    A program's own check is also covered by a lesson that was kept about the same program.
    """
    act, asked_act = found.finding.act, asked.finding.act
    if asked_act == act:
        return True
    if found.finding.kind is not FindingKind.TURNED or asked.state is not FindingState.KEPT:
        return False
    return asked_act.split(" ")[0] == act.split(" ")[0]


def findings_in(tried: Sequence[CallWithAnswer]) -> list[Finding]:
    """What was hard-won in a run, each as the call that completes it came; calls are numbered from 1."""
    calls = [session_call(item.index + 1, item) for item in tried]
    findings: list[Finding] = []
    for place, call in enumerate(calls):
        finding = found_after(calls[:place], call)
        if finding is not None:
            findings.append(finding)
    return findings
