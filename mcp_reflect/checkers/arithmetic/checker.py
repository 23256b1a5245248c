"""The arithmetic checker: chains of equalities in the steps, and what to write instead."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Final, NamedTuple

from mcp_reflect.checkers.arithmetic.chains import Chain, chains, fix_of, other_units, plain_text
from mcp_reflect.checkers.arithmetic.numerals import Match, in_english, matches, same, within_percent
from mcp_reflect.checkers.arithmetic.sums import Sum, parse
from mcp_reflect.checkers.arithmetic.tokens import Kind, Token, tokens
from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.models.critique import Status

_MAX_STEPS: Final = 400
_MAX_TOKENS: Final = 2_000  # over all steps of one work, in lines that may hold a claim: about 40 ms
# Where numbers do not follow the arithmetic of the integers, or symbols are given another meaning.
_OTHER_ARITHMETIC: Final = re.compile(
    r"\b(?:mod(?:ulo|ular)?|congruen\w*|binary|octal|hexadecimal|hex|base[- ](?:\d|two|ten|eight|sixteen|n\b|b\b)|"
    r"in base|xor|boolean|bitwise|define[sd]? (?:a |an |the |as )?(?:new )?operat\w*|concatenat\w*|matri(?:x|ces)|"
    r"overflow\w*)\b|\\bmod|\\pmod|⊕|⊗|≡|\\equiv|\\mathbb\{?[ZF]|[ℤ𝔽]|Z_\{?[\dnp]",
    re.IGNORECASE,
)
_REFUTED: Final = re.compile(
    r"\b(?:wrong|incorrect\w*|false|untrue|not true|mistak\w+|contradict\w*|impossible|absurd|nonsense|error|"
    r"should (?:be|have)|instead of|rather than|suppose|supposing|assum\w+|claim(?:s|ed)?|pretend\w*|hypothe\w+|"
    r"does ?n[o']t|isn['’]t|not equal|trial|trying|guess\w*|joke|buggy|bug|assert\w*|mismatch\w*|typo)\b"
    r"|\b(?:if|unless|whether|try|not|say)\s*\W{0,3}$",
    re.IGNORECASE,
)
_ABOUT: Final = re.compile(
    r"~|\b(?:about|approx\w*|roughly|around|nearly|almost|circa|round(?:s|ed|ing)?|nearest|estimat\w+|"
    r"significant|sig(?:\.|\b)|decimal|truncat\w+|ish)\b|\.\.\.|…|\\sim|\\dots|\\ldots",
    re.IGNORECASE,
)


class ArithmeticChecker:
    """Checks every relation between sums it can read; says nothing about the others."""

    name = "arithmetic"

    def check(self, work: Work) -> Iterable[Finding]:
        if _OTHER_ARITHMETIC.search(work.goal[:20_000]):
            return
        steps = tuple(in_english(step) for step in work.steps)
        for finding in _findings(steps):
            place = finding.step - 1
            start = steps[place].find(finding.claim)
            if work.steps[place] == steps[place] or start < 0:
                yield finding
            else:  # quote the claim as it was written; a step whose numbers were rewritten is not corrected
                yield replace(finding, claim=work.steps[place][start : start + len(finding.claim)], fix=None)


def _findings(steps: tuple[str, ...]) -> Iterator[Finding]:
    known: dict[str, Fraction] = {}
    solutions: dict[str, Fraction] = {}
    left = _MAX_TOKENS
    for number, step in enumerate(steps[:_MAX_STEPS], 1):
        if left > 0 and (re.search(r"[=≈<>≤≥\\]| is |equals| are ", step)):
            found = tokens(step, left)
            left -= len(found)
            if not _OTHER_ARITHMETIC.search(step):
                for chain in chains(found, known):
                    for index in range(len(chain.relations)):
                        if finding := _judged(step, number, chain, index):
                            yield finding
                    if (solved := _solved(chain)) is not None:
                        name, solution, start, end = solved
                        if solutions.get(name) == solution:
                            yield Finding(step=number, status=Status.PASS, claim=step[start:end])
                        solutions[name] = solution
                    _bind(chain, known)


def _solved(chain: Chain) -> tuple[str, Fraction, int, int] | None:
    """Return the unknown of a linear equation, its value, and where the equation stands: 2x + 6 = 10 holds for x = 2.

    The equation that follows from another one has the same solution; one that has not may be of another problem.
    """
    left, right = chain.members[0].left, chain.members[-1].right
    names = {token.text for member in chain.members for token in member.tokens if token.kind is Kind.NAME}
    if chain.relations != ["="] or len(names) != 1 or left is None or right is None or left.unsure or right.unsure:
        return None
    name, (first, second) = names.pop(), (member.tokens for member in chain.members)
    apart: list[Fraction] = []
    for value in (0, 1, 2):
        sides = [
            parse(found, start, {name: Fraction(value)})
            for found, start in ((first, left.start), (second, right.start))
        ]
        values = [side.value for side in sides if side and side.value is not None]
        if len(values) < 2:
            return None
        apart.append(values[0] - values[1])
    slope = apart[1] - apart[0]
    if not slope or apart[2] - apart[1] != slope:
        return None
    return name, -apart[0] / slope, first[left.start].start, second[right.end - 1].end


def _bind(chain: Chain, known: dict[str, Fraction]) -> None:
    """`A = (3 - 5) = -2` gives A the value stated last that can be read."""
    for index, relation in enumerate(chain.relations):
        named = chain.members[index].left
        if named is None or named.name is None or relation not in {"=", "≈"}:
            continue
        known.pop(named.name, None)
        for place in range(index + 1, len(chain.members)):
            member = chain.members[place]
            if member.right is None or chain.relations[place - 1] not in {"=", "≈"}:
                break
            if member.right.value is not None:
                known[named.name] = member.right.value
            if member.left is not member.right and member.left is not None:
                break  # the member ends one claim and begins another


def _judged(step: str, number: int, chain: Chain, index: int) -> Finding | None:
    left, relation, right = chain.members[index].left, chain.relations[index], chain.members[index + 1].right
    if left is None or right is None or left.name is not None:
        return None
    if relation == "is" and (not left.operators or right.literal is None):
        return None
    before, behind = chain.members[index].tokens, chain.members[index + 1].tokens
    start, end = before[left.start].start, _end_of_sum(behind[right.start : right.end])
    ruling = _rule(left, relation, right, about=_ABOUT.search(step, max(0, start - 30), end + 40) is not None)
    claim = step[start:end]
    if ruling.match is Match.YES:
        return Finding(step=number, status=Status.PASS, claim=claim)
    if ruling.match is Match.UNSURE or left.unsure or right.unsure or _refuted(step, start, end):
        return None
    if _reads_otherwise(chain, index, left, right, ruling):
        return None
    fix, expected, detail = None, None, "the relation does not hold"
    if ruling.expected is not None:
        fix = fix_of(step, chain, index, right, ruling.expected)
        expected = fix.text if fix else plain_text(ruling.expected)
        detail = f"{claim[:200]}: the left side is {expected}"
    return Finding(step=number, status=Status.FAIL, claim=claim, expected=expected, detail=detail, fix=fix)


def _end_of_sum(found: list[Token]) -> int:
    """Where the sum ends without the words behind its last number."""
    return next((token.end for token in reversed(found) if token.kind is not Kind.WORD), found[-1].end)


def _refuted(step: str, start: int, end: int) -> bool:
    """True if the text may only be quoting, supposing or rejecting the claim."""
    if step[end : end + 12].lstrip(" .)*`").startswith("?"):
        return True
    return bool(_REFUTED.search(step[max(0, start - 60) : start]) or _REFUTED.search(step[end : end + 50]))


class _Ruling(NamedTuple):
    """`expected` is the exact value of the side that was not shown as a number."""

    match: Match
    expected: Fraction | None = None


_UNSURE: Final = _Ruling(Match.UNSURE)


def _reads_otherwise(chain: Chain, index: int, left: Sum, right: Sum, ruling: _Ruling) -> bool:
    """Ways in which a false equality may be no claim of one."""
    first, second = chain.members[index], chain.members[index + 1]
    joined = (index > 0 and first.left is first.right) or (
        index + 1 < len(chain.relations) and second.left is second.right
    )
    if left.names and right.literal is not None and not joined:
        return True  # an equation in its own right, perhaps of another problem
    if other_units(left, right):
        return True
    if left.literal and (left.start or right.percents):
        return True  # "Day 4 = 3 × 2": a name that ends in a number; "48 = 100% + 20%" of something
    # 5 + 3 = 8 × 2 = 16: written as one would press the keys
    begins = second.tokens[right.start].kind in {Kind.NUMBER, Kind.CURRENCY}
    return begins and right.operators > 0 and right.lead == ruling.expected


def _rule(left: Sum, relation: str, right: Sum, *, about: bool) -> _Ruling:
    """Return the ruling under the first reading that makes the relation true, else under the plain one."""
    rulings: list[_Ruling] = []
    for a, b in _readings(left, right):
        if a is None or b is None:
            return _UNSURE
        ruling = _compare(relation, a, b) if relation in "<>≤≥≠" else _equate(left, a, right, b, about=relation == "≈")
        if about and ruling.match is not Match.YES and relation not in "<>≤≥≠":
            ruling = _equate(left, a, right, b, about=True)
        if ruling.match is Match.YES:
            return ruling
        rulings.append(ruling)
    return _UNSURE if any(ruling.match is Match.UNSURE for ruling in rulings) else rulings[0]


def _readings(left: Sum, right: Sum) -> Iterator[tuple[Fraction | None, Fraction | None]]:
    """Pairs of values, the plain ones first: 80% may count as 80, and 5 dozen as 5."""
    yield left.value, right.value
    for a in (left.value, *left.others):
        yield from ((a, b) for b in (right.value, *right.others))
    if right.percent and (not left.percents or left.hundred):
        yield left.value, right.in_percent
    if left.percent and (not right.percents or right.hundred):
        yield left.in_percent, right.value
    if (left.percents or right.percents) and not left.percent_factor:
        yield left.in_percent, right.in_percent
        if not right.percent:
            yield left.in_percent, right.value


def _compare(relation: str, a: Fraction, b: Fraction) -> _Ruling:
    holds = {"<": a < b, ">": a > b, "≤": a <= b, "≥": a >= b, "≠": a != b}[relation]
    if not holds and (relation == "≠" or within_percent(a, b)):
        return _UNSURE  # 0.1 + 0.2 != 0.3 is true of floating point
    return _Ruling(Match.YES if holds else Match.NO)


def _equate(left: Sum, a: Fraction, right: Sum, b: Fraction, *, about: bool) -> _Ruling:
    inexact = left.inexact or right.inexact
    if (left.pi or right.pi) and within_percent(a, b):
        return _Ruling(Match.YES)  # 3.14 and 22/7 are π as well
    bare = [not side.operators or side.literal is not None for side in (left, right)]
    if right.literal and not bare[0]:
        return _shown(a, right.literal, b, inexact=inexact, about=about)
    if left.literal and not bare[1]:
        return _shown(b, left.literal, a, inexact=inexact, about=about)
    if same(a, b, inexact=inexact) or (about and within_percent(a, b)):
        return _Ruling(Match.YES)
    if all(bare) or ((about or inexact) and within_percent(a, b, 5)):
        return _UNSURE
    return _UNSURE if (left.decimals or right.decimals) and within_percent(a, b) else _Ruling(Match.NO, a)


def _shown(exact: Fraction, literal: Token, value: Fraction, *, inexact: bool, about: bool) -> _Ruling:
    """Compare an exact value with a number as it is written; a percent sign adds decimals, a scale takes some."""
    decimals = literal.decimals
    if value and literal.value:
        ratio = abs(literal.value / value)
        while ratio >= 10:
            ratio, decimals = ratio / 10, decimals + 1
        while ratio < 1:
            ratio, decimals = ratio * 10, decimals - 1
    return _Ruling(matches(exact, value, decimals, inexact=inexact, about=about), exact)
