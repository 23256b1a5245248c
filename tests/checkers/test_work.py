"""400 pieces of agents' work by another hand: floors for what is found, ceilings for false alarms, nothing slips."""

import pytest

pytest.importorskip("sqlglot", reason="the extra checkers is not installed")
pytest.importorskip("tree_sitter_bash", reason="the extra checkers is not installed")

from benchmarks.critique import WORK, WorkScore, read, score_work


def scored(half: str) -> WorkScore:
    total = WorkScore()
    for case in read(WORK / f"work_{half}.jsonl"):
        score_work(case, total)
    return total


@pytest.mark.parametrize(("half", "found"), [("dev", 70), ("aside", 28)])
def test_wrong_work_never_passes_on_rules_and_right_work_is_rarely_contradicted(half: str, found: int) -> None:
    total = scored(half)
    assert total.works == 200
    assert total.slipped == 0
    assert total.alarms <= 4  # 2 %
    assert total.found >= found
