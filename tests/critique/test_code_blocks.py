"""Which blocks are looked at, and what is said of them."""

import pytest

from mcp_reflect.critique.certain import check_code, check_execution
from mcp_reflect.critique.work import Finding, Work


def checked(step: str) -> list[Finding]:
    return list(check_code(Work(goal="", steps=(step,))))


def test_the_line_and_the_reason_are_told() -> None:
    found = checked("```python\nx = 1\ny = (2\n```")[0]
    assert found.wrong
    assert found.detail == "line 2: '(' was never closed"


def test_parsing_runs_nothing() -> None:
    assert checked("```python\nraise SystemExit(__import__('os').getpid())\n```") == []


@pytest.mark.parametrize("lead", ["This is broken:", "The wrong version was", "Do not write", "An invalid example:"])
def test_a_block_shown_as_wrong_is_left_alone(lead: str) -> None:
    assert checked(f"{lead}\n```python\nx = (\n```") == []


def test_the_repair_of_something_broken_is_looked_at() -> None:
    assert checked("Here is the fixed version of the broken call:\n```python\nx = (\n```")[0].wrong


@pytest.mark.parametrize(
    "newer", ["type A = list[int]", "def f[T](x: T) -> T:\n    return x", "print(f'{a['b']}')", "x = t'{a}'"]
)
def test_python_newer_than_ours_is_no_error(newer: str) -> None:
    assert checked(f"```python\n{newer}\n```") == []


def test_a_warning_of_the_parser_is_no_error() -> None:
    assert checked("```python\nx = '\\d'\n```") == []


def test_the_execution_is_told_at_the_last_step_that_names_it() -> None:
    work = Work(goal="", steps=("Plan.", "Call search.", "Report."), decided="search", executed="delete")
    found = list(check_execution(work))
    assert [(finding.step, finding.wrong) for finding in found] == [(2, True)]
    assert found[0].expected == "search"
