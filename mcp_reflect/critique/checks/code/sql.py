"""SQL by its brackets and quotes alone: dialects differ in all else."""

import re

from mcp_reflect.critique.checks.code.faults import Fault, is_partial

_ELSE = re.compile(
    r"\$\w{0,30}\$|\\['\"]|^\s{0,20}(?:sqlite>|mysql>|\w+[=#-]>|\w+=#)|^\s{0,20}(?:delimiter|copy|\\\w)\b",
    re.MULTILINE | re.IGNORECASE,
)
_TOKEN = re.compile(r"--[^\n]*|/\*.*?\*/|/\*|'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|\(|\)|'|\"|`", re.DOTALL)


def sql_fault(body: str) -> Fault | bool | None:
    """A bracket or quote that does not match, None where all do, True for sessions and dollar quotes."""
    if not body.strip() or is_partial(body):
        return True
    if _ELSE.search(body):
        return None
    depth = 0
    for found in _TOKEN.finditer(body):
        text = found[0]
        if text in {"'", '"', "`", "/*"}:
            return Fault(f"{text} is not closed", _line(body, found))
        depth += (text == "(") - (text == ")")
        if depth < 0:
            return Fault("a closing bracket without an opening one", _line(body, found))
    return Fault(f"{depth} opening bracket{'s' if depth > 1 else ''} not closed") if depth else None


def _line(body: str, found: re.Match[str]) -> int:
    return body.count("\n", 0, found.start()) + 1
