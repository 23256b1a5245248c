"""Mixed fractions: 1 1/4, 1 and 1/4, 2½."""

from fractions import Fraction

from mcp_reflect.critique.checks.arithmetic.numerals import EXACT
from mcp_reflect.critique.checks.arithmetic.syntax import Num
from mcp_reflect.critique.checks.arithmetic.tokens import Kind, Token


def mixed(whole: Token, *behind: Token) -> tuple[Num, int]:
    """The number that begins with `whole`, and how many of the four tokens behind it belong to it."""
    skip = 1 if behind[0].text == "and" else 0
    over, slash, under = behind[skip : skip + 3]
    if over.kind is not Kind.NUMBER or whole.value.denominator != 1:
        return Num(whole), 0
    if over.value.denominator != 1 and not over.text[0].isdigit() and over.text[0] != ".":
        return _joined(whole, over.value, over.end), skip + 1
    proper = slash.text == "/" and under.kind is Kind.NUMBER and under.value > over.value > 0
    if not proper or (not skip and not over.gap):
        return Num(whole), 0
    return _joined(whole, over.value / under.value, under.end), skip + 3


def _joined(whole: Token, part: Fraction, end: int) -> Num:
    return Num(whole._replace(value=whole.value + part, end=end, text="mixed", decimals=EXACT))
