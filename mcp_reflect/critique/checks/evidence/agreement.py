"""Whether tool results agree with a claimed outcome."""

from collections.abc import Sequence

from mcp_reflect.critique.checks.evidence.judgement import Evidence
from mcp_reflect.critique.checks.evidence.reading import seen
from mcp_reflect.models.critique import ToolResult


def agrees(success: bool, tool_results: Sequence[ToolResult]) -> bool | None:
    """True or False where the results show how it went, None where they say nothing.

    The last report of each runner counts; without any report, the last result that says how it ended.
    """
    evidence = Evidence(seen(tool_results))
    reported = [report.ok for report in evidence.latest(evidence.reports()) if report.ok is not None]
    if reported:
        return all(reported) == success
    ended = [result.ended_well for result in evidence.seen if result.ended_well is not None]
    return ended[-1] == success if ended else None
