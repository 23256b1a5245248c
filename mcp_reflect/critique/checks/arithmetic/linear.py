"""Exact quantities: a fraction plus multiples of unknowns, with bounds on size."""

from fractions import Fraction
from math import isqrt
from typing import NamedTuple

MAX_BITS = 4096
MAX_POWER = 400
MAX_FACTORIAL = 60
_ROOT_DIGITS = 10**40
_NOTHING: dict[str, Fraction] = {}


class UnknownError(Exception):
    """The value cannot be known: too large, not real, not linear, divided by zero."""


class Linear(NamedTuple):
    """`constant` + sum of `terms[name]` × name; `inexact` where a root was cut at 40 digits."""

    constant: Fraction
    terms: dict[str, Fraction] = _NOTHING
    inexact: bool = False

    @property
    def value(self) -> Fraction:
        """The number, where no unknown is left in it."""
        if self.terms:
            raise UnknownError
        return self.constant


def add(left: Linear, right: Linear) -> Linear:
    inexact = left.inexact or right.inexact
    if not left.terms and not right.terms:
        return Linear(_sum(left.constant, right.constant), _NOTHING, inexact)
    terms = dict(left.terms)
    for name, factor in right.terms.items():
        terms[name] = terms.get(name, Fraction(0)) + factor
    kept = {name: _bounded(factor) for name, factor in terms.items() if factor}
    return Linear(_bounded(left.constant + right.constant), kept, inexact)


def multiply(left: Linear, right: Linear) -> Linear:
    if left.terms and right.terms:
        raise UnknownError
    if right.terms:
        left, right = right, left
    factor, inexact = right.constant, left.inexact or right.inexact
    if not left.terms:
        return Linear(_product(left.constant, factor), _NOTHING, inexact)
    terms = {name: _bounded(of * factor) for name, of in left.terms.items() if factor}
    return Linear(_bounded(left.constant * factor), terms, inexact)


def divide(left: Linear, right: Linear) -> Linear:
    if right.terms or not right.constant:
        raise UnknownError
    return multiply(left, Linear(1 / right.constant, _NOTHING, right.inexact))


def power(base: Linear, exponent: Linear) -> Linear:
    raised = exponent.value
    if base.terms:
        if raised == 1:
            return base
        raise UnknownError
    inexact = base.inexact or exponent.inexact
    if raised.denominator != 1:
        if raised.denominator > 6:
            raise UnknownError
        base, inexact = Linear(*_root(base.constant, raised.denominator)), True
    count = raised.numerator
    size = max(base.constant.numerator.bit_length(), base.constant.denominator.bit_length())
    if abs(count) > MAX_POWER or size * abs(count) > MAX_BITS or (not base.constant and count <= 0):
        raise UnknownError
    return Linear(base.constant**count, _NOTHING, inexact)


def exclusive_or(left: Linear, right: Linear) -> Linear:
    a, b = left.value, right.value
    if a.denominator != 1 or b.denominator != 1 or a < 0 or b < 0:
        raise UnknownError
    return Linear(Fraction(int(a) ^ int(b)))


def root(of: Linear, degree: int) -> Linear:
    value, terms, inexact = _root(of.value, degree)
    return Linear(value, terms, inexact or of.inexact)


def factorial(of: Linear) -> Linear:
    value = of.value
    if value.denominator != 1 or not 0 <= value <= MAX_FACTORIAL:
        raise UnknownError
    product = 1
    for factor in range(2, int(value) + 1):
        product *= factor
    return Linear(Fraction(product))


def _root(value: Fraction, degree: int) -> tuple[Fraction, dict[str, Fraction], bool]:
    """The root, exact where it is rational, else to 40 digits."""
    if value < 0 and degree % 2 == 0:
        raise UnknownError
    sign = -1 if value < 0 else 1
    over = _whole_root(abs(value.numerator), degree)
    under = _whole_root(value.denominator, degree)
    if over**degree == abs(value.numerator) and under**degree == value.denominator:
        return sign * Fraction(over, under), _NOTHING, False
    scaled = abs(value.numerator) * _ROOT_DIGITS**degree // value.denominator
    return sign * Fraction(_whole_root(scaled, degree), _ROOT_DIGITS), _NOTHING, True


def _whole_root(value: int, degree: int) -> int:
    """The largest whole number whose power does not pass the value (Newton, bounded by its bits)."""
    if degree == 2:
        return isqrt(value)
    if value < 2:
        return value
    guess = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better


def _sum(a: Fraction, b: Fraction) -> Fraction:
    """a + b; whole numbers, which most are, without looking for common divisors."""
    if a.denominator == 1 == b.denominator:
        return _bounded(Fraction(a.numerator + b.numerator))
    return _bounded(a + b)


def _product(a: Fraction, b: Fraction) -> Fraction:
    if a.denominator == 1 == b.denominator:
        return _bounded(Fraction(a.numerator * b.numerator))
    return _bounded(a * b)


def _bounded(value: Fraction) -> Fraction:
    if value.numerator.bit_length() > MAX_BITS or value.denominator.bit_length() > MAX_BITS:
        raise UnknownError
    return value
