"""Chains of equalities in a step, the units of their sides, and the text of a correction."""

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import log10
from typing import NamedTuple

from mcp_reflect.checkers.arithmetic.expressions import Binary, Node, Parsed, Scaled
from mcp_reflect.checkers.arithmetic.numerals import fixed, read, terminates, write
from mcp_reflect.checkers.arithmetic.parser import parse
from mcp_reflect.checkers.arithmetic.tokens import FRACTION_WORDS, LEADS, STOPS, Kind, Token, words
from mcp_reflect.checkers.base import Fix
from mcp_reflect.checkers.quantities import UNITS, Unit, compound

_OPERAND = {Kind.NUMBER, Kind.NAME, Kind.OPEN, Kind.CURRENCY, Kind.ROOT, Kind.PI, Kind.FRAC}
_NEWLINES = {"\n", "\r", "\\\\"}
# Behind a right side these change its value: "= 7 remainder 2", "= 3 less than".
_CHANGES_CHAINS = words("mod modulo remainder r choose squared cubed half quarter out base")


class Member(NamedTuple):
    """What stands between two relations; `left` and `right` are how it reads on either side of one."""

    tokens: list[Token]
    right: Parsed | None  # read from its first token on: the right side of the relation before it
    left: Parsed | None  # read up to its last token: the left side of the relation behind it


class Chain(NamedTuple):
    """Members with the relations between them; `relations[i]` stands before `members[i + 1]`."""

    members: list[Member]
    relations: list[str]


def chains(found: list[Token]) -> Iterator[Chain]:
    """The chains of one step, in the order of the text."""
    for segment in _segments(_settle_brackets(found)):
        places = [i for i, token in enumerate(segment) if token.kind is Kind.REL]
        if not places:
            continue
        edges = [-1, *places, len(segment)]
        members = [
            _member(segment[low + 1 : high], first=low < 0, last=high == len(segment)) for low, high in pairwise(edges)
        ]
        yield Chain(members, [segment[i].text for i in places])


def _segments(found: list[Token]) -> Iterator[list[Token]]:
    segment: list[Token] = []
    for index, token in enumerate(found):
        if token.kind is not Kind.BREAK:
            segment.append(token)
            continue
        if token.text in _NEWLINES and _next_is_relation(found, index):
            continue  # a chain goes on in the next line
        if segment:
            yield segment
        segment = []
    if segment:
        yield segment


def _next_is_relation(found: list[Token], index: int) -> bool:
    for token in found[index : index + 4]:
        if token.kind is Kind.BREAK and token.text in _NEWLINES:
            continue
        return token.kind is Kind.REL and token.text != "is"
    return False


def _settle_brackets(found: list[Token]) -> list[Token]:
    """Brackets that hold a claim end a clause; those that hold a list, or never close, are opaque."""
    settled = list(found)
    opened: list[tuple[int, bool, bool]] = []  # index, holds a relation, holds a comma
    for index, token in enumerate(found):
        if token.kind is Kind.OPEN:
            opened.append((index, False, False))
        elif token.kind is Kind.CLOSE:
            if not opened:
                settled[index] = token._replace(kind=Kind.BREAK)
                continue
            start, relation, comma = opened.pop()
            if relation or comma:
                kind = Kind.BREAK if relation else Kind.OPAQUE
                settled[start] = found[start]._replace(kind=kind)
                settled[index] = token._replace(kind=kind)
        elif token.kind is Kind.REL and opened:
            opened = [(start, True, comma) for start, _, comma in opened[-30:]]
        elif token.kind is Kind.BREAK and opened:
            if token.text in {",", ";", "|", ":"}:
                opened[-1] = (opened[-1][0], opened[-1][1], True)
            else:
                _unclosed(found, settled, opened)
                opened = []
    _unclosed(found, settled, opened)
    return settled


def _unclosed(found: list[Token], settled: list[Token], opened: list[tuple[int, bool, bool]]) -> None:
    for start, _, _ in opened:
        behind_operator = start > 0 and found[start - 1].kind is Kind.OP
        settled[start] = found[start]._replace(kind=Kind.OPAQUE if behind_operator else Kind.BREAK)


def _member(found: list[Token], *, first: bool, last: bool) -> Member:
    right = None if first else _read_right(found)
    if last:
        return Member(found, right, None)
    if right is not None and right.end == len(found):
        return Member(found, right, right)
    return Member(found, right, _read_left(found, right.end if right else None))


def _read_right(found: list[Token]) -> Parsed | None:
    parsed = parse(found, 0) if found else None
    if parsed is None or parsed.end >= len(found):
        return parsed
    token = found[parsed.end]
    behind = found[parsed.end + 1] if parsed.end + 1 < len(found) else None
    if token.kind is Kind.OP and token.end - token.start >= len("plus"):
        return parsed  # "= 5 times as many"
    if token.kind is Kind.OP:
        dash = token.text in "-–" and token.gap and behind is not None and behind.gap and behind.kind is Kind.WORD
        return parsed if dash and behind is not None and behind.text.lower() in STOPS else None
    if token.kind in {Kind.OPAQUE, Kind.NAME, Kind.FACTORIAL}:
        return None
    if token.kind is Kind.OPEN and not token.gap:
        return None
    parsed.unsure |= _two_numbers(found, parsed) or _changed_chains(found[parsed.end : parsed.end + 4])
    parsed.unsure |= token.text == "of" and (parsed.literal is None or parsed.percent)
    return parsed


def _two_numbers(found: list[Token], parsed: Parsed) -> bool:
    return found[parsed.end].kind is Kind.NUMBER and found[parsed.end - 1].kind is Kind.NUMBER


def _changed_chains(behind: list[Token]) -> bool:
    words = [token.text.lower() for token in behind]
    if words[0] in {"more", "less", "fewer", "greater"}:
        return "than" in words and behind[-1].kind in _OPERAND
    return words[0] in _CHANGES_CHAINS or (words[0] == "and" and bool({"half", "quarter", "third"} & set(words)))


def _read_left(found: list[Token], ended: int | None = None) -> Parsed | None:
    """The sum that ends where the member ends, from as far left as it can be read.

    `ended` is where the right side of the relation before it ended: `= 7 and 5 + 5 =` begins anew at 5.
    """
    index = 0
    while index < len(found):
        if not _can_start(found, index):
            index += 1
            continue
        parsed = parse(found, index)
        if parsed is None:
            index += 1
        elif parsed.end == len(found):
            parsed.unsure |= index - 1 != ended and _doubtful_start(found, index)
            return parsed
        else:
            index = max(parsed.end, index + 1)
    return None


def _can_start(found: list[Token], index: int) -> bool:
    token = found[index]
    before = found[index - 1] if index else None
    if token.kind is Kind.OP and token.text == "-":
        behind = found[index + 1] if index + 1 < len(found) else None
        glued = behind is not None and not behind.gap
        return before is None or (token.gap and glued and before.kind is Kind.WORD)
    if token.kind not in _OPERAND:
        return False
    return before is None or before.kind in {Kind.WORD, Kind.NUMBER, Kind.LABEL, Kind.CURRENCY, Kind.OPAQUE, Kind.CLOSE}


def _doubtful_start(found: list[Token], index: int) -> bool:
    """True if what stands before the sum may belong to it: half of, twice, floor(, difference between 9 and."""
    if not index:
        return False
    before, earlier = found[index - 1], found[index - 2] if index > 1 else None
    function = found[index].kind is Kind.OPEN and not found[index].gap
    word = before.text.lower()
    if before.kind is not Kind.WORD or function or word in LEADS or _word_after_operator(found, index):
        return True
    if earlier is None or word not in {"of", "and", "the", "from", "to"}:
        return False
    suspects = FRACTION_WORDS if word == "of" else FRACTION_WORDS | LEADS
    return earlier.kind is not Kind.WORD or earlier.text.lower() in suspects


def _word_after_operator(found: list[Token], index: int) -> bool:
    """True if the words before the sum stand behind an operator: `+ his 1 teacher`."""
    at = index - 1
    while at >= 0 and found[at].kind is Kind.WORD:
        at -= 1
    if at < 0 or found[at].kind is not Kind.OP:
        return False
    return found[at].text != "*" or found[at].end - found[at].start == 1  # not "3 times because 4 + 2"


_TINY, _HUGE = Fraction(1, 10**4), Fraction(10**15)


def plain_text(value: Fraction) -> str:
    """The value in as few decimals as write it exactly, at most six; tiny and huge ones with a power of ten."""
    if value and not _TINY <= abs(value) < _HUGE:
        mantissa, _, power = write(value, "0.00e0").partition("e")
        return f"{mantissa} × 10^{power}"
    places = next((n for n in range(7) if terminates(value, n)), 6)
    return fixed(value, places)


def fix_of(step: str, chain: Chain, index: int, right: Parsed, expected: Fraction) -> Fix | None:
    """The replacement for the right side of relation `index`, and for what follows from a wrong sum."""
    found = chain.members[index + 1].tokens
    literal = right.literal
    if literal is not None:
        return _literal_fix(step, found[right.start : right.end], literal[0], right, expected)
    last_member, last = found, right
    for member in chain.members[index + 2 :]:
        if member.right is None:
            break
        last_member, last = member.tokens, member.right
    start, end = found[right.start].start, last_member[last.end - 1].end
    return Fix(start=start, end=end, text=plain_text(expected))


def _literal_fix(step: str, found: list[Token], number: Token, right: Parsed, expected: Fraction) -> Fix | None:
    if number.text == "mixed" or not number.text[0].isascii():
        return None
    value = _nearest(expected, 100, number.value) if right.percent else expected
    if isinstance(right.node, Scaled):
        value = _nearest(expected, Fraction(1, right.node.scale), number.value)
    written, tail, end = read(number.text), "", number.end
    if written and written[0] and written[0] != number.value:  # 3.98 × 10^-19: only the 3.98 is written anew
        value = value * written[0] / number.value
        if not 1 <= abs(value) < 10:
            return None
        end = max(token.end for token in found if token.kind in {Kind.NUMBER, Kind.CLOSE})
        tail = step[number.end : end]
    signs = [token for token in found if token.kind is Kind.OP and token.start < number.start]
    money = any(token.kind is Kind.CURRENCY for token in found)
    start = signs[0].start if signs else number.start
    currency = next((t.text for t in found if t.kind is Kind.CURRENCY and start <= t.start < number.start), "")
    wide = "," in step[max(0, start - 80) : start] and abs(value) >= 1000
    grouped = wide and _grouped_before(step, start)
    text = write(abs(value), number.text, money=money, grouped=grouped)
    return Fix(start=start, end=end, text=("-" if value < 0 else "") + currency + text + tail)


def _grouped_before(step: str, start: int) -> bool:
    text = step[max(0, start - 80) : start]
    return any(
        text[i] == "," and text[i - 1 : i].isdigit() and text[i + 1 : i + 4].isdigit() for i in range(1, len(text) - 3)
    )


def _nearest(expected: Fraction, factor: Fraction | int, shown: Fraction) -> Fraction:
    """0.25 before a percent sign is 25, 60 before dozen is 5, unless the sum has seen to that itself."""
    return min((expected * factor, expected), key=lambda value: abs(value - shown))


_SYMBOL = 4  # letters of the longest unit symbols
_CURRENCIES = {"$", "€", "£", "¥", "₹"}
_FORMULA = re.compile(r"(?:[A-Z][a-z]?\d*){2,}")
_MONEY = (0,) * 8
_COINS = {
    "$": 100,
    "dollar": 100,
    "dollars": 100,
    "£": 100,
    "€": 100,
    "cent": 1,
    "cents": 1,
    "¢": 1,
    "pence": 1,
    "penny": 1,
    "pennies": 1,
    "dime": 10,
    "dimes": 10,
    "nickel": 5,
    "nickels": 5,
    "quarters": 25,
}
# What a result may be multiplied by when its unit was changed on the way: time, circle, calorie, eV, atm.
_CHANGES_LABELS = (1.0, 60, 3600, 24, 86_400, 7, 12, 3.6, 4.184, 4.186, 1.602e-19, 760, 57.2958, 8.314, 0.0821)
# Steps between prefixes, and between cm, cm² and m.
_POWERS = frozenset(range(-30, 31, 3)) | {-4, -2, 2, 4}


def other_units(left: Parsed, right: Parsed, expected: Fraction | None) -> bool:
    """True if the sides may count in different units, so that a plain sum proves nothing."""
    if left.weak and not right.labels:
        return True
    labels = left.labels + right.labels
    if "pi" in left.doubts | right.doubts and any(label[0] == "°" for label in labels):
        return True  # degrees and radians
    if _adds(left.node) and _adds(right.node) and any(map(_FORMULA.fullmatch, labels)):
        return True  # a chemical equation
    return _mixes(left, right) or (expected is not None and _prefixed(left, right, expected))


def _mixes(left: Parsed, right: Parsed) -> bool:
    """Hours and minutes on the two sides, or in one sum; 5 kg = 5 × 9.8 N."""
    ours, theirs = _known(left.labels), _known(right.labels)
    every = ours | theirs
    mixed = any(a.dimension == b.dimension and a.factor != b.factor for a in every for b in every)
    if mixed and (_adds(left.node) or not theirs <= ours):
        return True
    return left.literal is not None and bool(ours) and not ours & theirs


def _prefixed(left: Parsed, right: Parsed, expected: Fraction) -> bool:
    """True if the result has a unit that the sum has not, and is off by what that unit may explain."""
    literal = right.literal
    symbols = {label for label in right.labels if len(label) <= _SYMBOL or "/" in label} - _CURRENCIES
    named = any(compound(symbol) or any(c in symbol for c in "JNWVAΩTPHe°") for symbol in symbols)
    if not named or symbols & set(left.labels) or literal is None or not expected:
        return False
    return _changed_labels(expected, literal[0].value)


def _adds(node: Node) -> bool:
    return isinstance(node, Binary) and (node.op in "+-" or _adds(node.left) or _adds(node.right))


def _known(labels: list[str]) -> set[Unit]:
    found = {unit for label in labels if label != "in" and (unit := compound(label))}
    if "in" in labels and any(unit.family == "foot" for unit in found):
        found.add(UNITS["in"])
    return found | {
        Unit("coin", _MONEY, (Fraction(_COINS[label.lower()]),), "") for label in labels if label.lower() in _COINS
    }


def _changed_labels(expected: Fraction, shown: Fraction) -> bool:
    """True if the two differ by a step of prefixes or by a usual factor, within 1 %."""
    if not shown or expected * shown < 0:
        return False
    if not abs(expected) < 10**100 * abs(shown) < 10**200 * abs(expected):
        return True
    ratio = float(expected / shown)
    for change in _CHANGES_LABELS:
        for logarithm in (log10(ratio * change), log10(ratio / change)):
            if abs(logarithm - round(logarithm)) < 0.0043 and round(logarithm) in _POWERS:
                return change != 1.0 or round(logarithm) != 0
    return False
