"""Works of many sentences: the end is read, and what was not read is said and passes nothing."""

import pytest

from mcp_reflect.checkers.base import Work, split
from mcp_reflect.checkers.verify import Verified, verifier
from mcp_reflect.models.critique import ToolResult


def verified(response: str, *results: ToolResult) -> Verified:
    steps = split(response)
    return verifier(Work(goal="Report", steps=steps, tool_results=results))(steps)


@pytest.mark.parametrize("count", [250, 300, 400, 800, 1500])
def test_a_wrong_sum_at_the_end_is_found_or_the_work_is_not_wholly_checked(count: int) -> None:
    found = verified("\n".join(f"{number} + 2 = {number + 2}." for number in range(count)) + "\n17 + 25 = 43.")
    assert found.failed or not found.complete
    assert count > 250 or found.failed


def test_a_lie_behind_many_lines_is_found() -> None:
    lines = "\n".join(f"Item {number}: {number} + 2 = {number + 2}." for number in range(400))
    failed = ToolResult(tool="pytest", content="9 failed in 1.2s", exit_code=1)
    found = verified(f"{lines}\nAll 9 tests passed.", failed)
    assert "All 9 tests passed" in found.failed[0].claim
    assert not found.complete


def test_one_line_of_many_sentences_is_said_to_be_too_long_to_be_read() -> None:
    found = verified(" ".join(f"Sum {number} is {number} + 2 = {number + 2}." for number in range(400)))
    assert any("too long to be read" in text for text in found.coverage.open_claims)
    assert not found.complete


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("The report is about sales. 17 + 25 = 43.", False),
        ("This is about the invoice: 1,200 + 450 = 1,700.", False),
        ("Rounded prices follow. 17 + 25 = 43.", False),
        ("17 / 3 = 5.67, rounded.", True),
        ("About 17 / 3 = 5.7 each.", True),
    ],
)
def test_only_a_word_beside_the_numbers_or_of_rounding_in_the_sentence_allows_a_rounded_result(
    text: str, *, holds: bool
) -> None:
    assert (not verified(text).failed) is holds
