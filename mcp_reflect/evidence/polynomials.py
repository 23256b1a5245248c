"""Sides of an equation as polynomials of the second degree at most, in exact fractions, and their rational roots."""

from fractions import Fraction
from math import isqrt
from typing import Final

from mcp_reflect.evidence.expressions import Negative, Operation, Tree, Unknown, WrittenNumber

_MOST_BITS: Final = 256  # of a coefficient

Polynomial = tuple[Fraction, Fraction, Fraction]
"""The coefficients of 1, x and x²."""


def polynomial_of(tree: Tree) -> Polynomial | None:
    """Return the coefficients of a tree, None if it is no polynomial of the second degree or less."""
    match tree:
        case WrittenNumber():
            return (tree.value, Fraction(0), Fraction(0))
        case Unknown():
            return (Fraction(0), Fraction(1), Fraction(0))
        case Negative():
            inner = polynomial_of(tree.inner)
            if inner is None:
                return None
            return (-inner[0], -inner[1], -inner[2])
        case Operation():
            left, right = polynomial_of(tree.left), polynomial_of(tree.right)
            if left is None or right is None:
                return None
            combined = _combined(tree.operator, left, right)
            if combined is None or not _is_small(combined):
                return None
            return combined


def _is_small(polynomial: Polynomial) -> bool:
    """Return whether the coefficients need so few bits that computing with them stays quick."""
    return all(
        max(part.numerator.bit_length(), part.denominator.bit_length()) <= _MOST_BITS
        for part in polynomial
    )


def _combined(operator: str, left: Polynomial, right: Polynomial) -> Polynomial | None:
    """Return the polynomial of an operation on two; None where its degree is above two or it is none."""
    match operator:
        case "+":
            return (left[0] + right[0], left[1] + right[1], left[2] + right[2])
        case "-":
            return (left[0] - right[0], left[1] - right[1], left[2] - right[2])
        case "*":
            return _product(left, right)
        case "/":
            return _quotient(left, right)
        case _:
            return _power(left, right)


def _product(left: Polynomial, right: Polynomial) -> Polynomial | None:
    """Return a product; None where it has a third power. (a + bx)(c + dx) = ac + (ad + bc)x + bdx²"""
    if left[2] * right[2] or left[1] * right[2] or left[2] * right[1]:
        return None
    return (
        left[0] * right[0],
        left[0] * right[1] + left[1] * right[0],
        left[0] * right[2] + left[1] * right[1] + left[2] * right[0],
    )


def _quotient(left: Polynomial, right: Polynomial) -> Polynomial | None:
    """Return a quotient by a plain number; any other is no polynomial."""
    if right[1] or right[2] or not right[0]:
        return None
    return (left[0] / right[0], left[1] / right[0], left[2] / right[0])


def _power(left: Polynomial, right: Polynomial) -> Polynomial | None:
    """Return a first or second power: all others are of too high a degree."""
    if right[1] or right[2] or right[0] not in (1, 2):
        return None
    if right[0] == 1:
        return left
    return _product(left, left)


def rational_roots(zero: Polynomial) -> tuple[Fraction, ...] | None:
    """Return the rational roots; empty where they are not rational, None where there are none."""
    constant, linear, square = zero
    if not square:
        return (-constant / linear,)
    inside = linear * linear - 4 * square * constant
    if inside < 0:
        return None
    above, below = isqrt(inside.numerator), isqrt(inside.denominator)
    if above * above != inside.numerator or below * below != inside.denominator:
        return ()
    root = Fraction(above, below)
    return ((-linear + root) / (2 * square), (-linear - root) / (2 * square))


def value_at(polynomial: Polynomial, x: Fraction) -> Fraction:
    """Return the value of a polynomial for a value of the unknown."""
    return polynomial[0] + polynomial[1] * x + polynomial[2] * x * x
