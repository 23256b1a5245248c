"""Linear equations in one unknown, solved step by step, and a final answer beside the computation before it."""

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from mcp_reflect.critique.arithmetic import Chain, chains
from mcp_reflect.critique.expressions import Token, parse, tokens
from mcp_reflect.critique.numbers import plain_text, read
from mcp_reflect.critique.work import Finding, Fix, Work

_MOST_STEPS: Final = 60
_MOST_TOKENS: Final = 400
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
        points = [self.off(Fraction(place)) for place in range(-1, 4)]
        known = [point for point in points if point is not None]
        slopes = {after - before for before, after in pairwise(known)}
        if len(known) < len(points) or len(slopes) != 1 or (slope := slopes.pop()) == 0:
            return None
        return -known[1] / slope


def check_equations(work: Work) -> Iterator[Finding]:
    """Contradict each equation that the root of the one to be solved does not fulfil."""
    asked = list(_equations(work.goal[:2_000]))
    steps = [(number, step, list(_equations(step))) for number, step in enumerate(work.steps[:_MOST_STEPS], start=1)]
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
            if equation is not first and off is not None:
                claim = step[equation.start : equation.end]
                if abs(off) * 100 <= abs(root):  # a root may be given rounded
                    yield Finding(step=number, wrong=False, claim=claim)
                    continue
                if not to_solve:
                    continue
                fix = _fix(equation, root)
                detail = f"{equation.name} = {plain_text(root)} solves the equation, and this does not hold for it"
                yield Finding(step=number, wrong=True, claim=claim, expected=fix and fix.text, detail=detail, fix=fix)


def _fix(equation: Equation, root: Fraction) -> Fix | None:
    """Return the right value of a side that is a mere number."""
    if any(token.kind == "name" for token in equation.right):
        return None
    left = parse(equation.left, 0, {equation.name: root})
    if left is None or left.value is None:
        return None
    return Fix(start=equation.right[0].start, end=equation.right[-1].end, text=plain_text(left.value))


def _equations(text: str) -> Iterator[Equation]:
    """Yield each equation with a name in it; with two names, it has no name of its own."""
    for chain in chains(tokens(text, _MOST_TOKENS), {}):
        if chain.relations == ["="] and (equation := _equation(chain)):
            yield equation


def _equation(chain: Chain) -> Equation | None:
    first, second = chain.members
    if first.left is None or second.right is None:
        return None
    left = first.tokens[first.left.start : first.left.end]
    right = second.tokens[second.right.start : second.right.end]
    names = {token.text for token in (*left, *right) if token.kind == "name"}
    # Of a word problem, "a = 3 apples" names something else each time.
    if not names or any(token.kind in {"word", "label", "currency"} for token in (*left, *right)):
        return None
    return Equation(left, right, "".join(sorted(names)), left[0].start, right[-1].end)


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
_ANY: Final = re.compile(rf"(?<![\w.]){_NUMBER}(?!\w)")
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
    numbers = [value for found in _ANY.finditer(" ".join(texts)) if (value := _value(found[0])) is not None]
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
