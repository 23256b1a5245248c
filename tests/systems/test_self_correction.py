"""Self-correction by the names of its document."""

from pathlib import Path

import pytest

from mcp_reflect.compat import SelfCorrection as ReflectionEngine
from mcp_reflect.config import Settings
from tests.scripted import Scripted

QUERY = "Calculate 15 × $12.99 + 8.5% tax"
WRONG = [
    "1. Base cost: 15 × $12.99 = $195.00",
    "2. Tax: $195.00 × 0.085 = $16.58",
    "3. Total: $195.00 + $16.58 = $211.58",
]
RIGHT = [
    "1. Base cost: 15 × $12.99 = $194.85",
    "2. Tax: $194.85 × 0.085 = $16.56",
    "3. Total: $194.85 + $16.56 = $211.41",
]
LOGIC = ["All managers have a badge.", "Tom has a badge.", "So Tom is a manager."]
BAD = '{"quality_score": 0.2, "issues": ["Step 3 does not follow from 1 and 2."]}'
FIXED = '{"corrected_steps": ["All managers have a badge.", "Tom has a badge.", "So Tom may be a manager."]}'
GOOD = '{"quality_score": 0.9, "issues": []}'


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(bank=tmp_path / "bank.db", project="p")


def test_the_documents_sum_is_corrected_and_the_callbacks_hear_of_it(settings: Settings) -> None:
    engine = ReflectionEngine(max_iterations=2, settings=settings)
    heard: list[tuple[int, int]] = []
    engine.on_start = lambda iteration, issues: heard.append((iteration, len(issues)))
    engine.on_complete = lambda iteration, trace: heard.append((iteration, len(trace)))
    assert engine.enhance_reasoning(QUERY, WRONG) == RIGHT
    assert heard == [(1, 1), (1, 3)]
    assert engine.enhance_reasoning(QUERY, RIGHT) == RIGHT


def test_a_models_correction_is_taken_with_the_callers_own_prompts(settings: Settings) -> None:
    with Scripted(BAD, FIXED, GOOD) as llm:
        engine = ReflectionEngine(llm, max_iterations=2, settings=settings)
        engine.critique_prompt = "You are a strict math professor."
        engine.improve_prompt = "Show all work step-by-step."
        improved = engine.enhance_reasoning("Is Tom a manager?", LOGIC)
        systems = [request.system for request in llm.asked]
    assert improved[-1] == "So Tom may be a manager."
    assert systems[0].startswith("You are a strict math professor.")
    assert systems[1].startswith("Show all work step-by-step.")


def test_without_iterations_or_for_a_lookup_nothing_is_checked(settings: Settings) -> None:
    assert (
        ReflectionEngine(max_iterations=0, settings=settings).enhance_reasoning("x", WRONG) == WRONG
    )
    engine = ReflectionEngine(settings=settings)
    for kind in ("lookup", "creative"):
        assert engine.enhance_reasoning("Capital of France?", ["1 + 1 = 3"], kind=kind) == [
            "1 + 1 = 3"
        ]
    assert engine.enhance_reasoning("x", []) == []


async def test_the_stream_tells_each_part_also_in_a_running_loop(settings: Settings) -> None:
    engine = ReflectionEngine(settings=settings)
    text = "".join(engine.enhance_stream(QUERY, WRONG))
    parts = ["[REASON]", "[VERIFY]", "[REFLECT]", "[ANSWER]"]
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
    assert "Iteration 1: Fixing 1 issue(s)" in text
    assert text.endswith(f"[ANSWER]\n{RIGHT[-1]}\n")
    calm = "".join(
        engine.enhance_stream(
            "Solve for x: 2x + 6 = 10", ["Subtract 6: 2x = 4", "Divide by 2: x = 2"]
        )
    )
    assert "Iteration 1: No issues found" in calm
    assert calm.endswith("[ANSWER]\nDivide by 2: x = 2\n")
