"""What is read of the runs in the output of each tool, and whether they agree with a claimed outcome."""

import pytest

from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.runs import RunReport, agrees, read_runs
from mcp_reflect.evidence.shell_changes import what_changed
from mcp_reflect.models.critique import ToolResult
from tests.evidence.case_files import output

COMMANDS = {
    "pytest": "pytest", "unittest": "python -m unittest", "jest": "npx jest", "vitest": "vitest run", "mocha": "mocha",
    "node": "node --test", "go": "go test ./...", "cargo": "cargo test", "ruff": "ruff check .", "mypy": "mypy src",
    "tsc": "npx tsc", "javac": "javac A.java", "eslint": "npx eslint src", "make": "make",
}  # fmt: skip


def read(name: str, exit_code: int | None = None) -> RunReport:
    """Return the first run of an output of the program that its name begins with."""
    tool = COMMANDS[name.partition("_")[0]]
    return read_runs([ToolResult(content=output(name), tool=tool, exit_code=exit_code)])[0]


@pytest.mark.parametrize(
    ("name", "passed", "failed", "skipped"),
    [
        ("pytest_bad.txt", 3, 4, 1),
        ("pytest_quiet_bad.txt", 3, 4, 1),
        ("pytest_good.txt", 7, None, 1),
        ("unittest_bad.txt", None, 1, 1),
        ("unittest_good.txt", None, None, None),
        ("jest_bad.txt", 3, 3, 1),
        ("jest_good.txt", 6, None, 1),
        ("vitest_bad.txt", 3, 3, 1),
        ("vitest_good.txt", 6, None, 1),
        ("mocha_bad.txt", 1, 3, 1),
        ("mocha_good.txt", 4, None, 1),
        ("node_bad.txt", 1, 2, 1),
        ("node_good.txt", 3, 0, 1),
    ],
)
def test_a_test_run_is_read_with_its_counts(
    name: str, passed: int | None, failed: int | None, skipped: int | None
) -> None:
    run = read(name)
    assert run.kind is ProofKind.TESTS
    assert [run.total(label) for label in ("passed", "failed", "skipped")] == [
        passed,
        failed,
        skipped,
    ]
    assert run.passed is not bool(failed)


@pytest.mark.parametrize(
    ("name", "errors"),
    [("ruff_bad.txt", 7), ("ruff_good.txt", 0), ("mypy_bad.txt", 1), ("mypy_good.txt", 0)],
)
def test_a_linter_is_read_with_its_errors(name: str, errors: int) -> None:
    run = read(name)
    assert (run.total("errors") or 0, run.passed) == (errors, not errors)


def test_silence_and_exit_code_zero_speak_for_a_linter_that_is_named() -> None:
    assert read("tsc_good.txt", 0).passed
    assert read("eslint_good.txt", 0).passed


def test_a_run_that_selected_no_test_shows_nothing() -> None:
    assert read_runs([ToolResult(content=output("pytest_none.txt"), tool="pytest -k x")]) == []


def test_a_long_log_is_read_by_its_ends() -> None:
    (run,) = read_runs(
        [ToolResult(content="x\n" * 500_000 + "=== 4 failed, 3 passed in 0.05s ===\n")]
    )
    assert run.total("failed") == 4


def test_colors_do_not_hide_a_summary() -> None:
    text = "\x1b[31m=== \x1b[1m4 failed\x1b[0m, \x1b[32m3 passed\x1b[0m\x1b[31m in 0.05s\x1b[0m ==="
    (run,) = read_runs([ToolResult(content=text)])
    assert run.total("failed") == 4


def of(name: str, tool: str | None = None, exit_code: int | None = None) -> ToolResult:
    command = tool or COMMANDS.get(name.partition("_")[0])
    return ToolResult(content=output(f"{name}.txt"), tool=command, exit_code=exit_code)


@pytest.mark.parametrize(
    "name",
    [
        "pytest_good",
        "unittest_good",
        "jest_good",
        "vitest_good",
        "mocha_good",
        "node_good",
        "go_good",
        "cargo_good",
    ],
)
def test_a_green_summary_agrees_with_success_and_not_with_failure(name: str) -> None:
    assert agrees(success=True, tool_results=[of(name)]) is True
    assert agrees(success=False, tool_results=[of(name)]) is False


@pytest.mark.parametrize(
    "name",
    (
        "pytest_bad unittest_bad jest_bad vitest_bad mocha_bad node_bad go_bad cargo_bad pytest_import tsc_bad "
        "eslint_bad ruff_bad mypy_bad make_bad javac_bad py_trace"
    ).split(),
)
def test_a_red_summary_agrees_with_failure_and_not_with_success(name: str) -> None:
    assert agrees(success=True, tool_results=[of(name)]) is False
    assert agrees(success=False, tool_results=[of(name)]) is True


def test_the_last_run_counts() -> None:
    assert agrees(success=True, tool_results=[of("pytest_bad"), of("pytest_good")]) is True
    assert agrees(success=True, tool_results=[of("pytest_good"), of("pytest_bad")]) is False


def test_one_red_runner_among_green_ones_is_no_success() -> None:
    assert (
        agrees(success=True, tool_results=[of("ruff_good"), of("pytest_good"), of("mypy_bad")])
        is False
    )


def test_a_report_outweighs_the_exit_code_of_a_pipe() -> None:
    assert agrees(success=True, tool_results=[of("pytest_bad", "bash", 0)]) is False


def test_exit_codes_speak_where_no_report_does() -> None:
    assert agrees(success=True, tool_results=[ToolResult(content="done", exit_code=0)]) is True
    assert agrees(success=True, tool_results=[ToolResult(content="", exit_code=2)]) is False


def test_a_result_that_says_nothing_is_no_evidence() -> None:
    assert agrees(success=True, tool_results=[]) is None
    assert agrees(success=True, tool_results=[ToolResult(content="The sky is blue.")]) is None
    assert agrees(success=False, tool_results=[ToolResult(content="")]) is None


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("git cherry-pick -n abc", True),
        ("git revert -n abc", True),
        ("git merge -n topic", True),
        ("git reset --keep HEAD~1", True),
        ("git reset --hard", True),
        ("git checkout -b x origin/other", True),
        ("git checkout main", True),
        ("git reset HEAD~1", False),
        ("git checkout -b x", False),
        ("git switch -c x", False),
        ("git restore --staged a.py", False),
        ("git clean -n", False),
        ("git merge --abort", False),
        ("git apply --check a.patch", False),
        ("git stash", False),
    ],
)
def test_git_changes_files_or_leaves_them_by_its_action_and_options(
    command: str, changes: bool
) -> None:
    assert bool(what_changed(command.split(), "", "", ())) is changes
