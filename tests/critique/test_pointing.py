"""Which lines of the outputs a claim is shown with."""

import pytest

from mcp_reflect.critique.pointing import LONGEST_LINE, MOST_LINES, Evidence
from mcp_reflect.critique.work import claims
from mcp_reflect.models.critique import Line, ToolResult

NOISE = tuple(
    ToolResult(
        tool=f"cat file{number}.py",
        content="\n".join(f"def part_{n}(): return {n}" for n in range(60)),
        exit_code=0,
    )
    for number in range(8)
)
RED = ToolResult(
    tool="pytest -q",
    content="F.\nFAILED test_a.py::test_tax\n1 failed, 12 passed in 0.3s",
    exit_code=1,
)
GREEN = ToolResult(tool="pytest -q", content="..\n13 passed in 0.3s", exit_code=0)
HEALTH = ToolResult(
    tool="curl -i localhost/health", content="HTTP/1.1 503 Service Unavailable\n\ndown", exit_code=0
)
SIZES = ToolResult(tool="wc -w notes/plan.md", content="1119 notes/plan.md", exit_code=0)
TIMED = ToolResult(
    tool="curl -w @format localhost:8000", content="time_connect: 0.002s\ntime_total: 0.412s"
)
PIP = ToolResult(
    tool="pip show httpx", content="Name: httpx\nVersion: 0.27.0\nLicense: BSD", exit_code=0
)


def pointed(claim: str, *results: ToolResult, goal: str = "") -> tuple[Line, ...]:
    evidence = Evidence(results)
    return evidence.lines_for(claim, evidence.near(f"{goal} {claim}"))


@pytest.mark.parametrize(
    ("claim", "result", "line"),
    [
        ("All 13 tests pass.", RED, "1 failed, 12 passed in 0.3s"),
        ("The health check returned 200.", HEALTH, "HTTP/1.1 503 Service Unavailable"),
        ("The plan has 900 words.", SIZES, "1119 notes/plan.md"),
        ("httpx is at 0.28.", PIP, "Version: 0.27.0"),
        ("The server responds in 40 ms.", TIMED, "time_total: 0.412s"),
        ("test_tax passes.", RED, "FAILED test_a.py::test_tax"),
    ],
)
def test_the_deciding_line_is_shown_among_noise(claim: str, result: ToolResult, line: str) -> None:
    found = pointed(claim, *NOISE[:4], result, *NOISE[4:])
    assert line in [one.text for one in found]
    assert len(found) <= MOST_LINES


MYPY = ToolResult(
    tool="mypy src", content="Success: no issues found in 12 source files", exit_code=0
)
RUFF = ToolResult(tool="cd app && uv run ruff check .", content="All checks passed!", exit_code=0)


@pytest.mark.parametrize(
    ("claim", "result"),
    [("Type checks are clean.", MYPY), ("Lint is clean.", RUFF), ("All tests pass.", RED)],
)
def test_a_claim_about_a_kind_of_run_is_laid_beside_a_run_of_that_kind(
    claim: str, result: ToolResult
) -> None:
    for results in ((RED, MYPY, RUFF), (RUFF, MYPY, RED), (*NOISE, MYPY, RED, RUFF)):
        assert result.tool in [line.tool for line in pointed(claim, *results)]


def test_a_line_names_its_result_its_command_and_its_exit_code() -> None:
    first = pointed("All 13 tests pass.", *NOISE, RED)[0]
    assert (first.tool, first.exit_code, first.result) == ("pytest -q", 1, 9)


def test_the_latest_run_of_a_command_comes_before_earlier_ones_unless_the_claim_is_about_those() -> (
    None
):
    assert pointed("All tests pass.", RED, GREEN)[0].text == "13 passed in 0.3s"
    assert pointed("At first one test failed.", RED, GREEN)[0].result == 1


def test_what_no_output_speaks_of_has_no_line() -> None:
    assert pointed("I mailed the invoice to the customer.", *NOISE, GREEN) == ()
    assert pointed("All tests pass.") == ()


def test_a_long_line_is_cut_around_what_it_shares() -> None:
    text = "x" * 5_000 + " the checksum is 9f3a " + "y" * 5_000
    (line,) = pointed("The checksum is 77aa.", ToolResult(tool="sha", content=text))
    assert "the checksum is 9f3a" in line.text
    assert len(line.text) <= LONGEST_LINE


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("All 13 tests pass. I will deploy it tomorrow.", ["All 13 tests pass."]),
        ("Is it faster? It takes 12 ms.", ["It takes 12 ms."]),
        ("Tag v2.0", []),
        ("Back up the database", []),
        ("I have not tested it on Windows.", []),
        ("If the tests pass, merge it.", []),
        ("The user said that all 5 tests pass.", []),
        ("3500 × 0.12 = 420", ["3500 × 0.12 = 420"]),
        ("Add 7: 3x = 18", ["Add 7: 3x = 18"]),
        ("> 9 of 9 pass", []),
        ("```\n3 passed\n```\nThe build works.", ["The build works."]),
        ("Roses are red", []),
        ("It was built at the first attempt.", ["It was built at the first attempt."]),
        ("The plan has 900 words.", ["The plan has 900 words."]),
        ("The name occurs once in app.py.", ["The name occurs once in app.py."]),
        ("I plan to deploy 2 services. It works once the server is up.", []),
        (
            "## Summary of 3 fixes\nHere's what I did:\n**Files changed:**\n- Fixed 2 tests",
            ["Fixed 2 tests"],
        ),
    ],
)
def test_only_what_states_something_to_check_is_a_claim(step: str, expected: list[str]) -> None:
    assert [claim.text for claim in claims([step])] == expected


def test_a_line_is_shown_without_its_frame_and_once() -> None:
    framed = ToolResult(tool="pytest -q", content="======= 13 passed in 0.3s =======")
    found = pointed("All 13 tests pass.", framed, framed)
    assert [line.text for line in found] == ["13 passed in 0.3s"]
