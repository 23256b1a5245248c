"""Chains of equalities in a step, the units of their sides, and the text of a correction."""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

from mcp_reflect.checkers.arithmetic.numerals import fixed, scientific, terminates, write
from mcp_reflect.checkers.arithmetic.sums import Sum, parse
from mcp_reflect.checkers.arithmetic.tokens import LEADS, STOPS, Kind, Token, words
from mcp_reflect.checkers.base import Fix
from mcp_reflect.checkers.quantities import compound

_OPERAND: Final = {Kind.NUMBER, Kind.NAME, Kind.OPEN, Kind.CURRENCY, Kind.ROOT, Kind.FRAC}
# Behind a right side these change its value: "= 7 remainder 2", "= 3 less than".
_CHANGES: Final = words("mod modulo remainder r choose squared cubed half quarter out base")


class Member(NamedTuple):
    """What stands between two relations; `left` and `right` are how it reads on either side of one."""

    tokens: list[Token]
    right: Sum | None  # read from its first token on: the right side of the relation before it
    left: Sum | None  # read up to its last token: the left side of the relation behind it


class Chain(NamedTuple):
    """Members with the relations between them; `relations[i]` stands before `members[i + 1]`."""

    members: list[Member]
    relations: list[str]


def chains(tokens: list[Token], known: Mapping[str, Fraction]) -> Iterator[Chain]:
    """The chains of one step, in the order of the text; `known` are the values of names, as they are then."""
    for segment in _segments(tokens):
        places = [i for i, token in enumerate(segment) if token.kind is Kind.REL]
        if places:
            edges = [-1, *places, len(segment)]
            members = [
                _member(segment[low + 1 : high], known, first=low < 0, last=high == len(segment))
                for low, high in pairwise(edges)
            ]
            yield Chain(members, [segment[i].text for i in places])


def _segments(tokens: list[Token]) -> Iterator[list[Token]]:
    segment: list[Token] = []
    for token in tokens:
        if token.kind is not Kind.BREAK:
            segment.append(token)
        else:
            if segment:
                yield segment
            segment = []
    if segment:
        yield segment


def _member(tokens: list[Token], known: Mapping[str, Fraction], *, first: bool, last: bool) -> Member:
    right = None if first else _read_right(tokens, known)
    if last:
        return Member(tokens, right, None)
    if right is not None and right.end == len(tokens):
        return Member(tokens, right, right)
    return Member(tokens, right, _read_left(tokens, known, right.end if right else None))


def _read_right(tokens: list[Token], known: Mapping[str, Fraction]) -> Sum | None:
    result = parse(tokens, 0, known) if tokens else None
    if result is None or result.end >= len(tokens):
        return result
    token = tokens[result.end]
    behind = tokens[result.end + 1] if result.end + 1 < len(tokens) else None
    if token.kind is Kind.OP:
        word = token.end - token.start >= len("plus")  # "= 5 times as many"
        dash = token.text in "-–" and behind is not None and behind.gap and behind.text.lower() in STOPS
        return result if word or dash else None
    if token.kind in {Kind.OPAQUE, Kind.NAME} or (token.kind is Kind.OPEN and not token.gap):
        return None
    two_numbers = token.kind is Kind.NUMBER and tokens[result.end - 1].kind is Kind.NUMBER
    result.unsure |= two_numbers or token.text.lower() in _CHANGES
    result.unsure |= token.text == "of" and (result.literal is None or result.percents)
    return result


def _read_left(tokens: list[Token], known: Mapping[str, Fraction], ended: int | None) -> Sum | None:
    """Return the sum that ends where the member ends, from as far left as it can be read.

    `ended` is where the right side of the relation before it ended: `= 7 and 5 + 5 =` begins anew at 5.
    """
    index = 0
    while index < len(tokens):
        result = parse(tokens, index, known) if _can_start(tokens, index) else None
        if result is not None and result.end == len(tokens):
            result.unsure |= index - 1 != ended and _doubtful_start(tokens, index)
            return result
        index = max(result.end if result else 0, index + 1)
    return None


def _can_start(tokens: list[Token], index: int) -> bool:
    token = tokens[index]
    before = tokens[index - 1] if index else None
    if token.kind is Kind.OP and token.text == "-":
        glued = index + 1 < len(tokens) and not tokens[index + 1].gap
        return before is None or (token.gap and glued and before.kind is Kind.WORD)
    if token.kind not in _OPERAND:
        return False
    return before is None or before.kind in {Kind.WORD, Kind.NUMBER, Kind.LABEL, Kind.CURRENCY, Kind.OPAQUE, Kind.CLOSE}


def _doubtful_start(tokens: list[Token], index: int) -> bool:
    """True if what stands before the sum may belong to it: half of, twice, floor(, difference between 9 and."""
    if not index:
        return False
    before, earlier = tokens[index - 1], tokens[index - 2] if index > 1 else None
    function = tokens[index].kind is Kind.OPEN and not tokens[index].gap
    word = before.text.lower()
    if before.kind is not Kind.WORD or function or word in LEADS:
        return True
    at = index - 1
    while at >= 0 and tokens[at].kind is Kind.WORD:
        at -= 1
    if at >= 0 and tokens[at].kind is Kind.OP and (tokens[at].text != "*" or tokens[at].end - tokens[at].start == 1):
        return True  # "+ his 1 teacher", but not "3 times because 4 + 2"
    if earlier is None or word not in {"of", "and", "the", "from", "to"}:
        return False
    return earlier.kind is not Kind.WORD or earlier.text.lower() in LEADS


def plain_text(value: Fraction) -> str:
    """Return the value in as few decimals as write it, at most six; tiny and huge ones with a power of ten."""
    if value and not Fraction(1, 10**4) <= abs(value) < 10**15:
        mantissa, _, power = write(value, "0.00e0").partition("e")
        return f"{mantissa} × 10^{power}"
    return fixed(value, next((n for n in range(7) if terminates(value, n)), 6))


def fix_of(step: str, chain: Chain, index: int, right: Sum, expected: Fraction) -> Fix | None:
    """Return the replacement for the right side of relation `index`, and for what follows from a wrong sum."""
    tokens = chain.members[index + 1].tokens
    if right.literal is not None:
        return _literal_fix(step, tokens[right.start : right.end], right.literal, right, expected)
    last_member, last = tokens, right
    for member in chain.members[index + 2 :]:
        if member.right is None:
            break
        last_member, last = member.tokens, member.right
    start, end = tokens[right.start].start, last_member[last.end - 1].end
    return Fix(start=start, end=end, text=plain_text(expected))


def _literal_fix(step: str, tokens: list[Token], number: Token, right: Sum, expected: Fraction) -> Fix | None:
    if not number.text[0].isascii():
        return None
    # 0.25 before a percent sign is 25, 5,000,000 before million is 5, unless the sum has seen to that itself.
    factor = Fraction(100) if right.percents else Fraction(1, right.scale)
    value = min((expected * factor, expected), key=lambda value: abs(value - number.value))
    signs = [token for token in tokens if token.kind is Kind.OP and token.start < number.start]
    money = any(token.kind is Kind.CURRENCY for token in tokens)
    start = signs[0].start if signs else number.start
    currency = next((t.text for t in tokens if t.kind is Kind.CURRENCY and start <= t.start < number.start), "")
    grouped = abs(value) >= 1000 and re.search(r"\d,\d{3}", step[max(0, start - 80) : start]) is not None
    text = write(abs(value), scientific(number.text), money=money, grouped=grouped).replace("e", " × 10^")
    return Fix(start=start, end=number.end, text=("-" if value < 0 else "") + currency + text)


_MONEY: Final = words("$ dollar dollars £ € cent cents ¢ pence penny pennies dime dimes nickel nickels quarters")


def several_units(side: Sum) -> bool:
    """True for a sum of metres and centimetres, dollars and cents: its numbers alone show nothing."""
    return side.adds and len(_units(side.labels)) > 1


def other_units(left: Sum, right: Sum) -> bool:
    """True if the sides may count in different units, so that a plain sum proves nothing."""
    if (left.weak and not right.labels) or (left.adds and "dozen" in left.labels):
        return True
    if left.adds and right.adds and set(left.labels) != set(right.labels):
        return True  # a chemical equation
    ours, theirs = _units(left.labels), _units(right.labels)
    # Hours and minutes, dollars and cents, kilograms and newtons are no plain sum.
    mixed = len(ours | theirs) > 1 and (left.adds or not theirs <= ours)
    return mixed or (left.literal is not None and bool(ours) and not ours & theirs)


def _units(labels: list[str]) -> set[str]:
    """Return the names of the units among the labels: money by its word, others as the table names them."""
    units = {unit.name for label in labels if (unit := compound(label)) and (label != "in" or "ft" in labels)}
    return units | {label.lower().removesuffix("s") for label in labels if label.lower() in _MONEY}
