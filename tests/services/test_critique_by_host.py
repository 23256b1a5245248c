"""The agent's own critique: read, held to the verdicts, its correction verified, counted and compared."""

from typing import Any

import pytest
from mcp import Client

from mcp_reflect.services.engine import Engine
from tests.server.calls import contents, refused, told

WRONG = {"goal": "Sum", "steps": ["2 + 2 = 5", "5 × 3 = 15"], "max_iterations": 0}
RIGHT = ["2 + 2 = 4", "4 × 3 = 12"]


async def begun(client: Client, **more: Any) -> dict[str, Any]:
    return await told(client, "critique", {**WRONG, **more})


async def answered(client: Client, critique_id: str, analysis: Any) -> dict[str, Any]:
    return await told(client, "critique", {"critique_id": critique_id, "analysis": analysis})


async def test_a_correction_is_verified_and_asks_nothing_more(client: Client) -> None:
    first = await begun(client)
    assert first["issues"] == ["Step 1: 2 + 2 = 4, not 5"]
    found = await answered(client, first["critique_id"], {"issues": ["Step 1 is wrong"], "corrected_steps": RIGHT})
    assert (found["thinker"], found["iterations"], found["stopped"]) == ("host", 1, "passed")
    assert found["corrected_steps"] == RIGHT
    assert "next" not in found


async def test_the_same_analysis_again_gives_the_same_answer(client: Client) -> None:
    first = await begun(client)
    analysis = {"corrected_steps": RIGHT}
    found = await answered(client, first["critique_id"], analysis)
    assert await answered(client, first["critique_id"], analysis) == found


async def test_corrections_are_counted_across_calls_until_the_budget(client: Client) -> None:
    first = await begun(client, max_iterations=2, steps=["All 3 tests pass", "2 + 2 = 4"], tool_results=[FAILED])
    found = [
        await answered(client, first["critique_id"], {"corrected_steps": [f"All {n} tests pass", "2 + 2 = 4"]})
        for n in (4, 5)
    ]
    assert [one["iterations"] for one in found] == [1, 2]
    assert found[1]["stopped"] == "budget"
    assert (found[1]["should_retry"], found[0]["should_retry"]) == (False, True)


FAILED = {"tool": "pytest", "content": "=== 1 failed, 1 passed in 0.10s ===", "exit_code": 1}


async def test_nothing_changed_is_said_to_be_so(client: Client) -> None:
    first = await begun(client)
    found = await answered(client, first["critique_id"], {"corrected_steps": WRONG["steps"]})
    assert (found["stopped"], found.get("corrected_steps")) == ("no_change", None)


async def test_a_correction_that_is_worse_is_not_taken(client: Client) -> None:
    first = await begun(client)
    found = await answered(client, first["critique_id"], {"corrected_steps": ["2 + 2 = 6", "6 × 3 = 19"]})
    assert "corrected_steps" not in found


@pytest.mark.parametrize("words", ["None", "No issues found.", "no issues were found", "The sums are right."])
async def test_words_for_no_issues_mean_none(client: Client, words: Any) -> None:
    work = {"goal": "Sum", "steps": RIGHT, "analysis": words}
    found = await told(client, "critique", work)
    assert (found["thinker"], found["action"], found.get("issues")) == ("host", "keep", None)


async def test_markdown_with_headings_is_read(client: Client) -> None:
    text = "## Quality score\n0.4\n\n## Issues\n- Step 1: the sum is wrong\n\n**Suggested fix:** Write 4\n\n"
    text += "## Corrected steps\n1. 2 + 2 = 4\n2. 4 × 3 = 12"
    found = await told(client, "critique", {**WRONG, "analysis": text})
    assert found["corrected_steps"] == RIGHT
    assert found["suggested_fix"] == "Write 4"
    assert "Step 1: the sum is wrong" in found["issues"]


async def test_own_criteria_are_kept_and_a_certain_fault_keeps_the_gate_shut(client: Client) -> None:
    criteria = {"Correctness": {"score": 1, "reason": "fine"}, "tone": 0.9}
    found = await told(client, "critique", {**WRONG, "analysis": {"quality_score": 1, "criteria": criteria}})
    assert found["criteria"]["tone"] == {"score": 0.9}
    assert found["passes_quality_gate"] is False


async def test_evidence_that_was_missing_may_come_with_the_analysis(client: Client) -> None:
    first = await told(client, "critique", {"goal": "Report", "response": "All 2 tests pass"})
    more = {"critique_id": first["critique_id"], "analysis": "None", "tool_results": [FAILED]}
    assert (await told(client, "critique", more))["first_error_step"] == 1


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"goal": "Another"}, "goal"),
        ({"steps": ["1 + 1 = 2"]}, "steps"),
        ({"response": "1 + 1 = 2"}, "response"),
        ({"analysis": {"qualty_score": 1}}, "analysis.qualty_score"),
        ({"analysis": {"quality_score": 7}}, "analysis.quality_score"),
        ({"critique_id": "crit_none"}, "critique_id"),
        ({"analysis": None}, "verdicts"),
        ({"response": "x", "steps": ["y"]}, "steps"),
    ],
)
async def test_what_cannot_be_used_names_its_field_and_stores_nothing(
    client: Client, engine: Engine, more: Any, field: str
) -> None:
    first = await begun(client)
    call = {"critique_id": first["critique_id"], "analysis": {"corrected_steps": RIGHT}}
    found = await answered(client, first["critique_id"], call["analysis"])
    before = await contents(engine)
    assert (await refused(client, "critique", {**call, **more})).startswith(f"{field}: ")
    assert await contents(engine) == before
    assert await answered(client, first["critique_id"], call["analysis"]) == found


@pytest.mark.sqlite  # it reads the bytes of the file
async def test_a_critique_leaves_the_bank_as_it_was_and_no_secret_in_its_file(client: Client, engine: Engine) -> None:
    before = await contents(engine)
    secret = "sk-ant-" + "api03-" + "Zq8" * 12
    first = await told(client, "critique", {"goal": f"Use {secret}", "response": f"{secret} sums 2 + 2 = 5"})
    await answered(client, first["critique_id"], {"issues": [f"Step 1 shows {secret}"]})
    assert await contents(engine) == before
    path = engine.settings.bank_path
    assert path is not None
    for file in path.parent.iterdir():
        assert secret.encode() not in file.read_bytes()
