"""Agents' work with labelled claims, and how well verdicts on it agree with the labels.

A line of tests/checkers/cases/work_{dev,aside}.jsonl is `{id, kind, goal, steps | response, tool_results[], truth,
claims[{text, status}]}`. `truth` is `right` where no claim is contradicted or unsupported.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp_reflect.checkers.base import Work, split
from mcp_reflect.checkers.verify import Verified, verifier
from mcp_reflect.models.critique import Coverage, ToolResult

CASES: Final = Path(__file__).parent.parent / "tests" / "checkers" / "cases"
WRONG: Final = ("contradicted", "unsupported")
MOST_ALARMS: Final = 0.02
FLOORS: Final[Mapping[str, Mapping[str, int]]] = {}
_LEAST_SHARE = 0.5  # of a claim's words and numbers that an issue in prose must repeat to be about the claim
_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]{3,}")


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
    first, second = (re.sub(r"\W+", "", text).lower() for text in (claim, other))
    return bool(first) and bool(second) and (first in second or second in first)


def _subjects(issue: str, claims: Sequence[str]) -> list[str]:
    """Return the claims of which an issue in prose repeats the largest share, at least half, of words and numbers."""
    said = set(_WORD.findall(issue.lower()))
    words = {claim: set(_WORD.findall(claim.lower())) for claim in claims}
    shares = {claim: len(own & said) / len(own) for claim, own in words.items() if own}
    most = max(shares.values(), default=0.0)
    return [claim for claim, share in shares.items() if share == most >= _LEAST_SHARE]


def _faults(case: Mapping[str, Any], outcome: Outcome) -> Iterator[tuple[str, list[str]]]:
    """Yield each claim or issue that is called wrong, with the labelled claims that it is about."""
    claims = [claim["text"] for claim in case["claims"]]
    for quote in outcome.contradicted:
        yield quote, [claim for claim in claims if overlaps(quote, claim)]
    for issue in outcome.issues:
        yield issue, _subjects(issue, claims)


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


def print_scores(title: str, kinds: Mapping[str, WorkScore], misses: Sequence[str] = ()) -> None:
    """Print a line for each kind of work, and one for all."""
    print(f"\n{title:24}" + "".join(f"{name:>14}" for name in HEADER))
    for kind in sorted(kinds, key=lambda kind: (kind == "all", kind)):
        print(f"{kind:24}" + "".join(f"{cell:>14}" for cell in kinds[kind].row()))
    for miss in misses:
        print("   " + miss)


def below_floors(title: str, kinds: Mapping[str, WorkScore]) -> list[str]:
    """Return a sentence for each limit that a kind of work does not keep."""
    floors = FLOORS.get(title, {})
    below = [
        f"{title}: {kind}: {score.found} found, at least {floors[kind]} wanted"
        for kind, score in kinds.items()
        if score.found < floors.get(kind, 0)
    ]
    total = kinds["all"]
    if total.alarms > MOST_ALARMS * total.works:
        below.append(f"{title}: {total.alarms} false alarms in {total.works}")
    if total.slipped:
        below.append(f"{title}: {total.slipped} passed that are wrong")
    return below
