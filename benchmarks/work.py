"""Agents' work with labeled claims, and how well exact checks or a judge agree with the labels.

A line of tests/evidence/cases/work_*.jsonl is `{id, kind, goal, steps | response, tool_results[], truth,
claims[{text, status}]}`. `truth` is `right` where no claim is contradicted or unsupported. A line of works.jsonl has
no labeled claims: its truth is `right` or `wrong`.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp_reflect.evidence.checks import check_steps
from mcp_reflect.evidence.exact import CheckedEquation
from mcp_reflect.evidence.verifying import letters
from mcp_reflect.evidence.work import Work, split
from mcp_reflect.models.critique import Critique, ToolResult, Verdict

CASES: Final = Path(__file__).parent.parent / "tests" / "evidence" / "cases"
WRONG: Final = ("contradicted", "unsupported")
_LEAST_SHARE = (
    0.5  # of a claim's numbers and words that an issue in prose must repeat to be about the claim
)
_TELLING = re.compile(r"\d{3}|\d[.,:]\d")  # a number that stands for itself
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W\d_]{4,}")
_WORD_START = 5  # letters by which words are compared: switch, switching
_STEP = re.compile(r"\bsteps? (\d+)(?: and (\d+))?", re.IGNORECASE)


def read(path: Path) -> list[Any]:
    """Return the records of a file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def aside(case: Mapping[str, Any]) -> bool:
    """True for the half that is kept aside, by the hash of its id."""
    return hashlib.sha256(case["id"].encode()).digest()[0] % 2 == 1


def work_of(case: Mapping[str, Any]) -> Work:
    """Return a case as a piece of work."""
    results = tuple(
        ToolResult(
            content=result["content"], tool=result.get("tool"), exit_code=result.get("exit_code")
        )
        for result in case.get("tool_results", ())
    )
    steps = tuple(case["steps"]) if case.get("steps") else split(case["response"])
    return Work(goal=case.get("goal", case.get("question", "")), steps=steps, tool_results=results)


def faults_in(case: Mapping[str, Any]) -> list[CheckedEquation]:
    """Return what exact checks call wrong in a case."""
    work = work_of(case)
    return [checked for checked in check_steps(work.steps, work.goal) if not checked.holds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was said of a piece of work.

    `contradicted` quotes the claims that are called wrong, `issues` are faults named in prose, `unshown` quotes the
    claims that nothing shows.
    """

    contradicted: tuple[str, ...]
    unshown: tuple[str, ...]
    passes: bool
    issues: tuple[str, ...] = ()

    @classmethod
    def of(cls, answer: Critique, issues: Sequence[str] = ()) -> "Outcome":
        """Return what an answer says; `issues` are those of the judge."""
        verdicts = {
            verdict: [c.text for c in answer.claims if c.verdict is verdict] for verdict in Verdict
        }
        return cls(
            contradicted=tuple(verdicts[Verdict.WRONG]),
            unshown=tuple(verdicts[Verdict.NOT_SHOWN]),
            passes=answer.passes_quality_gate is True,
            issues=tuple(issues),
        )


@dataclass(slots=True)
class WorkScore:
    """Counts over pieces of work.

    `found` counts pieces with a contradicted claim in which such a claim is called wrong; `named` those with an
    unsupported claim that is called wrong or unshown; `alarms` those in which a claim that is labeled supported or
    open is called wrong, and right work with any fault; `kept` the right ones that pass, `slipped` the others that do.
    """

    works: int = 0
    right: int = 0
    contradicted: int = 0
    found: int = 0
    unsupported: int = 0
    named: int = 0
    alarms: int = 0
    refused: int = 0
    slipped: int = 0

    def row(self) -> tuple[str, ...]:
        """Return the cells of its line."""
        return (
            str(self.works),
            f"{self.found}/{self.contradicted}",
            f"{self.named}/{self.unsupported}",
            str(self.alarms),
            f"{self.refused}/{self.right}",
            str(self.slipped),
        )


HEADER: Final = ("works", "contradicted", "unsupported", "alarms", "refused", "slipped")


def overlaps(claim: str, other: str) -> bool:
    """True if one quotation holds the other, blanks and marks apart."""
    first, second = letters(claim), letters(other)
    return bool(first) and bool(second) and (first in second or second in first)


def _parts(text: str) -> set[str]:
    words = (word[:_WORD_START] for word in _WORD.findall(text.lower()))
    return {*_NUMBER.findall(text), *words}


def _subjects(issue: str, case: Mapping[str, Any]) -> list[str]:
    """Return the labeled claims that an issue in prose is about.

    They are those of which it repeats every number of three digits or with a fraction, or where there is none, at least
    half of the numbers and words. Of a step that it names, or of the whole where it names none, they are all claims too
    if each of them is wrong.
    """
    said = _parts(_STEP.sub("", issue))

    def repeats(claim: str) -> bool:
        own = _parts(claim)
        telling = {part for part in own if _TELLING.search(part)}
        return telling <= said if telling else len(own & said) >= _LEAST_SHARE * len(own)

    steps = case.get("steps") or [case["response"]]
    named = {int(number) for found in _STEP.findall(issue) for number in found if number}
    where = [step for place, step in enumerate(steps, start=1) if place in named] or steps
    there = [
        claim for claim in case["claims"] if any(overlaps(step, claim["text"]) for step in where)
    ]
    wrong = (
        [claim["text"] for claim in there]
        if all(claim["status"] in WRONG for claim in there)
        else []
    )
    return [*wrong, *(claim["text"] for claim in case["claims"] if repeats(claim["text"]))]


def _faults(case: Mapping[str, Any], outcome: Outcome) -> Iterator[tuple[str, list[str]]]:
    """Yield each claim or issue that is called wrong, with the labeled claims that it is about."""
    for quote in outcome.contradicted:
        yield quote, [claim["text"] for claim in case["claims"] if overlaps(quote, claim["text"])]
    for issue in outcome.issues:
        yield issue, _subjects(issue, case)


def score_work(
    case: Mapping[str, Any], outcome: Outcome, total: WorkScore, misses: list[str] | None = None
) -> None:
    """Add one piece of work to the counts; `misses` collects a line for each that is judged otherwise."""
    texts = {
        status: [claim["text"] for claim in case["claims"] if claim["status"] == status]
        for status in ("supported", "open", *WRONG)
    }
    wrong = {text for status in WRONG for text in texts[status]}
    on_code = "```" in (case.get("response") or "")
    faults = list(_faults(case, outcome))
    hits = [fault for fault, about in faults if on_code or wrong.intersection(about)]
    right = case["truth"] == "right"
    alarms = [fault for fault, about in faults if right or (about and fault not in hits)]
    named = any(
        overlaps(quote, text)
        for quote in (*outcome.contradicted, *outcome.unshown)
        for text in texts["unsupported"]
    ) or any(set(about) & set(texts["unsupported"]) for _, about in faults)
    total.works += 1
    total.right += right
    total.contradicted += bool(texts["contradicted"])
    total.found += bool(texts["contradicted"]) and bool(hits)
    total.unsupported += bool(texts["unsupported"])
    total.named += bool(texts["unsupported"]) and named
    total.alarms += bool(alarms)
    total.refused += right and not outcome.passes
    total.slipped += outcome.passes and not right
    if misses is None:
        return
    if alarms:
        misses.append(f"{case['id']} alarm {alarms}")
    if right and not outcome.passes and not alarms:
        misses.append(f"{case['id']} refused, unshown {outcome.unshown}")
    if outcome.passes and not right:
        misses.append(f"{case['id']} slipped {sorted(wrong)}")
    if texts["contradicted"] and not hits:
        misses.append(
            f"{case['id']} missed {texts['contradicted']}, said {[fault for fault, _ in faults]}"
        )
    if texts["unsupported"] and not named:
        misses.append(f"{case['id']} unnamed {texts['unsupported']}")


def total_of(
    judged: Iterable[tuple[Mapping[str, Any], Outcome]], misses: list[str] | None = None
) -> WorkScore:
    """Return the counts over all pieces of work."""
    total = WorkScore()
    for case, outcome in judged:
        score_work(case, outcome, total, misses)
    return total
