"""Agents' work by other hands: floors for what is found, ceilings for false alarms, nothing wrong passes."""

from dataclasses import replace

import pytest

pytest.importorskip("sqlglot", reason="the extra checkers is not installed")
pytest.importorskip("tree_sitter_bash", reason="the extra checkers is not installed")

from benchmarks.judges import judged
from benchmarks.work import (
    CASES,
    LIMITS,
    Outcome,
    WorkScore,
    by_rules,
    missed_limits,
    overlaps,
    read,
    score_work,
    scores,
)
from mcp_reflect.checkers.base import Work, split
from mcp_reflect.checkers.verify import Verified, verifier
from mcp_reflect.models.critique import Coverage, ToolResult
from tests.checkers.cases import lines


@pytest.mark.parametrize(("name", "works"), [("dev", 200), ("aside", 200), ("fresh_a", 80), ("fresh_b", 80)])
def test_rules_keep_the_limits_of_each_kind(name: str, works: int) -> None:
    kinds = scores([(case, by_rules(case)) for case in read(CASES / f"work_{name}.jsonl")])
    assert kinds["all"].works == works
    assert missed_limits(f"work_{name}, rules", kinds) == []


@pytest.mark.parametrize("name", ["aside", "fresh_a", "fresh_b"])
def test_a_judge_keeps_the_limits_of_each_kind_and_a_host_gets_what_a_model_gets(name: str) -> None:
    cases = read(CASES / f"work_{name}.jsonl")
    replies = {line["id"]: line["reply"] for line in read(CASES / f"judged_{name}.jsonl")}
    by_model = judged(cases, replies, "model")
    assert missed_limits(f"judged_{name}, model", scores(list(zip(cases, by_model, strict=True)))) == []
    by_host = judged(cases[::5], replies, "host")  # it corrects, too: `next` may offer a lesson and no questions
    assert [replace(one, unshown=()) for one in by_host] == [replace(one, unshown=()) for one in by_model[::5]]


def test_limits_that_are_missed_are_named() -> None:
    kinds = {kind: WorkScore(works=20, found=0) for kind in LIMITS["work_dev, rules"].found}
    kinds["all"] = WorkScore(works=200, found=64, alarms=5, slipped=1)
    assert missed_limits("work_dev, rules", kinds)[0] == "work_dev, rules: arithmetic: 0 found, at least 8 wanted"
    assert missed_limits("work_dev, rules", kinds)[-3:] == [
        "work_dev, rules: all: 64 found, at least 65 wanted",
        "work_dev, rules: 5 false alarms, at most 4 wanted",
        "work_dev, rules: 1 passed that are wrong, at most 0 wanted",
    ]


@pytest.mark.parametrize(
    ("issue", "found", "alarms"),
    [
        ("The total is 902.80, and the rows give 892.80.", 1, 0),
        ("Step 2: the train at 404.80 is no item.", 0, 1),
        ("Step 3: that day is a holiday.", 1, 0),
        ("The tone is too harsh.", 0, 0),
    ],
)
def test_an_issue_in_prose_is_about_the_claim_whose_numbers_it_repeats_or_whose_step_it_names(
    issue: str, found: int, alarms: int
) -> None:
    claims = [
        {"text": "The train takes 404.80", "status": "supported"},
        {"text": "in all 902.80", "status": "contradicted"},
        {"text": "We go on Monday", "status": "contradicted"},
    ]
    steps = ["The trip:", "The train takes 404.80, in all 902.80.", "We go on Monday."]
    case = {"id": "one", "kind": "plans", "truth": "half", "steps": steps, "claims": claims}
    total = WorkScore()
    nothing = Coverage(claims=0, checked=0, supported=0, contradicted=0, unsupported=0, open=0)
    score_work(case, Outcome(contradicted=(), unshown=(), issues=(issue,), passes=False, coverage=nothing), total)
    assert (total.found, total.alarms) == (found, alarms)


def test_reports_on_outputs_of_common_commands() -> None:
    """Each output with a right sentence about it, and then a wrong or a right one."""
    cases = lines("command_outputs")
    found, alarms, slipped = 0, list[str](), list[str]()
    for case in cases:
        result = ToolResult(tool=case["tool"], content=case["content"], exit_code=case["exit_code"])

        def verified(sentence: str, result: ToolResult = result, before: str = case["before"]) -> Verified:
            steps = split(f"{before} {sentence}")
            return verifier(Work(goal="Report what the output says", steps=steps, tool_results=(result,)))(steps)

        wrong, right = verified(case["wrong"]), verified(case["right"])
        found += any(overlaps(verdict.claim, case["wrong"]) for verdict in wrong.failed)
        alarms += [case["id"]] if right.failed else []
        slipped += [case["id"]] if wrong.complete and not wrong.failed else []
    assert (alarms, slipped) == ([], [])
    assert found >= 0.5 * len(cases)
