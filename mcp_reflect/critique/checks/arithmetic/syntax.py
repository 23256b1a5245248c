"""What a sum looks like once it is read."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from mcp_reflect.critique.checks.arithmetic.linear import Linear
from mcp_reflect.critique.checks.arithmetic.numerals import MAX_EXPONENT
from mcp_reflect.critique.checks.arithmetic.tokens import Token

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
        """The number token and whether it is negated, where the sum is nothing but a number.

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
