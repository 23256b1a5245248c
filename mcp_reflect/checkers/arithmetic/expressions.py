"""Expressions as a tree, and exact quantities: a fraction plus multiples of unknowns."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import NamedTuple, TypeAlias

from mcp_reflect.checkers.arithmetic.numerals import MAX_EXPONENT
from mcp_reflect.checkers.arithmetic.tokens import Token

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


TEN = Fraction(10)


class Num(NamedTuple):
    token: Token


class Var(NamedTuple):
    name: str


class Scaled(NamedTuple):
    """A number before dozen or million; the word may also be a mere label."""

    of: Num
    scale: int


class Pi(NamedTuple):
    pass


class Neg(NamedTuple):
    of: "Node"


class Percent(NamedTuple):
    of: "Node"


class Factorial(NamedTuple):
    of: "Node"


class Root(NamedTuple):
    of: "Node"
    degree: int


class Binary(NamedTuple):
    """`op` is one of + - * / ^, `off` (20% off 50) or `more` (20% more than 50)."""

    op: str
    left: "Node"
    right: "Node"


Node: TypeAlias = Num | Scaled | Var | Pi | Neg | Percent | Factorial | Root | Binary


@dataclass(slots=True)
class Parsed:
    """One sum: tokens `start` to `end` of its list.

    `doubts` are the ways it can be read otherwise; `unsure` means a mismatch proves nothing. `weak`
    labels are single letters that could be variables.
    """

    node: Node
    start: int
    end: int
    labels: list[str] = field(default_factory=list[str])
    doubts: set[str] = field(default_factory=set[str])
    unsure: bool = False
    weak: bool = False
    operators: int = 0
    value: Linear | None = None  # under the plain reading, once it was asked for

    @property
    def literal(self) -> tuple[Token, bool] | None:
        """The number token and a flag for its sign, where the sum is nothing but a number.

        3.98 × 10^-19 is one number: its token has that value, the decimals of the whole (21), and the
        place of 3.98.
        """
        node, negative = self.node, False
        while isinstance(node, Neg | Percent | Scaled):
            negative ^= isinstance(node, Neg)
            node = node.of
        if isinstance(node, Binary):
            token = _scientific(node)
            return (token, negative) if token else None
        return (node.token, negative) if isinstance(node, Num) else None

    @property
    def percent(self) -> bool:
        node = self.node
        while isinstance(node, Neg):
            node = node.of
        return isinstance(node, Percent)


def _scientific(node: Binary) -> Token | None:
    """The token of a × 10^n with a whole n, else None."""
    times, power = node.left, node.right
    if node.op != "*" or not isinstance(times, Num) or not isinstance(power, Binary) or power.op != "^":
        return None
    exponent, sign = power.right, 1
    if isinstance(exponent, Neg):
        exponent, sign = exponent.of, -1
    if not isinstance(power.left, Num) or power.left.token.value != TEN or not isinstance(exponent, Num):
        return None
    count = exponent.token.value
    if count.denominator != 1 or abs(count) > MAX_EXPONENT:
        return None
    shift = sign * int(count)
    token = times.token
    return token._replace(value=token.value * TEN**shift, decimals=token.decimals - shift)
