"""Issues of rules are sentences: what is wrong, and what shows it."""

import pytest

from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.verify import verifier
from mcp_reflect.models.critique import ToolResult

PYTEST = ToolResult(tool="pytest", content="1 failed, 45 passed in 2.10s", exit_code=1)


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        (
            "All tests now pass.",
            'Step 1: The result shows "pytest: 1 failed, 45 passed"; the work says "All tests now pass."',
        ),
        ("15 × 12.99 = 195.00", "Step 1: 15 × 12.99 = 194.85, not 195.00"),
        ("So 3 + 4 > 9.", 'Step 1: "3 + 4 > 9" is wrong: the relation does not hold'),
        ("The track is 2 km, that is 200 m.", 'Step 1: "2 km, that is 200 m" is wrong: 2 km is 2000 m'),
        ("Friday, 3 March 2026", 'Step 1: "Friday, 3 March 2026" is wrong: Tuesday would be right'),
        ("It began on 2026-02-30.", 'Step 1: "2026-02-30" is wrong: there is no such day'),
        ("30 of 40 (70 %) came.", 'Step 1: "30 of 40 (70 %" is wrong: 75 % would be right'),
        ("```json\n{,}\n```", 'Step 1: "json block: {,}" is wrong: line 1: Expecting property name'),
    ],
)
def test_an_issue_says_what_is_wrong_and_what_shows_it(text: str, issue: str) -> None:
    (found,) = verifier(Work(goal="", steps=(text,), tool_results=(PYTEST,)))((text,)).issues
    assert found.startswith(issue)
