"""A finding about two calls of a session: how it is put together, and how it reads in a line."""

from typing import Final

from mcp_reflect.models.finding import Finding, FindingKind, FoundCall, SessionCall
from mcp_reflect.sessions.call_words import call_line
from mcp_reflect.sessions.text import clip
from mcp_reflect.text.signature import fingerprint

_MOST_THING: Final = 300  # characters by which a finding is known again
_MOST_SHOWN: Final = 300  # characters of a call or a line that are shown
_MOST_REFUSED: Final = 200  # characters of a refused call beside the person's words


def finding_of(
    kind: FindingKind,
    act: str,
    *,
    failed: SessionCall,
    worked: SessionCall | None = None,
    line: str | None = None,
) -> Finding:
    """Return the finding that an act failed, and then worked where `worked` is a call.

    `line` is the most telling one of the failure, by default that of the failed call. With it and the act (`git push`),
    the finding is known again in other sessions.
    """
    if line is None:
        line = failed.line
    thing = f"{act}: {fingerprint(line)}"
    return Finding(
        kind=kind,
        act=act,
        thing=thing[:_MOST_THING],
        line=line,
        exit_code=failed.exit_code,
        failed=found_call(failed),
        worked=None if worked is None else found_call(worked),
    )


def found_call(call: SessionCall) -> FoundCall:
    """Return a call as a finding keeps it."""
    return FoundCall(tool=call.tool, arguments=call.arguments, number=call.number)


def is_of_person(finding: Finding) -> bool:
    """Return whether a finding has the words of a person, and not what a call did."""
    return finding.kind in (FindingKind.SAID, FindingKind.CORRECTION, FindingKind.UNDONE)


def facts_of(finding: Finding) -> str:
    """Return a finding in a line: the person's words, or the calls and the line of the failure.

    "`npm test` failed: Cannot find module; then `npm ci`; later `npm test` worked"
    """
    if is_of_person(finding):
        return _words_of_person(finding)
    failed = _line_of(finding.failed) or finding.act
    text = f"`{clip(failed, _MOST_SHOWN)}` failed"
    if finding.line:
        text += f": {clip(finding.line, _MOST_SHOWN)}"
    worked = _line_of(finding.worked)
    if not worked:
        return text
    for call in finding.between:
        text += f"; then `{clip(_line_of(call), _MOST_SHOWN)}`"
    return f"{text}; later `{clip(worked, _MOST_SHOWN)}` worked"


def _words_of_person(finding: Finding) -> str:
    """Return what a person said, with the call that they refused with these words, if they did."""
    text = f'the person said "{clip(finding.line, _MOST_SHOWN)}"'
    refused = _line_of(finding.failed)
    if refused:
        text += f" (about `{clip(refused, _MOST_REFUSED)}`)"
    return text


def _line_of(call: FoundCall | None) -> str:
    """Return a call as it was made, empty for none."""
    if call is None:
        return ""
    return call_line(call.tool, call.arguments)
