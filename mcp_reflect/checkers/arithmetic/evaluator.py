"""Expressions to exact values, under one reading of what is ambiguous in them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from mcp_reflect.checkers.arithmetic import expressions as linear
from mcp_reflect.checkers.arithmetic.expressions import (
    Binary,
    Factorial,
    Linear,
    Neg,
    Node,
    Num,
    Percent,
    Pi,
    Root,
    Scaled,
    UnknownError,
    Var,
)

PI = Fraction(314159265358979323846264338327950288419716939937510, 10**50)
_HUNDREDTH = Fraction(1, 100)
_NONE: dict[str, Fraction] = {}
_NO_SWAPS: dict[Fraction, Fraction] = {}


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a sum; `plain` marks the first one tried.

    `percent_is_unit`: 80% counts as 80, not 0.8. `relative`: 50 - 20% is 40. `grouping`: a / b × c is
    a / (b × c). `sign`: -2² is 4. `scale_is_label`: 7 dozen counts as 7. `swaps`: what rounded
    numbers were before they were rounded. `xor`: 5 ^ 3 is 6, as in code.
    """

    names: Mapping[str, Fraction] = field(default_factory=lambda: _NONE)
    plain: bool = False
    pi: Fraction | None = None
    percent_is_unit: bool = False
    relative: bool = False
    grouping: bool = False
    sign: bool = False
    scale_is_label: bool = False
    xor: bool = False
    swaps: Mapping[Fraction, Fraction] = field(default_factory=lambda: _NO_SWAPS)


PLAIN = Reading()


def evaluate(node: Node, reading: Reading = PLAIN) -> Linear:  # noqa: C901 - one case a kind of node
    """The value of the sum; raises UnknownError where it has none that can be known."""
    match node:
        case Num(token):
            return Linear(reading.swaps.get(token.value, token.value) if reading.swaps else token.value)
        case Scaled(of, scale):
            value = evaluate(of, reading)
            return value if reading.scale_is_label else linear.multiply(value, Linear(Fraction(scale)))
        case Var(name):
            bound = reading.names.get(name)
            return Linear(bound) if bound is not None else Linear(Fraction(0), {name: Fraction(1)})
        case Pi():
            return Linear(reading.pi or PI, inexact=reading.pi is None)
        case Neg(of):
            if reading.sign and isinstance(of, Binary) and of.op == "^":
                return evaluate(Binary("^", Neg(of.left), of.right), reading)
            return linear.multiply(evaluate(of, reading), Linear(Fraction(-1)))
        case Percent(of):
            value = evaluate(of, reading)
            return value if reading.percent_is_unit else linear.multiply(value, Linear(_HUNDREDTH))
        case Factorial(of):
            return linear.factorial(evaluate(of, reading))
        case Root(of, degree):
            return linear.root(evaluate(of, reading), degree)
        case Binary():
            return _binary(node, reading)


def _binary(node: Binary, reading: Reading) -> Linear:
    if reading.grouping and node.op == "*" and (regrouped := _regroup(node)):
        return evaluate(regrouped, reading)
    left, right = evaluate(node.left, reading), evaluate(node.right, reading)
    if reading.relative and node.op in "+-" and isinstance(node.right, Percent):
        part = linear.multiply(left, right)
        return linear.add(left, part if node.op == "+" else _minus(part))
    match node.op:
        case "+":
            return linear.add(left, right)
        case "-":
            return linear.add(left, _minus(right))
        case "*":
            return linear.multiply(left, right)
        case "/":
            return linear.divide(left, right)
        case "^":
            return linear.exclusive_or(left, right) if reading.xor else linear.power(left, right)
        case "off":
            return linear.multiply(linear.add(Linear(Fraction(1)), _minus(left)), right)
        case "more":
            return linear.multiply(linear.add(Linear(Fraction(1)), left), right)
        case _:
            raise UnknownError


def _minus(of: Linear) -> Linear:
    return linear.multiply(of, Linear(Fraction(-1)))


def _regroup(node: Binary) -> Node | None:
    """a / b × c as a / (b × c)."""
    if not (isinstance(node.left, Binary) and node.left.op in "*/"):
        return None
    if node.left.op == "/":
        return Binary("/", node.left.left, Binary("*", node.left.right, node.right))
    inner = _regroup(node.left)
    if isinstance(inner, Binary) and inner.op == "/":
        return Binary("/", inner.left, Binary("*", inner.right, node.right))
    return None


def numbers(node: Node) -> list[Num]:
    """The number literals of a sum, left to right."""
    return [leaf for leaf in _leaves(node) if isinstance(leaf, Num)]


def names(node: Node) -> set[str]:
    """The variables of a sum."""
    return {leaf.name for leaf in _leaves(node) if isinstance(leaf, Var)}


def _leaves(node: Node) -> Iterator[Node]:
    rest: list[Node] = [node]
    while rest:
        match rest.pop():
            case Binary(_, left, right):
                rest += [right, left]
            case Scaled(of, _) | Neg(of) | Percent(of) | Factorial(of) | Root(of, _):
                rest.append(of)
            case Num() | Var() | Pi() as leaf:
                yield leaf
