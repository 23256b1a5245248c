"""Twenty inputs that a user of the reflection API might send, and what its document says of them."""

from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.compat import ReflectionEngine, ReflectionTrigger
from mcp_reflect.config import Settings


@pytest.fixture
def reflector(tmp_path: Path) -> ReflectionEngine:
    return ReflectionEngine(settings=Settings(bank=tmp_path / "bank.db"))


TRIGGERS: list[tuple[dict[str, Any], ReflectionTrigger | None]] = [
    ({"confidence": 0.49}, ReflectionTrigger.LOW_CONFIDENCE),
    ({"confidence": 0.9, "risk_level": 0.71}, ReflectionTrigger.HIGH_RISK),
    ({"confidence": 0.9, "goal_drift": 0.5}, ReflectionTrigger.GOAL_DRIFT),
    ({"confidence": 0.9, "tool_failures": 1}, ReflectionTrigger.TOOL_FAILURE),
    ({"confidence": 0.9, "is_final_step": True}, ReflectionTrigger.USER_CRITICAL),
    ({"confidence": 0.9, "step_number": 10}, ReflectionTrigger.PERIODIC),
    ({"confidence": 0.9, "risk_level": 0.7, "goal_drift": 0.4, "step_number": 4}, None),
]


@pytest.mark.parametrize(("signals", "trigger"), TRIGGERS)
def test_signals_are_triggers(
    signals: dict[str, Any], trigger: ReflectionTrigger | None, reflector: ReflectionEngine
) -> None:
    assert reflector.should_reflect(**signals) == (trigger is not None, trigger)


REPLIES: list[tuple[str, float, list[str], bool]] = [
    ('{"quality_score": 0.85, "issues": [], "suggested_fix": null}', 0.85, [], True),
    (
        'Sure! Here it is:\n```json\n{"quality_score": "4/10", "issues": ["No tests"]}\n```',
        0.4,
        ["No tests"],
        False,
    ),
    (
        '{"qualityScore": 0.2, "issues": "Deletes the wrong table"}',
        0.2,
        ["Deletes the wrong table"],
        False,
    ),
    ("Score: 0.3\nIssues:\n- No auth\n- No logs", 0.3, ["No auth", "No logs"], False),
    (
        "The endpoint forgot to validate the body.",
        0.3,
        ["The endpoint forgot to validate the body."],
        False,
    ),
    ("Excellent, nothing to add.", 0.8, [], True),
    ("Calidad: 9/10. Muy bueno.", 0.9, [], True),
    ("???", 0.0, [], False),
    ("I'm sorry, but I can't help with that request.", 0.0, [], False),
    ('{"quality_score": null, "issues": null}', 0.0, [], False),
]


@pytest.mark.parametrize(("text", "score", "issues", "passes"), REPLIES)
def test_replies_are_read(
    text: str, score: float, issues: list[str], passes: bool, reflector: ReflectionEngine
) -> None:
    result = reflector.parse_reflection(text, ReflectionTrigger.LOW_CONFIDENCE)
    assert (result.quality_score, result.passes_quality_gate) == (score, passes)
    assert result.should_retry is not passes
    assert result.reflection_time_ms >= 0
    if score:
        assert result.issues_found == issues
    else:
        assert "again" in result.retry_guidance


def test_lessons_of_a_type_come_by_effectiveness_in_any_spelling(
    reflector: ReflectionEngine,
) -> None:
    weak = reflector.store_lesson(
        "Data Import", "read dates as text", "parse dates with the locale"
    )
    strong = reflector.store_lesson(
        "data_import", "skipped the header", "check the first row for names"
    )
    reflector.record_lesson_outcome(weak.lesson_id, success=False)
    reflector.record_lesson_outcome(strong.lesson_id, success=True)
    found = reflector.get_relevant_lessons("data-import")
    assert [lesson.lesson_id for lesson in found] == [strong.lesson_id, weak.lesson_id]
    assert found[0].times_applied == 1


def test_a_step_has_two_reflections_and_a_task_has_them_again(reflector: ReflectionEngine) -> None:
    asked = [reflector.should_reflect(confidence=0.1, step_number=1)[0] for _ in range(3)]
    assert asked == [True, True, False]
    reflector.reset_step_counts()
    assert reflector.should_reflect(confidence=0.1, step_number=1)[0]


def test_stats_count_what_was_done(reflector: ReflectionEngine) -> None:
    reflector.parse_reflection("No auth.", "low_confidence")
    reflector.build_improvement_prompt("POST /users", ["No auth"], "Build API")
    stats = reflector.get_stats()
    wanted = {
        "total_reflections": 1,
        "retries_triggered": 1,
        "improvements_made": 1,
        "lessons_stored": 0,
    }
    assert {name: stats[name] for name in wanted} == wanted
    assert (stats["bank_capacity"], stats["quality_threshold"]) == (100, 0.5)
