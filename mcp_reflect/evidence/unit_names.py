"""One name for each unit and currency, in whatever form it is written."""

from collections.abc import Sequence
from functools import cache
from typing import Final

from mcp_reflect.evidence.tokens import Token, TokenKind
from mcp_reflect.evidence.word_lists import read_word_list

_CURRENCY_WORDS: Final = frozenset(
    "eur euro euros usd dollar dollars gbp pound pounds chf jpy yen inr cad aud".split()
)


def is_currency(token: Token) -> bool:
    """True for `$` and for "EUR"."""
    return token.kind is TokenKind.CURRENCY or token.text.lower() in _CURRENCY_WORDS


def currency_of(token: Token) -> str:
    """Return one name for a currency and its sign."""
    return currency_name(token.text.lower())


_CURRENCY_NAMES: Final = {
    "$": "usd", "dollar": "usd", "€": "eur", "euro": "eur", "£": "gbp", "pound": "gbp", "¥": "jpy", "yen": "jpy",
    "₹": "inr",
}  # fmt: skip


def currency_name(word: str) -> str:
    """Return one name for the words and the sign of a currency."""
    plain = word.removesuffix("s")
    return _CURRENCY_NAMES.get(plain, plain)


def unit_of(word: str) -> str:
    """Return one name for a unit and its plural, since "2 cases + 1 case" are of one unit.

    - a currency: its code, "euros" -> "eur"
    - irregular: as the list says, "feet" -> "foot", "buses" -> "bus"
    - no plural at all: "glass", "celsius", "radius"; and up to three letters, "lbs", "gas"
    - "berries" -> "berry"
    - "boxes", "glasses", "churches", "dishes", "tomatoes" -> without "es"
    - "houses", "cases", "sizes", "clips" -> without "s"
    """
    plain = word.lower()
    if plain in _CURRENCY_WORDS:
        return currency_name(plain)
    if plain in _singulars():
        return _singulars()[plain]
    if len(plain) <= 3 or not plain.endswith("s") or plain.endswith(("ss", "us", "is")):
        return plain
    if plain.endswith("ies") and len(plain) > 4:
        return f"{plain[:-3]}y"
    if plain.endswith(("xes", "sses", "ches", "shes", "oes")):
        return plain[:-2]
    return plain[:-1]


@cache
def _singulars() -> dict[str, str]:
    return dict(line.split() for line in read_word_list("arithmetic")["singulars"])


def is_unit_at(tokens: Sequence[Token], index: int) -> bool:
    """True for a word between a number and a sign: the "km" of "3 km + 2 km"."""
    if index == 0 or index + 1 >= len(tokens) or tokens[index - 1].kind is not TokenKind.NUMBER:
        return False
    after = tokens[index + 1]
    ends_an_operand = after.kind in (
        TokenKind.OPERATOR,
        TokenKind.EQUALS,
        TokenKind.CLOSE,
        TokenKind.POWER,
    )
    return ends_an_operand or after.text == "per"
