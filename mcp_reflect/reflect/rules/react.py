"""Calls written as text: `Search[Nick Park]`, `Action: Search[Nick Park]`, `Action: search` + `Action Input: x`."""

from mcp_reflect.patterns import late

TEXT_LIMIT = 6_000  # characters of a message that are looked at for an action

_BARE = late(r"(?s)^\s{0,20}([A-Za-z][A-Za-z_]{1,30})\[(.{0,4000})\]\s{0,20}$")
_LABELLED = late(r"(?im)^[ \t]{0,20}(?:action|act)[ \t]{0,4}\d{0,3}[ \t]{0,4}:[ \t]{0,20}(\S[^\n]{0,4000})$")
_INPUT = late(r"(?im)^[ \t]{0,20}action[ _]input[ \t]{0,4}\d{0,3}[ \t]{0,4}:[ \t]{0,20}(\S[^\n]{0,4000})$")
_NAME = late(r"^[A-Za-z_][\w.-]{0,60}$")


def bare_action(content: str) -> tuple[str, str] | None:
    """Tool and argument where the whole text is one action. `Search[a], Search[b]` is one, as it was sent."""
    match = _BARE.match(content) if len(content) <= TEXT_LIMIT else None
    return (match[1], match[2]) if match else None


def action_in(content: str) -> tuple[str, str] | None:
    """Tool and argument of a text that is an action or has a line that says `Action:`; the last such line counts."""
    whole = bare_action(content)
    if whole:
        return whole
    text = content[-TEXT_LIMIT:]
    lines = _LABELLED.findall(text)
    if not lines:
        return None
    line = str(lines[-1]).strip()
    inputs = _INPUT.findall(text)
    if inputs and _NAME.match(line):
        return line, str(inputs[-1]).strip().strip('"')
    return bare_action(line)
