"""The reflection API of its document, with the names and the input that stand there."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.compat import ReflectionEngine, ReflectionLesson, ReflectionTrigger
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine


@pytest.fixture
def reflector(settings: Settings) -> ReflectionEngine:
    return ReflectionEngine(settings=settings)


def test_the_usage_example_of_the_document_runs_to_its_end(settings: Settings) -> None:
    reflector = ReflectionEngine(quality_threshold=0.5, settings=settings)
    should, trigger = reflector.should_reflect(confidence=0.3)
    assert should
    assert trigger is ReflectionTrigger.LOW_CONFIDENCE
    prompt = reflector.build_reflection_prompt(
        goal="Build API",
        step_description="Create endpoints",
        response="POST /users",
        tool_results=[],
    )
    assert all(
        part in prompt
        for part in ("Build API", "Create endpoints", "POST /users", "quality_score", "issues")
    )
    reply = json.dumps(
        {"quality_score": 0.3, "issues": ["No auth"], "suggested_fix": "Add auth middleware"}
    )
    result = reflector.parse_reflection(reply, trigger)
    assert result.reflection_time_ms > 0
    assert (result.triggered_by, result.passes_quality_gate, result.quality_score) == (
        trigger,
        False,
        0.3,
    )
    assert (result.issues_found, result.suggested_fix) == (["No auth"], "Add auth middleware")
    assert (result.should_retry, result.retry_guidance) == (True, "Add auth middleware")
    fix = reflector.build_improvement_prompt("POST /users", result.issues_found, "Build API")
    assert all(part in fix for part in ("POST /users", "No auth", "Build API"))
    reflector.store_lesson("api_design", "forgot auth", "always add auth middleware")
    assert reflector.get_stats() == {
        "total_reflections": 1,
        "retries_triggered": 1,
        "improvements_made": 1,
        "lessons_stored": 1,
        "bank_capacity": 100,
        "average_lesson_effectiveness": None,
        "quality_threshold": 0.5,
    }
    reflector.reset_step_counts()
    assert reflector.should_reflect(confidence=0.3)[0]


@pytest.mark.parametrize(
    ("signals", "trigger"),
    [
        ({"confidence": 0.49}, "low_confidence"),
        ({"confidence": 0.9, "risk_level": 0.71}, "high_risk"),
        ({"confidence": 0.9, "goal_drift": 0.41}, "goal_drift"),
        ({"confidence": 0.9, "tool_failures": 1}, "tool_failure"),
        ({"confidence": 0.9, "is_final_step": True}, "user_critical"),
        ({"confidence": 0.9, "step_number": 5}, "periodic"),
    ],
)
def test_a_signal_over_its_threshold_is_the_trigger(
    signals: dict[str, Any], trigger: str | None, reflector: ReflectionEngine
) -> None:
    assert reflector.should_reflect(**signals) == (trigger is not None, trigger)


def test_a_signal_out_of_its_range_is_compared_as_it_is(reflector: ReflectionEngine) -> None:
    assert reflector.should_reflect(1.5, tool_failures=-1) == (False, None)
    assert reflector.should_reflect(-1) == (True, ReflectionTrigger.LOW_CONFIDENCE)


def test_a_fix_in_several_parts_is_kept(reflector: ReflectionEngine) -> None:
    reply = (
        '{"quality_score": 0.2, "issues": ["No auth"], "suggested_fix": ["Add auth", "Test it"]}'
    )
    assert reflector.parse_reflection(reply, "high_risk").suggested_fix == "Add auth\nTest it"


def test_a_lesson_needs_the_five_fields_that_the_document_requires() -> None:
    lesson = ReflectionLesson("les_1", "api_design", "forgot auth", "add it", "0123456789abcdef")
    assert (lesson.created_at > 0, lesson.times_applied, lesson.effectiveness) == (True, 0, 0.5)


def test_a_step_has_two_reflections_until_the_next_task(reflector: ReflectionEngine) -> None:
    asked = [reflector.should_reflect(0.1, step_number=1)[0] for _ in range(3)]
    assert asked == [True, True, False]
    assert reflector.should_reflect(0.1, step_number=2)[0]
    reflector.reset_step_counts()
    assert reflector.should_reflect(0.1, 0.95, 0.0, 4, 1)[0]


@pytest.mark.parametrize(
    ("text", "score", "issues"),
    [
        ('{"quality_score": 0.4, "issues": ["step 1: 2 + 2 is 4"]}', 0.4, ["step 1: 2 + 2 is 4"]),
        ('```json\n{"quality_score": 0.9, "issues": [], "suggested_fix": null}\n```', 0.9, []),
        ('{"quality_score": 8, "issues": "No auth"}', 0.8, ["No auth"]),
        (
            '{"quality_score": "7/10", "issues": [{"issue": "No auth", "severity": "high"}]}',
            0.7,
            ["No auth"],
        ),
        ('{"quality_score": "85%", "issues": []}', 0.85, []),
        ('{"score": 0.2, "issues": ["No auth"]}', 0.2, ["No auth"]),
        (
            "Score: 7/10. Minor issue: missing docstrings.",
            0.7,
            ["Minor issue: missing docstrings."],
        ),
        ("I give it 4/10. The endpoint lacks auth.", 0.4, ["The endpoint lacks auth."]),
        ("**Quality score:** 0.9\n**Issues:** None", 0.9, []),
        ("Quality score: 0.9\nIssues: None", 0.9, []),
        ("Issues:\n- step 1 is wrong\nSuggested fix: None", 0.3, ["step 1 is wrong"]),
        (
            "3/10 tests fail: the fixture is missing.",
            0.3,
            ["3/10 tests fail: the fixture is missing."],
        ),
        ("quality_score: 0.35, issues: missing auth", 0.35, ["missing auth"]),
        ("It needs input validation. Score 4", 0.4, ["It needs input validation."]),
        ("4 out of 10: there is no auth", 0.4, [": there is no auth"]),
        ('{"quality_score": "high", "issues": []}', 0.9, []),
        ("All of it is correct.", 0.8, []),
        ("Quality: 85%. Well done.", 0.85, []),
        ("Looks good, but auth is missing. 6/10", 0.6, ["Looks good, but auth is missing."]),
        ("1. Missing auth\n2. No rate limit", 0.3, ["Missing auth", "No rate limit"]),
        ("Hm.", 0.0, ["The reply says nothing of the work: ask for the critique again."]),
        ("", 0.0, ["The reply says nothing of the work: ask for the critique again."]),
    ],
)
def test_a_reply_gives_a_score_and_its_issues_in_any_form(
    text: str, score: float, issues: list[str], reflector: ReflectionEngine
) -> None:
    result = reflector.parse_reflection(text, ReflectionTrigger.PERIODIC)
    assert (result.quality_score, result.issues_found) == (score, issues)
    assert (result.passes_quality_gate, result.should_retry) == (score >= 0.5, score < 0.5)
    assert bool(result.retry_guidance) is result.should_retry


def test_the_prompt_shows_results_in_any_form_and_the_lessons(reflector: ReflectionEngine) -> None:
    lesson = reflector.store_lesson("api_design", "forgot auth", "always add auth middleware")
    results = [
        {"tool": "pytest", "content": "2 failed"},
        {"name": "curl", "success": False, "status": 401},
    ]
    prompt = reflector.build_reflection_prompt(
        "Build API", "Create endpoints", "Done.", results, [lesson]
    )
    assert all(
        part in prompt for part in ("2 failed", "401", "forgot auth: always add auth middleware")
    )
    assert "exit code" not in prompt.partition("The evidence, as tools returned it")[2]


def test_lessons_are_ranked_by_context_and_effectiveness_within_their_task_type(
    reflector: ReflectionEngine,
) -> None:
    auth = reflector.store_lesson(
        "api_design", "forgot auth", "always add auth middleware", "REST API in FastAPI"
    )
    pages = reflector.store_lesson(
        "api_design", "returned every row at once", "page long lists", "GraphQL gateway"
    )
    reflector.store_lesson("migration", "dropped a column first", "copy it before")
    assert (auth.effectiveness, auth.times_applied, len(auth.context_hash)) == (0.5, 0, 16)

    def ids(context: str = "") -> list[str]:
        return [
            lesson.lesson_id for lesson in reflector.get_relevant_lessons("api_design", context)
        ]

    assert ids("GraphQL gateway") == [pages.lesson_id, auth.lesson_id]
    assert ids("REST API in FastAPI") == [auth.lesson_id, pages.lesson_id]
    reflector.record_lesson_outcome(pages.lesson_id, success=True)
    reflector.record_lesson_outcome(auth.lesson_id, success=False)
    assert ids() == [pages.lesson_id, auth.lesson_id]
    better, worse = reflector.get_relevant_lessons("api_design")
    assert better.effectiveness > 0.5 > worse.effectiveness
    assert better.times_applied == 4
    assert reflector.get_stats()["average_lesson_effectiveness"] is not None


async def test_it_works_in_a_loop_and_archives_no_lesson_of_anybody_else(
    settings: Settings,
) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(
            mistake="Shipped without a changelog", correction="Write it first"
        )
        small = ReflectionEngine(reflection_bank_size=1, settings=settings)
        small.store_lesson("api_design", "forgot auth", "always add auth middleware")
        small.store_lesson("migration", "dropped a column first", "copy it before")
        assert small.get_stats()["lessons_stored"] == 1
        assert (await engine.get_stats())["lessons_stored"] == 1


async def test_the_sessions_of_two_engines_are_counted_apart(tmp_path: Path) -> None:
    for _ in range(2):
        async with Engine(Settings(bank=tmp_path / "bank.db")) as engine:
            advice = await engine.should_reflect(confidence=0.1)
            assert (advice.reflect, advice.reflections_left) == (True, 1)


@pytest.mark.parametrize(
    ("text", "score", "passes"),
    [
        ("I cannot evaluate this.", 0.0, False),
        ("As an AI I cannot help with that.", 0.0, False),
        ("N/A", 0.0, False),
        ('{"foo": 1}', 0.0, False),
        ('{"quality_score": 120, "issues": []}', 0.0, False),
        ("Score: -1", 0.0, False),
        ('{"verdicts": [{"claim": 1, "verdict": "wrong", "reason": "No auth"}]}', 0.3, False),
        ("Bewertung: 3/10. Authentifizierung fehlt.", 0.3, False),
        ("Puntuación: 8/10", 0.8, True),
        ("0.9", 0.9, True),
        ("None", 0.8, True),
        ("There are 3 issues: a, b, c.", 0.3, False),
        ("Error: model overloaded (503)", 0.0, False),
        ("I rate this 9 out of 10; nothing missing.", 0.9, True),
        ('{"qualityScore": 0.2, "problems": ["No auth"]}', 0.2, False),
        ("No issues found.", 0.8, True),
        ("LGTM", 0.8, True),
    ],
)
def test_what_says_nothing_does_not_pass_and_what_says_no_does_not_either(
    text: str, score: float, passes: bool, reflector: ReflectionEngine
) -> None:
    result = reflector.parse_reflection(text, "low_confidence")
    assert (result.quality_score, result.passes_quality_gate) == (score, passes)
    assert result.should_retry is not passes
    assert bool(result.retry_guidance) is not passes
    if score == 0:
        assert result.retry_guidance.endswith("ask for the critique again.")


def test_the_prompt_asks_for_what_is_read_and_for_nothing_else(
    reflector: ReflectionEngine,
) -> None:
    prompt = reflector.build_reflection_prompt(
        "Build API", "Create endpoints", "POST /users", [{"tool": "curl", "content": "401"}]
    )
    for part in ("quality_score", "issues", "suggested_fix", "Build API", "POST /users", "401"):
        assert part in prompt
    for part in ("verdicts", "claims to judge", "corrected_steps", "criteria"):
        assert part not in prompt
    improve = reflector.build_improvement_prompt("POST /users", ["No auth"], "Build API")
    assert "whole improved response" in improve
    assert "JSON" not in improve


@pytest.mark.parametrize("asked", ["API Design", "api-design", "apiDesign", "api_design"])
def test_a_task_type_is_known_in_any_spelling(asked: str, reflector: ReflectionEngine) -> None:
    reflector.store_lesson("api_design", "forgot auth", "always add auth middleware")
    assert [lesson.mistake for lesson in reflector.get_relevant_lessons(asked)] == ["forgot auth"]
    assert reflector.get_relevant_lessons("deployment") == []
