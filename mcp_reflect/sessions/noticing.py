"""What was hard-won in a session: a call that failed, and the one that then worked.

Two detectors see it. `turned_check` is for a program's own check that says no and later yes, `worked_later` for all other
calls. A session is asked about what they find, a few times at most.
"""

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

RECENT_CALLS: Final = 40  # calls of a session in which the failure is looked for
MOST_ASKS: Final = 3  # questions of a session about findings: more would disturb


def found_after(before: Sequence[SessionCall], call: SessionCall) -> Finding | None:
    """Return the finding that a call completes, which was just answered; None for none. `before` are the calls until then.

    Two calls make a finding: one that failed or said no, and this one, which worked.
    """
    if call.failed or call.expected:
        return None
    recent = before[-RECENT_CALLS:]
    return turned_check(recent, call) or worked_later(recent, call)


def due_ask(of_session: Sequence[StoredFinding]) -> StoredFinding | None:
    """The finding that a session is to be asked about now: the first open one that no earlier ask covers.

    None where there is none, and where the session was asked MOST_ASKS times.
    """
    asked_before = [finding for finding in of_session if finding.asked]
    if len(asked_before) >= MOST_ASKS:
        return None
    for finding in of_session:
        is_new = finding.state is FindingState.OPEN and not finding.asked
        if is_new and not any(_covers(asked, finding) for asked in asked_before):
            return finding
    return None


def _covers(asked: StoredFinding, new: StoredFinding) -> bool:
    """True where a session that was asked about the first finding need not be asked about the new one.

    Both are about the same act. Or the new one is a program's own check (`shopctl check`), and the agent kept a lesson
    about that program (`shopctl push`).
    """
    act = new.finding.act
    asked_act = asked.finding.act
    if asked_act == act:
        return True
    if new.finding.kind is not FindingKind.TURNED or asked.state is not FindingState.KEPT:
        return False
    return asked_act.split(" ")[0] == act.split(" ")[0]


def findings_in(tried: Sequence[CallWithAnswer]) -> list[Finding]:
    """What was hard-won in a run, each as the call that completes it came; calls are numbered from 1."""
    calls = [session_call(item.index + 1, item) for item in tried]
    findings: list[Finding] = []
    for index, call in enumerate(calls):
        finding = found_after(calls[:index], call)
        if finding is not None:
            findings.append(finding)
    return findings
