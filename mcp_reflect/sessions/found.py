"""Put a finding together from two calls, and tell it in a line."""

from mcp_reflect.models.finding import Finding, FindingKind, FoundCall, SessionCall
from mcp_reflect.sessions.text import clip
from mcp_reflect.sessions.tools import call_line
from mcp_reflect.text.signature import fingerprint

_MOST_THING = 300


def finding_of(
    kind: FindingKind, act: str, failed: SessionCall, worked: SessionCall | None, line: str = ""
) -> Finding:
    """Return the finding; `line` is the most telling one of the failure, by default that of the failed call."""
    line = line or failed.line
    return Finding(
        kind=kind,
        act=act,
        thing=f"{act}: {fingerprint(line)}"[:_MOST_THING],
        line=line,
        exit_code=failed.exit_code,
        failed=found_call(failed),
        worked=found_call(worked) if worked else None,
    )


def found_call(call: SessionCall) -> FoundCall:
    """Return a call as a finding keeps it."""
    return FoundCall(tool=call.tool, arguments=call.arguments, number=call.number)


def is_said(finding: Finding) -> bool:
    """True for what a person said."""
    return finding.kind in (FindingKind.SAID, FindingKind.CORRECTION, FindingKind.UNDONE)


def facts_of(finding: Finding) -> str:
    """Return a finding in a line: the person's words, or the calls and the line of the failure."""
    failed = finding.failed and call_line(finding.failed.tool, finding.failed.arguments)
    worked = finding.worked and call_line(finding.worked.tool, finding.worked.arguments)
    if is_said(finding):
        refused = f" (about `{clip(failed, 200)}`)" if failed else ""
        return f'the person said "{clip(finding.line, 300)}"{refused}'
    between = (
        f"; then `{clip(call_line(finding.deciding.tool, finding.deciding.arguments), 300)}`"
        if finding.deciding
        else ""
    )
    later = f"{between}; later `{clip(worked, 300)}` worked" if worked else ""
    return f"`{clip(failed or finding.act, 300)}` failed: {clip(finding.line, 300)}{later}"
