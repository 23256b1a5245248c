"""Twenty inputs that a user of the self-correcting engine might send, and what its document says of them.

Sums and equations are computed. What only a reader can judge is listed whole and passes nothing by itself.
"""

from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.compat import SelfCorrection
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted

CORRECTED: list[tuple[str, str, list[str], list[str]]] = [
    ("a product", "Cost of 7 seats", ["7 × $24.50 = $171.00"], ["7 × $24.50 = $171.50"]),
    ("a sum", "Total", ["19.99 + 5.01 = 24.00"], ["19.99 + 5.01 = 25.00"]),
    (
        "a chain",
        "Bill",
        ["1. Net: 3 × 40 = 130", "2. VAT: 130 × 0.2 = 26", "3. Total: 130 + 26 = 156"],
        ["1. Net: 3 × 40 = 120", "2. VAT: 120 × 0.2 = 24", "3. Total: 120 + 24 = 144"],
    ),
    ("a quotient", "Share", ["144 / 12 = 14"], ["144 / 12 = 12"]),
    ("brackets", "Area", ["(3 + 4) * 2 = 11"], ["(3 + 4) * 2 = 14"]),
    ("a difference", "Change", ["50 - 18.75 = 32.25"], ["50 - 18.75 = 31.25"]),
]
KEPT: list[tuple[str, str, list[str]]] = [
    ("right sums", "Total", ["12 * 12 = 144", "144 + 1 = 145"]),
    ("a date", "Due", ["Invoice of 3 March 2026 + 14 days = 17 March 2026"]),
    ("a time", "Arrival", ["14:35 + 2 h 50 min = 17:25"]),
    ("a German amount", "Summe", ["1.200 EUR + 300 EUR = 1.500 EUR"]),
    ("pages", "Read", ["Pages 10-20 = 11 pages"]),
    ("an equation that holds", "Solve for x: 2x + 6 = 10", ["2x = 4", "x = 2"]),
    ("a rounded value", "Pi", ["22 / 7 = 3.14"]),
]
OPEN: list[tuple[str, str, list[str]]] = [
    (
        "a syllogism",
        "Is Tom a manager?",
        ["All managers have a badge.", "Tom has a badge.", "So Tom is a manager."],
    ),
    ("an order", "Plan the migration", ["Run the migration.", "Back up the database."]),
    ("code", "Review", ["def f(x, xs=[]): xs.append(x); return xs"]),
    (
        "prices",
        "Which is cheaper?",
        ["The flight is 120 + 40.", "The train is 150.", "Therefore the flight is cheaper."],
    ),
]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(bank=tmp_path / "bank.db", project="p")


@pytest.mark.parametrize(
    ("query", "trace", "wanted"), [c[1:] for c in CORRECTED], ids=[c[0] for c in CORRECTED]
)
def test_a_wrong_sum_is_corrected_with_all_that_follows_from_it(
    query: str, trace: list[str], wanted: list[str], settings: Settings
) -> None:
    assert SelfCorrection(settings=settings).enhance_reasoning(query, trace) == wanted


@pytest.mark.parametrize(("query", "trace"), [c[1:] for c in KEPT], ids=[c[0] for c in KEPT])
def test_right_work_is_never_changed(query: str, trace: list[str], settings: Settings) -> None:
    assert SelfCorrection(settings=settings).enhance_reasoning(query, trace) == trace


@pytest.mark.parametrize(("query", "trace"), [c[1:] for c in OPEN], ids=[c[0] for c in OPEN])
async def test_what_a_reader_must_judge_is_listed_whole_and_does_not_pass(
    query: str, trace: list[str], settings: Settings
) -> None:
    async with Engine(settings) as engine:
        found = await engine.critique(goal=query, steps=trace)
    assert found.passes_quality_gate is None
    assert found.quality_score is None
    listed = " ".join(claim.text for claim in found.claims)
    for step in trace:
        assert step.rstrip(".") in listed


async def test_a_premise_that_holds_does_not_pass_a_conclusion_that_nobody_judged(
    settings: Settings,
) -> None:
    async with Engine(settings) as engine:
        first = await engine.critique(goal="Is Tom a manager?", steps=OPEN[0][2])
        verdicts: list[dict[str, Any]] = [{"claim": 1, "verdict": "holds"}]
        second = await engine.critique(critique_id=first.critique_id, verdicts=verdicts)
        verdicts = [{"claim": 2, "verdict": "holds"}, {"claim": 3, "verdict": "wrong"}]
        third = await engine.critique(critique_id=first.critique_id, verdicts=verdicts)
    assert second.passes_quality_gate is None
    assert third.passes_quality_gate is False


def test_a_model_finds_what_rules_do_not_and_the_loop_is_bounded(settings: Settings) -> None:
    bad = '{"quality_score": 0.2, "issues": ["Back up first."]}'
    same = '{"corrected_steps": ["Run the migration.", "Back up the database."]}'
    llm = Scripted(bad, same, bad, same, bad, same)
    engine = SelfCorrection(llm, max_iterations=2, settings=settings)
    assert engine.enhance_reasoning("Plan the migration", OPEN[1][2]) == OPEN[1][2]
    assert len(llm.asked) <= 6


def test_a_model_that_fails_leaves_the_steps(settings: Settings) -> None:
    llm = Scripted("No idea.", "No idea.", "No idea.", "No idea.")
    engine = SelfCorrection(llm, settings=settings)
    assert engine.enhance_reasoning("Plan", ["First the roof."]) == ["First the roof."]
