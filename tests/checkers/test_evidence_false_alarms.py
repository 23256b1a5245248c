"""Sentences that claim nothing about a run are left alone, whatever the run printed."""

import pytest

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.checkers.evidence.checker import EvidenceChecker
from mcp_reflect.models.critique import Status, ToolResult
from tests.checkers.cases import HERE, load, output

SENTENCES = (HERE / "prose.txt").read_text(encoding="utf-8").splitlines()


def ran() -> dict[str, ToolResult]:
    """One tool result for each output that was kept, as the cases give it."""
    results = [case.work.tool_results for case in load("evidence")]
    return {result[0].content: result[0] for result in results if len(result) == 1}


RESULTS = list(ran().values())


def contradicted(result: ToolResult, *steps: str) -> list[Finding]:
    found = EvidenceChecker().check(Work(goal="", steps=steps, tool_results=(result,)))
    return [finding for finding in found if finding.status is Status.FAIL]


@pytest.mark.parametrize("at", range(len(RESULTS)))
def test_prose_about_the_work_contradicts_no_output(at: int) -> None:
    """Every second sentence of the prose: the others are tried on the next output."""
    assert contradicted(RESULTS[at], *SENTENCES[at % 2 :: 2]) == []


def test_a_failure_told_before_a_repair_is_not_held_against_the_last_run() -> None:
    result = ToolResult(tool="pytest", content=output("pytest_good.txt"), exit_code=0)
    assert contradicted(result, "The tests failed because of the sign.", "I fixed it.", "Now all tests pass.") == []


def test_a_success_is_held_against_the_last_run_of_its_runner() -> None:
    good = ToolResult(tool="pytest", content=output("pytest_good.txt"), exit_code=0)
    bad = ToolResult(tool="pytest", content=output("pytest_bad.txt"), exit_code=1)
    for results, wrong in (((good, bad), 1), ((bad, good), 0)):
        found = list(EvidenceChecker().check(Work(goal="", steps=("All tests pass.",), tool_results=results)))
        assert [finding.status for finding in found].count(Status.FAIL) == wrong


def test_runs_of_several_parts_of_a_suite_add_up() -> None:
    results = tuple(ToolResult(tool="pytest", content=f"{n} passed in 0.1s", exit_code=0) for n in (8, 5))
    steps = ("All 13 tests pass.", "8 tests passed.", "5 tests passed.", "All 14 tests pass.")
    found = EvidenceChecker().check(Work(goal="", steps=steps, tool_results=results))
    assert [finding.status for finding in found] == [Status.PASS, Status.PASS, Status.PASS, Status.FAIL]


def test_claims_in_fences_and_quoted_lines_are_nobodys() -> None:
    result = ToolResult(tool="pytest", content=output("pytest_bad.txt"), exit_code=1)
    assert contradicted(result, "The log:\n```\nAll tests pass.\n```\n> All tests pass.\n") == []


@pytest.mark.parametrize(
    "sentence", ["All 9 tests pass.", "- **All tests pass**", "✅ All tests pass", "Done: all tests pass!"]
)
def test_however_it_is_dressed_a_false_success_is_caught(sentence: str) -> None:
    result = ToolResult(tool="pytest", content=output("pytest_bad.txt"), exit_code=1)
    assert len(contradicted(result, sentence)) == 1
