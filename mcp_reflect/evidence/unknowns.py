"""Equations with one unknown: whether each step of a solution keeps the roots of the first equation.

Only linear and quadratic equations in one letter are read. Where a work has several letters, cases, suppositions, or
goes on to another problem after a solution, nothing is said.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Final

from mcp_reflect.evidence.equations import Equation, equations_in
from mcp_reflect.evidence.exact import CheckedEquation, Fix
from mcp_reflect.evidence.expressions import (
    Negative,
    Operation,
    Tree,
    Unknown,
    WrittenNumber,
    numbers_in,
    read_expression,
)
from mcp_reflect.evidence.polynomials import Polynomial, polynomial_of, rational_roots, value_at
from mcp_reflect.evidence.sum_words import is_another_arithmetic, words_for, words_of_a_work
from mcp_reflect.evidence.written_numbers import Style, write_number

_MOST_READ: Final = 20_000  # characters of a work
_MOST_EQUATIONS: Final = 60
_LETTER: Final = re.compile(r"(?<![^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹])([a-z])(?![^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹])")
_TIMES: Final = re.compile(r"(?<=[\d)])\s*x\s*(?=[\d($€£])")
_NEAR_EQUALS: Final = re.compile(r"[^\n;,=]{0,60}=[^\n;,=]{0,60}")

_DOUBTFUL: Final = re.compile(
    r"\b(?:cases?|suppose|assume|second|third|another|other|next (?:problem|equation)|problem \d|first|or let)\b"
    r"|\b[a-z]\(-?\w{1,9}\) ?="  # f(4) = 16 is the value of a function
    r"|\blet [a-z] ?=|\bif [a-z] ?=|[a-z] ?(?:\+|-|\*)?= ?[a-z] ?[-+] ?\d|==|\bint\b|\bdef\b",
    re.IGNORECASE,
)
"""What says that a work has cases, several problems, or assignments of a program."""

_NEAR_SHARE: Final = Fraction(1, 50)  # of a root, by which a rounded one may differ
_NEAR_LEAST: Final = Fraction(1, 100)  # by which any rounded root may differ
_IRRATIONAL_SHARE: Final = Fraction(1, 20)
"""The part of a claimed solution within which an irrational root may lie."""
_IRRATIONAL_LEAST: Final = Fraction(1, 10)


@dataclass(frozen=True, slots=True)
class _Relation:
    """An equation in the unknown: its two sides, and the polynomial that is zero where it holds."""

    step: int
    equation: Equation
    left: Tree
    right: Tree
    zero: Polynomial

    @property
    def solution(self) -> WrittenNumber | Negative | Operation | None:
        """What the unknown is said to be, where it stands alone on the left."""
        if not isinstance(self.left, Unknown) or isinstance(self.right, Unknown):
            return None
        if not self.has_known_result:
            return None
        return self.right

    @property
    def has_known_result(self) -> bool:
        """Whether the unknown stands on the left side alone."""
        return not _has_unknown(self.right)

    @property
    def may_be_rounded(self) -> bool:
        """Whether a number with decimals stands in it, which may be a rounded one."""
        numbers = (*numbers_in(self.left), *numbers_in(self.right))
        return any(number.decimals for number in numbers)


def check_unknowns(steps: Sequence[str], goal: str = "") -> Iterator[CheckedEquation]:
    """Yield the equations that do not follow from the first one, and those that do.

    Nothing is said of a work that has several letters, cases, several problems in its goal, or another arithmetic, nor of
    one whose first equation has no rational root. Behind the step with the solution another problem may begin, so that
    nothing is said of later steps.
    """
    texts = (goal, *steps)
    letter = _only_letter(texts)
    if letter is None or _is_doubtful(texts):
        return
    if is_another_arithmetic(words_of_a_work(steps, goal)):
        return
    relations = list(_relations(texts, letter))
    if not relations or sum(relation.step == 0 for relation in relations) > 1:
        return
    first = relations[0]
    if first.solution is not None:
        return
    roots = rational_roots(first.zero)
    if roots is None:
        return
    solving_step: int | None = None
    for relation in relations[1:]:
        if solving_step is not None and relation.step > solving_step:
            return
        holds = _holds_for_a_root(relation, roots, first.zero)
        if holds is None:
            continue
        if holds and relation.solution is not None:
            solving_step = relation.step
        yield _checked(relation, texts[relation.step], roots, holds=holds)


def _only_letter(texts: Sequence[str]) -> str | None:
    """Return the one letter that stands in the equations of a work; None if there is none, or more than one."""
    letters: set[str] = set()
    for line in _lines_with_equals(texts):
        for part in _NEAR_EQUALS.finditer(line):
            letters |= _letters_in(part[0])
            if len(letters) > 1:
                return None
    return next(iter(letters), None)


def _letters_in(text: str) -> set[str]:
    """Return the letters that stand alone in a text: not an `x` between numbers, which multiplies, nor the word "a"."""
    without_times = _TIMES.sub("*", text)
    letters = set(_LETTER.findall(without_times))
    if " a " in without_times:
        letters.discard("a")
    return letters


def _lines_with_equals(texts: Sequence[str]) -> Iterator[str]:
    """Yield the lines that may hold an equation: looking for its sides in all others takes long, and finds none."""
    for text in texts:
        for line in text[:_MOST_READ].split("\n"):
            if "=" in line:
                yield line


def _is_doubtful(texts: Sequence[str]) -> bool:
    """True where a work has cases, several problems, or assignments of a program."""
    return any(_DOUBTFUL.search(text[:_MOST_READ]) for text in texts)


def _relations(texts: Sequence[str], letter: str) -> Iterator[_Relation]:
    """Yield the equations with the unknown in them, up to a bound, since each is compared with the ones before it."""
    count = 0
    for step, text in enumerate(texts):
        for equation in equations_in(text, letter):
            count += 1
            if count > _MOST_EQUATIONS:
                return
            relation = _relation(step, equation, letter)
            if relation is not None:
                yield relation


def _relation(step: int, equation: Equation, letter: str) -> _Relation | None:
    """Return the equation of two sides with the unknown in it; of a chain, its first and its last side."""
    sides = [read_expression(side.tokens, Style.POINT, letter) for side in equation.sides]
    left, right = sides[0], sides[-1]
    if left is None or right is None or not (_has_unknown(left) or _has_unknown(right)):
        return None
    numbers = (*numbers_in(left), *numbers_in(right))
    has_units = any(number.unit or number.is_percent for number in numbers)
    if has_units or equation.unit_behind.lower() in words_for("scales"):
        return None
    zero = polynomial_of(Operation("-", left, right))
    if zero is None or not (zero[1] or zero[2]):
        return None
    return _Relation(step, equation, left, right, zero)


def _has_unknown(tree: Tree) -> bool:
    """True if the letter of the unknown stands anywhere in a tree."""
    match tree:
        case Unknown():
            return True
        case Negative():
            return _has_unknown(tree.inner)
        case Operation():
            return _has_unknown(tree.left) or _has_unknown(tree.right)
        case _:
            return False


def _holds_for_a_root(
    relation: _Relation, roots: Sequence[Fraction], first: Polynomial
) -> bool | None:
    """Return whether an equation holds for a root of the `first` one; None where that is not certain.

    | the first equation           | the equation                                    | holds                          |
    |------------------------------|-------------------------------------------------|--------------------------------|
    | x² = 2, with irrational roots | x = 5, far from each root                      | no                             |
    | x² = 2                       | any other                                       | None                           |
    | x² = 4, with 2 and -2        | 2x = 4, for one of them: a solution may go on with one case | yes                |
    | x² = 4                       | 1.99x = 4: a number with decimals may be rounded, and its root is near 2 | None  |
    | x² = 4                       | x = 3                                           | no                             |
    """
    if not roots:
        return _holds_for_irrational_root(relation, first)
    if any(value_at(relation.zero, root) == 0 for root in roots):
        return True
    if relation.may_be_rounded and _may_have_a_root_near(relation, roots):
        return None
    return False


def _may_have_a_root_near(relation: _Relation, roots: Sequence[Fraction]) -> bool:
    """True if a root of an equation is near one of the given roots, or if its own roots cannot be told."""
    own_roots = rational_roots(relation.zero)
    if not own_roots:
        return True
    return any(_is_near(its_root, root) for its_root, root in product(own_roots, roots))


def _is_near(rounded: Fraction, root: Fraction) -> bool:
    """True where a number may be a root that was rounded on the way: within a fiftieth and a hundredth of it."""
    return abs(rounded - root) <= abs(root) * _NEAR_SHARE + _NEAR_LEAST


def _holds_for_irrational_root(relation: _Relation, first: Polynomial) -> bool | None:
    """Return False for a claimed solution that is far from each root of the first equation, else None.

    A root lies near it where the polynomial changes its sign around it.
    """
    claimed_roots = rational_roots(relation.zero)
    if relation.solution is None or not claimed_roots:
        return None
    claimed = claimed_roots[0]
    width = max(abs(claimed) * _IRRATIONAL_SHARE, _IRRATIONAL_LEAST)
    has_root_near = value_at(first, claimed - width) * value_at(first, claimed + width) <= 0
    return None if has_root_near else False


def _checked(
    relation: _Relation, text: str, roots: Sequence[Fraction], *, holds: bool
) -> CheckedEquation:
    """Return what was found of an equation; a correction only for a single root, since of two either may be meant."""
    sides = relation.equation.sides
    start, end = sides[0].start, sides[-1].end
    expected: str | None = None
    fix: Fix | None = None
    if not holds and len(roots) == 1:
        expected = _expected_result(relation, roots[0])
    if expected is not None and len(sides) == 2:
        fix = Fix(start=sides[1].start, end=sides[1].end, text=expected)
    return CheckedEquation(
        step=relation.step or 1,
        start=start,
        end=end,
        quote=text[start:end],
        holds=holds,
        expected=expected,
        fix=fix,
    )


def _expected_result(relation: _Relation, root: Fraction) -> str | None:
    """Return what the right side has to be for the root; None where it is no known number, and for the goal itself."""
    left = polynomial_of(relation.left)
    if left is None or not relation.has_known_result or relation.step == 0:
        return None
    value = value_at(left, root)
    shown = numbers_in(relation.right)
    has_decimals = any(number.decimals for number in shown)
    if value.denominator != 1 and not has_decimals:
        return f"{value.numerator}/{value.denominator}"
    written_like = next((number.text for number in shown), "")
    return write_number(value, written_like, Style.POINT, money=False)
