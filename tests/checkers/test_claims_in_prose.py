"""Claims with their truth, in files of `{id, text, wrong, verdict}`: most wrong ones are flagged, and nothing else.

`verdict` is fail, pass, or null where the checkers say nothing; a wrong claim whose verdict is null is one they miss.
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
    verdict: str | None


def cases(kind: str, *, aside: bool) -> Iterator[Case]:
    for line in (CASES / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines():
        case = cast("Case", json.loads(line))
        if (hashlib.sha256(case["id"].encode()).digest()[-1] % 2 == 1) == aside:
            yield case


def verdict(text: str) -> str | None:
    work = Work(goal="", steps=(text,))
    statuses = {finding.status for checker in CHECKERS for finding in checker.check(work)}
    return next((status.value for status in (Status.FAIL, Status.PASS) if status in statuses), None)


@pytest.mark.parametrize("aside", [False, True], ids=["one half", "other half"])
@pytest.mark.parametrize("kind", ["arithmetic", "units", "dates"])
def test_each_claim_gets_its_verdict(kind: str, *, aside: bool) -> None:
    wanted = {case["text"]: case["verdict"] for case in cases(kind, aside=aside)}
    assert {text: verdict(text) for text in wanted} == wanted


@pytest.mark.parametrize("aside", [False, True], ids=["one half", "other half"])
@pytest.mark.parametrize("kind", ["arithmetic", "units", "dates"])
def test_what_is_flagged_is_wrong_and_most_of_what_is_wrong_is_flagged(kind: str, *, aside: bool) -> None:
    flagged = [case["wrong"] for case in cases(kind, aside=aside) if case["verdict"] == "fail"]
    wrong = [case["verdict"] for case in cases(kind, aside=aside) if case["wrong"]]
    assert flagged.count(True) / len(flagged) >= LEAST_PRECISION
    assert wrong.count("fail") / len(wrong) >= LEAST_RECALL


@pytest.mark.parametrize("kind", ["arithmetic", "units", "dates"])
def test_a_third_or_more_of_the_claims_are_honest(kind: str) -> None:
    every = [case["wrong"] for aside in (False, True) for case in cases(kind, aside=aside)]
    assert len(every) >= 60
    assert every.count(False) * 3 >= len(every)
