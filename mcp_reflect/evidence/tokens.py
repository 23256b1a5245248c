"""The tokens of a text that may hold sums: numbers, operators, words, and dates, of which nothing is computed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final


class TokenKind(StrEnum):
    """What a token is.

    `NOT_COMPUTED` is a date, a time or an address, of which nothing is computed. `OTHER` is any character that belongs to no
    sum, such as "#" or ",".
    """

    NOT_COMPUTED = "not_computed"
    NUMBER = "number"
    OPERATOR = "operator"
    OPEN = "open"
    CLOSE = "close"
    EQUALS = "equals"
    PERCENT = "percent"
    CURRENCY = "currency"
    POWER = "power"
    WORD = "word"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text, with the offsets at which it begins and ends: "= $5" has the tokens "=", "$" and "5".

    `has_blank_before`: a blank stands before it, as before the "3" of "total: 3" and not of "4:30".
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    has_blank_before: bool


_NOT_COMPUTED: Final = (
    r"(?<![\d.,/-])(?:"
    r"\d{4}[-./]\d{1,2}[-./]\d{1,2}(?!\d)"  # 2024-12-31
    r"|\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d{2})(?![\d.,])"  # 31.12.2024
    r"|\d{1,3}(?::\d{2}){1,2}(?:[.,]\d+)?(?!\d)"  # 23:50
    r"|0[xXbBoO][\da-fA-F]+)"
)
_TOKEN: Final = re.compile(
    rf"(?P<not_computed>{_NOT_COMPUTED})"
    r"|(?P<number>\d+(?:[.,'’]\d+)*|(?<![\w.])\.\d+)"
    r"|(?P<power>[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    r"|(?P<word>[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹]+(?:['’-][^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹]+)*|°[CFK]?)"
    r"|(?P<equals>(?<![=<>!:+*/|&%^-])=(?![=>~]))"
    r"|(?P<operator>\*\*|[-+*/^×÷·⋅−–])"
    r"|(?P<open>\()|(?P<close>\))"
    r"|(?P<percent>%)"
    r"|(?P<currency>[$€£¥₹])"
    r"|(?P<other>\S)"
)

_ENDS_OF_OPERANDS: Final = (
    TokenKind.NUMBER,
    TokenKind.CLOSE,
    TokenKind.PERCENT,
    TokenKind.CURRENCY,
)


def read_tokens(text: str) -> list[Token]:
    """Return the tokens of a text, in order: "3 x 4" gives a number, an operator and a number."""
    tokens: list[Token] = []
    end = 0
    for match in _TOKEN.finditer(text):
        token = Token(
            kind=TokenKind(match.lastgroup or TokenKind.OTHER),
            text=match[0],
            start=match.start(),
            end=match.end(),
            has_blank_before=match.start() > end,
        )
        tokens.append(token)
        end = match.end()
    return [_with_x_as_operator(tokens, index) for index in range(len(tokens))]


def _with_x_as_operator(tokens: Sequence[Token], index: int) -> Token:
    """Return the token at an index; an `x` between two operands as an operator.

    "3 x 4" and "12x2" multiply. In "2x + 6" nothing follows that begins an operand, and "0x12" is hexadecimal.
    """
    token = tokens[index]
    if token.text not in ("x", "X") or not 0 < index < len(tokens) - 1:
        return token
    before, after = tokens[index - 1], tokens[index + 1]
    is_behind_unit = (
        before.kind is TokenKind.WORD and index > 1 and _takes_a_unit(tokens[index - 2])
    )
    is_behind_operand = before.kind in _ENDS_OF_OPERANDS or is_behind_unit
    is_before_operand = after.kind in (TokenKind.NUMBER, TokenKind.OPEN, TokenKind.CURRENCY)
    has_blanks = token.has_blank_before or after.has_blank_before
    is_hexadecimal = before.text == "0" and not has_blanks
    if is_behind_operand and is_before_operand and not is_hexadecimal:
        return replace(token, kind=TokenKind.OPERATOR)
    return token


def _takes_a_unit(token: Token) -> bool:
    """True for what a unit may stand behind: a number, or the "per" of "25 miles per gallon x 12"."""
    return token.kind is TokenKind.NUMBER or token.text in ("per", "/")
