"""What is false beyond rounding in prose: equalities and conversions, linear equations, and last answers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, takewhile
from typing import Final, NamedTuple

from mcp_reflect.critique.numbers import (
    NUMBER,
    Unit,
    matches,
    plain_text,
    read,
    unit_of,
    within_percent,
    write,
)
from mcp_reflect.critique.sums import Chain, Sum, Token, chains, parse, tokens
from mcp_reflect.critique.work import Finding, Fix, Work

_MOST_STEPS: Final = 400
_MOST_TOKENS: Final = (
    2_000  # over all steps of one work, in lines that may hold a claim: about 40 ms
)
# Where numbers do not follow the arithmetic of the integers, or symbols are given another meaning.
_OTHER_ARITHMETIC: Final = re.compile(
    r"\b(?:mod(?:ulo|ular)?|congruen\w*|binary|octal|hexadecimal|hex|base[- ](?:\d|two|ten|eight|sixteen|n\b|b\b)|"
    r"in base|xor|boolean|bitwise|define[sd]? (?:a |an |the |as )?(?:new )?operat\w*|concatenat\w*|matri(?:x|ces)|"
    r"overflow\w*)\b|\\bmod|\\pmod|⊕|⊗|≡|\\equiv|\\mathbb\{?[ZF]|[ℤ𝔽]|Z_\{?[\dnp]",
    re.IGNORECASE,
)
# The text may only be quoting, supposing, asking or rejecting the claim.
_REFUTED: Final = re.compile(
    r"\b(?:wrong|incorrect\w*|false|untrue|not true|mistak\w+|contradict\w*|impossible|absurd|nonsense|error|"
    r"should (?:be|have)|instead of|rather than|suppose|supposing|assum\w+|claim(?:s|ed)?|pretend\w*|hypothe\w+|"
    r"does ?n[o']t|isn['’]t|not equal|trial|trying|guess\w*|joke|buggy|bug|assert\w*|mismatch\w*|typo)\b"
    r"|\b(?:if|unless|whether|try|not|say)\s*\W{0,3}$",
    re.IGNORECASE,
)
# "the report is about sales" rounds nothing.
_ROUNDED: Final = re.compile(
    r"\b(?:round(?:s|ed|ing)?|nearest|estimat\w+|significant|sig(?:\.|\b)|decimal|truncat\w+)\b|\.\.\.|…|\\sim|\\l?dots|"
    r"(?:~|\b(?:about|approx\w*|roughly|around|nearly|almost|circa)\b)\W{0,3}[$€£]?\d",
    re.IGNORECASE,
)
# A ratio or rate of its own, not of the units.
_SCALED: Final = re.compile(
    r"\b(?:scale[sd]?|map|model|drawing|work(?:ing|day|week)?s?|business|shift|school|per (?:day|week|person)|ratio|"
    r"exchange|worth)\b",
    re.IGNORECASE,
)


def check_arithmetic(work: Work) -> Iterable[Finding]:
    """Check every relation between sums that can be parsed; ignore the others."""
    if _OTHER_ARITHMETIC.search(work.goal[:20_000]):
        return
    left = _MOST_TOKENS
    for number, step in enumerate(work.steps[:_MOST_STEPS], 1):
        found = tokens(step, left) if left > 0 else []
        left -= len(found)
        for chain in chains(found) if not _OTHER_ARITHMETIC.search(step[:20_000]) else ():
            for index in range(len(chain.signs)):
                if finding := _judged(step, number, chain, index):
                    yield finding


def _judged(step: str, number: int, chain: Chain, index: int) -> Finding | None:
    """Return the finding on one relation."""
    left, sign, right = chain.lefts[index], chain.signs[index], chain.rights[index]
    if left is None or right is None:
        return None
    start, end = left.tokens[0].start, right.tokens[-1].end
    claim, before, behind = step[start:end], step[max(0, start - 60) : start], step[end : end + 50]
    about = sign == "≈" or bool(_ROUNDED.search(before[-30:] + claim + behind[:40]))
    if converted := _converted(left, right):
        holds, expected = (
            (None, None)
            if _SCALED.search(before + behind)
            else _as_converted(*converted, right, about)
        )
    elif (sign == "is" and (not left.operators or right.literal is None)) or _is_mixed(left, right):
        return None
    else:
        holds, expected = _rule(left, right, about=about)
        # "1/3 × 100 = 0.333 × 100 = 33.33": who wrote it went on with all the digits.
        holds = (
            any(side and _rule(side, right, about=about)[0] for side in chain.lefts[:index])
            or holds
        )
    if holds:
        return Finding(step=number, wrong=False, claim=claim)
    refuted = (
        _REFUTED.search(before) or _REFUTED.search(behind) or re.match(r"[ .)*`]*\?", behind[:12])
    )
    if holds is None or expected is None or refuted:
        return None
    if not converted and _reads_otherwise(left, right, expected):
        return None
    fix = _fix(step, chain, index, right, expected)
    shown = fix.text if fix else plain_text(expected)
    return Finding(
        step=number,
        wrong=True,
        claim=claim,
        expected=shown,
        detail=f"the left side is {shown}",
        fix=fix,
    )


_Ruling = tuple[bool | None, Fraction | None]
"""True where the sides are equal, None where nothing is certain; and the value of the side that is not a number."""


def _converted(left: Sum, right: Sum) -> tuple[Fraction, Unit, Unit] | None:
    """Return the left number with its unit and the other unit, where a quantity is given in another unit."""
    if left.literal is None or right.literal is None or left.value is None:
        return None
    one, other = unit_of(left.literal.label), unit_of(right.literal.label)
    if one is None or other is None or one.measure != other.measure or one.name == other.name:
        return None
    return left.value, one, other


def _as_converted(value: Fraction, one: Unit, other: Unit, right: Sum, about: bool) -> _Ruling:
    stated = right.literal
    if stated is None or right.value is None:
        return None, None
    shown, places = right.value, stated.decimals
    values = [value * first / second for first in one.factors for second in other.factors]
    if one.system == other.system:
        rulings = [matches(each, shown, places, about=about) for each in values]
        return (True if True in rulings else None if None in rulings else False), values[0]
    # Between systems factors are rounded: up to 1 % they agree, up to 10 % they prove nothing.
    percent = 3 if abs(values[0] - shown) <= Fraction(1, 2 * 10 ** max(places, 0)) else 1
    if within_percent(values[0], shown, percent):
        return True, values[0]
    return None if within_percent(values[0], shown, 10) else False, values[0]


def _rule(left: Sum, right: Sum, *, about: bool) -> _Ruling:
    """Return the ruling of the first interpretation under which the relation is true, else of the literal one."""
    scales = [Fraction(1)]
    if (left.percents or right.percents) and not (left.percents and "*" in left.operators):
        scales.append(Fraction(100) if right.percents else Fraction(1, 100))  # 80% may count as 80
    rulings = [
        _equate(left, left.value, right, right.value and right.value * scale, about=about)
        for scale in scales
    ]
    unsure = any(holds is None for holds, _ in rulings)
    return next((ruling for ruling in rulings if ruling[0]), (None, None) if unsure else rulings[0])


def _equate(
    left: Sum, a: Fraction | None, right: Sum, b: Fraction | None, *, about: bool
) -> _Ruling:
    if a is None or b is None:
        return None, None
    first, second = left.literal, right.literal
    if second and not first:
        return matches(_near(a, b, left), b, _decimals(second, b), about=about), a
    if first and not second:
        return matches(_near(b, a, right), a, _decimals(first, a), about=about), b
    close = within_percent(a, b)
    if abs(a - b) <= left.spread + right.spread or (about and close):
        return True, None
    decimal = any(token.decimals for side in (left, right) for token in side.tokens)
    unsure = first or (about and within_percent(a, b, 5)) or (decimal and close)
    return (None, None) if unsure else (False, a)


def _near(value: Fraction, shown: Fraction, side: Sum) -> Fraction:
    """Return the possible value of a sum that is nearest to the number shown."""
    return min(max(shown, value - side.spread), value + side.spread)


def _decimals(literal: Token, value: Fraction) -> int:
    """Return the decimals of a number as it is written; a percent sign adds two."""
    return literal.decimals + (2 if value and literal.value / value == 100 else 0)


def _is_mixed(left: Sum, right: Sum) -> bool:
    """Return whether a relation adds or equates hours and minutes, or dollars and cents."""
    added = any(operator in "+-–" for operator in left.operators)
    ours, theirs = (
        {
            unit.name
            for token in side.tokens
            for part in (token.label, *(() if added else token.label.split("/")))
            if (unit := unit_of(part))
        }
        for side in (left, right)
    )
    return (len(ours | theirs) > 1 and (added or not theirs <= ours)) or (
        added and bool(ours & {"dozen", "ft"})
    )


def _reads_otherwise(left: Sum, right: Sum, expected: Fraction) -> bool:
    """Return whether a false equality may not be meant as an equality."""
    if left.literal and (left.start or right.percents or left.literal.label):
        return True  # "Day 4 = 3 × 2": a name that ends in a number; "48 = 100% + 20%" of something
    # 5 + 3 = 8 × 2 = 16: written as one would press the keys
    begins = right.tokens[0]
    return begins.kind == "number" and bool(right.operators) and begins.value == expected


def _fix(step: str, chain: Chain, index: int, right: Sum, expected: Fraction) -> Fix | None:
    """Return the replacement for the right side of relation `index`, and for what follows from a wrong sum."""
    number = right.literal
    if number is None:
        *_, last = takewhile(bool, chain.rights[index:])
        return Fix(
            start=right.tokens[0].start,
            end=(last or right).tokens[-1].end,
            text=plain_text(expected),
        )
    if "e" in number.text.lower():
        return None
    # 0.25 before a percent sign is 25, unless the sum has seen to that itself.
    factor = Fraction(100) if right.percents else Fraction(1)
    value = min((expected * factor, expected), key=lambda value: abs(value - number.value))
    signs = [
        token.start for token in right.tokens if token.kind == "op" and token.start < number.start
    ]
    start = min([number.start, *signs])
    currency = re.search(r"[$€£¥₹]?$", step[start : number.start]) or ("",)
    text = write(abs(value), number.text, money=step[number.start - 1] in "$€£¥₹")
    return Fix(
        start=start,
        end=number.start + len(number.text),
        text=("-" if value < 0 else "") + currency[0] + text,
    )


_MOST_OF_EQUATIONS: Final = 60  # steps, of 400 tokens each
_SOLVE: Final = re.compile(
    r"\b(?:solve|solution|find|what is|determine|calculate|löse|résou\w+)\b", re.IGNORECASE
)
_OTHER: Final = re.compile(
    r"\b(?:try|test|suppose|assum\w+|if|let|wrong|not|check|instead|mod|case)\b", re.IGNORECASE
)


class Equation(NamedTuple):
    """Two sides with one unknown; `start` to `end` is where it stands in its step."""

    left: Sequence[Token]
    right: Sequence[Token]
    name: str
    start: int
    end: int

    def off(self, value: Fraction) -> Fraction | None:
        """Return by how much the left side is larger if the unknown has this value."""
        sides = [parse(side, 0, {self.name: value}) for side in (self.left, self.right)]
        left, right = (side.value if side else None for side in sides)
        return left - right if left is not None and right is not None else None

    @property
    def root(self) -> Fraction | None:
        """Return the only solution of a linear equation, None if it is not linear or has no single solution."""
        zero, one, two, three = (self.off(Fraction(place)) for place in range(4))
        if zero is None or one is None or two is None or three is None:
            return None
        slope = one - zero
        return -zero / slope if slope and two - one == slope == three - two else None


def check_equations(work: Work) -> Iterator[Finding]:
    """Yield a finding for each equation that the solution of the original equation does not satisfy."""
    asked = list(_equations(work.goal[:2_000]))
    steps = [
        (number, step, list(_equations(step)))
        for number, step in enumerate(work.steps[:_MOST_OF_EQUATIONS], start=1)
    ]
    every = [*asked, *(equation for _, _, found in steps for equation in found)]
    if len({equation.name for equation in every}) != 1:
        return
    # Unless one is to be solved, the next equation may be of another problem.
    to_solve = _SOLVE.search(work.goal[:2_000]) is not None
    first = (asked or every)[0]
    root = first.root
    if len(asked) > 1 or root is None or len(first.left) + len(first.right) <= 2:
        return
    for number, step, found in steps:
        for equation in found if not _OTHER.search(step) else ():
            off = equation.off(root)
            if equation is first or off is None:
                continue
            claim = step[equation.start : equation.end]
            if abs(off) * 100 <= abs(root):  # a root may be given rounded
                yield Finding(step=number, wrong=False, claim=claim)
            elif to_solve:
                left = parse(equation.left, 0, {equation.name: root})
                fix = None
                if (
                    left
                    and left.value is not None
                    and all(token.kind != "name" for token in equation.right)
                ):
                    text = plain_text(left.value)
                    fix = Fix(start=equation.right[0].start, end=equation.right[-1].end, text=text)
                detail = f"{equation.name} = {plain_text(root)} solves the equation, and this does not hold for it"
                yield Finding(
                    step=number,
                    wrong=True,
                    claim=claim,
                    expected=fix and fix.text,
                    detail=detail,
                    fix=fix,
                )


def _equations(text: str) -> Iterator[Equation]:
    """Yield each equation with a name in it; with two names, it has no name of its own."""
    for chain in chains(tokens(text, 400)):
        first, second = chain.lefts[0], chain.rights[0]
        if chain.signs != ["="] or first is None or second is None:
            continue
        left, right = first.tokens, second.tokens
        names = {token.text for token in (*left, *right) if token.kind == "name"}
        # Of a word problem, "a = 3 apples" names something else each time.
        if names and not any(token.label for token in (*left, *right)):
            yield Equation(left, right, "".join(sorted(names)), left[0].start, right[-1].end)


_N: Final = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_SAID: Final = re.compile(
    r"^\W*(?:so|thus|therefore|hence|finally|and)?,? ?(?:the |my |our )?"
    r"(?:final |correct )?(?P<word>answer|result|total|sum)\b(?: is|:| =|=| are| comes to| was)\s*"
    rf"[$€£]?\s?-?(?P<number>{_N})(?![\d%/:])[^\d=]{{0,30}}$",
    re.IGNORECASE,
)
_RESULT: Final = re.compile(
    rf"[-+*/×÷·−]\s*[$€£]?-?{_N}\s*[^\d=]{{0,12}}=\s*[$€£]?(?P<number>-?{_N})(?![\d%/:^])[^\d=]{{0,20}}$"
)
_MOST_NUMBERS: Final = 60


def check_conclusions(work: Work) -> Iterator[Finding]:
    """Yield a finding for "The answer is 38" after "0.15 × 240 = 36", unless other numbers of the work give 38."""
    before, last = work.steps[-2:] if len(work.steps) > 1 else ("", "")
    said, result = _SAID.match(last[:2_000].strip()), _RESULT.search(before[-2_000:].strip())
    given = read(said["number"]) if said else None
    if said is None or result is None or given is None:
        return
    if said["word"].lower() in {"total", "sum"} and not re.search(
        r"\d[^=\d]{0,9}\+", before[-2_000:]
    ):
        return  # the total of more than the step before computes
    text = " ".join((work.goal[:5_000], *(step[:2_000] for step in work.steps[:-1])))
    numbers = [parsed[0] for found in NUMBER.finditer(text) if (parsed := read(found[0]))]
    if len(numbers) > _MOST_NUMBERS or _follows(given[0], numbers, Fraction(1, 10 ** given[1])):
        return
    start, right = last.find(said["number"]), result["number"]
    fix = Fix(start=start, end=start + len(said["number"]), text=right)
    detail = f"step {len(work.steps) - 1} gives {right}"
    yield Finding(
        step=len(work.steps), wrong=True, claim=last.strip(), expected=right, detail=detail, fix=fix
    )


def _follows(given: Fraction, numbers: list[Fraction], unit: Fraction) -> bool:
    """True if a number is one of these, or made of two of them."""
    made = [*numbers, *(number * 100 for number in numbers), sum(numbers, Fraction(0))]
    for a, b in combinations(dict.fromkeys(numbers), 2):
        made += (a + b, abs(a - b), a * b, *([a / b] if b else []), *([b / a] if a else []))
    return any(abs(given - number) < unit for number in made)
