"""Whole expressions over plain numbers: the tokens of a text, and a small tree of ours for what they say.

The grammar is small on purpose. It knows `+ - × ÷ ^`, parentheses, `%`, "of" after a percentage, a currency or a unit
beside a number, and one letter as the unknown. What it does not know, it does not read. Everything is bounded: the
tokens of an expression, the depth of its parentheses, the digits of a number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final

from mcp_reflect.evidence.tokens import Token, TokenKind
from mcp_reflect.evidence.unit_names import currency_of, is_currency, unit_of
from mcp_reflect.evidence.word_lists import read_word_list
from mcp_reflect.evidence.written_numbers import Style, decimals_in, read_number

MOST_TOKENS: Final = 80
"""Tokens of one side of an equation."""

_DEEPEST: Final = 16  # parentheses within one another
_MOST_EXPONENT_DIGITS: Final = 4  # of a raised number; larger powers have no value anyway
_BEGIN_OPERANDS: Final = (TokenKind.NUMBER, TokenKind.OPEN, TokenKind.CURRENCY)
_END_OPERANDS: Final = (TokenKind.NUMBER, TokenKind.CLOSE, TokenKind.POWER)
_SUPERSCRIPTS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_OPERATORS: Final = {
    "**": "^", "×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "x": "*", "X": "*",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number as it was written: "1,200.50 kg" has the value 1200.5, two decimals and the unit "kg".

    `text` are its digits with what parts them, "1,200.50". The value of "20%" is 20 with `is_percent`.
    """

    value: Fraction
    text: str
    decimals: int
    unit: str = ""
    is_percent: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """The letter that stands for a number."""

    letter: str


@dataclass(frozen=True, slots=True)
class Negative:
    """A value with a minus before it."""

    inner: "Tree"


@dataclass(frozen=True, slots=True)
class Operation:
    """Two values and what is done with them."""

    operator: str
    left: "Tree"
    right: "Tree"
    in_parentheses: bool = False


Tree = WrittenNumber | Unknown | Negative | Operation


class NotReadError(Exception):
    """The tokens are no expression of this grammar."""


def read_expression(tokens: Sequence[Token], style: Style, letter: str = "") -> Tree | None:
    """Return the tree of an expression that takes up all of the tokens; None if they are no such expression.

    `letter` is the unknown that may stand in it.
    """
    if not tokens or len(tokens) > MOST_TOKENS:
        return None
    reader = _Reader(tokens, style, letter)
    try:
        tree = reader.sum()
    except NotReadError:
        return None
    if reader.index != len(tokens):
        return None
    return tree


class _Reader:
    """Reads an expression from left to right, one function for each rank of its operators.

    `index` is that of the token which is read next. From the weakest operator to the strongest: `sum`, `product`, `signed`,
    `power`, `atom`. NotReadError where the tokens are no such expression.
    """

    def __init__(self, tokens: Sequence[Token], style: Style, letter: str) -> None:
        self.tokens = tokens
        self.style = style
        self.letter = letter
        self.index = 0
        self.depth = 0

    def sum(self) -> Tree:
        """Read terms that are added or subtracted, from left to right: "10 - 3 - 2" is (10 - 3) - 2."""
        tree = self.product()
        while operator := self._operator("+-"):
            tree = Operation(operator, tree, self.product())
        return tree

    def product(self) -> Tree:
        """Read factors: "3 × 4", "12 / 2", and those without an operator between, "2(3 + 4)"."""
        tree = self.signed()
        while True:
            if operator := self._operator("*/"):
                factor = self.signed()
                if operator == "*" and _is_quotient(tree) and _is_power_of_ten(factor):
                    raise NotReadError  # 3 × 10^8 / 6 × 10^14 divides by all that follows
                tree = Operation(operator, tree, factor)
            elif self._multiplies_without_a_sign():
                if _is_quotient(tree):
                    raise NotReadError  # 8/2(2+2) is read in two ways
                tree = Operation("*", tree, self.power())
            else:
                return tree

    def signed(self) -> Tree:
        """Read the signs before a value: "-3", "+3". They bind weaker than a power: -2² is -4."""
        if self._operator("-"):
            return Negative(self.signed())
        if self._operator("+"):
            return self.signed()
        return self.power()

    def power(self) -> Tree:
        """Read a value with its exponent: "2^3", "2**-1", "3²"."""
        base = self.atom()
        token = self._token()
        if token is not None and token.kind is TokenKind.POWER:
            self.index += 1
            digits = token.text.translate(_SUPERSCRIPTS)
            value = Fraction(int(digits[:_MOST_EXPONENT_DIGITS]))
            return Operation("^", base, WrittenNumber(value, digits, decimals=0))
        if not self._operator("^"):
            return base
        exponent = self._exponent()
        following = self._token()
        if following is not None and following.text in ("^", "**"):
            raise NotReadError  # 2^3^2 is read from either end
        return Operation("^", base, exponent)

    def _exponent(self) -> Tree:
        """Read what stands behind a sign for a power, which may be negative: "2^-1"."""
        if self._operator("-"):
            return Negative(self.atom())
        return self.atom()

    def atom(self) -> Tree:
        """Read what no operator parts: a sum in parentheses, the unknown, or a number with its unit."""
        token = self._token()
        if token is None:
            raise NotReadError
        if token.kind is TokenKind.OPEN:
            return self._in_parentheses()
        if token.kind is TokenKind.WORD and token.text == self.letter:
            self.index += 1
            return Unknown(self.letter)
        return self._number()

    def _in_parentheses(self) -> Tree:
        """Read a sum in parentheses, and mark it, since "12 - 15" may be a range and "(12 - 15)" is none."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise NotReadError
        self.index += 1
        tree = self.sum()
        closing = self._token()
        if closing is None or closing.kind is not TokenKind.CLOSE:
            raise NotReadError
        self.index += 1
        self.depth -= 1
        if isinstance(tree, Operation):
            return Operation(tree.operator, tree.left, tree.right, in_parentheses=True)
        return tree

    def _number(self) -> Tree:
        """Read a number with what belongs to it: "$5", "5 km", "20%", "20% of 50"."""
        unit = self._unit_before()
        token = self._token()
        if token is None or token.kind is not TokenKind.NUMBER:
            raise NotReadError
        value = read_number(token.text, self.style)
        if value is None:
            raise NotReadError
        self.index += 1
        is_percent = self._percent()
        after = self._unit_after()
        if unit and after and not after.startswith("/"):
            raise NotReadError
        number = WrittenNumber(
            value=value,
            text=token.text,
            decimals=decimals_in(token.text, self.style),
            unit=unit + after,
            is_percent=is_percent,
        )
        following = self._token()
        if is_percent and following is not None and following.text in _words_for_of():
            self.index += 1
            return Operation("*", number, self.power(), in_parentheses=True)
        return number

    def _percent(self) -> bool:
        """Take a percent sign behind a number, and return whether it stands there."""
        token = self._token()
        if token is None or token.kind is not TokenKind.PERCENT:
            return False
        self.index += 1
        after = self._token()
        if after is not None and after.kind in _BEGIN_OPERANDS:
            raise NotReadError  # 5 % 2 is what is left of a division
        return True

    def _unit_before(self) -> str:
        """Take a currency before a number, "$" or "EUR", and return its one name; empty if there is none."""
        token = self._token()
        if token is None or not is_currency(token):
            return ""
        self.index += 1
        return currency_of(token)

    def _unit_after(self) -> str:
        """Take the unit behind a number, "km", "$", "m²" or "miles/hour", and return its one name."""
        token = self._token()
        if token is None or token.text in (self.letter, *_words_for_of()):
            return ""
        unit = ""
        if is_currency(token):
            self.index += 1
            unit = currency_of(token)
        elif token.kind is TokenKind.WORD and token.text != "per":
            self.index += 1
            unit = unit_of(token.text) + self._power_of_a_unit()
        return unit + self._per()

    def _power_of_a_unit(self) -> str:
        """Take the exponent that touches a unit, the "²" of "m²"; empty if there is none."""
        token = self._token()
        if token is None or token.kind is not TokenKind.POWER or token.has_blank_before:
            return ""
        self.index += 1
        return f"^{token.text.translate(_SUPERSCRIPTS)}"

    def _per(self) -> str:
        """Take "/hour" or "per hour", and return it as the second half of a unit."""
        if self.index + 1 >= len(self.tokens):
            return ""
        slash, word = self.tokens[self.index : self.index + 2]
        is_unit = word.kind is TokenKind.WORD and word.text != self.letter
        if slash.text not in ("/", "per") or not is_unit:
            return ""
        self.index += 2
        return f"/{unit_of(word.text)}"

    def _multiplies_without_a_sign(self) -> bool:
        """True at `2(`, `)(`, `)x` and `2x`, where nothing stands between."""
        token = self._token()
        if token is None or token.has_blank_before or self.index == 0:
            return False
        before = self.tokens[self.index - 1]
        is_behind_operand = before.kind in _END_OPERANDS or before.text == self.letter
        if not is_behind_operand:
            return False
        is_letter = bool(self.letter) and token.text == self.letter
        return token.kind is TokenKind.OPEN or is_letter

    def _operator(self, wanted: str) -> str:
        """Take an operator of those that are wanted, and return it in its plain form; empty if there is none."""
        token = self._token()
        if token is None or token.kind is not TokenKind.OPERATOR:
            return ""
        operator = _OPERATORS.get(token.text, token.text)
        if operator not in wanted:
            return ""
        self.index += 1
        following = self._token()
        is_double = following is not None and following.text == token.text == "-"
        if following is not None and is_double and not following.has_blank_before:
            raise NotReadError  # "--" is a dash or an option
        return operator

    def _token(self) -> Token | None:
        """Return the token that is read next, None behind the last one."""
        if self.index >= len(self.tokens):
            return None
        return self.tokens[self.index]


def _is_quotient(tree: Tree) -> bool:
    """True for "8 / 2", and false for it in parentheses."""
    return isinstance(tree, Operation) and tree.operator == "/" and not tree.in_parentheses


def _is_power_of_ten(tree: Tree) -> bool:
    """Return whether a tree is "10^8" or the like."""
    if not isinstance(tree, Operation) or tree.operator != "^":
        return False
    return isinstance(tree.left, WrittenNumber) and tree.left.value == 10


@cache
def _words_for_of() -> tuple[str, ...]:
    """Return the words of several languages behind a percentage: the "of" of "20% of 50"."""
    return read_word_list("arithmetic")["of"]


def numbers_in(tree: Tree) -> list[WrittenNumber]:
    """Return the numbers of a tree, from left to right."""
    match tree:
        case WrittenNumber():
            return [tree]
        case Unknown():
            return []
        case Negative():
            return numbers_in(tree.inner)
        case Operation():
            return [*numbers_in(tree.left), *numbers_in(tree.right)]
