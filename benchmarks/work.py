"""Agents' work with labelled claims, and how well verdicts on it agree with the labels.

A line of tests/checkers/cases/work_*.jsonl is `{id, kind, goal, steps | response, tool_results[], truth,
claims[{text, status}]}`. `truth` is `right` where no claim is contradicted or unsupported.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp_reflect.checkers.base import Work, split
from mcp_reflect.checkers.opinions import letters
from mcp_reflect.checkers.verify import Verified, verifier
from mcp_reflect.models.critique import Coverage, ToolResult

CASES: Final = Path(__file__).parent.parent / "tests" / "checkers" / "cases"
WRONG: Final = ("contradicted", "unsupported")
_LEAST_SHARE = 0.5  # of a claim's numbers and words that an issue in prose must repeat to be about the claim
_TELLING = re.compile(r"\d{3}|\d[.,:]\d")  # a number that stands for itself
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W\d_]{4,}")
_WORD_START = 5  # letters by which words are compared: switch, switching
_STEP = re.compile(r"\bsteps? (\d+)(?: and (\d+))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was said of a piece of work.

    `contradicted` quotes the claims that are called wrong, `issues` are faults named in prose, `unshown` quotes the
    claims that nothing shows.
    """

    contradicted: tuple[str, ...]
    unshown: tuple[str, ...]
    passes: bool
    coverage: Coverage
    issues: tuple[str, ...] = ()


@dataclass(slots=True)
class WorkScore:
    """Counts over the pieces of work of one kind.

    `found` counts pieces with a contradicted claim in which such a claim is called wrong; `named` those with an
    unsupported claim that is called wrong or unshown; `alarms` those in which a claim that is labelled supported or
    open is called wrong, and right work with any fault; `kept` the right ones that pass, `slipped` the others that do.
    """

    works: int = 0
    right: int = 0
    contradicted: int = 0
    found: int = 0
    unsupported: int = 0
    named: int = 0
    alarms: int = 0
    kept: int = 0
    slipped: int = 0
    claims: int = 0
    checked: int = 0

    def row(self) -> tuple[str, ...]:
        return (
            str(self.works),
            f"{self.found}/{self.contradicted}",
            f"{self.named}/{self.unsupported}",
            str(self.alarms),
            f"{self.kept}/{self.right}",
            str(self.slipped),
            f"{self.checked}/{self.claims}",
        )


HEADER: Final = ("works", "contradicted", "unsupported", "alarms", "kept", "slipped", "checked")


def read(path: Path) -> list[Any]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def verified(case: Mapping[str, Any]) -> Verified:
    """Return the verdicts of the rules on one piece of work."""
    steps = tuple(case["steps"]) if case.get("steps") else split(case["response"])
    results = tuple(
        ToolResult(content=result["content"], tool=result.get("tool"), exit_code=result.get("exit_code"))
        for result in case["tool_results"]
    )
    return verifier(Work(goal=case["goal"], steps=steps, tool_results=results))(steps)


def by_rules(case: Mapping[str, Any]) -> Outcome:
    """Return what the rules alone say of one piece of work."""
    result = verified(case)
    return Outcome(
        contradicted=tuple(verdict.claim for verdict in result.failed),
        unshown=tuple(verdict.claim for verdict in result.unsupported),
        passes=result.complete and not result.failed,
        coverage=result.coverage,
    )


def overlaps(claim: str, other: str) -> bool:
    """True if one quotation holds the other, blanks and marks apart."""
    first, second = letters(claim), letters(other)
    return bool(first) and bool(second) and (first in second or second in first)


def _parts(text: str) -> set[str]:
    words = (word[:_WORD_START] for word in _WORD.findall(text.lower()))
    return {*_NUMBER.findall(text), *words}


def _subjects(issue: str, case: Mapping[str, Any]) -> list[str]:
    """Return the labelled claims that an issue in prose is about.

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
    there = [claim for claim in case["claims"] if any(overlaps(step, claim["text"]) for step in where)]
    wrong = [claim["text"] for claim in there] if all(claim["status"] in WRONG for claim in there) else []
    return [*wrong, *(claim["text"] for claim in case["claims"] if repeats(claim["text"]))]


def _faults(case: Mapping[str, Any], outcome: Outcome) -> Iterator[tuple[str, list[str]]]:
    """Yield each claim or issue that is called wrong, with the labelled claims that it is about."""
    for quote in outcome.contradicted:
        yield quote, [claim["text"] for claim in case["claims"] if overlaps(quote, claim["text"])]
    for issue in outcome.issues:
        yield issue, _subjects(issue, case)


def score_work(case: Mapping[str, Any], outcome: Outcome, total: WorkScore, misses: list[str] | None = None) -> None:
    """Add one piece of work to the counts of its kind; `misses` collects a line for each that is judged otherwise."""
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
        overlaps(quote, text) for quote in (*outcome.contradicted, *outcome.unshown) for text in texts["unsupported"]
    ) or any(set(about) & set(texts["unsupported"]) for _, about in faults)
    total.works += 1
    total.right += right
    total.contradicted += bool(texts["contradicted"])
    total.found += bool(texts["contradicted"]) and bool(hits)
    total.unsupported += bool(texts["unsupported"])
    total.named += bool(texts["unsupported"]) and named
    total.alarms += bool(alarms)
    total.kept += right and outcome.passes
    total.slipped += outcome.passes and not right
    total.claims += outcome.coverage.claims
    total.checked += outcome.coverage.checked
    if misses is None:
        return
    if alarms:
        misses.append(f"{case['id']} alarm {alarms}")
    if outcome.passes and not right:
        misses.append(f"{case['id']} slipped {sorted(wrong)}")
    if texts["contradicted"] and not hits:
        misses.append(f"{case['id']} missed {texts['contradicted']}, said {[fault for fault, _ in faults]}")
    if texts["unsupported"] and not named:
        misses.append(f"{case['id']} unnamed {texts['unsupported']}")


def scores(
    judged: Sequence[tuple[Mapping[str, Any], Outcome]], misses: list[str] | None = None
) -> dict[str, WorkScore]:
    """Return the counts by kind, and those of all."""
    kinds: dict[str, WorkScore] = {}
    for case, outcome in judged:
        score_work(case, outcome, kinds.setdefault(case["kind"], WorkScore()), misses)
        score_work(case, outcome, kinds.setdefault("all", WorkScore()))
    return kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The least that must be found, by kind, and the most alarms and wrong works that pass."""

    found: Mapping[str, int]
    alarms: int
    slipped: int = 0


_DEV: Final = {
    "arithmetic": 8,
    "code_review": 8,
    "code_tests": 9,
    "data": 6,
    "lint_build": 7,
    "metrics": 10,
    "plans_prose": 5,
    "service": 4,
    "shell": 7,
    "unsupported": 1,
    "all": 65,
}
_JUDGED: Final = {
    "arithmetic": 14,
    "code_review": 13,
    "code_tests": 12,
    "data": 13,
    "lint_build": 13,
    "metrics": 13,
    "plans_prose": 13,
    "service": 13,
    "shell": 13,
    "unsupported": 2,
    "all": 119,
}
LIMITS: Final = {
    "work_dev, rules": Limits(found=_DEV, alarms=4),
    "work_aside, rules": Limits(found={"all": 30}, alarms=4),
    "work_fresh_a, rules": Limits(found={"all": 17}, alarms=0),
    "work_fresh_b, rules": Limits(found={"all": 9}, alarms=0),
    # One report of "203 of 204 tests" is labelled wrong for five skipped ones, and the judge accepted it.
    "judged_aside, model": Limits(found=_JUDGED, alarms=3, slipped=1),
    "judged_aside, host": Limits(found=_JUDGED, alarms=3, slipped=1),
    "judged_fresh_a, model": Limits(found={"all": 45}, alarms=5),
    "judged_fresh_a, host": Limits(found={"all": 45}, alarms=5),
    "judged_fresh_b, model": Limits(found={"all": 45}, alarms=1),
    "judged_fresh_b, host": Limits(found={"all": 45}, alarms=1),
}
"""The figures as they were measured; in the first two sets false alarms may reach 2 %, as they are meant to."""


def missed_limits(title: str, kinds: Mapping[str, WorkScore]) -> list[str]:
    """Return a sentence for each limit of this title that is not kept."""
    limits, total = LIMITS.get(title), kinds["all"]
    if limits is None:
        return []
    missed = [
        f"{title}: {kind}: {kinds[kind].found} found, at least {least} wanted"
        for kind, least in limits.found.items()
        if kinds[kind].found < least
    ]
    if total.alarms > limits.alarms:
        missed.append(f"{title}: {total.alarms} false alarms, at most {limits.alarms} wanted")
    if total.slipped > limits.slipped:
        missed.append(f"{title}: {total.slipped} passed that are wrong, at most {limits.slipped} wanted")
    return missed


def print_scores(title: str, kinds: Mapping[str, WorkScore], misses: Sequence[str] = ()) -> None:
    """Print a line for each kind of work with the least that must be found, and one for all."""
    floors: Mapping[str, int] = LIMITS[title].found if title in LIMITS else {}
    print(f"\n{title:24}" + "".join(f"{name:>14}" for name in (*HEADER, "floor")))
    for kind in sorted(kinds, key=lambda kind: (kind == "all", kind)):
        cells = (*kinds[kind].row(), str(floors.get(kind, "-")))
        print(f"{kind:24}" + "".join(f"{cell:>14}" for cell in cells))
    for miss in misses:
        print("   " + miss)
