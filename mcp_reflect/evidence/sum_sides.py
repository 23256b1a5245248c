"""The sides of an equation between plain numbers, as trees with their bounds."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from mcp_reflect.evidence.computing import Bounds, bounds_of
from mcp_reflect.evidence.equations import Equation, Side
from mcp_reflect.evidence.expressions import (
    Negative,
    Operation,
    Tree,
    WrittenNumber,
    numbers_in,
    read_expression,
)
from mcp_reflect.evidence.sum_words import words_for
from mcp_reflect.evidence.tokens import TokenKind
from mcp_reflect.evidence.unit_names import unit_of
from mcp_reflect.evidence.units import units_in
from mcp_reflect.evidence.written_numbers import Style

CURRENCIES: Final = frozenset("usd eur gbp chf jpy inr cad aud".split())


@dataclass(frozen=True, slots=True)
class SumSide:
    """A side as it is written, as it was read, and with its bounds."""

    written: Side
    tree: Tree
    bounds: Bounds

    @property
    def literal(self) -> WrittenNumber | None:
        """The number that the side is, where it is a single one."""
        inner = _without_sign(self.tree)
        if not isinstance(inner, WrittenNumber):
            return None
        return inner

    @property
    def units(self) -> set[str]:
        """The units of its numbers, and what they are made of: "mile/hour", "mile" and "hour"."""
        return _units_of(self.tree)


def read_sides(
    equation: Equation, style: Style, rounded: Collection[Fraction] = ()
) -> list[SumSide | None]:
    """Return the sides of an equation with their values, None for one that is not read.

    None is read where the units say that nothing is computed plainly: where one is a level ("60 dB + 60 dB"), or where
    something is added that does not add up ("40 km/h + 60 km/h"). `rounded` are values that were rounded earlier in the work.
    """
    has_blanks = any(map(_has_operator_with_blanks, equation.sides))
    sides: list[SumSide | None] = []
    for index, side in enumerate(equation.sides):
        is_last = index == len(equation.sides) - 1
        unit_behind = equation.unit_behind if is_last else ""
        if has_blanks and _has_range(side):
            sides.append(None)
        else:
            sides.append(_read_side(side, style, unit_behind, rounded))
    read = [side for side in sides if side is not None]
    units = set[str]().union(*(side.units for side in read))
    has_level = bool(units & words_for("levels"))
    adds_what_does_not_add_up = bool(units & words_for("not added")) and any(map(_is_sum, read))
    if has_level or adds_what_does_not_add_up:
        return [None] * len(sides)
    return sides


def _read_side(
    side: Side, style: Style, unit_behind: str, rounded: Collection[Fraction]
) -> SumSide | None:
    """Return a side with its bounds; None where it is no plain sum, or has no value."""
    tree: Tree | None = read_expression(side.tokens, style)
    if tree is None or not _is_plain(tree):
        return None
    if unit_behind:
        tree = _with_unit(tree, unit_behind)
        if tree is None:
            return None
    bounds = bounds_of(tree, rounded=rounded)
    if bounds is None:
        return None
    return SumSide(side, tree, bounds)


def _has_operator_with_blanks(side: Side) -> bool:
    """Return whether an operator has a blank on either side: "3 - 2", not "3-2"."""
    return any(
        token.kind is TokenKind.OPERATOR and token.has_blank_before and following.has_blank_before
        for token, following in pairwise(side.tokens)
    )


def _has_range(side: Side) -> bool:
    """True for the "8-10" of "3 x 8-10 = 24-30": beside signs with blanks, a hyphen without any is no minus."""
    for before, hyphen, after in zip(side.tokens, side.tokens[1:], side.tokens[2:], strict=False):
        is_between_numbers = before.kind is after.kind is TokenKind.NUMBER
        has_blanks = hyphen.has_blank_before or after.has_blank_before
        if hyphen.text in ("-", "–") and is_between_numbers and not has_blanks:
            return True
    return False


def _is_sum(side: SumSide) -> bool:
    """Return whether something is added: the unit of "(60 + 40) / 2 = 48 km/h" may stand at any number of an equation."""
    return any(token.text == "+" for token in side.written.tokens)


def _without_sign(tree: Tree) -> Tree:
    """Return what a minus stands before, and any other tree as it is."""
    if isinstance(tree, Negative):
        return tree.inner
    return tree


def _units_of(tree: Tree) -> set[str]:
    """Return the units of the numbers of a tree, and what they are made of: "mile/hour", "mile" and "hour"."""
    units: set[str] = set()
    for number in numbers_in(tree):
        if number.unit:
            units |= {number.unit, *units_in(number.unit)}
    return units


def _with_unit(tree: Tree, word: str) -> Tree | None:
    """Return a result with the unit that stands behind it; the first row that fits decides.

    | the result, and the word behind it  | becomes                                                |
    |-------------------------------------|--------------------------------------------------------|
    | "2 + 6" km: is no single number     | itself                                                 |
    | "$18" million                       | None: it is not read, since the number is a larger one |
    | "$18" every, "20%" more             | itself: it has its unit already                        |
    | "8" km                              | "8 km"                                                 |
    """
    number = _without_sign(tree)
    if not isinstance(number, WrittenNumber):
        return tree
    if number.unit and word.lower() in words_for("scales"):
        return None
    if number.unit or number.is_percent:
        return tree
    named = replace(number, unit=unit_of(word))
    if isinstance(tree, Negative):
        return Negative(named)
    return named


def _is_plain(tree: Tree) -> bool:
    """False for sums whose meaning needs more than their signs: a percentage added to an amount, units that differ."""
    units = _units_of(tree)
    if units & words_for("scales") or any(map(_is_a_letter, units)):
        return False
    return _terms_are_alike(tree)


def _is_a_letter(unit: str) -> bool:
    """True for the x of "2x + 6", which is no unit."""
    return len(unit) == 1 and unit.isalpha() and unit not in factors_by_unit()


def _terms_are_alike(tree: Tree) -> bool:
    """True if in every sum of a tree like things are added: "3 km + 2 km", not "3 km + 2 h"."""
    match tree:
        case Negative():
            return _terms_are_alike(tree.inner)
        case Operation(operator="+" | "-"):
            terms = terms_in(tree)
            return _are_alike(terms) and all(map(_terms_are_alike, terms))
        case Operation():
            return _terms_are_alike(tree.left) and _terms_are_alike(tree.right)
        case _:
            return True


def _are_alike(terms: Sequence[Tree]) -> bool:
    """Return whether terms may be added: they have one unit, and all or none are percentages.

    A thing that is counted may be named once, "90 flowers - 40", but no time: "3 hours + 40" may be minutes.
    """
    kinds = {_kind_of_term(term) for term in terms}
    units = {kind.unit for kind in kinds if kind.unit}
    mixes_percentages = len({kind.is_percent for kind in kinds}) > 1
    if mixes_percentages or len(units) > 1:
        return False
    is_named_once = len(kinds) > 1
    return not is_named_once or units.isdisjoint(words_for("times"))


def terms_in(tree: Tree) -> list[Tree]:
    """Return the terms of a sum or difference: 3, 4 and 5 × 6 of "3 + 4 - 5 × 6"; any other tree is its only term."""
    if isinstance(tree, Operation) and tree.operator in "+-":
        return [*terms_in(tree.left), *terms_in(tree.right)]
    return [tree]


class _TermKind(NamedTuple):
    """The unit of a term, and whether it is a percentage."""

    unit: str
    is_percent: bool


def _kind_of_term(term: Tree) -> _TermKind:
    """Return the kind of a term, whose unit is that of its first number that has one."""
    numbers = numbers_in(term)
    unit = next((number.unit for number in numbers if number.unit), "")
    return _TermKind(unit, isinstance(term, WrittenNumber) and term.is_percent)


@cache
def factors_by_unit() -> dict[str, tuple[Fraction, ...]]:
    """Return the factors by which the numbers before a measure may be of another scale."""
    table: dict[str, tuple[Fraction, ...]] = {}
    for line in words_for("measures"):
        unit, *factors = line.split()
        table[unit] = tuple(map(Fraction, factors))
    return table
