"""The reflection API: prompts and a reader for a model of one's own, and the decision when to reflect."""

from pathlib import Path

import pytest
from mcp import Client

from mcp_reflect.compat import build_improvement_prompt, build_reflection_prompt, parse_reflection
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from tests.server.calls import told


def test_the_prompt_names_the_goal_and_numbers_the_steps() -> None:
    prompt = build_reflection_prompt("Add them", ["2 + 2 = 5", "So 5"], "the sum", criteria=["tone"])
    assert all(part in prompt for part in ("Add them", "1. 2 + 2 = 5", "2. So 5", "the sum", "tone"))


@pytest.mark.parametrize(
    ("text", "score", "issues"),
    [
        ('{"quality_score": 0.4, "issues": ["step 1: 2 + 2 is 4"]}', 0.4, ("step 1: 2 + 2 is 4",)),
        ("Quality score: 0.9\nIssues: None", 0.9, ()),
        ("Issues:\n- step 1 is wrong\nSuggested fix: None", 0.3, ("step 1 is wrong",)),
        ("All of it is correct.", 0.8, ()),
        ("Hm.", 0.5, ()),
    ],
)
def test_a_reply_gives_a_score_and_its_issues_in_any_form(text: str, score: float, issues: tuple[str, ...]) -> None:
    opinion = parse_reflection(text)
    assert (opinion.quality_score, opinion.issues) == (score, issues)


def test_one_text_is_one_issue_and_a_parsed_reply_brings_its_own() -> None:
    assert "the sum is 4" in build_improvement_prompt("Add", ["2 + 2 = 5"], "the sum is 4")
    opinion = parse_reflection('{"issues": ["step 1 is off"], "suggested_fix": "Say 4."}')
    prompt = build_improvement_prompt("Add", "2 + 2 = 5", opinion)
    assert "step 1 is off" in prompt
    assert "Say 4." in prompt


async def test_a_step_has_two_reflections_also_without_a_run(client: Client) -> None:
    answers = [await told(client, "should_reflect", {"tool_failures": 1, "step_number": 7}) for _ in range(3)]
    assert [answer["reflect"] for answer in answers] == [True, True, False]


async def test_the_sessions_of_two_engines_are_counted_apart(tmp_path: Path) -> None:
    for _ in range(2):
        async with Engine(Settings(bank=tmp_path / "bank.db")) as engine:
            advice = await engine.should_reflect(confidence=0.1)
            assert (advice.reflect, advice.reflections_left) == (True, 1)


async def test_lessons_are_found_by_their_task_type_alone(client: Client) -> None:
    lesson = {"mistake": "Shipped without a changelog", "correction": "Write it first", "task_type": "release"}
    stored = await told(client, "store_lesson", lesson)
    assert [hit["id"] for hit in (await told(client, "recall_lessons", {"task_type": "release"}))["lessons"]] == [
        stored["lesson_id"]
    ]
