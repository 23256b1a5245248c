"""Things in a row under constraints: who is left of whom, second from the right, finished last, newest, cheapest."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from mcp_reflect.critique.checks.checker import Finding, Fix, Work
from mcp_reflect.critique.checks.state.constraints import Constraint, Row, read_constraint, read_row
from mcp_reflect.critique.checks.state.orders import orders
from mcp_reflect.records.verdict import Status

_MOST_ORDERS = 200
_LONGEST_STEP = 3_000

_LISTING = re.compile(r"[\"“]?\(([a-z -]{2,30})\)([^\"”\n]{1,300}?)\(([a-z -]{2,30})\)[\"”]?", re.IGNORECASE)
_ANSWER = re.compile(r"\banswer is:?\s{0,3}\(?([A-Z])\)?\s{0,3}\.?\s{0,3}$")
_OPTION = re.compile(r"^\s{0,5}\(([A-Z])\)\s{0,3}([^\n]{1,200})$", re.MULTILINE)
_UNSURE = re.compile(
    r"\b(?:if|assum\w+|suppos\w+|cannot|can't|could|might|may|not|n't|false|incorrect|wrong|option|options|"
    r"either|or|would|"
    r"should|must not|whether|contradict\w*|impossible|possible|possibly)\b|n't\b|\?$",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"(?<=[.!?;])\s+|:\s+(?=[\"“(])|\n|,? (?:so|therefore|thus|hence|which means|because|since) ", re.IGNORECASE
)

# The two ends of the row: what stands for place 0 and what for the last place.
_LOW = frozenset(
    ["left", "leftmost", "above", "top", "first", "old", "older", "oldest", "cheap", "cheaper", "cheapest", "least"]
)
_HIGH = frozenset(
    ["right", "rightmost", "below", "bottom", "last", "new", "newer", "newest", "expensive", "most", "priciest"]
)


@dataclass(frozen=True, slots=True)
class _Puzzle:
    row: Row
    orders: tuple[tuple[int, ...], ...]

    def holds(self, constraint: Constraint) -> bool | None:
        """True or False where all orders agree, None where they do not."""
        said = {constraint.holds(order) for order in self.orders}
        return said.pop() if len(said) == 1 else None


def check_ordering(work: Work) -> Iterator[Finding]:
    """Only where every sentence of the puzzle is understood and some order fits them all."""
    puzzle = _puzzle(work.goal)
    if puzzle is None:
        return
    options = dict(_OPTION.findall(work.goal.rpartition("Options:")[2]))
    for number, step in enumerate(work.steps, start=1):
        if len(step) > _LONGEST_STEP:
            continue
        finding = _step(number, step, puzzle, options)
        if finding is not None:
            yield finding


def _puzzle(goal: str) -> _Puzzle | None:
    row, constraints = read_row(goal.split("Options:", maxsplit=1)[0])
    if row is None or not constraints:
        return None
    found = tuple(orders(len(row.items), constraints, most=_MOST_ORDERS))
    return _Puzzle(row, found) if found and len(found) < _MOST_ORDERS else None


def _step(number: int, step: str, puzzle: _Puzzle, options: dict[str, str]) -> Finding | None:
    judged: list[bool] = []
    for holds, claim, expected in [*_listings(step, puzzle), *_statements(step, puzzle)]:
        if not holds:
            return Finding(
                step=number,
                status=Status.FAIL,
                claim=claim[:200],
                expected=expected,
                detail="the constraints say otherwise",
            )
        judged.append(True)
    if (found := _ANSWER.search(step)) and found[1] in options:
        return _answer(number, found, puzzle, options) or (
            Finding(step=number, status=Status.PASS, claim=step.strip()[:200]) if judged else None
        )
    return Finding(step=number, status=Status.PASS, claim=step.strip()[:200]) if judged else None


def _shown(puzzle: _Puzzle) -> str | None:
    if len(puzzle.orders) != 1:
        return None
    by_place = sorted(range(len(puzzle.row.items)), key=lambda item: puzzle.orders[0][item])
    return ", ".join(puzzle.row.items[item] for item in by_place)


def _listings(step: str, puzzle: _Puzzle) -> Iterator[tuple[bool, str, str | None]]:
    """In "(left) ? white ? gray ? (right)" the things named must be able to stand in that order."""
    for found in _LISTING.finditer(step):
        turned = _turned(found[1], found[3])
        named = puzzle.row.mentions(found[2])
        if turned is None or len(named) < 2 or len(set(named)) != len(named):
            continue
        line = list(reversed(named)) if turned else named
        fits = any(all(order[a] < order[b] for a, b in pairwise(line)) for order in puzzle.orders)
        yield fits, found[0], _shown(puzzle)


def _turned(first: str, last: str) -> bool | None:
    """Whether the listing starts at the high end; None where its labels are not understood."""
    start, end = set(first.lower().split()), set(last.lower().split())
    dear_first = "expensive" in start and not start & {"least", "less"}
    dear_last = "expensive" in end and not end & {"least", "less"}
    if dear_first != dear_last:
        return dear_first
    low_first, high_last = bool(start & _LOW), bool(end & _HIGH)
    high_first, low_last = bool(start & _HIGH), bool(end & _LOW)
    if low_first and high_last and not high_first:
        return False
    return True if high_first and low_last and not low_first else None


def _statements(step: str, puzzle: _Puzzle) -> Iterator[tuple[bool, str, str | None]]:
    if _UNSURE.search(_LISTING.sub(" ", step)):
        return
    for piece in _SENTENCE.split(step):
        text = _LISTING.sub(" ", piece)
        constraint = read_constraint(text, puzzle.row)
        if constraint is not None and (holds := puzzle.holds(constraint)) is not None:
            yield holds, piece.strip(), _shown(puzzle)


def _answer(number: int, found: re.Match[str], puzzle: _Puzzle, options: dict[str, str]) -> Finding | None:
    read = {letter: read_constraint(text, puzzle.row) for letter, text in options.items()}
    true = [letter for letter, constraint in read.items() if constraint and puzzle.holds(constraint)]
    chosen = read[found[1]]
    if chosen is None or (holds := puzzle.holds(chosen)) is None:
        return None
    if holds:
        return Finding(step=number, status=Status.PASS, claim=found[0])
    right = true[0] if len(true) == 1 else None
    return Finding(
        step=number,
        status=Status.FAIL,
        claim=found[0],
        expected=f"({right}) {options[right]}" if right else _shown(puzzle),
        detail="the constraints say otherwise",
        fix=Fix(start=found.start(1), end=found.end(1), text=right) if right else None,
    )
