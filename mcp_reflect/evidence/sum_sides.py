"""The sides of an equation between plain numbers, as trees with their bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
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
    unit_of,
)
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
        return _units_of(self.tree)


def read_sides(
    equation: Equation,
    style: Style,
    rounded: set[Fraction] = frozenset(),  # type: ignore[assignment]
) -> list["SumSide | None"]:
    """Return the sides with their values; None for one that is not read, and for each where one is a level."""
    found: list[SumSide | None] = []
    for at, side in enumerate(equation.sides):
        tree = read_expression(side.tokens, style)
        if tree is None or not _is_plain(tree):
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
    if _counts_levels(found):
        return [None] * len(found)
    return found


def _counts_levels(sides: Sequence[SumSide | None]) -> bool:
    """True for "20 + 20 = 23 dB": the unit of a level may stand at any number of an equation."""
    return any(side is not None and side.units & words_for("levels") for side in sides)


def _without_sign(tree: Tree) -> Tree:
    if isinstance(tree, Negative):
        return tree.inner
    return tree


def _units_of(tree: Tree) -> set[str]:
    units: set[str] = set()
    for number in numbers_in(tree):
        units.update(units_in(number.unit))
    return units


def _with_unit(tree: Tree, word: str) -> Tree | None:
    """Return a result with the word behind it as its unit; None if it has one already and this is another."""
    number = _without_sign(tree)
    if not isinstance(number, Plain):
        return tree
    if number.unit:  # "$18 every day"
        if word.lower() in words_for("scales"):
            return None
        return tree
    if number.is_percent:
        return tree
    named = replace(number, unit=unit_of(word), text=number.text)
    if isinstance(tree, Negative):
        return Negative(named)
    return named


def _is_plain(tree: Tree) -> bool:
    """False for sums whose meaning needs more than their signs: a percentage added to an amount, units that differ."""
    units = _units_of(tree)
    if units & words_for("scales") or any(map(_is_a_letter, units)):
        return False
    return _terms_are_alike(tree) and not _adds_what_is_not_added(tree)


def _adds_what_is_not_added(tree: Tree) -> bool:
    """True for a sum of levels, frequencies or degrees, such as "10 dB + 10 dB"."""
    match tree:
        case Negative():
            return _adds_what_is_not_added(tree.inner)
        case Operation(operator="+"):
            units = {number.unit for number in numbers_in(tree)}
            return not units.isdisjoint(words_for("not added"))
        case Operation():
            return _adds_what_is_not_added(tree.left) or _adds_what_is_not_added(tree.right)
        case _:
            return False


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
