"""What is said of pieces of work: texts with one number changed, corrections, opinions, and whole critiques."""

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Any

from mcp_reflect.checkers.base import Checker, Finding, Work, checkers, split
from mcp_reflect.checkers.correct import correct
from mcp_reflect.checkers.opinions import beside_verdicts, read_opinion
from mcp_reflect.checkers.verify import Verify, progress_of, verifier
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import plain
from mcp_reflect.services.engine import Engine
from tests.checkers.cases import lines
from tests.held_clock import HeldClock
from tests.recordings.lives import named_in_order

EQUATIONS = {
    "2 + 3": "5", "12 - 7": "5", "15 × 12.99": "194.85", "7 * 8": "56", "9 / 4": "2.25", "1 / 3": "0.333",
    "22 ÷ 7": "3.142857",
    "2^10": "1024", "2**0.5": "1.4142", "4^0.5": "2", "8^(1/3)": "2", "(-8)^(1/3)": "-2", "0^0": "1", "0^-1": "0",
    "2^-2": "0.25",
    "10^15": "1000000000000000", "2^64": "18446744073709551616", "sqrt(2)": "1.41421", "√16": "4", "|−5|": "5",
    "5!": "120",
    "17 % 5": "2", "17 mod 5": "2", "(2 + 3) × 4": "20", "2 + 3 × 4": "14", "-3 + 5": "2", "3 - -5": "8",
    "1,200 + 300": "1500",
    "1.200,50 + 1": "1201.50", "$1,000 × 1.19": "1190", "10% of 250": "25", "20 % von 50": "10", "50 + 10%": "55",
    "½ + ¼": "0.75",
    "1/2 + 1/3": "0.8333", "\\frac{1}{2} + \\frac{1}{4}": "0.75", "3 dozen": "36",
    "2.5 million + 0.5 million": "3000000",
    "1e3 + 1": "1001", "0.1 + 0.2": "0.3", "100 / 7": "14.29", "99 * 99": "9801", "1000000 * 1000000": "1000000000000",
    "5 km": "5000", "5 km in m": "5000", "72 inches in feet": "6", "1 h in s": "3600", "2 GB in MB": "2000",
    "100 °C in °F": "212",
    "3 kg + 500 g in kg": "3.5", "60 km/h × 2 h": "120", "12 apples at $2 each": "24", "15% of $80": "12",
    "from 80 to 100": "25",
    "3 × 4 × 5": "60", "2 × (3 + 4) - 5": "9", "((1 + 2) × 3)²": "81", "3² + 4²": "25", "log10(1000)": "3",
    "1 + 2 + 3 + 4": "10",
}  # fmt: skip
COMPUTED = ("arithmetic", "proportions", "units", "dates")
MOST_NUMBERS = 4
OPINIONS: tuple[Any, ...] = (
    None, "", "None.", "No issues found", "There were no errors", "It is correct and well done.", "Step 2 is wrong.",
    "Fine. But the tax is missing. It should be 19 %.", "I walked home.", 7, [], {}, {"quality_score": "0.7"},
    {"quality_score": 1.01}, {"quality_score": -0.01}, {"quality_score": "85%", "issues": "one"}, {"score": 0.5},
    {"issues": ["a", "None", ""], "suggested_fix": "n/a"}, {"issues": [{"step": 2, "issue": "wrong"}, 5]},
    {"criteria": {"clear": 0.5, "correctness": {"score": 0.9, "reason": "sum"}}},
    {"criteria": [{"name": "a", "score": 1}]},
    {"corrected_steps": "1. a\n2. b"}, {"corrected_steps": ["a", "b"]}, {"corrected_steps": "none"},
    "## Issues\n- one\n2) two\n## Suggested fix\ndo it\n**Quality score:** 0.4", "Quality score: none\nIssues:\nx",
    '{"quality_score": 0.2, "issues": []}', 'Sure.\n```json\n{"issues": ["a"]}\n```', {"isues": ["a"]}, {"x": 1},
    {"issues": ["x" * 20_001]}, {"issues": ["a"] * 201},
)  # fmt: skip


def changed_numbers() -> dict[str, Any]:
    """The findings of the checkers that compute, on each text with each of its numbers plus one and tenfold."""
    texts = {line["id"]: line["text"] for name in ("arithmetic", "units", "dates") for line in lines(name)}
    texts |= {line["id"]: line["response"] for line in lines("work_dev")[::4] if line.get("response")}
    recording: dict[str, Any] = {}
    computing = checkers(COMPUTED)
    for name, text in texts.items():
        for at, number in enumerate(list(re.finditer(r"\d+", text))[:MOST_NUMBERS]):
            for form, changed in (("+ 1", str(int(number[0]) + 1)), ("0", f"{number[0]}0"[-12:])):
                findings = _findings(computing, f"{text[: number.start()]}{changed}{text[number.end() :]}")
                if findings:
                    recording.setdefault(name, {})[f"{at} {form}"] = findings
    return recording


def equations() -> dict[str, Any]:
    """The verdicts on each equation: right, wrong in its last digit, and wrong by one; some are no claims at all."""
    recording: dict[str, Any] = {}
    computing = checkers(COMPUTED)
    for text, value in EQUATIONS.items():
        digits = len(value.partition(".")[2])
        number = float(value)
        wrong = (
            f"{number + 10**-digits:.{digits}f}",
            f"{number + 1:.{digits}f}",
            f"{-number:.{digits}f}",
            f"{number * 10:g}",
        )
        forms = [f"{text} = {other}" for other in (value, *wrong)]
        forms += [
            f"{text} ≈ {value[:-1] or 0}",
            f"So {text} is {wrong[0]}.",
            f"{value} = {text}",
            f"{text} > {wrong[0]}",
        ]
        recording[text] = [_findings(computing, form) for form in forms]
    return recording


def _findings(computing: list[Checker], text: str) -> str:
    work = Work(goal="", steps=split(text))
    found = [item for checker in computing for item in checker.check(work)]
    return "; ".join(
        f"{item.status.value[:2]} {item.expected or ''}{f' at {item.fix.start}' if item.fix else ''}" for item in found
    )


def corrections() -> dict[str, Any]:
    """The steps with what can be computed put right, where later steps use the wrong value too."""
    recording: dict[str, Any] = {}
    for line in lines("arithmetic"):
        if not line["wrong"]:
            continue
        goal = "Check 12 and 7"
        numbers = ["7", *re.findall(r"\d+(?:\.\d+)?", line["text"])]
        later = f"So we take {numbers[-1]}, that is -{numbers[-1]} or ${numbers[-1]} and 5-{numbers[-1]}."
        steps = (line["text"], later)
        check = verifier(Work(goal=goal, steps=steps))
        corrected = correct(
            steps, check(steps).findings, goal=goal, check=lambda work, check=check: _found(check, work)
        )
        if corrected != steps:
            recording[line["id"]] = corrected
    return recording


def _found(check: Verify, work: Work) -> tuple[Finding, ...]:
    return check(work.steps).findings


def opinions() -> dict[str, Any]:
    """What is read of each opinion, and what the verdicts leave of its scores."""
    steps = ("1 + 1 = 3.", "2 + 2 = 4.")
    wrong, right = (verifier(Work(goal="add", steps=part))(part) for part in (steps, steps[1:]))
    recording: dict[str, Any] = {"progress": [progress_of(wrong), progress_of(right)]}
    for at, value in enumerate(OPINIONS):
        for field in ("analysis", "model"):
            try:
                opinion = read_opinion(value, field)
                recording[f"{at} {field}"] = plain(opinion)
                held = [beside_verdicts(opinion, version) for version in (wrong, right)]
                recording[f"{at} {field} held"] = [[one.quality_score, plain(one).get("criteria")] for one in held]
            except InputError as error:
                recording[f"{at} {field}"] = str(error)
    return recording


def critiques() -> dict[str, Any]:
    """The whole answers to critiques by rules, and by a host that sends its opinion afterwards."""
    return named_in_order(asyncio.run(_critiques()))


async def _critiques() -> dict[str, Any]:
    recording: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with Engine(Settings(bank=Path(folder) / "bank.db", project="app"), clock=HeldClock()) as engine:
            for at, line in enumerate(lines("work_dev")[::5]):
                sent = {"goal": line["goal"], "tool_results": line.get("tool_results", [])[:3]}
                sent |= {"steps": line["steps"]} if line.get("steps") else {"response": line["response"]}
                sent |= {"criteria": ["clear", "complete"][: at % 3], "max_iterations": at % 4}
                answer = plain(await engine.critique(**sent))
                recording[line["id"]] = _shown(answer)
                analysis = {
                    "quality_score": at % 11 / 10,
                    "issues": ["step 1 is vague"][: at % 2],
                    "criteria": {"clear": 1},
                }
                again = plain(await engine.critique(critique_id=answer["critique_id"], analysis=analysis))
                recording[f"{line['id']} judged"] = _shown(again)
    return recording


def _shown(answer: dict[str, Any]) -> dict[str, Any]:
    left_out = ("critique_id", "reflection_time_ms", "verdicts", "thinker", "tokens")
    return {name: value for name, value in answer.items() if name not in left_out and value not in (None, [], {})}
