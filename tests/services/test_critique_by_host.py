"""The agent judges the claims that critique lists: gate, score, action and corrections follow from its verdicts."""

import time
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.evidence.sent_verdicts import read_verdicts
from mcp_reflect.models.critique import Claim, Verdict
from mcp_reflect.services.engine import Engine
from tests.conftest import Era, one_era
from tests.server.calls import answered, contents, refused, told

RESULTS = [
    {"tool": "ls -la", "content": "total 8\nREADME.md\nsrc", "exit_code": 0},
    {
        "tool": "pytest --cov",
        "content": "collected 13 items\n\nTOTAL 200 40 80%\n13 passed in 1.0s",
        "exit_code": 0,
    },
]
WORK = {
    "goal": "Raise the coverage",
    "response": "All 13 tests pass. Coverage is 85 %. I pushed the branch. Shall I merge it?",
    "tool_results": RESULTS,
}


@pytest.fixture
def era() -> Era:
    """One era: what critique makes of its arguments does not depend on it."""
    return "2026-07-28"


async def judged(client: Client, first: dict[str, Any], *verdicts: Any) -> dict[str, Any]:
    return await told(
        client, "critique", {"critique_id": first["critique_id"], "verdicts": list(verdicts)}
    )


async def test_claims_come_with_the_outputs_that_bear_on_them_and_nothing_is_judged_yet(
    client: Client,
) -> None:
    found = await answered(client, "critique", WORK)
    assert found["claims"] == [
        "1. All 13 tests pass. <- 1",
        "2. Coverage is 85 %. <- 1",
        "3. I pushed the branch.",
    ]
    assert found["outputs"] == [
        "1. pytest --cov, exit 0: TOTAL 200 40 80% | 13 passed in 1.0s",
        "(no output plainly shows claim 3)",
        "(1 other output is left out)",
    ]
    assert found["left_out"] == "no statements, left out: 1 question"
    assert found["action"] == "verify_first"
    assert found["next"]["send"].startswith(
        "critique_id with verdicts [{claim: 1, verdict: holds | wrong | not_shown"
    )
    assert not {"passes_quality_gate", "quality_score", "evidence"} & set(found)


async def test_what_holds_throughout_passes(client: Client) -> None:
    first = await told(client, "critique", WORK)
    found = await judged(client, first, *({"claim": n, "verdict": "holds"} for n in (1, 2, 3)))
    assert (found["passes_quality_gate"], found["quality_score"], found["action"]) == (
        True,
        1.0,
        "keep",
    )
    assert (found["thinker"], "next" in found) == ("host", False)


async def test_a_wrong_claim_is_an_issue_and_its_correction_is_put_in_its_place(
    client: Client,
) -> None:
    first = await told(client, "critique", WORK)
    wrong = {"claim": 2, "verdict": "wrong", "correction": "Coverage is 80 %."}
    found = await judged(
        client, first, {"claim": 1, "verdict": "holds"}, wrong, {"claim": 3, "verdict": "holds"}
    )
    assert (found["passes_quality_gate"], found["action"], found["first_error_step"]) == (
        False,
        "revise",
        1,
    )
    assert found["issues"] == ['Step 1: "Coverage is 85 %." is wrong: Coverage is 80 %.']
    assert "Coverage is 80 %. I pushed" in found["corrected_steps"][0]
    assert found["corrected_by"] == "host"


async def test_what_nothing_shows_does_not_pass_and_is_asked_for(client: Client) -> None:
    first = await told(client, "critique", WORK)
    found = await judged(
        client,
        first,
        {"claim": 1, "verdict": "holds"},
        {"claim": 2, "verdict": "holds"},
        {"claim": 3, "verdict": "not_shown"},
    )
    assert (found["passes_quality_gate"], found["action"]) == (False, "verify_first")
    assert found["retry_guidance"].startswith("Nothing shows claim 3")


async def test_claims_may_be_judged_in_several_calls(client: Client) -> None:
    first = await told(client, "critique", WORK)
    half = await judged(client, first, {"claim": 1, "verdict": "holds"})
    assert (half.get("passes_quality_gate"), half.get("quality_score")) == (None, None)
    rest = await judged(
        client,
        first,
        {"claim": 2, "verdict": "holds"},
        {"claim": "I pushed the branch", "verdict": "holds"},
    )
    assert rest["passes_quality_gate"] is True


async def test_what_a_rule_is_certain_of_stays_wrong(client: Client) -> None:
    first = await told(
        client, "critique", {"goal": "Sum", "steps": ["2 + 2 = 5"], "max_iterations": 0}
    )
    assert (first["passes_quality_gate"], first.get("quality_score")) == (False, None)
    found = await judged(client, first, {"claim": 1, "verdict": "holds"})
    assert (found["passes_quality_gate"], found["issues"]) == (False, ["Step 1: 2 + 2 = 4, not 5"])


async def test_a_right_sum_that_is_the_wrong_one_is_for_the_judge(client: Client) -> None:
    found = await answered(
        client,
        "critique",
        {"goal": "6 months at 12 % of 3500", "steps": ["3500 × 0.12 = 420", "420 + 6 = 426"]},
    )
    assert found["claims"] == ["1. 3500 × 0.12 = 420 (computes)", "2. 420 + 6 = 426 (computes)"]
    assert "passes_quality_gate" not in found


async def test_output_that_was_missing_may_be_sent_alone(client: Client) -> None:
    first = await told(client, "critique", {"goal": "Report", "response": "All 13 tests pass"})
    assert first["evidence"] == "none was sent"
    found = await told(
        client, "critique", {"critique_id": first["critique_id"], "tool_results": RESULTS}
    )
    assert found["outputs"][0]["lines"][-1] == "13 passed in 1.0s"


async def test_every_step_of_a_plan_is_judged(client: Client) -> None:
    first = await told(
        client,
        "critique",
        {"goal": "A plan for the move", "steps": ["Pack the books", "Call a van"]},
    )
    assert [claim["text"] for claim in first["claims"]] == ["Pack the books", "Call a van"]
    found = await judged(client, first, {"claim": "others", "verdict": "holds"})
    assert found["passes_quality_gate"] is True


async def test_a_premise_and_a_false_conclusion_are_claims_like_all_others(client: Client) -> None:
    steps = ["All managers have a badge", "Tom has a badge", "So Tom is a manager"]
    first = await told(client, "critique", {"goal": "Is Tom a manager?", "steps": steps})
    assert [claim["text"] for claim in first["claims"]] == steps
    one = await judged(client, first, {"claim": 1, "verdict": "holds"})
    assert not {"passes_quality_gate", "quality_score"} & one.keys()
    wrong = {"claim": 3, "verdict": "wrong", "reason": "others may have a badge"}
    found = await judged(client, first, wrong, {"claim": "others", "verdict": "holds"})
    assert (found["passes_quality_gate"], found["first_error_step"]) == (False, 3)


async def test_where_no_output_bears_on_the_work_nothing_is_asked(client: Client) -> None:
    work = {"response": "The moon is bright tonight.", "tool_results": RESULTS}
    found = await answered(client, "critique", work)
    assert set(found) == {"critique_id", "thinker", "note"}
    assert found["note"] == "no output bears on this work; nothing was judged"


async def test_open_claims_are_listed_beside_a_fault_that_a_rule_found(client: Client) -> None:
    work = {
        "response": "The build takes 3 s. I pushed the branch. 15% of 80 = 14.",
        "tool_results": RESULTS,
    }
    first = await answered(client, "critique", work)
    assert first["claims"] == ["1. The build takes 3 s.", "2. I pushed the branch."]
    assert "Not judged yet: claim 1, 2." in first["retry_guidance"]
    assert first["next"]["send"].startswith("critique_id with verdicts")
    holds = [{"claim": number, "verdict": "holds"} for number in (1, 2)]
    found = await answered(
        client, "critique", {"critique_id": first["critique_id"], "verdicts": holds}
    )
    assert "next" not in found
    assert "Not judged" not in found["retry_guidance"]
    assert "15% of 80 = 12." in found["corrected_steps"][0]


async def test_a_wrong_claim_without_a_correction_is_asked_for_by_its_number(
    client: Client,
) -> None:
    work = {"response": "The config uses port 8080. The function returns None for empty input."}
    first = await told(client, "critique", work)
    port = {"claim": 1, "verdict": "wrong", "correction": "The config uses port 80."}
    found = await judged(client, first, port, {"claim": 2, "verdict": "wrong"})
    assert "Claim 2 still needs a correction" in found["retry_guidance"]
    assert not {"corrected_steps", "stopped"} & {name for name, value in found.items() if value}
    found = await judged(
        client, first, {"claim": 2, "verdict": "wrong", "correction": "It returns []."}
    )
    assert found["corrected_steps"] == ["The config uses port 80. It returns []."]
    assert "correction" not in found["retry_guidance"]


async def test_work_that_states_nothing_leaves_nothing_to_judge(
    client: Client,
) -> None:
    found = await answered(client, "critique", {"response": "I will look at it tomorrow."})
    assert not {"claims", "next"} & {name for name, value in found.items() if value}
    assert (found.get("action"), found["note"][:28]) == (None, "it states nothing that could")
    call = {"critique_id": found["critique_id"], "verdicts": [{"claim": 1, "verdict": "holds"}]}
    assert "critique the work with its goal" in await refused(client, "critique", call)


def test_others_are_all_others_where_a_claim_has_the_word_as_well() -> None:
    claims = [
        Claim(number=1, step=1, text="The REST API answers."),
        Claim(number=2, step=1, text="It is fast."),
    ]
    judged = read_verdicts({"1": "wrong", "rest": "holds"}, claims, "host")
    assert [(claim.number, claim.verdict) for claim in judged] == [
        (1, Verdict.WRONG),
        (2, Verdict.HOLDS),
    ]


@one_era
@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"verdicts": [{"claim": 9, "verdict": "holds"}]}, "verdicts[0].claim"),
        ({"verdicts": [{"claim": 0, "verdict": "holds"}]}, "verdicts[0].claim"),
        ({"verdicts": [{"claim": "something else", "verdict": "holds"}]}, "verdicts[0].claim"),
        (
            {"verdicts": [{"claim": 1, "verdict": "holds"}, {"claim": 1, "verdict": "wrong"}]},
            "verdicts[1].claim",
        ),
        (
            {
                "verdicts": [
                    {"claim": "others", "verdict": "wrong"},
                    {"claim": "all others", "verdict": "holds"},
                ]
            },
            "verdicts[1].claim",
        ),
        ({"verdicts": {"others": "wrong", "rest": "holds"}}, "verdicts[1].claim"),
        ({"verdicts": [{"claim": 1, "verdict": "perhaps"}]}, "verdicts[0].verdict"),
        ({"verdicts": [{"claim": 1}]}, "verdicts[0].verdict"),
        ({"verdicts": ["holds"]}, "verdicts[0]"),
        ({"verdicts": "all fine"}, "verdicts"),
        (
            {"critique_id": "crit_other", "verdicts": [{"claim": 1, "verdict": "holds"}]},
            "critique_id",
        ),
        (
            {"critique_id": None, "verdicts": [{"claim": 1, "verdict": "holds"}], **WORK},
            "critique_id",
        ),
        (
            {"tool_results": [{"tool": "cat", "content": "x" * 1_000_001}]},
            "tool_results[0].content",
        ),
        ({"tool_results": [{"content": "x"}] * 10_000}, "tool_results"),
        ({"goal": "Another", "analysis": "None"}, "goal"),
        ({"steps": ["1 + 1 = 2"], "analysis": "None"}, "steps"),
        ({"response": "1 + 1 = 2", "analysis": "None"}, "response"),
        ({"response": "x", "steps": ["y"]}, "steps"),
        ({"analysis": {"qualty_score": 1}}, "analysis.qualty_score"),
        ({"analysis": {"quality_score": 700}}, "analysis.quality_score"),
        ({}, "verdicts"),
    ],
)
async def test_verdicts_that_fit_nothing_name_their_field_and_store_nothing(
    client: Client, engine: Engine, more: dict[str, Any], field: str
) -> None:
    first = await told(client, "critique", WORK)
    before = await contents(engine)
    call = {
        name: value
        for name, value in {"critique_id": first["critique_id"], **more}.items()
        if value is not None
    }
    assert (await refused(client, "critique", call)).startswith(f"{field}: ")
    assert await contents(engine) == before
    assert (await judged(client, first, {"claim": 1, "verdict": "holds"}))["claims"][0][
        "verdict"
    ] == "holds"


async def test_odd_output_and_a_claim_of_50_000_characters_are_answered(client: Client) -> None:
    results = [
        {"tool": "head -c 64 /dev/urandom", "content": "\x01\ufffd\x1b[31m" * 500, "exit_code": 0},
        {"tool": "true", "content": ""},
    ]
    work = {
        "goal": "Read it",
        "response": "All 7 parts " + "are fine and " * 4_000 + "done.",
        "tool_results": results,
    }
    found = await answered(client, "critique", work)
    assert len(str(found)) < 2_000


async def test_much_output_is_read_beside_the_event_loop(engine: Engine) -> None:
    results = [
        {"tool": f"pytest -q {n}", "content": "FAILED test_a.py - 3 != 4\n" * 30_000}
        for n in range(20)
    ]
    await engine.critique(response="1 + 1 = 2")  # imports
    begun = time.thread_time()
    await engine.critique(goal="Fix the tests", response="All 13 tests pass.", tool_results=results)
    assert time.thread_time() - begun < 0.1


WRONG = {"goal": "Sum", "steps": ["2 + 2 = 5", "5 × 3 = 15"], "max_iterations": 0}
RIGHT = ["2 + 2 = 4", "4 × 3 = 12"]


async def begun(client: Client, **more: Any) -> dict[str, Any]:
    return await told(client, "critique", {**WRONG, **more})


async def analyzed(client: Client, critique_id: str, analysis: Any) -> dict[str, Any]:
    return await told(client, "critique", {"critique_id": critique_id, "analysis": analysis})


async def test_a_correction_is_verified_and_asks_nothing_more(client: Client) -> None:
    first = await begun(client)
    assert first["issues"] == ["Step 1: 2 + 2 = 4, not 5"]
    found = await analyzed(
        client, first["critique_id"], {"issues": ["Step 1 is wrong"], "corrected_steps": RIGHT}
    )
    assert (found["thinker"], found["iterations"], found["stopped"]) == ("host", 1, "passed")
    assert found["corrected_steps"] == RIGHT
    assert "next" not in found


async def test_corrections_are_counted_across_calls_until_the_budget(client: Client) -> None:
    first = await begun(client, max_iterations=2, steps=["2 + 2 = 5", "Total: 40"])
    found = [
        await analyzed(
            client, first["critique_id"], {"corrected_steps": [f"2 + 2 = {n}", "Total: 40"]}
        )
        for n in (6, 7)
    ]
    assert [one["iterations"] for one in found] == [1, 2]
    assert found[1]["stopped"] == "budget"
    assert (found[1]["should_retry"], found[0]["should_retry"]) == (False, True)


FAILED = {"tool": "pytest", "content": "=== 1 failed, 1 passed in 0.10s ===", "exit_code": 1}


async def test_nothing_changed_is_said_to_be_so(client: Client) -> None:
    first = await begun(client)
    found = await analyzed(client, first["critique_id"], {"corrected_steps": WRONG["steps"]})
    assert (found["stopped"], found.get("corrected_steps")) == ("no_change", None)


async def test_a_correction_that_is_worse_is_not_taken(client: Client) -> None:
    first = await begun(client)
    found = await analyzed(
        client, first["critique_id"], {"corrected_steps": ["2 + 2 = 6", "6 × 3 = 19"]}
    )
    assert "corrected_steps" not in found


@pytest.mark.parametrize(
    "words", ["None", "No issues found.", "no issues were found", "The sums are right."]
)
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


async def test_own_criteria_are_kept_and_a_certain_fault_keeps_the_gate_shut(
    client: Client,
) -> None:
    criteria = {"Correctness": {"score": 1, "reason": "fine"}, "tone": 0.9}
    found = await told(
        client, "critique", {**WRONG, "analysis": {"quality_score": 1, "criteria": criteria}}
    )
    assert found["criteria"]["tone"] == {"score": 0.9}
    assert found["passes_quality_gate"] is False


async def test_evidence_that_was_missing_may_come_with_the_analysis(client: Client) -> None:
    first = await told(client, "critique", {"goal": "Report", "response": "All 2 tests pass"})
    more = {"critique_id": first["critique_id"], "analysis": "None", "tool_results": [FAILED]}
    found = await told(client, "critique", more)
    assert found["outputs"][0]["lines"] == ["1 failed, 1 passed in 0.10s"]
    assert "passes_quality_gate" not in found


@pytest.mark.parametrize(
    ("words", "score", "issues"),
    [
        ("Looks good, but auth is missing. 6/10", 0.6, ["Looks good, but auth is missing."]),
        ({"quality_score": "8 of 10", "issues": []}, 0.8, None),
        ({"quality_score": 8, "issues": []}, 0.8, None),
        ("1. Missing auth\n2. No rate limit", None, ["Missing auth", "No rate limit"]),
    ],
)
async def test_a_reply_is_read_for_its_score_and_its_issues(
    client: Client, words: Any, score: float | None, issues: list[str] | None
) -> None:
    work = {"goal": "Review the endpoint", "response": "The endpoint is ready.", "analysis": words}
    found = await told(client, "critique", work)
    assert (found.get("quality_score"), found.get("issues")) == (score, issues)


@pytest.mark.parametrize("words", ["", "  ", "Hm.", "I cannot evaluate this.", {}])
async def test_an_empty_or_useless_reply_gives_no_score(client: Client, words: Any) -> None:
    work = {"goal": "Review", "response": "The endpoint is ready.", "analysis": words}
    assert (await refused(client, "critique", work)).startswith("analysis: ")
