"""Whether evidence agrees with what is said to have come of something."""

from collections.abc import Sequence

from mcp_reflect.records.verdict import ToolResult


def agrees(success: bool, tool_results: Sequence[ToolResult]) -> bool:
    """Whether what tools returned bears out a success or a failure.

    Exit codes decide: all zero bear out a success, any other a failure. Without one, nothing is borne out.
    """
    codes = [result.exit_code for result in tool_results if result.exit_code is not None]
    return bool(codes) and success == all(code == 0 for code in codes)
