"""Whether tool results agree with a claimed outcome."""

import pytest

from mcp_reflect.critique.runs import agrees
from mcp_reflect.models.critique import ToolResult
from tests.critique.cases import output
from tests.critique.test_runs import COMMANDS


def of(name: str, tool: str | None = None, exit_code: int | None = None) -> ToolResult:
    command = tool or COMMANDS.get(name.partition("_")[0])
    return ToolResult(content=output(f"{name}.txt"), tool=command, exit_code=exit_code)


@pytest.mark.parametrize(
    "name",
    ["pytest_good", "unittest_good", "jest_good", "vitest_good", "mocha_good", "node_good", "go_good", "cargo_good"],
)
def test_a_green_summary_agrees_with_success_and_not_with_failure(name: str) -> None:
    assert agrees(success=True, tool_results=[of(name)]) is True
    assert agrees(success=False, tool_results=[of(name)]) is False


@pytest.mark.parametrize(
    "name",
    [
        "pytest_bad",
        "unittest_bad",
        "jest_bad",
        "vitest_bad",
        "mocha_bad",
        "node_bad",
        "go_bad",
        "cargo_bad",
        "pytest_import",
        "tsc_bad",
        "eslint_bad",
        "ruff_bad",
        "mypy_bad",
        "make_bad",
        "javac_bad",
        "py_trace",
    ],
)
def test_a_red_summary_agrees_with_failure_and_not_with_success(name: str) -> None:
    assert agrees(success=True, tool_results=[of(name)]) is False
    assert agrees(success=False, tool_results=[of(name)]) is True


def test_the_last_run_counts() -> None:
    assert agrees(success=True, tool_results=[of("pytest_bad"), of("pytest_good")]) is True
    assert agrees(success=True, tool_results=[of("pytest_good"), of("pytest_bad")]) is False


def test_one_red_runner_among_green_ones_is_no_success() -> None:
    assert agrees(success=True, tool_results=[of("ruff_good"), of("pytest_good"), of("mypy_bad")]) is False


def test_a_report_outweighs_the_exit_code_of_a_pipe() -> None:
    assert agrees(success=True, tool_results=[of("pytest_bad", "bash", 0)]) is False


def test_exit_codes_speak_where_no_report_does() -> None:
    assert agrees(success=True, tool_results=[ToolResult(content="done", exit_code=0)]) is True
    assert agrees(success=True, tool_results=[ToolResult(content="", exit_code=2)]) is False


def test_a_result_that_says_nothing_is_no_evidence() -> None:
    assert agrees(success=True, tool_results=[]) is None
    assert agrees(success=True, tool_results=[ToolResult(content="The sky is blue.")]) is None
    assert agrees(success=False, tool_results=[ToolResult(content="")]) is None
