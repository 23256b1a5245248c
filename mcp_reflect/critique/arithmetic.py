"""What is false beyond rounding in prose: equalities and chains of them, linear equations, and last answers."""

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from mcp_reflect.critique.conversions import unit_name
from mcp_reflect.critique.expressions import CONSTANTS, EXACT, STOPS, Sum, Token, parse, tokens
from mcp_reflect.critique.numbers import matches, plain_text, read, within_percent, write
from mcp_reflect.critique.work import Finding, Fix, Work

Rounded = dict[str, Fraction]
"""The exact values of numbers that earlier relations gave rounded, by how they are written."""

_LONG: Final = 4  # decimals from which a number may be a rounded one
_MOST_STEPS: Final = 400
_MOST_TOKENS: Final = 2_000  # over all steps of one work, in lines that may hold a claim: about 40 ms
_OPERAND: Final = {"number", "name", "open", "currency", "frac", "root"}
# Before a number these change its value, so that a sum that starts there is not the whole claim.
_LEADS: Final = frozenset(
    "twice double triple half minus negative log ln sin cos tan exp sqrt times over squared mod than between lim max "
    "min gcd lcm abs det floor ceil choose quarter third dozen hundred thousand million point ratio root average mean "
    "step part question problem exercise example line page pages chapter section eq equation figure table no number "
    "item round days years grades rows weeks version rule case percent square cube one-half one-third two-thirds "
    "power".split()
)
_MONEY: Final = frozenset("$ dollar £ € cent ¢ pence penny pennie dime nickel quarter".split())
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
# "the report is about sales" rounds nothing.
_ROUNDED: Final = re.compile(
    r"\b(?:round(?:s|ed|ing)?|nearest|estimat\w+|significant|sig(?:\.|\b)|decimal|truncat\w+)\b|\.\.\.|…|\\sim|\\l?dots|"
    r"(?:~|\b(?:about|approx\w*|roughly|around|nearly|almost|circa)\b)\W{0,3}[$€£]?\d",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(r"(?<!\.)[.;!?]\s|\n")


class Member(NamedTuple):
    """What stands between two relations; `left` and `right` are how it reads on either side of one."""

    tokens: list[Token]
    right: Sum | None  # read from its first token on: the right side of the relation before it
    left: Sum | None  # read up to its last token: the left side of the relation behind it


class Chain(NamedTuple):
    """Members with the relations between them; `relations[i]` stands before `members[i + 1]`."""

    members: list[Member]
    relations: list[str]


def chains(found: list[Token], known: Mapping[str, Fraction]) -> Iterator[Chain]:
    """Yield the chains of one step, in the order of the text; `known` are the values of names, as they are then."""
    ends = [-1, *(place for place, token in enumerate(found) if token.kind == "break"), len(found)]
    for start, end in pairwise(ends):
        segment = found[start + 1 : end]
        places = [place for place, token in enumerate(segment) if token.kind == "rel"]
        if places:
            members = [
                _member(segment[low + 1 : high], known, first=low < 0, last=high == len(segment))
                for low, high in pairwise([-1, *places, len(segment)])
            ]
            yield Chain(members, [segment[place].text for place in places])


def _member(found: list[Token], known: Mapping[str, Fraction], *, first: bool, last: bool) -> Member:
    right = None if first else _read_right(found, known)
    if last or (right is not None and right.end == len(found)):
        return Member(found, right, None if last else right)
    return Member(found, right, _read_left(found, known, right.end if right else None))


def _read_right(found: list[Token], known: Mapping[str, Fraction]) -> Sum | None:
    result = parse(found, 0, known) if found else None
    if result is None or result.end >= len(found):
        return result
    token = found[result.end]
    behind = found[result.end + 1] if result.end + 1 < len(found) else None
    if token.kind == "op":
        word = token.end - token.start >= len("plus")  # "= 5 times as many"
        dash = token.text in "-–" and behind is not None and behind.gap and behind.text.lower() in STOPS
        return result if word or dash else None
    if token.kind in {"opaque", "name"} or (token.kind == "open" and not token.gap):
        return None
    two_numbers = token.kind == "number" and found[result.end - 1].kind == "number"
    result.unsure |= two_numbers
    result.unsure |= token.text == "of" and (result.literal is None or result.percents)
    return result


def _read_left(found: list[Token], known: Mapping[str, Fraction], ended: int | None) -> Sum | None:
    """Return the sum that ends where the member ends, from as far left as it can be read.

    `ended` is where the right side of the relation before it ended: `= 7 and 5 + 5 =` begins anew at 5.
    """
    index = 0
    while index < len(found):
        result = parse(found, index, known) if _can_start(found, index) else None
        if result is not None and result.end == len(found):
            result.unsure |= index - 1 != ended and _doubtful_start(found, index)
            return result
        index = max(result.end if result else 0, index + 1)
    return None


def _can_start(found: list[Token], index: int) -> bool:
    token, before = found[index], found[index - 1] if index else None
    if token.kind == "op" and token.text == "-":
        glued = index + 1 < len(found) and not found[index + 1].gap
        return before is None or (token.gap and glued and before.kind == "word")
    after_other = before is None or before.kind in {"word", "number", "label", "currency", "opaque", "close"}
    return token.kind in _OPERAND and after_other


def _doubtful_start(found: list[Token], index: int) -> bool:
    """True if what stands before the sum may belong to it: half of, twice, floor(, difference between 9 and."""
    if not index:
        return False
    before, earlier = found[index - 1], found[index - 2] if index > 1 else None
    function = found[index].kind == "open" and not found[index].gap
    word = before.text.lower()
    if before.kind != "word" or function or word in _LEADS:
        return True
    operator = next((token for token in reversed(found[:index]) if token.kind != "word"), None)
    if operator and operator.kind == "op" and (operator.text != "*" or operator.end - operator.start == 1):
        return True  # "+ his 1 teacher", but not "3 times because 4 + 2"
    if earlier is None or word not in {"of", "and", "the", "from", "to"}:
        return False
    return earlier.kind != "word" or earlier.text.lower() in _LEADS


def check_arithmetic(work: Work) -> Iterable[Finding]:
    """Check every relation between sums that can be read; the others say nothing."""
    if _OTHER_ARITHMETIC.search(work.goal[:20_000]):
        return
    known, rounded, left = dict(CONSTANTS), Rounded(), _MOST_TOKENS
    for number, step in enumerate(work.steps[:_MOST_STEPS], 1):
        found = tokens(step, left) if left > 0 else []
        left -= len(found)
        for chain in chains(found, known) if not _OTHER_ARITHMETIC.search(step) else ():
            for index in range(len(chain.relations)):
                if finding := _judged(step, number, chain, index, rounded):
                    yield finding
            _bind(chain, known)


def _bind(chain: Chain, known: dict[str, Fraction]) -> None:
    """`A = (3 - 5) = -2` gives A the value stated last that can be read."""
    for index, relation in enumerate(chain.relations):
        named = chain.members[index].left
        if named is not None and named.name is not None and relation != "is":
            known.pop(named.name, None)
            for member in chain.members[index + 1 :]:
                if member.right is not None and member.right.value is not None:
                    known[named.name] = member.right.value


def _judged(step: str, number: int, chain: Chain, index: int, rounded: Rounded) -> Finding | None:
    """Return the finding on one relation."""
    left, relation, right = chain.members[index].left, chain.relations[index], chain.members[index + 1].right
    if left is None or right is None or left.name is not None or (left.adds and len(_units(left.labels)) > 1):
        return None  # of metres and centimetres, the numbers alone show nothing
    if relation == "is" and (not left.operators or right.literal is None):
        return None
    behind = chain.members[index + 1].tokens[right.start : right.end]
    start = chain.members[index].tokens[left.start].start
    end = next((token.end for token in reversed(behind) if token.kind != "word"), behind[-1].end)
    claim = step[start:end]
    about = relation == "≈" or _is_rounded(step, start, end)
    holds, expected = _rule(left, right, about=about)
    if holds or (holds is False and _is_carried(chain, index, rounded, about=about)):
        if right.literal and expected is not None and expected != right.value:
            rounded[right.literal.text] = expected
        return Finding(step=number, wrong=False, claim=claim)
    # The text may only be quoting, supposing, asking or rejecting the claim.
    refuted = _REFUTED.search(step[max(0, start - 60) : start]) or _REFUTED.search(step[end : end + 50])
    if holds is None or left.unsure or right.unsure or refuted or re.match(r"[ .)*`]*\?", step[end : end + 12]):
        return None
    if expected is None or _reads_otherwise(chain, index, left, right, expected):
        return None
    fix = _fix(step, chain, index, right, expected)
    shown = fix.text if fix else plain_text(expected)
    detail = f"the left side is {shown}"
    return Finding(step=number, wrong=True, claim=claim, expected=shown, detail=detail, fix=fix)


def _is_rounded(step: str, start: int, end: int) -> bool:
    """True if the sentence says near the claim that it is rounded."""
    before = _SENTENCE_END.split(step[max(0, start - 30) : start])[-1]
    behind = _SENTENCE_END.split(step[end : end + 40])[0]
    return bool(_ROUNDED.search(f"{before}{step[start:end]}{behind}"))


_Ruling = tuple[bool | None, Fraction | None]
"""True where the sides are equal, None where nothing is certain; and the value of the side that is not a number."""


def _rule(left: Sum, right: Sum, *, about: bool) -> _Ruling:
    """Return the ruling under the first reading that makes the relation true, else under the plain one."""
    readings = [(left.value, right.value)]
    if (left.percents or right.percents) and not left.shares:  # 80% may count as 80
        pairs = (left.value, right.in_percent), (left.in_percent, right.value), (left.in_percent, right.in_percent)
        readings += pairs
    rulings = [_equate(left, a, right, b, about=about) for a, b in readings]
    unsure = any(holds is None for holds, _ in rulings)
    return next((ruling for ruling in rulings if ruling[0]), (None, None) if unsure else rulings[0])


def _equate(left: Sum, a: Fraction | None, right: Sum, b: Fraction | None, *, about: bool) -> _Ruling:
    if a is None or b is None:
        return None, None
    close = within_percent(a, b)
    bare = [not side.operators or side.literal is not None for side in (left, right)]
    if right.literal and not bare[0]:
        return matches(a, b, _decimals(right.literal, b), about=about), a
    if left.literal and not bare[1]:
        return matches(b, a, _decimals(left.literal, a), about=about), b
    if a == b or (about and close):
        return True, None
    unsure = all(bare) or (about and within_percent(a, b, 5)) or ((left.decimals or right.decimals) and close)
    return (None, None) if unsure else (False, a)


def _decimals(literal: Token, value: Fraction) -> int:
    """Return the decimals of a number as it is written; a percent sign adds two."""
    return literal.decimals + (2 if value and literal.value / value == 100 else 0)


def _is_carried(chain: Chain, index: int, rounded: Rounded, *, about: bool) -> bool:
    """True if the right side follows from the exact value of a number that stands rounded in the left one.

    "1.03^4 = 1.1255", "5000 × 1.1255 = 5627.54": who wrote it went on with all the digits.
    """
    member, right = chain.members[index], chain.members[index + 1].right
    left = member.left
    if left is None or right is None or left.value is None or right.value is None:
        return False
    for before in chain.members[:index]:
        side = before.left or before.right
        near = side is not None and side.value is not None and within_percent(side.value, left.value)
        if side and near and _rule(side, right, about=about)[0]:
            return True
    exact = [t._replace(value=rounded[t.text]) if t.text in rounded else t for t in member.tokens]
    again = parse(exact, left.start, {}) if exact != member.tokens else None
    if again is not None and _rule(again, right, about=about)[0]:
        return True
    spread = Fraction(0)  # how far the result may be off if each long decimal was rounded
    for place in range(left.start, left.end):
        token = member.tokens[place]
        if token.kind == "number" and _LONG <= token.decimals < EXACT:
            half = Fraction(1, 2 * 10**token.decimals)
            moved = [*member.tokens[:place], token._replace(value=token.value + half), *member.tokens[place + 1 :]]
            again = parse(moved, left.start, {})
            spread += abs(again.value - left.value) if again and again.value is not None else 0
    if not spread or right.literal is None:
        return False
    return abs(right.value - left.value) <= spread + Fraction(1, 2 * 10 ** max(right.literal.decimals, 0))


def _reads_otherwise(chain: Chain, index: int, left: Sum, right: Sum, expected: Fraction) -> bool:
    """True if a false equality may not be a claim of one."""
    first, second = chain.members[index], chain.members[index + 1]
    joined = (index > 0 and first.left is first.right) or (
        index + 1 < len(chain.relations) and second.left is second.right
    )
    if left.names and right.literal is not None and not joined:
        return True  # an equation in its own right, perhaps of another problem
    if _other_units(left, right) or (left.literal and (left.start or right.percents)):
        return True  # "Day 4 = 3 × 2": a name that ends in a number; "48 = 100% + 20%" of something
    # 5 + 3 = 8 × 2 = 16: written as one would press the keys
    begins = second.tokens[right.start].kind in {"number", "currency"}
    return begins and right.operators > 0 and right.lead == expected


def _other_units(left: Sum, right: Sum) -> bool:
    """True if the sides may count in different units, so that a plain sum proves nothing."""
    if left.adds and ("dozen" in left.labels or (right.adds and set(left.labels) != set(right.labels))):
        return True  # eggs and dozens, a chemical equation
    ours, theirs = _units(left.labels), _units(right.labels)
    # Hours and minutes, dollars and cents, kilograms and newtons are not a plain sum.
    mixed = len(ours | theirs) > 1 and (left.adds or not theirs <= ours)
    degrees = any(label[0] == "°" for label in left.labels)  # 45° = π/4
    return mixed or degrees or (left.literal is not None and bool(ours) and not ours & theirs)


def _units(labels: list[str]) -> set[str]:
    """Return the names of the units among the labels: money by its word, others as the table names them."""
    units = {name for label in labels if (name := unit_name(label)) and (label != "in" or "ft" in labels)}
    return units | {label.lower().removesuffix("s") for label in labels if label.lower().removesuffix("s") in _MONEY}


def _fix(step: str, chain: Chain, index: int, right: Sum, expected: Fraction) -> Fix | None:
    """Return the replacement for the right side of relation `index`, and for what follows from a wrong sum."""
    found = chain.members[index + 1].tokens[right.start : right.end]
    if right.literal is not None:
        return _literal_fix(step, found, right.literal, right, expected)
    end = found[-1].end
    for member in chain.members[index + 2 :]:
        if member.right is None:
            break
        end = member.tokens[member.right.end - 1].end
    return Fix(start=found[0].start, end=end, text=plain_text(expected))


def _literal_fix(step: str, found: list[Token], number: Token, right: Sum, expected: Fraction) -> Fix | None:
    if not number.text[0].isascii():
        return None
    # 0.25 before a percent sign is 25, unless the sum has seen to that itself.
    factor = Fraction(100) if right.percents else Fraction(1)
    value = min((expected * factor, expected), key=lambda value: abs(value - number.value))
    signs = [token for token in found if token.kind == "op" and token.start < number.start]
    money = any(token.kind == "currency" for token in found)
    start = signs[0].start if signs else number.start
    currency = next((t.text for t in found if t.kind == "currency" and start <= t.start < number.start), "")
    grouped = abs(value) >= 1000 and re.search(r"\d,\d{3}", step[max(0, start - 80) : start]) is not None
    text = write(abs(value), number.text, money=money, grouped=grouped)
    return Fix(start=start, end=number.end, text=("-" if value < 0 else "") + currency + text)


_MOST_OF_EQUATIONS: Final = 60  # steps, of 400 tokens each
_SOLVE: Final = re.compile(r"\b(?:solve|solution|find|what is|determine|calculate|löse|résou\w+)\b", re.IGNORECASE)
_OTHER: Final = re.compile(r"\b(?:try|test|suppose|assum\w+|if|let|wrong|not|check|instead|mod|case)\b", re.IGNORECASE)


class Equation(NamedTuple):
    """Two sides with one unknown; `start` to `end` is where it stands in its step."""

    left: list[Token]
    right: list[Token]
    name: str
    start: int
    end: int

    def off(self, value: Fraction) -> Fraction | None:
        """Return by how much the left side is larger if the unknown has this value."""
        known = {self.name: value}
        sides = [parse(side, 0, known) for side in (self.left, self.right)]
        values = [side.value for side in sides if side is not None]
        return values[0] - values[1] if len(values) == 2 and values[0] is not None and values[1] is not None else None

    @property
    def root(self) -> Fraction | None:
        """Return the only solution of a linear equation, None where it is not one."""
        zero, one, two, three = (self.off(Fraction(place)) for place in range(4))
        if zero is None or one is None or two is None or three is None:
            return None
        slope = one - zero
        return -zero / slope if slope and two - one == slope == three - two else None


def check_equations(work: Work) -> Iterator[Finding]:
    """Contradict each equation that the root of the one to be solved does not fulfil."""
    asked = list(_equations(work.goal[:2_000]))
    steps = [
        (number, step, list(_equations(step))) for number, step in enumerate(work.steps[:_MOST_OF_EQUATIONS], start=1)
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
                if left and left.value is not None and all(token.kind != "name" for token in equation.right):
                    text = plain_text(left.value)
                    fix = Fix(start=equation.right[0].start, end=equation.right[-1].end, text=text)
                detail = f"{equation.name} = {plain_text(root)} solves the equation, and this does not hold for it"
                yield Finding(step=number, wrong=True, claim=claim, expected=fix and fix.text, detail=detail, fix=fix)


def _equations(text: str) -> Iterator[Equation]:
    """Yield each equation with a name in it; with two names, it has no name of its own."""
    for chain in chains(tokens(text, 400), {}):
        first, second = chain.members[0], chain.members[1]
        if chain.relations != ["="] or first.left is None or second.right is None:
            continue
        left = first.tokens[first.left.start : first.left.end]
        right = second.tokens[second.right.start : second.right.end]
        names = {token.text for token in (*left, *right) if token.kind == "name"}
        # Of a word problem, "a = 3 apples" names something else each time.
        if names and all(token.kind not in {"word", "label", "currency"} for token in (*left, *right)):
            yield Equation(left, right, "".join(sorted(names)), left[0].start, right[-1].end)


_NUMBER: Final = r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_SAID: Final = re.compile(
    r"^\W*(?:so|thus|therefore|hence|finally|and)?,? ?(?:the |my |our )?"
    r"(?:final |correct )?(?P<word>answer|result|total|sum)\b(?: is|:| =|=| are| comes to| was)\s*"
    rf"[$€£]?\s?(?P<number>{_NUMBER})(?![\d%/:])[^\d=]{{0,30}}$",
    re.IGNORECASE,
)
_RESULT: Final = re.compile(
    rf"[-+*/×÷·−]\s*[$€£]?{_NUMBER}\s*[^\d=]{{0,12}}=\s*[$€£]?(?P<number>{_NUMBER})(?![\d%/:^])[^\d=]{{0,20}}$"
)
_MOST_NUMBERS: Final = 60


def check_conclusions(work: Work) -> Iterator[Finding]:
    """Contradict "The answer is 38" behind "0.15 × 240 = 36", unless it follows from other numbers of the work."""
    if len(work.steps) < 2:
        return
    before, last = work.steps[-2][-2_000:], work.steps[-1][:2_000]
    said, result = _SAID.match(last.strip()), _RESULT.search(before.strip())
    if said is None or result is None:
        return
    if said["word"].lower() in {"total", "sum"} and not re.search(r"\d[^=\d]{0,9}\+", before):
        return  # the total of more than the step before computes
    given, computed = _value(said["number"]), _value(result["number"])
    places = len(said["number"].partition(".")[2])
    if given is None or computed is None or abs(given - computed) * 10**places < 1 or -given == computed:
        return
    texts = (work.goal[:5_000], *(step[:2_000] for step in work.steps[:-1]))
    every = re.finditer(rf"(?<![\w.]){_NUMBER}(?!\w)", " ".join(texts))
    numbers = [value for found in every if (value := _value(found[0])) is not None]
    if len(numbers) > _MOST_NUMBERS or _follows(given, numbers, Fraction(1, 10**places)):
        return
    start = work.steps[-1].find(said["number"])
    fix = Fix(start=start, end=start + len(said["number"]), text=result["number"]) if start >= 0 else None
    detail = f"step {len(work.steps) - 1} gives {result['number']}"
    yield Finding(
        step=len(work.steps),
        wrong=True,
        claim=work.steps[-1].strip(),
        expected=result["number"],
        detail=detail,
        fix=fix,
    )


def _value(text: str) -> Fraction | None:
    parsed = read(text.removeprefix("-"))
    return None if parsed is None else -parsed[0] if text[0] == "-" else parsed[0]


def _follows(given: Fraction, numbers: list[Fraction], unit: Fraction) -> bool:
    """True if a number is one of these, or made of two of them."""
    made = [*numbers, *(number * 100 for number in numbers), sum(numbers, Fraction(0))]
    for a, b in combinations(dict.fromkeys(numbers), 2):
        made += (a + b, a - b, b - a, a * b, *([a / b] if b else []), *([b / a] if a else []))
    return any(abs(given - number) < unit for number in made)
