"""The tokens of a text that may hold sums: numbers, signs, words, and places in an order such as dates."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class TokenKind(StrEnum):
    """What a token is.

    `PLACE` is a date, a time or an address, of which nothing is computed. `OTHER` is any character that belongs to no
    sum, such as "#" or ",".
    """

    PLACE = "place"

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
    """A piece of a text, with its place: "= $5" has the tokens "=", "$" and "5".

    `apart`: a blank stands before it, as before the "3" of "total: 3" and not of "4:30".
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    apart: bool


_PLACE: Final = (
    r"(?<![\d.,/-])(?:"
    r"\d{4}[-./]\d{1,2}[-./]\d{1,2}(?!\d)"  # 2024-12-31
    r"|\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d{2})(?![\d.,])"  # 31.12.2024
    r"|\d{1,3}(?::\d{2}){1,2}(?:[.,]\d+)?(?!\d)"  # 23:50
    r"|0[xXbBoO][\da-fA-F]+)"
)
_TOKEN: Final = re.compile(
    rf"(?P<place>{_PLACE})"
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


def read_tokens(text: str) -> list[Token]:
    """Return the tokens of a text, in order: "3 x 4" gives a number, an operator and a number."""
    tokens: list[Token] = []
    end = 0
    for found in _TOKEN.finditer(text):
        kind = TokenKind(found.lastgroup or TokenKind.OTHER)
        tokens.append(Token(kind, found[0], found.start(), found.end(), found.start() > end))
        end = found.end()
    return [_as_times(tokens, at) for at in range(len(tokens))]


def _as_times(tokens: Sequence[Token], at: int) -> Token:
    """Return `x` between two operands as the sign for times: "3 x 4", "12x2", not "2x + 6"."""
    token = tokens[at]
    if token.text not in ("x", "X") or not 0 < at < len(tokens) - 1:
        return token
    before, after = tokens[at - 1], tokens[at + 1]
    ends = before.kind in (TokenKind.NUMBER, TokenKind.CLOSE, TokenKind.PERCENT, TokenKind.CURRENCY)
    is_unit = before.kind is TokenKind.WORD and at > 1 and _takes_a_unit(tokens[at - 2])
    begins = after.kind in (TokenKind.NUMBER, TokenKind.OPEN, TokenKind.CURRENCY)
    is_hexadecimal = before.text == "0" and not token.apart and not after.apart
    if not begins or not (ends or is_unit) or is_hexadecimal:
        return token
    return Token(TokenKind.OPERATOR, token.text, token.start, token.end, token.apart)


def _takes_a_unit(token: Token) -> bool:
    """True for what a unit may stand behind: a number, or the "per" of "25 miles per gallon x 12"."""
    return token.kind is TokenKind.NUMBER or token.text in ("per", "/")
