"""Text to tokens, in one pass of one regular expression.

Nothing here can fail: what has no meaning becomes an OPAQUE token, which no sum is read across.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from mcp_reflect.critique.checks.arithmetic.numerals import EXACT, VULGAR, read, read_raised
from mcp_reflect.critique.checks.arithmetic.patterns import (
    BEHIND_NUMBER,
    BLOCKS,
    BULLET,
    DIGIT,
    HYPHENED,
    NEXT,
    NUMBER_TAIL,
    OPERATORS,
    PLAIN,
    RELATED,
    RELATIONS,
    SCANNER,
    SIGNS,
    SPECIAL,
    WORD_RELATIONS,
)
from mcp_reflect.critique.checks.arithmetic.tokens import WORD_OPERATORS, Kind, Token

MAX_CHARACTERS = 20_000  # per step; what stands behind is not looked at
MAX_TOKENS = 2_000

_SIMPLE = {
    "root": Kind.ROOT,
    "pi": Kind.PI,
    "frac": Kind.FRAC,
    "percent": Kind.PERCENT,
    "currency": Kind.CURRENCY,
    "arrow": Kind.BREAK,
    "point": Kind.BREAK,
    "end": Kind.BREAK,
    "label": Kind.LABEL,
    "opaque": Kind.OPAQUE,
    "command": Kind.OPAQUE,
    "other": Kind.OPAQUE,
}


def tokens(text: str, limit: int = MAX_TOKENS, *, bullets: bool = True) -> list[Token]:
    """The first tokens of one step without its code blocks and, with `bullets`, without its list marks."""
    text = text[:MAX_CHARACTERS]
    if "```" in text or "~~~" in text:
        text = BLOCKS.sub(_blank, text)
    if "\n" in text:
        text = _claims_only(text)
    if bullets:
        text = BULLET.sub(_blank, text)
    return _judge_letters(list(islice(_scan(text), limit)))


def _claims_only(text: str) -> str:
    """Lines that can hold no claim made blank: those without a digit, or without a relation near."""
    lines = text.split("\n")
    related = [RELATED.search(line) is not None for line in lines]
    near = [mine or (index + 1 < len(lines) and related[index + 1]) for index, mine in enumerate(related)]
    return "\n".join(
        line if keep and DIGIT.search(line) else " " * len(line) for line, keep in zip(lines, near, strict=True)
    )


def _blank(match: re.Match[str]) -> str:
    return "".join("\n" if c == "\n" else " " for c in match.group()) if "\n" in match.group() else " " * len(match[0])


def _scan(text: str) -> Iterator[Token]:
    position, gap, operand = 0, True, False
    while position < len(text):
        if text[position] == " ":
            gap, position = True, position + 1
            if text[position : position + 1] == " ":
                found = NEXT.search(text, position)
                position = found.start() if found else len(text)
            continue
        plain = PLAIN.match(text, position)
        if plain and (token := _plain(plain, gap)):
            yield token
            operand = token.kind is Kind.NUMBER or token.kind is Kind.CLOSE
            gap, position = False, plain.end()
            continue
        match = SCANNER.match(text, position)
        if match is None:  # cannot be: the last alternative takes any character
            return
        name, start, end = match.lastgroup or "other", match.start(), match.end()
        if name in {"skip", "calc"}:
            gap, position = True, end
            continue
        if name == "number":
            for token in _number(text, start, end, gap):
                position = token.end
                yield token
            gap, operand = False, True
            continue
        for token in _token(name, match, gap, operand):
            operand = token.kind in {Kind.NUMBER, Kind.CLOSE, Kind.NAME, Kind.PERCENT, Kind.PI}
            yield token
        gap, position = False, end


def _plain(match: re.Match[str], gap: bool) -> Token | None:
    """The token of a plain word, whole number or sign; None where the full scanner must look."""
    text, start, end = match[0], match.start(), match.end()
    kind = SIGNS.get(text)
    if kind is not None:
        return Token(kind, text, start, end, gap)
    if text[0].isdigit():
        return Token(Kind.NUMBER, text, start, end, gap, Fraction(int(text)))
    return None if text.lower() in SPECIAL else Token(Kind.WORD, text, start, end, gap)


def _number(text: str, start: int, end: int, gap: bool) -> Iterator[Token]:
    """A number with the unit (`5 m/s²`) or the rest of the word (`5-year`) behind it."""
    token = _digits(text, start, end, gap)
    yield token
    unit = BEHIND_NUMBER.match(text, token.end)
    if unit and not (len(unit[0]) == 1 and unit[0].isalpha()):
        yield Token(Kind.LABEL, unit[0].strip(), token.end, unit.end(), gap=True)
    elif hyphened := HYPHENED.match(text, token.end):
        yield Token(Kind.WORD, hyphened[0], token.end, hyphened.end(), gap=False)


def _digits(text: str, start: int, end: int, gap: bool) -> Token:
    parsed = read(text[start:end])
    tail = NUMBER_TAIL.match(text, end)
    if parsed is None or (tail and text[end] != "x"):
        return Token(Kind.OPAQUE, text[start:end], start, tail.end() if tail else end, gap)
    return Token(Kind.NUMBER, text[start:end], start, end, gap, parsed[0], parsed[1])


def _token(name: str, match: re.Match[str], gap: bool, operand: bool) -> Iterator[Token]:
    text, start, end = match.group(), match.start(), match.end()
    if name in _SIMPLE:
        yield Token(_SIMPLE[name], text, start, end, gap)
    elif name == "word":
        yield from _word(text, start, end, gap)
    elif name == "op":
        yield _operator(match, gap, operand)
    elif name == "rel":
        yield Token(Kind.REL, RELATIONS.get(text, text), start, end, gap)
    elif name in {"open", "close"}:
        kind = Kind.OPEN if name == "open" else Kind.CLOSE
        if text in {r"\(", r"\)", r"\[", r"\]"}:
            return
        yield Token(kind, text[-1], start, end, gap)
    elif name == "vulgar":
        yield Token(Kind.NUMBER, text, start, end, gap, VULGAR[text], EXACT)
    elif name == "raised":
        yield from _raised(text, start, end, gap, operand)
    else:
        yield _bang(match, gap, operand)


def _raised(text: str, start: int, end: int, gap: bool, operand: bool) -> Iterator[Token]:
    """Superscript digits are a power of what stands before them."""
    value = read_raised(text)
    if value is None or not operand:
        yield Token(Kind.OPAQUE, text, start, end, gap)
        return
    yield Token(Kind.OP, "^", start, start, gap=False)
    yield Token(Kind.NUMBER, text, start, end, gap=False, value=value)


def _bang(match: re.Match[str], gap: bool, operand: bool) -> Token:
    """A factorial where the sum goes on behind it, else the end of a sentence."""
    behind = match.string[match.end() : match.end() + 2]
    factorial = operand and not gap and re.match(r"\s?[-+*/=×÷)\]^]|\w", behind) is not None
    return Token(Kind.FACTORIAL if factorial else Kind.BREAK, "!", match.start(), match.end(), gap)


def _operator(match: re.Match[str], gap: bool, operand: bool) -> Token:
    text, start, end, source = match.group(), match.start(), match.end(), match.string
    if text in {"*", "**"} and gap and not operand and (end >= len(source) or not source[end].isspace()):
        return Token(Kind.BREAK, text, start, end, gap)
    if text == "–" and not gap and not source[end : end + 1].isspace():
        return Token(Kind.OP, "–", start, end, gap)  # 5–10 may be a range
    return Token(Kind.OP, OPERATORS.get(text, text), start, end, gap)


def _word(text: str, start: int, end: int, gap: bool) -> Iterator[Token]:
    low = text.lower()
    if low in WORD_OPERATORS:
        yield Token(Kind.OP, WORD_OPERATORS[low], start, end, gap)
    elif low in WORD_RELATIONS:
        yield Token(Kind.REL, WORD_RELATIONS[low], start, end, gap)
    elif low[0] == "x" and low[1:].isdecimal() and len(low) > 1 and low[1:].isascii() and not gap:
        yield Token(Kind.OP, "*", start, start + 1, gap=False)  # 12x3
        parsed = read(low[1:])
        kind = Kind.NUMBER if parsed else Kind.OPAQUE
        yield Token(kind, low[1:], start + 1, end, gap=False, value=parsed[0] if parsed else Fraction(0))
    else:
        yield Token(Kind.NAME if _is_name(text) else Kind.WORD, text, start, end, gap)


def _is_name(text: str) -> bool:
    rest = text[1:].rstrip("'’")
    return not rest or rest.isdigit() or rest[0] == "_"


def _judge_letters(found: list[Token]) -> list[Token]:
    """x between two quantities is times; a lone letter in prose is a word."""
    for index, token in enumerate(found):
        if token.kind is not Kind.NAME:
            continue
        before = found[index - 1] if index else None
        after = found[index + 1] if index + 1 < len(found) else None
        if token.text in {"x", "X"} and _is_times(before, after):
            found[index] = token._replace(kind=Kind.OP, text="*")
        elif not (_is_math(before, token.gap) or _is_math_ahead(after)):
            found[index] = token._replace(kind=Kind.WORD)
    return found


def _is_times(before: Token | None, after: Token | None) -> bool:
    if before is None or after is None:
        return False
    ahead = after.kind in {Kind.NUMBER, Kind.CURRENCY, Kind.PI} or (after.kind is Kind.OPEN and after.gap)
    return ahead and before.kind in {Kind.NUMBER, Kind.CLOSE, Kind.PERCENT, Kind.WORD, Kind.LABEL, Kind.PI}


def _is_math(before: Token | None, gap: bool) -> bool:
    if before is None:
        return False
    glued = before.kind in {Kind.NUMBER, Kind.PI, Kind.CLOSE} and not gap
    return glued or before.kind in {Kind.OP, Kind.REL, Kind.OPEN, Kind.FRAC, Kind.ROOT}


def _is_math_ahead(after: Token | None) -> bool:
    return after is not None and (
        after.kind in {Kind.OP, Kind.FACTORIAL}
        or (after.kind is Kind.REL and after.text != "is")
        or (after.kind is Kind.OPEN and not after.gap)
    )
