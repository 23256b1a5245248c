"""Agents' work by other hands: rules alarm on none of it, and nothing wrong passes with the recorded judge."""

import pytest

from benchmarks.critique import SETS, by_rules, recorded
from benchmarks.judges import judged
from benchmarks.work import CASES, Outcome, WorkScore, read, score_work, total_of
from mcp_reflect.critique.certain import RULES


@pytest.mark.parametrize("name", SETS)
def test_rules_call_nothing_wrong_that_is_right(name: str) -> None:
    cases = read(CASES / f"work_{name}.jsonl")
    total = total_of((case, by_rules(case, tuple(RULES.values()))) for case in cases)
    assert (total.alarms, total.slipped) == (0, 0)


@pytest.mark.parametrize("name", [name for name in SETS if recorded(name)])
def test_with_a_judge_nearly_all_is_found_and_a_host_gets_what_a_model_gets(name: str) -> None:
    replies = recorded(name)
    cases = [case for case in read(CASES / f"work_{name}.jsonl") if case["id"] in replies]
    by_model = judged(cases, replies, "model")
    total = total_of(zip(cases, by_model, strict=True))
    assert total.found >= 0.95 * total.contradicted
    assert (total.slipped <= 1, total.refused <= 2) == (True, True)
    assert judged(cases[::5], replies, "host") == by_model[::5]


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
    score_work(case, Outcome(contradicted=(), unshown=(), issues=(issue,), passes=False), total)
    assert (total.found, total.alarms) == (found, alarms)
