"""400 pieces of agents' work by another hand: floors for what is found, ceilings for false alarms, nothing slips."""

import pytest

pytest.importorskip("sqlglot", reason="the extra checkers is not installed")
pytest.importorskip("tree_sitter_bash", reason="the extra checkers is not installed")

from benchmarks.work import CASES, WorkScore, by_rules, overlaps, read, score_work
from mcp_reflect.checkers.base import Work, split
from mcp_reflect.checkers.verify import Verified, verifier
from mcp_reflect.models.critique import ToolResult
from tests.checkers.cases import lines


def scored(half: str) -> WorkScore:
    total = WorkScore()
    for case in read(CASES / f"work_{half}.jsonl"):
        score_work(case, by_rules(case), total)
    return total


@pytest.mark.parametrize(("half", "found"), [("dev", 70), ("aside", 28)])
def test_wrong_work_never_passes_on_rules_and_right_work_is_rarely_contradicted(half: str, found: int) -> None:
    total = scored(half)
    assert total.works == 200
    assert total.slipped == 0
    assert total.alarms <= 4  # 2 %
    assert total.found >= found


def test_reports_on_outputs_of_common_commands() -> None:
    """Each output with a right sentence about it, and then a wrong or a right one."""
    cases = lines("command_outputs")
    found, alarms, slipped = 0, list[str](), list[str]()
    for case in cases:
        result = ToolResult(tool=case["tool"], content=case["content"], exit_code=case["exit_code"])

        def judged(sentence: str, result: ToolResult = result, before: str = case["before"]) -> Verified:
            steps = split(f"{before} {sentence}")
            return verifier(Work(goal="Report what the output says", steps=steps, tool_results=(result,)))(steps)

        wrong, right = judged(case["wrong"]), judged(case["right"])
        found += any(overlaps(verdict.claim, case["wrong"]) for verdict in wrong.failed)
        alarms += [case["id"]] if right.failed else []
        slipped += [case["id"]] if wrong.complete and not wrong.failed else []
    assert (alarms, slipped) == ([], [])
    assert found >= 0.65 * len(cases)
