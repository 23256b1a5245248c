"""What is read from the output of each tool, against what the tool said."""

import pytest

from mcp_reflect.checkers.evidence.results import Result, read_results
from mcp_reflect.checkers.evidence.rows import Row
from mcp_reflect.models.critique import ToolResult
from tests.checkers.cases import output


def read(name: str, tool: str | None = None, exit_code: int | None = None) -> Result:
    """An output as read."""
    return read_results([ToolResult(content=output(name), tool=tool, exit_code=exit_code)])[0]


def run_of(result: Result) -> Row:
    """The one run of a result."""
    (run,) = [row for row in result.runs if row.kind]
    return run


def states(result: Result) -> dict[str, str]:
    """The tests of a result by name."""
    return {row.name: row.state for row in result.runs if not row.kind}


@pytest.mark.parametrize(
    ("name", "runner", "passed", "failed", "skipped"),
    [
        ("pytest_bad.txt", "pytest", 3, 4, 1),
        ("pytest_quiet_bad.txt", "pytest", 3, 4, 1),
        ("pytest_good.txt", "pytest", 7, 0, 1),
        ("pytest_verbose_good.txt", "pytest", 7, 0, 1),
        ("unittest_bad.txt", "unittest", 2, 1, 1),
        ("unittest_good.txt", "unittest", 3, 0, 0),
        ("jest_bad.txt", "jest", 3, 3, 1),
        ("jest_good.txt", "jest", 6, 0, 1),
        ("vitest_bad.txt", "vitest", 3, 3, 1),
        ("vitest_good.txt", "vitest", 6, 0, 1),
        ("mocha_bad.txt", "mocha", 1, 3, 1),
        ("mocha_good.txt", "mocha", 4, 0, 1),
        ("node_bad.txt", "node", 1, 2, 1),
        ("node_spec_bad.txt", "node", 1, 2, 1),
        ("node_good.txt", "node", 3, 0, 1),
        ("go_verbose_bad.txt", "go test", 2, 2, 1),
        ("junit_bad.txt", "junit", 3, 4, 2),
        ("junit_good.txt", "junit", 7, 0, 2),
    ],
)
def test_a_test_run_is_read_with_its_counts(name: str, runner: str, passed: int, failed: int, skipped: int) -> None:
    run = run_of(read(name))
    counts = [run.values(label)[0] for label in ("passed", "failed", "skipped")]
    assert (run.source, counts) == (runner, [passed, failed, skipped])
    assert run.state == ("fails" if failed else "passes")


@pytest.mark.parametrize(
    ("name", "runner", "errors"),
    [
        ("ruff_bad.txt", "ruff", 7),
        ("ruff_concise_bad.txt", "ruff", 10),
        ("ruff_good.txt", "ruff", 0),
        ("mypy_bad.txt", "mypy", 1),
        ("mypy_good.txt", "mypy", 0),
        ("tsc_bad.txt", "tsc", 5),
        ("eslint_bad.txt", "eslint", 5),
        ("javac_bad.txt", "javac", 2),
        ("make_bad.txt", "make", 2),
        ("go_build.txt", "go build", 3),
        ("cargo_build.txt", "rustc", 1),
        ("clippy_bad.txt", "clippy", 1),
    ],
)
def test_a_linter_or_compiler_is_read_with_its_errors(name: str, runner: str, errors: int) -> None:
    run = run_of(read(name))
    assert (run.source, run.values("errors")[0], run.state) == (runner, errors, "fails" if errors else "passes")


def test_silence_and_exit_code_zero_speak_for_a_linter_that_is_named() -> None:
    assert run_of(read("tsc_good.txt", "npx tsc", 0)).state == "passes"
    assert run_of(read("eslint_good.txt", "npx eslint src", 0)).values("warnings") == [0]


def test_a_run_that_selected_no_test_did_not_go_well() -> None:
    assert run_of(read("pytest_none.txt")).state == "fails"


def test_a_long_log_is_read_by_its_ends() -> None:
    text = "x\n" * 500_000 + "=== 4 failed, 3 passed in 0.05s ===\n"
    assert run_of(read_results([ToolResult(content=text)])[0]).values("failed")[0] == 4


def test_colours_do_not_hide_a_summary() -> None:
    text = "\x1b[31m=== \x1b[1m4 failed\x1b[0m, \x1b[32m3 passed\x1b[0m\x1b[31m in 0.05s\x1b[0m ==="
    assert run_of(read_results([ToolResult(content=text)])[0]).values("failed")[0] == 4


def test_names_of_tests_are_kept_with_how_they_ended() -> None:
    names = states(read("pytest_bad.txt"))
    assert names["test_total_adds_tax"] == names["test_find_knows[it]"] == "fails"
    assert "test_parse_qty_accepts_spaces" not in names
    assert states(read("unittest_bad.txt"))["test_find"] == "passes"
    assert states(read("vitest_bad.txt"))["slugs two words"] == "passes"
    assert states(read("go_verbose_bad.txt"))["testskip"] == "skipped"
