"""Forms of a model's reply: which score and issues are read, and which replies are none."""

import pytest

from mcp_reflect.systems.judge_replies import read_judgment


@pytest.mark.parametrize(
    ("reply", "score", "has_issues"),
    [
        ("| Criterion | Score |\n|---|---|\n| Overall | 7/10 |\n", 0.7, False),
        ("| Issue | Severity |\n|---|---|\n| Auth is missing | high |\n\nScore: 4/10", 0.4, True),
        ("The answer scores 7 out of 10 because two edge cases are missing.", 0.7, True),
        ("Quality: 9/10 - excellent work, nothing to add.", 0.9, False),
        ("Score = 0,75", 0.75, False),
        ("4,5/5", 0.9, False),
        ("Rating: 4 out of 5 stars", 0.8, False),
        ("7/10 tests pass; I'd rate it 5/10.", 0.5, False),
        ("I give it 8 out of 10 but the docs are missing.", 0.8, True),
    ],
)
def test_a_score_is_read_in_tables_beside_words_and_with_a_comma(
    reply: str, score: float, has_issues: bool
) -> None:
    judgment = read_judgment(reply)
    assert (judgment.fault, judgment.score) == (None, score)
    assert bool(judgment.issues) == has_issues


@pytest.mark.parametrize(
    "reply",
    ["", "I cannot judge that.", "Error 529: overloaded", "Grade: B+", "8 of 10 tests ran."],
)
def test_a_reply_that_names_no_score_and_no_fault_is_no_judgment(reply: str) -> None:
    assert read_judgment(reply).fault is not None
