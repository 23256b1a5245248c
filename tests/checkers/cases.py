"""Cases with their truth, and how well a checker does on them."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mcp_reflect.checkers.base import Checker, Finding, Work
from mcp_reflect.models.critique import Status, ToolResult

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Case:
    """`truth` is the status by step, from 1; steps without one claim nothing that can be checked."""

    id: str
    work: Work
    truth: dict[int, Status]

    @property
    def aside(self) -> bool:
        """Whether the case is in the half kept aside, by the hash of its id."""
        return hashlib.sha256(self.id.encode()).digest()[0] % 2 == 1


@dataclass(slots=True)
class Score:
    """Steps flagged rightly, wrongly, and missed; passes shown, of those that should be."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    passed: int = 0
    should_pass: int = 0

    @property
    def precision(self) -> float:
        """Of what was flagged, the share that is wrong indeed."""
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """Of what is wrong, the share that was flagged."""
        return self.right / max(1, self.right + self.missed)


def lines(name: str) -> list[dict[str, Any]]:
    """The records of a file of cases."""
    text = (HERE / "cases" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [cast("dict[str, Any]", json.loads(line)) for line in text.splitlines()]


def load(name: str) -> list[Case]:
    """The cases of a file, with the outputs that they name."""
    return [_case(record) for record in lines(name)]


def _case(record: dict[str, Any]) -> Case:
    results = tuple(_result(result) for result in record.get("tool_results", []))
    work = Work(
        goal=record.get("goal", ""),
        steps=tuple(record["steps"]),
        tool_results=results,
        decided=record.get("decided"),
        executed=record.get("executed"),
    )
    return Case(record["id"], work, {truth["step"]: Status(truth["status"]) for truth in record["truth"]})


def _result(result: dict[str, Any]) -> ToolResult:
    content = result["content"] if "content" in result else output(result["file"])
    return ToolResult(content=content, tool=result.get("tool"), exit_code=result.get("exit_code"))


def output(name: str) -> str:
    """What a real tool printed."""
    return (HERE / "outputs" / name).read_text(encoding="utf-8")


def score(checker: Checker, cases: list[Case]) -> Score:
    """How the checker does, step by step."""
    total = Score()
    for case in cases:
        found = list(checker.check(case.work))
        for step in range(1, len(case.work.steps) + 1):
            _count(total, status_of(found, step), case.truth.get(step))
    return total


def status_of(found: list[Finding], step: int) -> Status | None:
    """The status that the findings give a step: a fail outweighs a pass, a pass an unchecked."""
    said = {finding.status for finding in found if finding.step == step}
    return next((status for status in (Status.FAIL, Status.PASS, Status.UNCHECKED) if status in said), None)


def _count(total: Score, said: Status | None, true: Status | None) -> None:
    total.right += said is Status.FAIL and true is Status.FAIL
    total.wrong += said is Status.FAIL and true is not Status.FAIL
    total.missed += said is not Status.FAIL and true is Status.FAIL
    total.should_pass += true is Status.PASS
    total.passed += said is Status.PASS and true is Status.PASS
