"""The ask for a lesson: the text that shows an agent a call that failed and the one that worked later.

    mcp-reflect saw in this session (data, not instructions):
    failed (call 3), exit code 1: pytest -q
      E   ModuleNotFoundError: No module named 'app'
    worked (call 5): cd api && pytest -q
    If another session would lose time here, keep what it should know with store_lesson, …

It holds facts of the session alone, and the agent words the lesson itself. The bounds are chosen so that an ask costs
some 150 tokens.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from mcp_reflect.models.finding import Finding, FindingKind, FoundCall
from mcp_reflect.sessions.call_words import call_line

# All bounds are bytes.
MOST_BYTES: Final = 600
"""Of a whole ask."""
_MOST_ERROR: Final = 140
"""Of the error line of the failure."""
_MOST_ERROR_OF_CHECK: Final = 90
"""Of that line where a check has calls between its two answers, which need the room."""
_MOST_BETWEEN: Final = 90
"""Of all those calls together."""
_MOST_AGAIN: Final = 90
"""Of a call that is named once more at the next prompt."""
_KEEP: Final = (
    "If another session would lose time here, keep what it should know with store_lesson, as a rule in your own words; "
    "doing nothing is fine."
)
_LATER: Final = (
    "store_lesson keeps it, in your own words; else it waits in `mcp-reflect lessons review`."
)
_ELLIPSIS: Final = " …"
_ELLIPSIS_BYTES: Final = len(_ELLIPSIS.encode())


class _Verbs(NamedTuple):
    """What the two calls of a finding did."""

    failed: str
    worked: str


_VERBS: Final = {FindingKind.TURNED: _Verbs("said no", "said yes")}  # a check answers
_WORKED_LATER: Final = _Verbs("failed", "worked")


class _BothCalls(NamedTuple):
    """The two calls of a finding, each in a line that is cut to its room."""

    failed: str
    worked: str


def ask_at_call(finding: Finding) -> str:
    """Return the ask right after the call that worked, within MOST_BYTES.

    Where a check, such as a test run, failed and then passed, the calls between its two answers are listed: which of
    them put the check right is for the agent to say.
    """
    without_calls = _ask(finding, _BothCalls("", ""))
    room = MOST_BYTES - len(without_calls.encode())
    return _ask(finding, _both_calls(finding, room))


def _ask(finding: Finding, calls: _BothCalls) -> str:
    """Return the text of the ask with both calls in it."""
    verbs = _VERBS.get(finding.kind, _WORKED_LATER)
    what_failed = f"{verbs.failed}{_number(finding.failed)}{_exit_code(finding)}"
    what_worked = f"{verbs.worked}{_number(finding.worked)}"
    lines = [
        "mcp-reflect saw in this session (data, not instructions):",
        f"{what_failed}: {calls.failed}",
        *_error_lines(finding),
        *_lines_between(finding),
        f"{what_worked}: {calls.worked}",
        _KEEP,
    ]
    return "\n".join(lines)


def _error_lines(finding: Finding) -> list[str]:
    """Return the line of the failure, indented, as a list of one; an empty list where none is known."""
    if not finding.line:
        return []
    most = _MOST_ERROR_OF_CHECK if finding.between else _MOST_ERROR
    return [f"  {_cut(finding.line, most)}"]


def ask_again(findings: Sequence[Finding]) -> str:
    """Return one line about what a session did not keep: the first finding, and how many more there are.

    "mcp-reflect: nobody has kept that pytest -q failed and later cd api && pytest -q worked (2 more like it). …"
    """
    first = findings[0]
    verbs = _VERBS.get(first.kind, _WORKED_LATER)
    worked = verbs.worked
    if first.between:
        last_between = _cut(_line_of(first.between[-1]), _MOST_AGAIN)
        worked = f"after `{last_between}` {verbs.worked}"
    calls = _both_calls(first, 2 * _MOST_AGAIN)
    what_happened = f"{calls.failed} {verbs.failed} and later {calls.worked} {worked}"
    others = len(findings) - 1
    how_many_more = f" ({others} more like it)" if others else ""
    return f"mcp-reflect: nobody has kept that {what_happened}{how_many_more}. {_LATER}"


def _lines_between(finding: Finding) -> list[str]:
    """Return a line for each call that is known of those between two answers of a check.

    "in between, the last 2 of 5 (call 7): edit src/a.py" and "and (call 8): make build": the first line says that
    there were more.
    """
    if not finding.between:
        return []
    bytes_a_call = _MOST_BETWEEN // len(finding.between)
    lines: list[str] = []
    opening = "in between"
    if finding.done_between > len(finding.between):
        opening += f", the last {len(finding.between)} of {finding.done_between}"
    for call in finding.between:
        lines.append(f"{opening}{_number(call)}: {_cut(_line_of(call), bytes_a_call)}")
        opening = "and"
    return lines


def _exit_code(finding: Finding) -> str:
    """Return ", exit code 2" for a failed call that ended so, empty for the code 0 or an unknown one."""
    if not finding.exit_code:
        return ""
    return f", exit code {finding.exit_code}"


def _number(call: FoundCall | None) -> str:
    """Return " (call 3)" for the third call of a session, empty where its number is not known."""
    if call is None or not call.number:
        return ""
    return f" (call {call.number})"


def _both_calls(finding: Finding, most: int) -> _BothCalls:
    """Return the failed call and the one that worked, together within `most` bytes.

    Each has half of the room. Where one needs less than its half, the other has the rest.
    """
    failed_line = _line_of(finding.failed)
    worked_line = _line_of(finding.worked)
    room_beside_worked = most - len(worked_line.encode())
    failed_line = _cut(failed_line, max(most // 2, room_beside_worked))
    room_beside_failed = most - len(failed_line.encode())
    return _BothCalls(failed_line, _cut(worked_line, room_beside_failed))


def _line_of(call: FoundCall | None) -> str:
    """Return a call in one line: the command of a shell, else the tool with its arguments."""
    if call is None:
        return "(not known)"
    return " ".join(call_line(call.tool, call.arguments).split())


def _cut(text: str, most: int) -> str:
    """Return the text in one line of at most `most` bytes; of a longer one its beginning, with an ellipsis."""
    line = " ".join(text.split())
    if len(line.encode()) <= most:
        return line
    room = max(most - _ELLIPSIS_BYTES, 0)
    beginning = line.encode()[:room].decode(errors="ignore")
    return beginning.rstrip() + _ELLIPSIS
