"""The sides of an equation between plain numbers, as trees with their bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Final

from mcp_reflect.evidence.computing import Bounds, bounds_of
from mcp_reflect.evidence.equations import Equation, Side, words_for
from mcp_reflect.evidence.expressions import (
    Negative,
    Operation,
    Plain,
    Tree,
    numbers_in,
    read_expression,
)
from mcp_reflect.evidence.tokens import TokenKind
from mcp_reflect.evidence.unit_names import unit_of
from mcp_reflect.evidence.units import units_in
from mcp_reflect.evidence.written_numbers import Style

CURRENCIES: Final = frozenset("usd eur gbp chf jpy inr cad aud".split())


@dataclass(frozen=True, slots=True)
class SumSide:
    """A side that was read, with its bounds."""

    side: Side
    tree: Tree
    bounds: Bounds

    @property
    def literal(self) -> Plain | None:
        """The number that the side is, where it is a single one."""
        inner = _without_sign(self.tree)
        if not isinstance(inner, Plain):
            return None
        return inner

    @property
    def units(self) -> set[str]:
        """The units of its numbers, and what they are made of: "mile/hour", "mile" and "hour"."""
        return _units_of(self.tree)


def read_sides(
    equation: Equation,
    style: Style,
    rounded: set[Fraction] = frozenset(),  # type: ignore[assignment]
) -> list["SumSide | None"]:
    """Return the sides with their values; None for one that is not read, and for each where one is a level."""
    found: list[SumSide | None] = []
    has_blanks = any(map(_has_blank_at_a_sign, equation.sides))
    for at, side in enumerate(equation.sides):
        tree = read_expression(side.tokens, style)
        if tree is None or not _is_plain(tree) or (has_blanks and _has_range(side)):
            found.append(None)
            continue
        is_last = at == len(equation.sides) - 1
        if is_last and equation.unit_behind:
            tree = _with_unit(tree, equation.unit_behind)
        if tree is None:
            found.append(None)
            continue
        bounds = bounds_of(tree, rounded=rounded)
        found.append(SumSide(side, tree, bounds) if bounds is not None else None)
    units = set[str]().union(*(side.units for side in found if side is not None))
    if units & words_for("levels") or (units & words_for("not added") and any(map(_is_sum, found))):
        return [None] * len(found)
    return found


def _has_blank_at_a_sign(side: Side) -> bool:
    return any(
        token.kind is TokenKind.OPERATOR and token.apart and following.apart
        for token, following in pairwise(side.tokens)
    )


def _has_range(side: Side) -> bool:
    """True for the "8-10" of "3 x 8-10 = 24-30": beside signs with blanks, a hyphen without any is no minus."""
    return any(
        token.text in ("-", "–")
        and not token.apart
        and not following.apart
        and before.kind is following.kind is TokenKind.NUMBER
        for before, token, following in zip(
            side.tokens, side.tokens[1:], side.tokens[2:], strict=False
        )
    )


def _is_sum(side: SumSide | None) -> bool:
    """True where something is added: the unit of "(60 + 40) / 2 = 48 km/h" may stand at any number of an equation."""
    return side is not None and any(token.text == "+" for token in side.side.tokens)


def _without_sign(tree: Tree) -> Tree:
    if isinstance(tree, Negative):
        return tree.inner
    return tree


def _units_of(tree: Tree) -> set[str]:
    units: set[str] = set()
    for number in numbers_in(tree):
        if number.unit:
            units |= {number.unit, *units_in(number.unit)}
    return units


def _with_unit(tree: Tree, word: str) -> Tree | None:
    """Return a result with the unit behind it: "= 8" and "km" is "8 km".

    - what is no single number stays: "= 2 + 6 km"
    - "$18 every day" and "20% more" have their unit already, and stay; "$18 million" is not read: None
    """
    number = _without_sign(tree)
    if not isinstance(number, Plain):
        return tree
    if number.unit and word.lower() in words_for("scales"):
        return None
    if number.unit or number.is_percent:
        return tree
    named = replace(number, unit=unit_of(word))
    return Negative(named) if isinstance(tree, Negative) else named


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
    """Only like things are added; a thing that is counted may be named once: "90 flowers - 40 = 50 flowers"."""
    kinds = {_kind(term) for term in terms}
    units = {unit for unit, _ in kinds if unit}
    if len({is_percent for _, is_percent in kinds}) > 1 or len(units) > 1:
        return False
    is_named_once = len(kinds) > 1
    return not is_named_once or units.isdisjoint(words_for("times"))


def terms_in(tree: Tree) -> list[Tree]:
    if isinstance(tree, Operation) and tree.operator in "+-":
        return [*terms_in(tree.left), *terms_in(tree.right)]
    return [tree]


def _kind(term: Tree) -> tuple[str, bool]:
    """Return the unit of a term, and whether it is a percentage: only like things are added."""
    numbers = numbers_in(term)
    unit = next((number.unit for number in numbers if number.unit), "")
    is_percent = isinstance(term, Plain) and term.is_percent
    return unit, is_percent


@cache
def factors_by_unit() -> dict[str, tuple[Fraction, ...]]:
    """Return the factors by which the numbers before a measure may be of another scale."""
    table: dict[str, tuple[Fraction, ...]] = {}
    for line in words_for("measures"):
        unit, *factors = line.split()
        table[unit] = tuple(map(Fraction, factors))
    return table
