"""The doors agree on a reply: what critique and the reflection API read as its score and its issues."""

from contextlib import suppress

import pytest

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.judging import read_opinion
from mcp_reflect.systems.judge_replies import read_judgment

# A reply, the score that it names (None: none), and how many issues.
REPLIES = [
    ('{"quality_score": 0.8, "issues": []}', 0.8, 0),
    ('```json\n{"quality_score": 8, "issues": ["auth is missing"]}\n```', 0.8, 1),
    (
        'Here is my critique:\n```\n{"score": "7/10", "issues": ["No tests"]}\n```\nHope it helps.',
        0.7,
        1,
    ),
    ('{"score": "70 %", "issues": "Missing error handling"}', 0.7, 1),
    ('{"score": "seven out of ten", "issues": []}', 0.7, 0),
    ('{"quality_score": "N/A", "issues": []}', None, 0),
    ('{"quality_score": null, "issues": ["The total is wrong"]}', None, 1),
    ("1. The total is wrong.\n2. The tax is missing.", None, 2),
    ("1) The total is wrong\n2) The tax is missing\n\nScore: 4/10", 0.4, 2),
    ("Issues:\n- The total is wrong\n- No tests\n\nQuality score: 0.4", 0.4, 2),
    ("## Issues\n* The total is wrong\n\n## Suggested fix\nAdd 2.\n\n## Score\n6/10", 0.6, 1),
    ("**Score:** 8/10\n**Issues:** None", 0.8, 0),
    ("Looks good, but auth is missing. 6/10", 0.6, 1),
    ("7/10", 0.7, 0),
    ("Seven out of ten.", 0.7, 0),
    ("I would give it 70%.", 0.7, 0),
    ("I rate this 8 out of 10 because the tests are missing.", 0.8, 1),
    ("Score: 9/10. Excellent work.", 0.9, 0),
    ("Rating: 3/5 stars. The error path is not handled.", 0.6, 1),
    ("Correct.", None, 0),
    ("No issues found.", None, 0),
    ("None", None, 0),
    ("The code is correct, but the function does not handle empty lists.", None, 1),
    ("Clarity: 8/10\nCorrectness: 4/10\nOverall score: 5/10\nThe sum in step 2 is wrong.", 0.5, 1),
    ("Score: 0/10. Everything is wrong.", 0.0, 1),
    ("Score: 11/10", None, 0),
    ("score=0.55", 0.55, 0),
    ("Overall: 6.5/10\n\n- Missing tests", 0.65, 1),
    ("I score it 0.9.", 0.9, 0),
    ("Quality: high. No problems.", None, 0),
    ('{"qualityScore": 0.7, "issues": ["x is wrong"]}', 0.7, 1),
    ('{"rating": 7, "problems": ["x is wrong"]}', 0.7, 1),
    ('["The total is wrong", "No tests"]', None, 2),
    (
        '{"issues": [{"description": "The total is wrong", "severity": "high"}], "quality_score": 0.5}',
        0.5,
        1,
    ),
    ("Verdict: correct, but step 2 lacks a unit. Score 7", 0.7, 1),
    ("<score>0.7</score><issues>The total is wrong</issues>", 0.7, 1),
    ("The response scores 4 out of 10: the answer is wrong.", 0.4, 1),
]
SAYING_NOTHING = [
    "",
    "   ",
    "N/A",
    "???",
    "I cannot judge this.",
    "Sure, I can help with that!",
    "{}",
    "```json\n```",
    '{"foo": 1}',
    "Error: 529 overloaded",
]
SCORES_OF_WORDS = (0.0, 0.3, 0.8)  # what the reflection API gives a reply that names no score


def score_of(reply: str) -> float | None:
    """The score that critique reads, which refuses a reply without an opinion."""
    with suppress(InputError):
        return read_opinion(reply, "reply", claims=()).quality_score
    return None


@pytest.mark.parametrize(("reply", "score", "issues"), REPLIES)
def test_a_reply_is_the_same_in_every_door(reply: str, score: float | None, issues: int) -> None:
    opinion = read_opinion(reply, "reply", claims=())
    judgment = read_judgment(reply)
    assert (opinion.quality_score, len(opinion.issues)) == (score, issues)
    assert len([issue for issue in judgment.issues if issue != judgment.fault]) == issues
    assert judgment.score == score if score is not None else judgment.score in SCORES_OF_WORDS


@pytest.mark.parametrize("reply", SAYING_NOTHING)
def test_a_reply_that_says_nothing_is_no_score(reply: str) -> None:
    judgment = read_judgment(reply)
    assert (judgment.score, bool(judgment.fault)) == (0.0, True)
    assert score_of(reply) is None
