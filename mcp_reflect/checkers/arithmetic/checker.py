"""The arithmetic checker: chains of equalities in the steps, and what to write instead."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from mcp_reflect.checkers.arithmetic import relations as context
from mcp_reflect.checkers.arithmetic.chains import Chain, chains, fix_of, other_units, plain_text
from mcp_reflect.checkers.arithmetic.evaluator import Reading, evaluate, names
from mcp_reflect.checkers.arithmetic.expressions import Parsed, UnknownError, Var
from mcp_reflect.checkers.arithmetic.numerals import Match, in_english
from mcp_reflect.checkers.arithmetic.relations import Equations, Known, Ruling, judge, leading_number, stands_alone
from mcp_reflect.checkers.arithmetic.tokens import Kind, Token, tokens
from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.models.critique import Status

_CLAIMED = re.compile(r"[=≈<>] ?[-$(]?\d")
MAX_STEPS = 400
MAX_TOKENS = 2_000  # over all steps of one work, in lines that may hold a claim: about 40 ms
_MOST_STATED = (
    20  # members after a name that are looked at for its value: a chain that goes on longer is no calculation
)


class ArithmeticChecker:
    """Checks every relation between sums it can read; says nothing about the others."""

    name = "arithmetic"

    def check(self, work: Work) -> Iterable[Finding]:
        if context.other_arithmetic(work):
            return ()
        written, steps = work.steps, tuple(in_english(step) for step in work.steps)
        if steps != written:
            findings = self.check(replace(work, steps=steps))
            return [_as_written(finding, written, steps) for finding in findings]
        given = _given_as_false(work.goal)
        if len(given) > 1:
            return ()  # "If 2 + 3 = 10 and 7 + 2 = 63, then …": a puzzle with rules of its own
        return [f for f in _findings(work) if f.status is not Status.FAIL or _squeezed(f.claim) not in given]


def _as_written(finding: Finding, written: tuple[str, ...], steps: tuple[str, ...]) -> Finding:
    """Quote the claim as it was written; a step whose numbers were rewritten is not corrected."""
    place = finding.step - 1
    start = steps[place].find(finding.claim)
    if written[place] == steps[place] or start < 0:
        return finding
    return replace(finding, claim=written[place][start : start + len(finding.claim)], fix=None)


def _given_as_false(goal: str) -> set[str]:
    """The equalities of the task itself that do not hold: whoever quotes them claims nothing."""
    if not _CLAIMED.search(goal, 0, 20_000):
        return set()
    given = _findings(Work(goal="", steps=(goal,)), believe=True)
    return {_squeezed(finding.claim) for finding in given if finding.status is Status.FAIL}


def _squeezed(claim: str) -> str:
    return "".join(claim.split())


def _findings(work: Work, *, believe: bool = False) -> Iterator[Finding]:
    """What is found in the steps; with `believe`, also in what they only suppose or ask."""
    known, left = Known(), MAX_TOKENS
    equations = Equations(work.steps)
    for number, step in enumerate(work.steps[:MAX_STEPS], 1):
        if not _worth_reading(step):
            continue
        if left <= 0:
            return
        found = tokens(step, left)
        left -= len(found)
        if context.speaks_of_other_arithmetic(step):
            continue
        for chain in chains(found):
            yield from _Reader(step, number, known, believe=believe).read(chain)
            for finding in equations.see(number, chain):
                if finding.status is Status.PASS or not context.refuted(step, 0, len(step)):
                    yield finding


def _worth_reading(step: str) -> bool:
    return any(c in step for c in "=≈<>≤≥\\") or " is " in step or "equals" in step or " are " in step


class _Reader:
    """One chain of one step."""

    def __init__(self, step: str, number: int, known: Known, *, believe: bool) -> None:
        self.step, self.number, self.known, self.believe = step, number, known, believe

    def read(self, chain: Chain) -> Iterator[Finding]:
        for index, relation in enumerate(chain.relations):
            left, right = chain.members[index].left, chain.members[index + 1].right
            if left is None or right is None or isinstance(left.node, Var):
                continue
            finding = self._finding(chain, index, left, relation, right)
            if finding is not None:
                yield finding
        self._bind(chain)

    def _finding(self, chain: Chain, index: int, left: Parsed, relation: str, right: Parsed) -> Finding | None:
        if relation == "is" and (not left.operators or right.literal is None):
            return None
        before, behind = chain.members[index].tokens, chain.members[index + 1].tokens
        start, end = before[left.start].start, _end_of_sum(behind[right.start : right.end])
        ruling = judge(left, relation, right, self.known, about=False)
        if ruling.match is not Match.YES and context.about(self.step, start, end):
            ruling = judge(left, relation, right, self.known, about=True)
        claim = self.step[start:end]
        if ruling.match is Match.YES:
            if ruling.rounds:
                self.known.rounded[ruling.rounds[0]] = ruling.rounds[1]
            return Finding(step=self.number, status=Status.PASS, claim=claim)
        if ruling.match is Match.UNSURE or left.unsure or right.unsure:
            return None
        if not self.believe and context.refuted(self.step, start, end):
            return None
        if self._reads_otherwise(chain, index, left, right, ruling):
            return None
        return self._failure(chain, index, claim, right, ruling)

    def _reads_otherwise(self, chain: Chain, index: int, left: Parsed, right: Parsed, ruling: Ruling) -> bool:
        """Ways in which a false equality may be no claim of one."""
        members = chain.members
        if names(left.node) and right.literal is not None and stands_alone(chain, index):
            return True  # an equation in its own right, perhaps of another problem
        if other_units(left, right, ruling.expected):
            return True
        if left.literal and (left.start or "percent" in right.doubts):
            return True  # "Day 4 = 3 × 2": a name that ends in a number; "48 = 100% + 20%" of something
        lead = leading_number(right)
        if self._begins_with_a_sign(
            members[index].tokens[left.start].start, members[index + 1].tokens[right.end - 1].end
        ):
            return True
        begins = members[index + 1].tokens[right.start].kind in {Kind.NUMBER, Kind.CURRENCY}
        # 5 + 3 = 8 × 2 = 16: written as one would press the keys
        return begins and right.operators > 0 and lead is not None and lead.token.value == ruling.expected

    def _begins_with_a_sign(self, start: int, end: int) -> bool:
        """True if the sum holds once the dash before it is a sign and no list mark."""
        line = self.step.rfind("\n", 0, start) + 1
        if self.step[line:start].strip() not in {"-", "–"}:
            return False
        return any(
            judge(first.left, relation, second.right, self.known, about=False).match is Match.YES
            for chain in chains(tokens(self.step[line:end], bullets=False))
            for first, relation, second in zip(chain.members, chain.relations, chain.members[1:], strict=False)
            if first.left is not None and second.right is not None
        )

    def _failure(self, chain: Chain, index: int, claim: str, right: Parsed, ruling: Ruling) -> Finding:
        if ruling.expected is None:
            return Finding(step=self.number, status=Status.FAIL, claim=claim, detail="the relation does not hold")
        fix, expected = fix_of(self.step, chain, index, right, ruling.expected), plain_text(ruling.expected)
        if fix is not None:
            expected = fix.text
        return Finding(
            step=self.number,
            status=Status.FAIL,
            claim=claim,
            expected=expected,
            detail=f"{claim[:200]}: the left side is {expected}",
            fix=fix,
        )

    def _bind(self, chain: Chain) -> None:
        """`A = (3 - 5) = -2` gives A the value stated last that can be read."""
        for index, relation in enumerate(chain.relations):
            named = chain.members[index].left
            if named is None or not isinstance(named.node, Var) or relation not in {"=", "≈"}:
                continue
            value = self._stated(chain, index + 1)
            if value is not None:
                self.known.names[named.node.name] = value
            else:
                self.known.names.pop(named.node.name, None)

    def _stated(self, chain: Chain, first: int) -> Fraction | None:
        value = None
        for index in range(first, min(first + _MOST_STATED, len(chain.members))):
            if index > first and chain.relations[index - 1] not in {"=", "≈"}:
                break
            side = chain.members[index].right
            if side is None:
                break
            try:
                kept = side.value or evaluate(side.node, Reading(names=self.known.names))
                value = kept.value
            except UnknownError:
                continue
            member = chain.members[index]
            if member.left is not side and member.left is not None:
                break  # the member ends one claim and begins another
        return value


def _end_of_sum(found: list[Token]) -> int:
    """Where the sum ends without the words behind its last number."""
    return next((token.end for token in reversed(found) if token.kind is not Kind.WORD), found[-1].end)
