"""What rules call wrong: nothing that is right, and what seed 002, everyday work and blocks of code have."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from benchmarks.critique import SETS, by_rules, recorded
from benchmarks.judges import judged
from benchmarks.work import CASES, Outcome, WorkScore, read, score_work, total_of
from mcp_reflect.critique.certain import RULES, check, check_code, check_execution
from mcp_reflect.critique.work import Finding, Work
from mcp_reflect.models.critique import ToolResult
from tests.critique.cases import lines


def wrong(*steps: str, goal: str = "", results: tuple[ToolResult, ...] = ()) -> list[Finding]:
    findings = check(Work(goal=goal, steps=steps, tool_results=results))
    return [finding for finding in findings if finding.wrong]


def test_at_most_one_of_a_hundred_right_works_is_called_wrong() -> None:
    right = [case for case in lines("works") if case["truth"] == "right"]
    alarms = [
        case["id"]
        for case in right
        if wrong(*case["steps"], goal=case["goal"], results=_results(case))
    ]
    assert len(right) >= 100
    assert len(alarms) <= 1, alarms


def test_most_of_what_is_wrong_by_computation_is_found() -> None:
    false = [case for case in lines("works") if case["truth"] == "wrong"]
    found = [
        case for case in false if wrong(*case["steps"], goal=case["goal"], results=_results(case))
    ]
    assert len(found) >= 0.6 * len(false)  # times of day and more are for the judge


def _results(case: dict[str, object]) -> tuple[ToolResult, ...]:
    return tuple(ToolResult(**result) for result in case.get("tool_results", ()))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "found", "alarms"),
    [("arithmetic", 0.8, 0.03), ("dates", 0.3, 0.03), ("units", 0.5, 0.03)],
)
def test_cases_of_each_kind_keep_their_floors(name: str, found: float, alarms: float) -> None:
    cases = lines(name)
    false = [case for case in cases if case["wrong"]]
    right = [case for case in cases if not case["wrong"]]
    assert sum(bool(wrong(case["text"])) for case in false) >= found * len(false)
    assert sum(bool(wrong(case["text"])) for case in right) <= alarms * len(right)


@pytest.mark.parametrize("case", lines("code"), ids=lambda case: case["id"])
def test_code_that_does_not_parse_is_wrong_and_other_code_is_not(
    case: dict[str, list[dict[str, object]]],
) -> None:
    fails = any(truth["status"] == "fail" for truth in case["truth"])
    found = wrong(*map(str, case["steps"]))
    python = any("```py" in str(step) or "```json" in str(step) for step in case["steps"])
    assert not found if not fails else found or not python


@pytest.mark.parametrize(
    ("goal", "steps", "step", "expected"),
    [
        ("Solve for x: 3x - 7 = 11", ["Add 7: 3x = 4", "Divide by 3: x = 4/3"], 1, "18"),
        ("Solve for y: 4y - 8 = 20", ["4y = 12", "y = 3"], 1, "28"),
        ("Solve for x: 2x + 6 = 10", ["2x = 16", "x = 8"], 1, "4"),
        ("Find x", ["2x + 6 = 10", "x = 3"], 2, "2"),
        ("15 × $12.99 + 8.5% tax", ["15 × $12.99 = $195.00"], 1, "194.85"),
        ("Acres", ["78.5 ÷ 43560 = 0.002"], 1, "0.0018"),
        ("Tax on 240", ["0.15 × 240 = 36", "The answer is 38"], 2, "36"),
        ("Total", ["12 + 30 = 42", "The total is 44."], 2, "42"),
        ("How far?", ["3.5 km = 350 m"], 1, "3500"),
        ("Which day?", ["25 December 2026 is a Thursday."], 1, "Friday"),
    ],
)
def test_a_wrong_step_is_named_with_what_it_should_be(
    goal: str, steps: list[str], step: int, expected: str
) -> None:
    first = wrong(*steps, goal=goal)[0]
    assert (first.step, first.expected) == (step, expected)


@pytest.mark.parametrize(
    ("goal", "steps"),
    [
        ("Solve for x: 2x + 6 = 10", ["Subtract 6: 2x = 4", "Divide by 2: x = 2"]),
        ("Solve x² = 49", ["x = 7 or x = -7"]),
        ("Two numbers sum to 30 and differ by 4", ["x + y = 30", "x - y = 4", "x = 17", "y = 13"]),
        ("Tax", ["0.15 × 240 = 36", "The answer is 36"]),
        ("Bill with tax", ["80 × 0.19 = 15.20", "The total is 95.20"]),
        ("How many of 90 are left?", ["4 × 15 = 60", "The answer is 30"]),
        ("Average", ["26 / 3 = 8.67", "The answer is about 8.7"]),
        ("Meeting", ["9:30 + 45 min = 10:15", "From 9:45 to 11:45 is 2 h"]),
        ("Clock", ["11:30 + 2 h = 1:30", "14:35 + 2 h 50 min = 17:25"]),
    ],
)
def test_right_steps_are_left_alone(goal: str, steps: list[str]) -> None:
    assert wrong(*steps, goal=goal) == []


RED = ToolResult(tool="pytest -q", content="2 failed, 11 passed in 0.4s", exit_code=1)
GREEN = ToolResult(tool="pytest -q", content="13 passed in 0.4s", exit_code=0)
SKIPS = ToolResult(tool="pytest -q", content="208 passed, 4 skipped in 3s", exit_code=0)
LINT = ToolResult(tool="ruff check .", content="Found 5 errors.", exit_code=1)
DIFF = ToolResult(
    tool="git commit", content=" 3 files changed, 40 insertions(+), 2 deletions(-)", exit_code=0
)


@pytest.mark.parametrize(
    ("claim", "results"),
    [
        ("All 13 tests pass.", (RED,)),
        ("All tests pass.", (RED,)),
        ("All tests pass.", (GREEN, RED)),
        ("12 tests pass.", (GREEN,)),
        ("3 tests fail.", (RED,)),
        ("No test is skipped and 212 tests passed.", (RED,)),
        ("5 tests are skipped.", (SKIPS,)),
        ("ruff finds 2 errors.", (LINT,)),
        ("ruff is clean.", (LINT,)),
        ("4 files changed.", (DIFF,)),
        ("The commit has 50 insertions.", (DIFF,)),
    ],
)
def test_a_summary_contradicts_a_count_or_a_success(
    claim: str, results: tuple[ToolResult, ...]
) -> None:
    assert wrong(claim, results=results)


@pytest.mark.parametrize(
    ("claim", "results"),
    [
        ("All 13 tests pass.", (GREEN,)),
        ("All tests pass now.", (RED, GREEN)),
        ("At first 2 tests failed; now all 13 pass.", (RED, GREEN)),
        ("11 of 13 tests pass, 2 fail.", (RED,)),
        ("All 212 tests pass or are skipped.", (SKIPS,)),
        ("The parser tests pass.", (RED,)),
        ("All tests should pass.", (RED,)),
        ("I fixed 3 failing tests.", (GREEN,)),
        ("Fixed all 17 lint errors.", (LINT,)),
        ("ruff finds 5 errors.", (LINT,)),
        ("3 files changed, 40 insertions.", (DIFF,)),
        ("I changed 2 files by hand.", (GREEN,)),
        ("3 tests fail.", (replace(RED, content="2 failed, 10 passed, 1 error in 3s"),)),
        (
            "All 19 tests pass.",
            (GREEN, replace(GREEN, tool="pytest -q api", content="6 passed in 0.1s")),
        ),
    ],
)
def test_a_summary_contradicts_nothing_that_may_be_right(
    claim: str, results: tuple[ToolResult, ...]
) -> None:
    assert wrong(claim, results=results) == []


def checked(step: str) -> list[Finding]:
    return list(check_code(Work(goal="", steps=(step,))))


def test_the_line_and_the_reason_are_told() -> None:
    found = checked("```python\nx = 1\ny = (2\n```")[0]
    assert found.wrong
    assert found.detail == "line 2: '(' was never closed"


def test_signs_that_exhaust_the_stack_of_a_small_thread_are_not_parsed() -> None:
    before = threading.stack_size(512 * 1024)
    try:
        with ThreadPoolExecutor(1) as small:
            assert small.submit(checked, f"```python\n{'-~' * 5_900}1\n```").result() == []
    finally:
        threading.stack_size(before)


def test_parsing_runs_nothing() -> None:
    assert checked("```python\nraise SystemExit(__import__('os').getpid())\n```") == []


@pytest.mark.parametrize(
    "lead", ["This is broken:", "The wrong version was", "Do not write", "An invalid example:"]
)
def test_a_block_shown_as_wrong_is_left_alone(lead: str) -> None:
    assert checked(f"{lead}\n```python\nx = (\n```") == []


def test_the_repair_of_something_broken_is_looked_at() -> None:
    assert checked("Here is the fixed version of the broken call:\n```python\nx = (\n```")[0].wrong


@pytest.mark.parametrize(
    "newer",
    [
        "type A = list[int]",
        "def f[T](x: T) -> T:\n    return x",
        "print(f'{a['b']}')",
        "x = t'{a}'",
    ],
)
def test_python_newer_than_ours_is_no_error(newer: str) -> None:
    assert checked(f"```python\n{newer}\n```") == []


def test_a_warning_of_the_parser_is_no_error() -> None:
    assert checked("```python\nx = '\\d'\n```") == []


def test_the_execution_is_told_at_the_last_step_that_names_it() -> None:
    work = Work(
        goal="", steps=("Plan.", "Call search.", "Report."), decided="search", executed="delete"
    )
    found = list(check_execution(work))
    assert [(finding.step, finding.wrong) for finding in found] == [(2, True)]
    assert found[0].expected == "search"


@pytest.mark.parametrize("name", SETS)
def test_rules_call_nothing_wrong_that_is_right(name: str) -> None:
    cases = read(CASES / f"work_{name}.jsonl")
    total = total_of((case, by_rules(case, tuple(RULES.values()))) for case in cases)
    assert (total.alarms, total.slipped) == (0, 0)


@pytest.mark.parametrize("name", [name for name in SETS if recorded(name)])
def test_with_a_judge_nearly_all_is_found_and_a_host_gets_what_a_model_gets(name: str) -> None:
    replies = recorded(name)
    cases = [case for case in read(CASES / f"work_{name}.jsonl") if case["id"] in replies]
    by_model = judged(cases, replies, "model")
    total = total_of(zip(cases, by_model, strict=True))
    assert total.found >= 0.95 * total.contradicted
    assert (total.slipped <= 1, total.refused <= 2) == (True, True)
    assert judged(cases[::5], replies, "host") == by_model[::5]


@pytest.mark.parametrize(
    ("issue", "found", "alarms"),
    [
        ("The total is 902.80, and the rows give 892.80.", 1, 0),
        ("Step 2: the train at 404.80 is no item.", 0, 1),
        ("Step 3: that day is a holiday.", 1, 0),
        ("The tone is too harsh.", 0, 0),
    ],
)
def test_an_issue_in_prose_is_about_the_claim_whose_numbers_it_repeats_or_whose_step_it_names(
    issue: str, found: int, alarms: int
) -> None:
    claims = [
        {"text": "The train takes 404.80", "status": "supported"},
        {"text": "in all 902.80", "status": "contradicted"},
        {"text": "We go on Monday", "status": "contradicted"},
    ]
    steps = ["The trip:", "The train takes 404.80, in all 902.80.", "We go on Monday."]
    case = {"id": "one", "kind": "plans", "truth": "half", "steps": steps, "claims": claims}
    total = WorkScore()
    score_work(case, Outcome(contradicted=(), unshown=(), issues=(issue,), passes=False), total)
    assert (total.found, total.alarms) == (found, alarms)
