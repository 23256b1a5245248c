"""The value of a tree, in fractions: exact, or between two bounds where a number may have been rounded.

Nothing grows without a bound: exponents are small whole numbers, and a value that needs too many bits has none.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from mcp_reflect.evidence.expressions import Negative, Operation, Tree, Unknown, WrittenNumber
from mcp_reflect.evidence.sum_words import words_for

_MOST_EXPONENT: Final = 64
_MOST_BITS: Final = 512


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the largest value that something may have; they are the same where it is exact."""

    low: Fraction
    high: Fraction

    @property
    def exact(self) -> Fraction | None:
        """The value, if there is only one."""
        if self.low != self.high:
            return None
        return self.low

    def meet(self, other: "Bounds") -> bool:
        """True if both may have the same value."""
        return self.low <= other.high and other.low <= self.high


def bounds_of(
    tree: Tree, *, rounded: Collection[Fraction] = (), round_all: bool = False
) -> Bounds | None:
    """Return the bounds of a tree; None if it has no value or one that is too large.

    `rounded` are values that were rounded earlier in the work. With `round_all`, every number with decimals may be.
    """
    match tree:
        case WrittenNumber():
            return _of_number(tree, may_be_rounded=_may_be_rounded(tree, rounded, round_all))
        case Unknown():
            return None
        case Negative():
            inner = bounds_of(tree.inner, rounded=rounded, round_all=round_all)
            if inner is None:
                return None
            return Bounds(-inner.high, -inner.low)
        case Operation():
            left = bounds_of(tree.left, rounded=rounded, round_all=round_all)
            right = bounds_of(tree.right, rounded=rounded, round_all=round_all)
            if left is None or right is None:
                return None
            result = _OPERATIONS[tree.operator](left, right)
            if result is None or not _is_small(result):
                return None
            return result


def value_of(tree: Tree) -> Fraction | None:
    """Return the value of a tree by the digits that it shows; None if it has none."""
    match tree:
        case WrittenNumber():
            if tree.is_percent:
                return tree.value / 100
            return tree.value
        case Unknown():
            return None
        case Negative():
            inner = value_of(tree.inner)
            if inner is None:
                return None
            return -inner
        case Operation():
            left, right = value_of(tree.left), value_of(tree.right)
            if left is None or right is None:
                return None
            result = _OPERATIONS[tree.operator](Bounds(left, left), Bounds(right, right))
            if result is None or not _is_small(result):
                return None
            return result.exact


def _may_be_rounded(number: WrittenNumber, rounded: Collection[Fraction], round_all: bool) -> bool:
    """True if a number may stand for one with more digits, since what is computed from it then differs a little.

    The first row that fits decides.

    | the number                              | may be rounded             | since                                      |
    |-----------------------------------------|----------------------------|--------------------------------------------|
    | "33%", "66.67%"                         | yes                        | thirds are written so                      |
    | any other without decimals: "33", "50%" | no                         | it counts something, or is exact           |
    | "3.14"                                  | yes                        | a constant has more digits                 |
    | "0.67", "1.333"                         | yes                        | thirds are written so                      |
    | any other: "0.5"                        | if it is one of `rounded`, | an earlier result may have been rounded to |
    |                                         | or with `round_all`        | it                                         |
    """
    ends_like_thirds = number.text.endswith(("33", "67", "66"))
    if number.is_percent and ends_like_thirds:
        return True
    if number.decimals == 0:
        return False
    if number.text in words_for("constants"):
        return True
    if ends_like_thirds and number.decimals > 1:
        return True
    return round_all or number.value in rounded


def _of_number(number: WrittenNumber, *, may_be_rounded: bool) -> Bounds:
    """Return what a number may stand for: itself, or one less to one more in its last digit if it was rounded."""
    width = Fraction(0)
    if may_be_rounded:
        width = Fraction(1, 10**number.decimals)
    low = number.value - width
    high = number.value + width
    if number.is_percent:
        return Bounds(low / 100, high / 100)
    return Bounds(low, high)


def _is_small(bounds: Bounds) -> bool:
    """Return whether values need so few bits that computing with them stays quick."""
    low, high = bounds.low, bounds.high
    numbers = (low.numerator, low.denominator, high.numerator, high.denominator)
    return all(number.bit_length() <= _MOST_BITS for number in numbers)


def _add(left: Bounds, right: Bounds) -> Bounds:
    """Return the bounds of a sum."""
    return Bounds(left.low + right.low, left.high + right.high)


def _subtract(left: Bounds, right: Bounds) -> Bounds:
    """Return the bounds of a difference, which is least where the most is taken from the least."""
    return Bounds(left.low - right.high, left.high - right.low)


def _multiply(left: Bounds, right: Bounds) -> Bounds:
    """Return the bounds of a product: with negative factors each pair of ends may be the lowest or the highest."""
    corners = (
        left.low * right.low,
        left.low * right.high,
        left.high * right.low,
        left.high * right.high,
    )
    return Bounds(min(corners), max(corners))


def _divide(left: Bounds, right: Bounds) -> Bounds | None:
    """Return the bounds of a quotient; None where the divisor may be zero."""
    if right.low <= 0 <= right.high:
        return None
    return _multiply(left, Bounds(1 / right.high, 1 / right.low))


def _raise(left: Bounds, right: Bounds) -> Bounds | None:
    """Return the bounds of a power; None where it is not computed.

    Only small whole exponents are, since the digits of a power grow with them. An even power of what may be zero is least
    there and not at an end: (-2..3)² is 0..9.
    """
    exponent = right.exact
    if exponent is None or exponent.denominator != 1 or abs(exponent) > _MOST_EXPONENT:
        return None
    power = int(exponent)
    if power <= 0 and left.low <= 0 <= left.high:
        return None
    bits_of_power = max(_bits(left.low), _bits(left.high)) * max(abs(power), 1)
    if bits_of_power > _MOST_BITS:
        return None
    corners = [left.low**power, left.high**power]
    if left.low < 0 < left.high and power > 0 and power % 2 == 0:
        corners.append(Fraction(0))
    return Bounds(min(corners), max(corners))


def _bits(value: Fraction) -> int:
    """Return the bits of the longer part of a fraction."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())


_OPERATIONS: Final[dict[str, Callable[[Bounds, Bounds], Bounds | None]]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "^": _raise,
}
