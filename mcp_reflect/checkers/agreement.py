"""Agreement of tool results with a claimed outcome."""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.checkers.evidence.checker import agrees
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.lesson import Evidence, OutcomeDraft

_QUOTES: Final = ('""', "“”", "«»", "„“")


def doubt_of(told: OutcomeDraft, results: Sequence[ToolResult]) -> str | None:
    """Why an outcome's evidence does not bear it out, or none where it does or claims nothing beyond a word."""
    match told.evidence:
        case Evidence.TEST | Evidence.METRIC if not _borne_out(told.success, results):
            return "tool_results do not show it: send the output of the test with its exit_code"
        case Evidence.USER if not _quotes(told.note or ""):
            return "note quotes nobody: put the person's own words in quotation marks"
        case _:
            return None


def _borne_out(success: float, results: Sequence[ToolResult]) -> bool:
    """True if results show it; half a success is more than they can show."""
    return success != 0.5 and bool(agrees(success=success == 1, tool_results=results))


def _quotes(note: str) -> bool:
    """True if a note holds a quotation of at least two characters."""
    for opening, closing in _QUOTES:
        start = note.find(opening)
        if start >= 0 and note.find(closing, start + 3) > 0:
            return True
    return False
