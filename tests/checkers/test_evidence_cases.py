"""The evidence, code and execution checkers against cases whose truth was written before them."""

import pytest

from mcp_reflect.checkers.base import Checker
from mcp_reflect.checkers.code import CodeChecker
from mcp_reflect.checkers.evidence.checker import EvidenceChecker
from mcp_reflect.checkers.execution import ExecutionChecker
from mcp_reflect.models.critique import Status
from tests.checkers.cases import load, score

CHECKERS: dict[str, Checker] = {
    "evidence": EvidenceChecker(),
    "code": CodeChecker(),
    "execution": ExecutionChecker(),
}


@pytest.mark.parametrize("name", CHECKERS)
@pytest.mark.parametrize("aside", [False, True], ids=["worked on", "kept aside"])
def test_both_halves_hold_precision_and_recall(name: str, aside: bool) -> None:
    found = score(CHECKERS[name], [case for case in load(name) if case.aside is aside])
    assert found.precision >= 0.98
    assert found.recall >= (0.8 if name == "evidence" else 0.85)


def test_other_ways_to_say_it_written_after_the_checker_hold_too() -> None:
    found = score(EvidenceChecker(), load("evidence_later"))
    assert found.precision >= 0.98
    assert found.recall >= 0.85


@pytest.mark.parametrize(("name", "least"), [("evidence", 0.55), ("code", 0.85)])
def test_honest_claims_pass_where_every_part_of_the_sentence_is_shown(name: str, least: float) -> None:
    found = score(CHECKERS[name], load(name))
    assert found.passed / found.should_pass >= least


def test_there_are_enough_cases_and_half_of_them_are_honest() -> None:
    evidence = load("evidence")
    honest = [case for case in evidence if Status.FAIL not in case.truth.values()]
    assert len(evidence) >= 200
    assert len(honest) * 2 >= len(evidence)
    assert len(load("code")) >= 60
    assert len(load("execution")) >= 20


def test_ids_are_unique_and_truth_names_real_steps() -> None:
    for name in CHECKERS:
        cases = load(name)
        assert len({case.id for case in cases}) == len(cases)
        assert all(1 <= step <= len(case.work.steps) for case in cases for step in case.truth)
