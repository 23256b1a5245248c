"""Judge a relation under every reading of its sides, and linear equations in one unknown."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from mcp_reflect.checkers.arithmetic.chains import Chain, fix_of, plain_text
from mcp_reflect.checkers.arithmetic.evaluator import PLAIN, Reading, evaluate, numbers
from mcp_reflect.checkers.arithmetic.expressions import (
    Binary,
    Linear,
    Neg,
    Node,
    Num,
    Parsed,
    Percent,
    UnknownError,
    Var,
)
from mcp_reflect.checkers.arithmetic.numerals import Match, matches, same, within_percent
from mcp_reflect.checkers.arithmetic.tokens import Kind, words
from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.models.critique import Status

# Where numbers do not follow the arithmetic of the integers, or symbols are given another meaning.
_OTHER_ARITHMETIC = re.compile(
    r"\b(?:mod(?:ulo|ular)?|congruen\w*|binary|octal|hexadecimal|hex|base[- ](?:\d|two|ten|eight|sixteen|n\b|b\b)|"
    r"in base|xor|boolean|bitwise|GF|clock arithmetic|finite field|ring|cryptarithm\w*|alphametic|roman numeral\w*|"
    r"define[sd]? (?:a |an |the |as )?(?:new )?operat\w*|operation|operator|concatenat\w*|matchstick\w*|"
    r"quaternion\w*|matri(?:x|ces)|tropical|saturating|overflow\w*)\b|\\bmod|\\pmod|\\oplus|⊕|⊗|≡|\\equiv|"
    r"\\mathbb\{?[ZF]|[ℤ𝔽]|Z_\{?[\dnp]|F_\{?[\dpq]",
    re.IGNORECASE,
)
_REFUTED = re.compile(
    r"\b(?:wrong|incorrect\w*|false|untrue|not true|mistak\w+|contradict\w*|impossible|absurd|nonsense|error|"
    r"should (?:be|have)|instead of|rather than|suppose|supposing|assum\w+|claim(?:s|ed)?|pretend\w*|hypothe\w+|"
    r"does ?n[o']t|isn['’]t|not equal|trial|trying|guess\w*|joke|buggy|bug|assert\w*|mismatch\w*|typo)\b"
    r"|\b(?:if|unless|whether|try|not)\s*\W{0,3}$",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"~|\b(?:about|approx\w*|roughly|around|nearly|almost|circa|round(?:s|ed|ing)?|nearest|estimat\w+|"
    r"significant|sig(?:\.|\b)|decimal|truncat\w+|ish)\b|\.\.\.|…|\\sim|\\dots|\\ldots",
    re.IGNORECASE,
)


def other_arithmetic(work: Work) -> bool:
    """True if the task is one in which 5 + 4 = 2 may be right."""
    return _OTHER_ARITHMETIC.search(work.goal[:20_000]) is not None


def speaks_of_other_arithmetic(step: str) -> bool:
    return _OTHER_ARITHMETIC.search(step) is not None


def refuted(step: str, start: int, end: int) -> bool:
    """True if the text may only be quoting, supposing or rejecting the claim."""
    if step[end : end + 12].lstrip(" .)*`").startswith("?"):
        return True
    before, behind = step[max(0, start - 60) : start], step[end : end + 50]
    return _REFUTED.search(before) is not None or _REFUTED.search(behind) is not None


def about(step: str, start: int, end: int) -> bool:
    """True if the numbers are said to be rounded: about, ≈, rounded to."""
    return _ABOUT.search(step, max(0, start - 30), min(len(step), end + 40)) is not None


_PI_DIGITS = tuple(Fraction(text) for text in ("3.14", "3.1416", "3.14159", "3.142", "22/7", "3", "3.141593"))
_MAX_LITERALS = 12  # more measured numbers than this are not varied one by one
_MAX_READINGS = 40
_MONEY = frozenset("$€£¥₹D")


@dataclass(slots=True)
class Known:
    """What the steps so far have said: values of names, and what rounded numbers were before."""

    names: dict[str, Fraction] = field(default_factory=dict[str, Fraction])
    rounded: dict[Fraction, Fraction] = field(default_factory=dict[Fraction, Fraction])


class Ruling(NamedTuple):
    """`expected` is the exact value of the side that was not shown as a number."""

    match: Match
    expected: Fraction | None = None
    rounds: tuple[Fraction, Fraction] | None = None  # (shown, exact), where the display is rounded


UNSURE = Ruling(Match.UNSURE)


def judge(left: Parsed, relation: str, right: Parsed, known: Known, *, about: bool) -> Ruling:
    """The ruling under the first reading that makes the relation true, else under the plain one."""
    plain: Ruling | None = None
    doubtful = False
    for for_left, for_right in _readings(left, right, known):
        try:
            a, b = _value(left, for_left), _value(right, for_right)
            ruling = _rule(left, a, relation, right, b, about=about)
        except (UnknownError, ZeroDivisionError, OverflowError):
            ruling = UNSURE
        if ruling.match is Match.YES:
            return ruling
        doubtful |= ruling.match is Match.UNSURE
        plain = plain or ruling
    return UNSURE if doubtful or plain is None else plain


def _value(side: Parsed, reading: Reading) -> Linear:
    """The value; under the plain reading it is kept, since most members stand in two relations."""
    if not reading.plain:
        return evaluate(side.node, reading)
    if side.value is None:
        side.value = evaluate(side.node, reading)
    return side.value


def _rule(left: Parsed, a: Linear, relation: str, right: Parsed, b: Linear, *, about: bool) -> Ruling:
    if a.terms or b.terms:
        identity = relation in {"=", "is"} and a.terms == b.terms and a.constant == b.constant
        return Ruling(Match.YES) if identity and (left.operators or right.operators) else UNSURE
    if relation in {"<", ">", "≤", "≥", "≠"}:
        return _compare(relation, a, b)
    return _equate(left, a, right, b, about=about or relation == "≈")


def _equate(left: Parsed, a: Linear, right: Parsed, b: Linear, *, about: bool) -> Ruling:
    inexact = a.inexact or b.inexact
    if right.literal and not _bare(left):
        return _shown(left, a.constant, right, b.constant, inexact=inexact, about=about)
    if left.literal and not _bare(right):
        return _shown(right, b.constant, left, a.constant, inexact=inexact, about=about)
    if same(a.constant, b.constant, inexact=inexact):
        return Ruling(Match.YES)
    if _bare(left) and _bare(right):
        return UNSURE
    return _equate_sums(left, a, right, b, about=about)


def _equate_sums(left: Parsed, a: Linear, right: Parsed, b: Linear, *, about: bool) -> Ruling:
    """Two sums that differ: measured numbers may be rounded, roots and estimates may be meant loosely."""
    slack = _slack(left, a.constant) + _slack(right, b.constant)
    near = abs(a.constant - b.constant) <= slack and within_percent(a.constant, b.constant)
    if near or (about and within_percent(a.constant, b.constant)):
        return Ruling(Match.YES)
    if (about or a.inexact or b.inexact) and within_percent(a.constant, b.constant, 5):
        return UNSURE
    return Ruling(Match.NO, a.constant)


def _compare(relation: str, a: Linear, b: Linear) -> Ruling:
    x, y = a.constant, b.constant
    if (a.inexact or b.inexact) and within_percent(x, y):
        return UNSURE
    holds = {"<": x < y, ">": x > y, "≤": x <= y, "≥": x >= y, "≠": x != y}[relation]
    if relation == "≠" and not holds:
        return UNSURE  # 0.1 + 0.2 != 0.3 is true of floating point
    return Ruling(Match.YES if holds else Match.NO)


def _shown(summed: Parsed, exact: Fraction, shown: Parsed, value: Fraction, *, inexact: bool, about: bool) -> Ruling:
    literal = shown.literal
    if literal is None:
        return UNSURE
    decimals = literal[0].decimals + _places_moved(value, literal[0].value)
    match = matches(exact, value, decimals, inexact=inexact, about=about)
    if match is Match.YES and exact != value:
        return Ruling(match, exact, (value, exact))
    if match is Match.NO and within_percent(exact, value) and not _is_money(summed, shown):
        unit = Fraction(10) ** (_trailing_zeros(value) if decimals == 0 else -decimals)
        slack = _slack(summed, exact)
        if slack and (exact / unit).denominator != 1 and abs(exact - value) <= slack + unit:
            return UNSURE  # 0.5 × 1500 × 27.8² = 578,000: measured, and rounded on the way
    return Ruling(match, exact)


def _trailing_zeros(value: Fraction) -> int:
    digits = str(abs(value.numerator))
    return len(digits) - len(digits.rstrip("0")) if value else 0


def _places_moved(value: Fraction, written: Fraction) -> int:
    """Decimals that a percent sign adds and that a scale takes: 1.5 million has -5."""
    if not value or not written:
        return 0
    factor, places = abs(written / value), 0
    while factor >= 10:
        factor, places = factor / 10, places + 1
    while factor < 1:
        factor, places = factor * 10, places - 1
    return places


def _is_money(*sides: Parsed) -> bool:
    return any(label[-1] in _MONEY or label.lower().startswith(("dollar", "cent")) for s in sides for label in s.labels)


def _bare(side: Parsed) -> bool:
    return not side.operators or side.literal is not None


def _slack(side: Parsed, value: Fraction) -> Fraction:
    """How far the value moves when every measured number moves by half its last place."""
    literals = [number for number in numbers(side.node) if number.token.decimals > 0]
    if not literals or len(literals) > _MAX_LITERALS:
        return Fraction(0)
    total = Fraction(0)
    for number in {number.token.value: number for number in literals}.values():
        half = Fraction(10) ** -number.token.decimals / 2
        moved = replace(PLAIN, swaps={number.token.value: number.token.value + half})
        try:
            total += abs(evaluate(side.node, moved).value - value)
        except UnknownError:
            return Fraction(0)
    return min(total, abs(value) / 20)


def _readings(left: Parsed, right: Parsed, known: Known) -> Iterator[tuple[Reading, Reading]]:
    """Pairs of readings, the plain one first; the rest is made only when that has failed."""
    plain = Reading(names=known.names, plain=True)
    yield plain, plain
    plain = replace(plain, plain=False)
    doubts = left.doubts | right.doubts
    swaps = _swaps((left, right), known.rounded)
    options = [plain]
    if "pi" in doubts:
        options += [replace(plain, pi=digits) for digits in _PI_DIGITS]
    if swaps:
        options += [replace(option, swaps=swaps) for option in options]
    for doubt in ("grouping", "sign", "relative", "xor"):
        if doubt in doubts:
            options += [replace(option, **{doubt: True}) for option in options]
    if "scale" in doubts:
        bare = replace(plain, scale_is_label=True)
        yield from ((plain, bare), (bare, plain), (bare, bare))
    count = 0
    for option in options:
        for pair in _percent_pairs(left, right, option):
            yield pair
            count += 1
            if count > _MAX_READINGS:
                return


def _swaps(sides: tuple[Parsed, Parsed], rounded: Mapping[Fraction, Fraction]) -> dict[Fraction, Fraction]:
    """What the rounded numbers among the literals were before."""
    if not rounded:
        return {}
    literals = {number.token.value for side in sides for number in numbers(side.node)}
    return {value: rounded[value] for value in literals if value in rounded}


def _percent_pairs(left: Parsed, right: Parsed, option: Reading) -> Iterator[tuple[Reading, Reading]]:
    yield option, option
    if "percent" not in left.doubts | right.doubts:
        return
    unit = replace(option, percent_is_unit=True)
    if right.percent and ("percent" not in left.doubts or _has_hundred(left.node)):
        yield option, unit
    if left.percent and ("percent" not in right.doubts or _has_hundred(right.node)):
        yield unit, option
    if not _multiplies_percent(left.node):
        yield unit, unit
        if not right.percent:
            yield unit, option


def _has_hundred(node: Node) -> bool:
    return any(number.token.value == 100 for number in numbers(node))


def _multiplies_percent(node: Node) -> bool:
    """True if a percentage is a factor: 20% of 50 can only mean the value."""
    rest = [node]
    while rest:
        match rest.pop():
            case Binary(op, a, b):
                if op not in "+-/" and (isinstance(a, Percent) or isinstance(b, Percent)):
                    return True
                rest += [a, b]
            case Neg(of) | Percent(of):
                rest.append(of)
            case _:
                pass
    return False


def leading_number(side: Parsed) -> Num | None:
    """The first number of a sum, where the sum begins with one."""
    node = side.node
    while isinstance(node, Binary):
        node = node.left
    return node if isinstance(node, Num) else None


# One equation follows from the one before only where nothing but these words stands between them.
_CONNECTING = words(
    "so then therefore thus hence which gives give we get have and subtract subtracting add adding divide dividing "
    "multiply multiplying both sides side by from to the simplify simplifying simplifies simplified combine combining "
    "like terms term solve solving for it is means that this implies yields isolate isolating move moving left right "
    "equation numbers number result results obtain find finally now first next step expand expanding distribute "
    "distributing collect collecting constant constants rearrange rearranging leaves leaving becomes reduces each "
    "cancel cancelling on us in of value answer unknown variable minus plus times through out frac text quad let's "
    "rightarrow implies iff"
)
_WORDS = re.compile(r"[^\W\d_][\w'’]*")
_MAX_BETWEEN = 400  # characters
_MAX_SOLUTIONS = 6


@dataclass(slots=True)
class _Thread:
    """The equations in one unknown that follow from one another.

    The first of `solutions` is theirs; those of earlier threads come behind it, since `2x = 6 or 2x = 12,
    so x = 3` goes back to one.
    """

    solutions: list[Fraction]
    step: int
    end: int
    solved: bool  # the last was `x = number`


@dataclass(slots=True)
class Equations:
    """Follows the unknowns over the steps of a work."""

    steps: Sequence[str]
    _threads: dict[str, _Thread] = field(default_factory=dict[str, _Thread])

    def see(self, number: int, chain: Chain) -> Iterator[Finding]:
        """What is known of each equation of the chain that stands for itself."""
        for index in range(len(chain.relations)):
            finding = self._see(number, chain, index)
            if finding is not None:
                yield finding

    def _see(self, number: int, chain: Chain, index: int) -> Finding | None:
        members = chain.members[index : index + 2]
        names = {token.text for member in members for token in member.tokens if token.kind is Kind.NAME}
        if not names:
            return None
        left, right = members[0].left, members[1].right
        single = chain.relations[index] == "=" and stands_alone(chain, index)
        solved = _solve(left, right) if single and left is not None and right is not None else None
        if solved is None or left is None or right is None or left.unsure or right.unsure:
            for name in names:
                self._threads.pop(name, None)
            return None
        name, solution = solved
        found, behind = members[0].tokens, members[1].tokens
        start, end = found[left.start].start, behind[right.end - 1].end
        bare = isinstance(left.node, Var) and right.literal is not None
        thread = self._threads.get(name)
        if thread is None or (thread.solved and not bare) or not self._follows(thread, number, start):
            earlier = thread.solutions[: _MAX_SOLUTIONS - 1] if thread else []
            self._threads[name] = _Thread([solution, *earlier], number, end, bare)
            return None
        keeps = any(_same_solution(known, solution, right) for known in thread.solutions)
        finding = None
        if keeps:
            claim = self.steps[number - 1][start:end]
            finding = Finding(step=number, status=Status.PASS, claim=claim)
        elif not thread.solved:
            finding = self._failure(number, chain, index, thread, (start, end))
        if not keeps and len(thread.solutions) < _MAX_SOLUTIONS:
            thread.solutions.append(solution)  # what follows from a mistake is no second one
        thread.step, thread.end, thread.solved = number, end, bare
        return finding

    def _follows(self, thread: _Thread, number: int, start: int) -> bool:
        if number == thread.step:
            between = self.steps[number - 1][thread.end : start]
        else:
            parts = [self.steps[thread.step - 1][thread.end :], *self.steps[thread.step : number - 1]]
            between = " ".join([*parts, self.steps[number - 1][:start]])
        if len(between) > _MAX_BETWEEN or "?" in between or "±" in between:
            return False
        return all(len(word) == 1 or word.lower() in _CONNECTING for word in _WORDS.findall(between))

    def _failure(
        self, number: int, chain: Chain, index: int, thread: _Thread, place: tuple[int, int]
    ) -> Finding | None:
        step, (start, end) = self.steps[number - 1], place
        left, right = chain.members[index].left, chain.members[index + 1].right
        if left is None or right is None:
            return None
        solution, claim = thread.solutions[0], step[start:end]
        name = next(iter(evaluate(left.node, PLAIN).terms), None)
        fix = None
        if right.literal is not None and name is not None:
            try:
                wanted = evaluate(left.node, PLAIN)
                fix = fix_of(step, chain, index, right, wanted.constant + wanted.terms[name] * solution)
            except UnknownError:
                fix = None
        text = plain_text(solution)
        return Finding(
            step=number,
            status=Status.FAIL,
            claim=claim,
            expected=fix.text if fix else text,
            detail=f"{claim[:200]}: the equation before it holds for {name or 'the unknown'} = {text}",
            fix=fix,
        )


def stands_alone(chain: Chain, index: int) -> bool:
    """True if the relation is no link of a longer chain: `2x = 4, x = 2`, but not `y = 2x = 4`."""
    first, second = chain.members[index], chain.members[index + 1]
    joined_before = index > 0 and first.left is first.right
    joined_behind = index + 1 < len(chain.relations) and second.left is second.right
    return not (joined_before or joined_behind)


def _solve(left: Parsed, right: Parsed) -> tuple[str, Fraction] | None:
    """The unknown and its one value, where the two sides make a linear equation in one unknown."""
    try:
        a, b = evaluate(left.node, PLAIN), evaluate(right.node, PLAIN)
        apart = _minus(a, b)
    except (UnknownError, ZeroDivisionError):
        return None
    if len(apart.terms) != 1 or apart.inexact:
        return None
    ((name, factor),) = apart.terms.items()
    return name, -apart.constant / factor


def _minus(a: Linear, b: Linear) -> Linear:
    names = a.terms.keys() | b.terms.keys()
    terms = {name: a.terms.get(name, Fraction(0)) - b.terms.get(name, Fraction(0)) for name in names}
    kept = {name: factor for name, factor in terms.items() if factor}
    return Linear(a.constant - b.constant, kept, a.inexact or b.inexact)


def _same_solution(known: Fraction, solution: Fraction, right: Parsed) -> bool:
    if known == solution:
        return True
    literal = right.literal
    decimals = literal[0].decimals if literal else 0
    about = known.denominator != 1 or solution.denominator != 1
    return about and matches(known, solution, decimals, inexact=False, about=False) is not Match.NO
