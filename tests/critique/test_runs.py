"""What is read of the runs in the output of each tool, against what the tool said."""

import pytest

from mcp_reflect.critique.runs import Run, read_runs
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.proofs.kinds import ProofKind
from tests.critique.cases import output

COMMANDS = {
    "pytest": "pytest", "unittest": "python -m unittest", "jest": "npx jest", "vitest": "vitest run", "mocha": "mocha",
    "node": "node --test", "go": "go test ./...", "cargo": "cargo test", "ruff": "ruff check .", "mypy": "mypy src",
    "tsc": "npx tsc", "javac": "javac A.java", "eslint": "npx eslint src", "make": "make",
}  # fmt: skip


def read(name: str, exit_code: int | None = None) -> Run:
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
    assert [run.first(label) for label in ("passed", "failed", "skipped")] == [passed, failed, skipped]
    assert run.passed is not bool(failed)


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("ruff_bad.txt", 7),
        ("ruff_good.txt", 0),
        ("mypy_bad.txt", 1),
        ("mypy_good.txt", 0),
    ],
)
def test_a_linter_is_read_with_its_errors(name: str, errors: int) -> None:
    run = read(name)
    assert (run.first("errors") or 0, run.passed) == (errors, not errors)


def test_silence_and_exit_code_zero_speak_for_a_linter_that_is_named() -> None:
    assert read("tsc_good.txt", 0).passed
    assert read("eslint_good.txt", 0).passed


def test_a_run_that_selected_no_test_shows_nothing() -> None:
    assert read_runs([ToolResult(content=output("pytest_none.txt"), tool="pytest -k x")]) == []


def test_a_long_log_is_read_by_its_ends() -> None:
    (run,) = read_runs([ToolResult(content="x\n" * 500_000 + "=== 4 failed, 3 passed in 0.05s ===\n")])
    assert run.first("failed") == 4


def test_colors_do_not_hide_a_summary() -> None:
    text = "\x1b[31m=== \x1b[1m4 failed\x1b[0m, \x1b[32m3 passed\x1b[0m\x1b[31m in 0.05s\x1b[0m ==="
    (run,) = read_runs([ToolResult(content=text)])
    assert run.first("failed") == 4
