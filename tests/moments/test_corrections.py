"""A prompt that corrects how the agent works is told from a task, a question, praise and an undo."""

import json
from pathlib import Path

import pytest

from mcp_reflect.moments.corrections import corrects

ASIDE = (
    Path(__file__).parent.parent / "data" / "prompts_aside.jsonl"
)  # no weight was learned from it
PROMPTS = [json.loads(line) for line in ASIDE.read_text(encoding="utf-8").splitlines()]


def test_most_corrections_are_noticed_and_hardly_any_other_prompt() -> None:
    read = {
        wanted: [corrects(p["text"]) for p in PROMPTS if p["correction"] is wanted]
        for wanted in (True, False)
    }
    assert sum(read[True]) / len(read[True]) >= 0.85
    assert sum(read[False]) / len(read[False]) <= 0.02


@pytest.mark.parametrize(
    "prompt",
    [
        'add a test for the text "never push to main"',
        "Why do they say: always squash?",
        "```\nnever push to main\n```\nwhat does this do?",
        "don't run the tests for now",
        "/review never push to main",
        "",
    ],
)
def test_what_is_quoted_asked_for_now_or_a_command_corrects_nothing(prompt: str) -> None:
    assert not corrects(prompt)


@pytest.mark.parametrize(
    "part", ["we use ", "you did ", "don't x ", "non aaa ", "no, ", "'", "`", '"', "a"]
)
def test_a_long_prompt_is_read_in_part(part: str) -> None:
    assert corrects(part * 100_000) is corrects((part * 1_500)[:1_500])
