"""The arithmetic checker: chains of equalities in the steps, and what to write instead."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

from mcp_reflect.checkers.arithmetic.chains import Chain, chains, fix_of, other_units, plain_text, several_units
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
_ROUNDED: Final = re.compile(
    r"\b(?:round(?:s|ed|ing)?|nearest|estimat\w+|significant|sig(?:\.|\b)|decimal|truncat\w+)\b"
    r"|\.\.\.|…|\\sim|\\dots|\\ldots",
    re.IGNORECASE,
)
_ABOUT_WORDS = r"(?:~|\b(?:about|approx\w*|roughly|around|nearly|almost|circa|ish)\b)"
_ABOUT: Final = re.compile(_ABOUT_WORDS, re.IGNORECASE)
_ABOUT_BEFORE: Final = re.compile(_ABOUT_WORDS + r"\W*$", re.IGNORECASE)  # "the report is about sales" rounds nothing
_ABOUT_BEHIND: Final = re.compile(r"\W{0,3}" + _ABOUT_WORDS, re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"(?<!\.)[.;!?]\s|\n")


class ArithmeticChecker:
    """Checks every relation between sums it can read; says nothing about the others."""

    name = "arithmetic"

    def check(self, work: Work) -> Iterable[Finding]:
        if _OTHER_ARITHMETIC.search(work.goal[:20_000]):
            return
        known: dict[str, Fraction] = {}
        equations: dict[str, list[tuple[Chain, Finding]]] = {}
        left = _MAX_TOKENS
        for number, original in enumerate(work.steps[:_MAX_STEPS], 1):
            step = in_english(original)
            if left <= 0 or not re.search(r"[=≈<>≤≥\\]| is |equals| are ", step):
                continue
            found = tokens(step, left)
            left -= len(found)
            for chain in chains(found, known) if not _OTHER_ARITHMETIC.search(step) else ():
                for index in range(len(chain.relations)):
                    if judged := _judged(step, number, chain, index):
                        start, finding = judged
                        if step != original:  # quoted as it was written; rewritten numbers are not corrected
                            claim = original[start : start + len(finding.claim)]
                            finding = replace(finding, claim=claim, fix=None)
                        yield finding
                _bind(chain, known)
                names = {token.text for member in chain.members for token in member.tokens if token.kind is Kind.NAME}
                if chain.relations == ["="] and len(names) == 1 and (span := _span(chain, 0)):
                    finding = Finding(step=number, status=Status.PASS, claim=original[slice(*span)])
                    equations.setdefault(names.pop(), []).append((chain, finding))
        # 2x + 6 = 10, 2x = 4 and x = 2 hold together; one that does not hold may be of another problem.
        for found in equations.values():
            solved = [finding for chain, finding in found if _holds(chain, known)]
            yield from solved if len(solved) > 1 else ()


def _span(chain: Chain, index: int) -> tuple[int, int] | None:
    """Return where the claim of one relation begins and ends, without the words behind its last number."""
    left, right = chain.members[index].left, chain.members[index + 1].right
    if left is None or right is None:
        return None
    behind = chain.members[index + 1].tokens[right.start : right.end]
    end = next((token.end for token in reversed(behind) if token.kind is not Kind.WORD), behind[-1].end)
    return chain.members[index].tokens[left.start].start, end


def _holds(chain: Chain, known: Mapping[str, Fraction]) -> bool:
    """True if an equation holds for the values that the names have in the end."""
    first, second = chain.members
    left = parse(first.tokens, first.left.start, known) if first.left else None
    right = parse(second.tokens, second.right.start, known) if second.right else None
    return left is not None and right is not None and left.value is not None and left.value == right.value


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


def _is_rounded(step: str, start: int, end: int) -> bool:
    """True if the sentence says near the claim that it is rounded."""
    before = _SENTENCE_END.split(step[max(0, start - 30) : start])[-1]
    behind = _SENTENCE_END.split(step[end : end + 40])[0]
    claim = step[start:end]
    is_about = _ABOUT_BEFORE.search(before) or _ABOUT.search(claim) or _ABOUT_BEHIND.match(behind)
    return bool(is_about or _ROUNDED.search(f"{before}{claim}{behind}"))


def _judged(step: str, number: int, chain: Chain, index: int) -> tuple[int, Finding] | None:
    """Return the finding on one relation and the place where its claim begins."""
    left, relation, right = chain.members[index].left, chain.relations[index], chain.members[index + 1].right
    span = _span(chain, index)
    if left is None or right is None or span is None or left.name is not None or several_units(left):
        return None
    if relation == "is" and (not left.operators or right.literal is None):
        return None
    start, end = span
    claim = step[start:end]
    about = relation == "≈" or _is_rounded(step, start, end)
    match, expected = _rule(left, relation, right, about=about)
    if match is Match.YES:
        return start, Finding(step=number, status=Status.PASS, claim=claim)
    # The text may only be quoting, supposing, asking or rejecting the claim.
    refuted = _REFUTED.search(step[max(0, start - 60) : start]) or _REFUTED.search(step[end : end + 50])
    if match is Match.UNSURE or left.unsure or right.unsure or refuted or re.match(r"[ .)*`]*\?", step[end : end + 12]):
        return None
    if _reads_otherwise(chain, index, left, right, expected):
        return None
    fix, shown, detail = None, None, "the relation does not hold"
    if expected is not None:
        fix = fix_of(step, chain, index, right, expected)
        shown = fix.text if fix else plain_text(expected)
        detail = f"the left side is {shown}"
    return start, Finding(step=number, status=Status.FAIL, claim=claim, expected=shown, detail=detail, fix=fix)


_Ruling = tuple[Match, Fraction | None]
"""How the sides stand to each other, and the exact value of the side that was not shown as a number."""


def _reads_otherwise(chain: Chain, index: int, left: Sum, right: Sum, expected: Fraction | None) -> bool:
    """Ways in which a false equality may be no claim of one."""
    first, second = chain.members[index], chain.members[index + 1]
    joined = (index > 0 and first.left is first.right) or (
        index + 1 < len(chain.relations) and second.left is second.right
    )
    if left.names and right.literal is not None and not joined:
        return True  # an equation in its own right, perhaps of another problem
    if other_units(left, right) or (left.scale > 1) is not (right.scale > 1):
        return True
    if left.literal and (left.start or right.percents):
        return True  # "Day 4 = 3 × 2": a name that ends in a number; "48 = 100% + 20%" of something
    # 5 + 3 = 8 × 2 = 16: written as one would press the keys
    begins = second.tokens[right.start].kind in {Kind.NUMBER, Kind.CURRENCY}
    return begins and right.operators > 0 and right.lead == expected


def _rule(left: Sum, relation: str, right: Sum, *, about: bool) -> _Ruling:
    """Return the ruling under the first reading that makes the relation true, else under the plain one."""
    rulings: list[_Ruling] = []
    for a, b in _readings(left, right):
        if a is None or b is None:
            return Match.UNSURE, None
        if relation in "<>≤≥≠":
            holds = {"<": a < b, ">": a > b, "≤": a <= b, "≥": a >= b, "≠": a != b}[relation]
            unsure = relation == "≠" or within_percent(a, b)  # 0.1 + 0.2 != 0.3 is true of floating point
            rulings.append((Match.YES if holds else Match.UNSURE if unsure else Match.NO, None))
        else:
            rulings.append(_equate(left, a, right, b, about=about))
        if rulings[-1][0] is Match.YES:
            return rulings[-1]
    return (Match.UNSURE, None) if any(match is Match.UNSURE for match, _ in rulings) else rulings[0]


def _readings(left: Sum, right: Sum) -> Iterator[tuple[Fraction | None, Fraction | None]]:
    """Pairs of values, the plain one first: 80% may count as 80."""
    yield left.value, right.value
    if (left.percents or right.percents) and not left.shares:
        yield from ((left.value, right.in_percent), (left.in_percent, right.value), (left.in_percent, right.in_percent))


def _equate(left: Sum, a: Fraction, right: Sum, b: Fraction, *, about: bool) -> _Ruling:
    close = within_percent(a, b)
    bare = [not side.operators or side.literal is not None for side in (left, right)]
    if right.literal and not bare[0]:
        return _shown(a, right.literal, b, about=about)
    if left.literal and not bare[1]:
        return _shown(b, left.literal, a, about=about)
    if same(a, b) or (about and close):
        return Match.YES, None
    if all(bare) or (about and within_percent(a, b, 5)):
        return Match.UNSURE, None
    return (Match.UNSURE, None) if (left.decimals or right.decimals) and close else (Match.NO, a)


def _shown(exact: Fraction, literal: Token, value: Fraction, *, about: bool) -> _Ruling:
    """Compare an exact value with a number as it is written; a percent sign adds decimals, a scale takes some."""
    decimals = literal.decimals
    if value and literal.value:
        ratio = abs(literal.value / value)
        while ratio >= 10:
            ratio, decimals = ratio / 10, decimals + 1
        while ratio < 1:
            ratio, decimals = ratio * 10, decimals - 1
    return matches(exact, value, decimals, about=about), exact
