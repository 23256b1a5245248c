"""Agreement of tool results with a claimed outcome."""

import re
from collections.abc import Sequence
from typing import Final

from mcp_reflect.checkers.evidence.checker import agrees
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.lesson import Evidence, OutcomeDraft

_QUOTED: Final = re.compile(r"\"[^\"]{2,}\"|“[^”]{2,}”|«[^»]{2,}»|„[^“]{2,}“")


def doubt_of(told: OutcomeDraft, results: Sequence[ToolResult]) -> str | None:
    """Return why an outcome's evidence does not bear it out, None where it does or claims nothing beyond a word."""
    match told.evidence:
        case Evidence.TEST | Evidence.METRIC:
            # Half a success is more than results can show.
            agreement = None if told.success == 0.5 else agrees(told.success == 1, results)
            if agreement is False:
                return "tool_results show the opposite of this outcome: send the outcome that they show"
            return None if agreement else "tool_results do not show it: send the output of the test with its exit_code"
        case Evidence.USER if not _QUOTED.search(told.note or ""):
            return "note quotes nobody: put the person's own words in quotation marks"
        case _:
            return None
