"""The line that a hook shows the person, beside what it tells the agent.

Only some hosts show such a line: those whose answer has `hookSpecificOutput`, as Claude Code's.
"""

from collections.abc import Mapping
from typing import Any


def shows_lines(answer: Mapping[str, Any] | None) -> bool:
    """Return whether a host that reads such an answer shows the person a line that stands beside it."""
    return answer is not None and "hookSpecificOutput" in answer


def with_line(answer: Mapping[str, Any] | None, line: str) -> dict[str, Any]:
    """Return an answer with one more line for the person: `{"systemMessage": line, ...}`; it alone for no answer."""
    lines = [line]
    if answer and "systemMessage" in answer:
        lines.append(str(answer["systemMessage"]))
    return {**(answer or {}), "systemMessage": "\n".join(lines)}
