"""Whether one relation holds, under any reading of its two sides that a person could mean."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from mcp_reflect.critique.checks.arithmetic.evaluator import PLAIN, Reading, evaluate, numbers
from mcp_reflect.critique.checks.arithmetic.linear import Linear, UnknownError
from mcp_reflect.critique.checks.arithmetic.rounding import Match, matches, same, within_percent
from mcp_reflect.critique.checks.arithmetic.syntax import Binary, Neg, Node, Num, Parsed, Percent

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
    """Whether a percentage is a factor: 20% of 50 can only mean the value."""
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
