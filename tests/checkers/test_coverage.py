"""What a critique covers: a gate on rules passes only where every claim was checked."""

import pytest

from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.verify import Verified, verifier
from mcp_reflect.models.critique import ToolResult


def verified(*steps: str, results: tuple[ToolResult, ...] = ()) -> Verified:
    return verifier(Work(goal="", steps=steps, tool_results=results))(steps)


def test_sums_with_labels_are_covered_completely() -> None:
    found = verified("Tax: 195 × 0.1 = 19.50", "Total: 195 + 19.50 = 214.50")
    assert found.complete
    assert (found.coverage.claims, found.coverage.checked, found.coverage.open_claims) == (2, 2, ())


@pytest.mark.parametrize(
    "text",
    [
        "2 + 2 = 4. The customer was informed about it.",
        "The tax on the whole amount is 195 × 0.1 = 19.50",
        "Roses are red, violets are blue",
        "It runs on 14 hosts. 2 + 2 = 4.",
        "```python\nprint(1)\n```",
    ],
)
def test_what_no_rule_decides_is_left_open_and_quoted(text: str) -> None:
    found = verified(text)
    assert not found.complete
    assert found.coverage.open + found.coverage.unsupported >= 1
    assert found.coverage.open_claims


def test_an_unsupported_run_is_named_before_other_open_claims() -> None:
    found = verified("The design is simple and clear. All 12 tests pass.")
    assert found.coverage.unsupported == 1
    assert found.coverage.open_claims[0] == "All 12 tests pass."


def test_a_sentence_passes_only_if_each_of_its_claims_does() -> None:
    results = (
        ToolResult(tool="git commit", content="[main 4e1d9a7] Fix\n 3 files changed, 6 deletions(-)", exit_code=0),
    )
    assert [v.status.value for v in verified("3 files changed, 6 deletions.", results=results).verdicts] == ["pass"]
    assert [v.status.value for v in verified("3 files changed, 7 deletions.", results=results).verdicts] == ["fail"]


def test_a_run_that_failed_contradicts_that_it_works() -> None:
    results = (ToolResult(tool="python run.py", content="ZeroDivisionError: division by zero", exit_code=1),)
    assert verified("It handles empty lists.", results=results).failed
    assert not verified("It does not handle empty lists.", results=results).failed


@pytest.mark.parametrize("text", ["Not yet committed.", "I have not tried restoring it.", "I couldn't test it."])
def test_an_admission_that_something_was_not_done_is_no_claim(text: str) -> None:
    assert verified(f"2 + 2 = 4. {text}").complete


@pytest.mark.parametrize("text", ["I have not tested it: all 12 tests pass.", "I did not run out of memory at 3 GB."])
def test_an_admission_that_says_more_is_a_claim(text: str) -> None:
    assert not verified(f"2 + 2 = 4. {text}").complete


def test_a_number_that_is_rounded_is_shown_by_the_result() -> None:
    results = (ToolResult(tool="pytest", content="=== 7 passed in 1.27s ===", exit_code=0),)
    assert verified("All 7 tests passed in 1.3 s.", results=results).complete
    assert verified("All 7 tests passed in 1.4 s.", results=results).failed


def test_a_fenced_block_is_one_open_claim_and_the_prose_behind_it_another() -> None:
    found = verified("```python\nprint(1)\n```\nThe code above prints the number.")
    assert found.coverage.open_claims == (
        "The code above prints the number.",
        "python block: print(1) (that it does what is asked)",
    )
