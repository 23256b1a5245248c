"""Finding the chains of equalities in a step: `the area is 3 × 4 = 12` is [area] is [3 × 4] = [12]."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from mcp_reflect.critique.checks.arithmetic.parser import parse
from mcp_reflect.critique.checks.arithmetic.syntax import Parsed
from mcp_reflect.critique.checks.arithmetic.tokens import FRACTION_WORDS, LEADS, STOPS, Kind, Token, words

_OPERAND = {Kind.NUMBER, Kind.NAME, Kind.OPEN, Kind.CURRENCY, Kind.ROOT, Kind.PI, Kind.FRAC}
_NEWLINES = {"\n", "\r", "\\\\"}
# Behind a right side these change its value: "= 7 remainder 2", "= 3 less than".
_CHANGES = words("mod modulo remainder r choose squared cubed half quarter out base")


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
    parsed.unsure |= _two_numbers(found, parsed) or _changed(found[parsed.end : parsed.end + 4])
    parsed.unsure |= token.text == "of" and (parsed.literal is None or parsed.percent)
    return parsed


def _two_numbers(found: list[Token], parsed: Parsed) -> bool:
    return found[parsed.end].kind is Kind.NUMBER and found[parsed.end - 1].kind is Kind.NUMBER


def _changed(behind: list[Token]) -> bool:
    words = [token.text.lower() for token in behind]
    if words[0] in {"more", "less", "fewer", "greater"}:
        return "than" in words and behind[-1].kind in _OPERAND
    return words[0] in _CHANGES or (words[0] == "and" and bool({"half", "quarter", "third"} & set(words)))


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
    """Whether what stands before the sum may belong to it: half of, twice, floor(, difference between 9 and."""
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
    """Whether the words before the sum stand behind an operator: `+ his 1 teacher`."""
    at = index - 1
    while at >= 0 and found[at].kind is Kind.WORD:
        at -= 1
    if at < 0 or found[at].kind is not Kind.OP:
        return False
    return found[at].text != "*" or found[at].end - found[at].start == 1  # not "3 times because 4 + 2"
