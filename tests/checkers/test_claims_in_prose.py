"""Claims with their truth, in files of `{id, text, wrong}`: what is flagged is wrong, most that is wrong is flagged.

Half of the claims with units and dates were kept aside by the hash of their ids while those checkers were built;
the claims of arithmetic grew with its checker. Both halves are held.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict, cast

import pytest

from mcp_reflect.checkers.arithmetic.checker import ArithmeticChecker
from mcp_reflect.checkers.base import Checker, Work
from mcp_reflect.checkers.dates import DatesChecker
from mcp_reflect.checkers.units import UnitsChecker
from mcp_reflect.models.critique import Status

CASES = Path(__file__).parent / "cases"
CHECKERS: tuple[Checker, ...] = (ArithmeticChecker(), UnitsChecker(), DatesChecker())
LEAST_PRECISION, LEAST_RECALL = 0.98, 0.85


class Case(TypedDict):
    id: str
    text: str
    wrong: bool


def cases(kind: str, *, aside: bool) -> Iterator[Case]:
    for line in (CASES / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines():
        case = cast("Case", json.loads(line))
        if (hashlib.sha256(case["id"].encode()).digest()[-1] % 2 == 1) == aside:
            yield case


def flagged(text: str) -> bool:
    work = Work(goal="", steps=(text,))
    return any(finding.status is Status.FAIL for checker in CHECKERS for finding in checker.check(work))


@pytest.mark.parametrize("aside", [False, True], ids=["one half", "other half"])
@pytest.mark.parametrize("kind", ["arithmetic", "units", "dates"])
def test_what_is_flagged_is_wrong_and_most_of_what_is_wrong_is_flagged(kind: str, *, aside: bool) -> None:
    right = [flagged(case["text"]) for case in cases(kind, aside=aside) if case["wrong"]]
    false = [case["text"] for case in cases(kind, aside=aside) if not case["wrong"] and flagged(case["text"])]
    found = sum(right)
    assert found / (found + len(false)) >= LEAST_PRECISION, false
    assert found / len(right) >= LEAST_RECALL


@pytest.mark.parametrize("kind", ["arithmetic", "units", "dates"])
def test_a_third_or_more_of_the_claims_are_honest(kind: str) -> None:
    every = [case["wrong"] for aside in (False, True) for case in cases(kind, aside=aside)]
    assert len(every) >= 60
    assert every.count(False) * 3 >= len(every)
