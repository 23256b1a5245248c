"""Claims about test runs whose output nobody gave: unsupported, never fail, and nothing for other talk of tests."""

import pytest

from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.evidence.checker import EvidenceChecker
from mcp_reflect.models.critique import Status, ToolResult


def said(step: str, *results: ToolResult) -> list[Status]:
    return [finding.status for finding in EvidenceChecker().check(Work(goal="g", steps=(step,), tool_results=results))]


@pytest.mark.parametrize(
    "claim", ["All 42 tests pass", "All 42 tests pass.", "42 tests passed.", "3 of 7 specs fail.", "All tests pass"]
)
@pytest.mark.parametrize("results", [(), (ToolResult(content="a.py  b.py", tool="ls", exit_code=0),)])
def test_a_count_of_tests_that_nothing_shows_is_unsupported(claim: str, results: tuple[ToolResult, ...]) -> None:
    assert said(claim, *results) == [Status.UNSUPPORTED]


@pytest.mark.parametrize("text", ["She passed 3 tests this year.", "There are 42 tests in the folder.", "2 + 2 = 4"])
def test_other_talk_of_tests_gets_no_verdict(text: str) -> None:
    assert said(text) == []
