"""Sums in prose: chains of relations between sums, and the value of each sum. An ambiguous sum has no value."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

from mcp_reflect.critique.numbers import read, unit_of

_MOST_BITS: Final = 4096
_MOST_POWER: Final = 400
_MOST_DEPTH: Final = 30
_MOST_TOKENS: Final = 400  # of one sum
_MOST_CHARACTERS: Final = 20_000  # of one step
_IMPLICIT: Final = "·"  # the sign of 2x and 3(4 + 1)
_LONG: Final = 4  # decimals from which a number may be a rounded one


CONSTANTS: Final = {"π": Fraction("3.14159265358979")}
"""Values of names that need no definition."""


class Token(NamedTuple):
    """Characters `start` to `end` of a step; `gap`: white space precedes it; `label` is the unit of a number.

    `kind` is number, name (of an unknown), op, rel, open, close, word, break (the end of a clause), or bad, which ends
    any sum. 1,250.50 has value 2501/2 and 2 decimals.
    """

    kind: str
    text: str
    start: int
    end: int
    gap: bool = False
    value: Fraction = Fraction(1)
    decimals: int = 0
    label: str = ""


_NOTHING: Final = Token("break", "", 0, 0)
# These are no part of a unit: what follows is another clause.
_STOPS: Final = frozenset(
    "and or so then is are was were be because since which that but if when while where as thus hence therefore let "
    "has have had we he she they it you get gets give gives makes equals costs equal than more less fewer greater off "
    "of squared cubed remainder mod choose out both not hundred thousand million millions billion trillion "
    "times".split()
)
_SIGNS: Final = str.maketrans("×·⋅∙∗✕✖÷∕⁄−≃≅[]{}\u00a0\u2009\u202f&\t", "*******///-≈≈()()     ")
_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_BLANK: Final = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|^[ \t]*(?:[-*+•–][ \t]+|\d{1,3}[.)][ \t]+|#+[ \t]+|>[ \t]+)|"
    r"\\(?:left|right|,|;|!|:|quad|displaystyle|boxed)(?![A-Za-z])|`|\\[()\[\]]|<<[^<>\n]{0,200}>>|\\(?=[$%])|"
    r"\b(?:about|approximately|approx\.?|roughly|around|nearly|almost|exactly|just) (?=[$€£]?\d)",
    re.DOTALL | re.MULTILINE,
)
# Marks of LaTeX, code and markdown that are written in plain signs first, with as many characters.
_PLAIN: Final = (
    (re.compile(r"\\[dt]?frac\{([^{}]{1,80})\}\{([^{}]{1,80})\}"), r"((\1)/(\2))"),
    (re.compile(r"\\(?:text|mathrm|mbox|textbf|mathbf)\{([^{}]{0,60})\}"), r" \1 "),
    (
        re.compile(
            r"\\(?:times|cdot)(?![A-Za-z])|\bmultiplied by\b|(?<=[\w)] )times(?= [\d$(])|"
            r"(?<=[\w)%] )[xX](?= ?[$€£(]?\.?\d)|(?<=\d)(?<!\b0)[xX](?= ?\d)|"
            r"(?:(?<=%)|(?<=per cent)|(?<=/\d)|(?<=/\d\d)) of"
            r"(?: (?:the|his|her|their|its|my|our|these|all|a))?(?= [$€£]?[\d(])"
        ),
        "*",
    ),
    (re.compile(r"\\div(?![A-Za-z])|\bdivided by\b"), "/"),
    (re.compile(r"\\approx(?![A-Za-z])|~="), "≈"),
    (re.compile(r"\bequals\b"), "="),
    (re.compile(r"\bplus\b"), "+"),
    (re.compile(r"\bminus\b"), "-"),
    (re.compile(r"(?<=[\w)])\*\*(?=[\w(])|(?<= )\*\*(?= )"), "^"),
    (re.compile(r"\*\*|__"), ""),
    (re.compile(r"(?<=\d) ?[*×·] ?10\^\(?(-?\d{1,3})\)?(?![\d.])"), r"e\1"),
)
_WORD: Final = r"[^\W\d_π]{1,60}+(?:['’-][^\W\d_π]{1,60}+)*+[²³]?"
_NO_UNIT: Final = rf"(?:{'|'.join(sorted(_STOPS))})\b"
# 3 x + 2 has an unknown, 3 m + 2 m has meters.
_UNIT: Final = (
    rf"(?!{_NO_UNIT}|[a-fi-kn-rt-zA-KM-Z]\ ?[-+*/^=≈]){_WORD}(?:\ ?/\ ?{_WORD}(?:\^[23])?)?"
)
_SCANNER: Final = re.compile(
    rf"""
    (?P<bad>https?://\S{{1,500}}
        |\d{{4}}-\d\d-\d\d|\d{{1,4}}:\d[\d:.]{{0,20}}|\d+\.\d+\.\d[\d.]*|0\d+(?![\d.,])
        |0[xXbB][0-9a-fA-F]+|…|\.\.+|\\[cl]?dots|[+\-*/%]=|={{2,}}|\d+(?:st|nd|rd|th)\b
        |\d+\ \d{{1,2}}/\d{{1,2}}(?![\d.])|[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]
        |\d[\d,.]{{0,20}}(?:['’]\d|[a-df-wyzA-DF-WYZ]{{1,9}}\d)\w*|(?<=[\w)])!(?=\s?[-+*/=)^])
        |(?<=\d)–(?=\d)|(?<=\ )\^(?=\ ))
    |(?P<currency>[$€£¥₹]\ ?)?
        (?P<number>(?>\d{{1,3}}(?:,\d{{3}})++|\d++)(?:\.\d++)?+(?:[eE][+-]?\d{{1,3}}(?!\w))?+(?!,\d|\.\d)|(?<!\d)\.\d++)
        (?:\ ?(?P<label>%|per\ ?cent\b|[°€£¢]\ ?[CFK]?(?!\w)|/\ ?(?!{_NO_UNIT}){_WORD}(?<=[^\W\d_]{{2}})(?!\())
        |(?P<units>(?:\ {_UNIT}|(?!\ ){_UNIT}(?<=[^\W\d_]{{2}}))(?:\ (?:of\ )?{_UNIT}){{0,5}}))?
    |(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+)
    |(?P<break><?=+>|<?-{{1,2}}>|<-|[⇒→⟹←↔⟶⇔]|\\(?:implies|Rightarrow|to|rightarrow|iff)(?![A-Za-z])|\\\\|[.,;:?!\n\r|"“”—―])
    |(?P<rel>[=≈]|(?:is|are|was|makes|gives)(?![\w'’]))
    |(?P<op>[-+*/^–])
    |(?P<open>\()|(?P<close>\))
    |(?P<name>(?:π|[A-Za-z](?:_?\d{{1,3}})?)(?![^\Wπ]|['’]))
    |(?P<word>{_WORD})
    |(?P<junk>\d[\d.,]*|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_RELATED: Final = re.compile(r"[=≈]|\b(?:is|are|was|makes|gives) ")
_ENDS: Final = frozenset({"number", "close", "name"})


def tokens(text: str, limit: int) -> list[Token]:
    """Return the first tokens of a step, without its code blocks, list marks and lines that state no relation."""
    text = _BLANK.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text[:_MOST_CHARACTERS])
    for pattern, plain in _PLAIN:
        side = "<" if plain[:1] == "e" else ">"
        text = pattern.sub(
            lambda found, plain=plain, side=side: f"{found.expand(plain):{side}{len(found[0])}}",
            text,
        )
    lines = text.translate(_SIGNS).split("\n")
    text = "\n".join(
        line if _RELATED.search(line) and re.search(r"[\dπ]", line) else " " * len(line)
        for line in lines
    )
    found: list[Token] = []
    at = 0
    while at < len(text) and len(found) < limit:
        match = _SCANNER.match(text, at) if text[at] != " " else None
        if match is None or match[0] in "$€£¥₹":
            at += 1
        else:
            found += _read(match, found)
            at = max(found[-1].end, match.end() if found[-1].label else 0)
    return found


def _read(match: re.Match[str], found: Sequence[Token]) -> list[Token]:
    kind, text, before = match.lastgroup or "junk", match[0], found[-1] if found else _NOTHING
    gap, behind = (
        match.string[match.start() - 1 : match.start()] in ("", " "),
        match.string[match.end() :][:2].lstrip(),
    )
    token = Token("bad" if kind == "junk" else kind, text, match.start(), match.end(), gap)
    operand = before.kind in _ENDS
    if match["number"]:
        return [_number(match, gap)]
    match kind:
        case "raised":
            digits = text.translate(_RAISED)
            if not operand or not re.fullmatch(r"[-+]?[0-9]{1,3}", digits):
                return [token._replace(kind="bad")]
            power = token._replace(kind="number", gap=False, value=Fraction(digits))
            return [Token("op", "^", token.start, token.start), power]
        case "rel":
            return [token._replace(text=text if text in "=≈" else "is")]
        case "name":
            beside = before.kind in ("op", "open") or (before.kind == "rel" and before.text != "is")
            if not (beside or (operand and not gap) or behind[:1] in {*"+-*/^=≈("}):
                return [token._replace(kind="word")]
            return [*_implied(before, token), token]
        case "open":
            return [*_implied(before, token), token]
        case _:
            return [token]


def _implied(before: Token, token: Token) -> list[Token]:
    """Return the sign of a product that is written without one: 2x, 3(4 + 1), (1)(2)."""
    glued = before.kind == "close" or (
        before.kind == "number" and not token.gap and not before.label
    )
    return [Token("op", _IMPLICIT, token.start, token.start)] if glued else []


def _number(match: re.Match[str], gap: bool) -> Token:
    (start, end), parsed = match.span("number"), read(match["number"])
    if parsed is None:
        return Token("bad", match["number"], start, end, gap)
    is_percent = match["label"] and match["label"].replace("%", "cent").endswith("cent")
    label = (
        "%"
        if is_percent
        else f"{match['currency'] or ''}{match['label'] or match['units'] or ''}".strip()
    )
    return Token(
        "number",
        match["number"],
        start,
        match.end("label") if is_percent else end,
        gap,
        *parsed,
        label,
    )


@dataclass(frozen=True, slots=True)
class Sum:
    """Tokens `start` to `end` of a member as one sum. `value` is None if it cannot be known."""

    start: int
    end: int
    tokens: Sequence[Token]
    value: Fraction | None

    @property
    def operators(self) -> str:
        """The operators between operands, in their order."""
        pairs = pairwise(self.tokens)
        return "".join(
            token.text for before, token in pairs if token.kind == "op" and before.kind in _ENDS
        )

    @property
    def literal(self) -> Token | None:
        """The number, if the sum is only a number with its sign and unit."""
        numbers = [token for token in self.tokens if token.kind in {"number", "name"}]
        return (
            numbers[0]
            if len(numbers) == 1 and numbers[0].kind == "number" and not self.operators
            else None
        )

    @property
    def spread(self) -> Fraction:
        """The largest error of the value, because long decimals are rounded: 1.1255 for 1.03^4."""
        rounded = [token for token in self.tokens if token.decimals >= _LONG and token.value]
        shares = (Fraction(1, 2 * 10**one.decimals) / one.value for one in rounded)
        return abs(self.value or Fraction(0)) * sum(shares, Fraction(0))

    @property
    def percents(self) -> bool:
        """Whether a number of it has a percent sign."""
        return any(token.label == "%" for token in self.tokens)


class Chain(NamedTuple):
    """Relations in a row, `lefts[i]` and `rights[i]` are the sides of `signs[i]` (=, ≈ or is)."""

    lefts: list[Sum | None]
    signs: list[str]
    rights: list[Sum | None]


# Before a number these change its value, so that a sum that starts there is not the whole claim.
_LEADS: Final = frozenset(
    "twice double triple half minus negative log ln sin cos tan sec exp sqrt over squared mod than between lim max "
    "min gcd lcm abs det floor ceil choose quarter third dozen point ratio root average mean "
    "step part question problem exercise example line page pages chapter section eq equation figure table no number "
    "item round day days years grades rows weeks version rule case percent square cube power".split()
)


def chains(found: Sequence[Token]) -> Iterator[Chain]:
    """Yield the chains of one step, in the order of the text."""
    ends = [-1, *(place for place, token in enumerate(found) if token.kind == "break"), len(found)]
    for start, end in pairwise(ends):
        segment = found[start + 1 : end]
        places = [place for place, token in enumerate(segment) if token.kind == "rel"]
        members = [segment[low + 1 : high] for low, high in pairwise([-1, *places, len(segment)])]
        rights = [_right(member) for member in members[1:]]
        lefts = [
            right if right and right.end == len(member) else _left(member, right)
            for member, right in zip(members, [None, *rights], strict=True)
        ]
        if places:
            yield Chain(lefts[:-1], [segment[place].text for place in places], rights)


def _right(found: Sequence[Token]) -> Sum | None:
    result = parse(found)
    if result is None or result.end >= len(found):
        return result
    token = found[result.end]
    # "20% of" what nobody has said; "5 times as many"; 2 h 30 min
    part = token.text == "of" and (result.literal is None or result.percents)
    glued = token.kind in {"op", "bad", "name"} or (token.kind == "open" and not token.gap)
    return (
        None
        if part or glued or (token.kind == "number" and _compound(found[result.end - 1]))
        else result
    )


def _compound(before: Token) -> bool:
    """Return whether the number after this one belongs to it: 2 h 30 min, or a number with no word between."""
    return before.label in {"", "%"} or (
        unit_of(before.label) is not None and " " not in before.label
    )


def _left(found: Sequence[Token], right: Sum | None) -> Sum | None:
    """Return the sum that ends where the member ends, from as far left as it can be read.

    It may begin after the right side of the previous relation: `= 7 and 5 + 5 =`.
    """
    index = 0
    while index < len(found):
        result = parse(found, index) if _can_start(found, index) else None
        if result is not None and result.end == len(found):
            anew = right is not None and index == right.end + 1
            return result if anew or not _doubtful_start(found, index) else None
        index = max(result.end if result else 0, index + 1)
    return None


def _can_start(found: Sequence[Token], index: int) -> bool:
    token, before = found[index], found[index - 1] if index else _NOTHING
    if token.text == "-":
        glued = index + 1 < len(found) and not found[index + 1].gap
        return not index or (token.gap and glued and before.kind == "word")
    return token.kind in {"number", "name", "open"} and before.kind not in {"op", "open"}


def _doubtful_start(found: Sequence[Token], index: int) -> bool:
    """Return whether the text before the sum may belong to it: half of, twice, floor(, difference between 9 and."""
    if not index:
        return False
    before, earlier = found[index - 1], found[index - 2] if index > 1 else _NOTHING
    word, lead = ((one.label or one.text).rpartition(" ")[2].lower() for one in (before, earlier))
    function = found[index].kind == "open" and not found[index].gap
    if (before.kind != "word" and _compound(before)) or function or word in _LEADS:
        return True
    if next(
        (token.kind == "op" for token in reversed(found[:index]) if token.kind != "word"), False
    ):
        return True  # "+ his 1 teacher"
    linked = word in {"of", "and", "the", "from", "to"}
    return (
        linked and index > 1 and ((earlier.kind != "word" and not earlier.label) or lead in _LEADS)
    )


def parse(
    found: Sequence[Token], start: int = 0, known: Mapping[str, Fraction] = CONSTANTS
) -> Sum | None:
    """Return the longest sum that begins at `start`, None if none does. `known` are the values of names."""
    depth, operand, end = 0, False, start
    for place in range(start, min(len(found), start + _MOST_TOKENS)):
        token = found[place]
        if operand:
            if token.kind == "close" and depth:
                depth -= 1
            elif token.kind == "op":
                operand = False
            else:
                break
        elif token.kind in {"number", "name"}:
            operand = True
        elif token.kind == "open" and depth < _MOST_DEPTH:
            depth += 1
        elif (
            token.text not in {"+", "-"}
            or sum(other.kind == "op" for other in found[max(place - 3, 0) : place]) > 2
        ):
            break
        end = place + 1 if operand and not depth else end
    own = found[start:end]
    return Sum(start, end, own, _value(own, known)) if own else None


def _value(own: Sequence[Token], known: Mapping[str, Fraction]) -> Fraction | None:
    """Return the value of a sum, None if it is unknown or ambiguous."""
    values: dict[str, Fraction | None] = {}
    texts: list[str] = []
    for place, token in enumerate(own):
        if token.kind in {"number", "name"}:
            value = token.value if token.kind == "number" else known.get(token.text)
            values[f"n{place}"] = _apply("/", value, Fraction(100)) if token.label == "%" else value
            texts.append(f"n{place}" if token.label != "%" else f"p{place}")
        else:
            texts.append({"^": "**", _IMPLICIT: "*", "–": "-"}.get(token.text, token.text))
    if {_IMPLICIT, "/"} <= {token.text for token in own}:  # 1/2x
        return None
    return _evaluated(ast.parse("".join(texts), mode="eval").body, values)


def _evaluated(node: ast.expr, values: Mapping[str, Fraction | None]) -> Fraction | None:
    match node:
        case ast.Name():
            return values[f"n{node.id[1:]}"]
        case ast.UnaryOp():
            if isinstance(node.operand, ast.BinOp) and isinstance(node.operand.op, ast.Pow):
                return None  # -2² is 4 on some calculators
            value = _evaluated(node.operand, values)
            return _apply("*", Fraction(-1), value) if isinstance(node.op, ast.USub) else value
        case ast.BinOp():
            left, right = _evaluated(node.left, values), _evaluated(node.right, values)
            operator = _OPERATORS[type(node.op)]
            percent = isinstance(node.right, ast.Name) and node.right.id[0] == "p"
            if (
                operator in "+-"
                and percent
                and any(
                    isinstance(one, ast.Name) and one.id[0] == "n" for one in ast.walk(node.left)
                )
            ):
                return None  # 50 - 20% may be 40
            return _apply(operator, left, right)
        case _:
            return None


_OPERATORS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "^",
}


def _apply(operator: str, a: Fraction | None, b: Fraction | None) -> Fraction | None:
    """Return the result, None if a side is unknown or the result cannot be computed."""
    if a is None or b is None or (operator == "/" and not b):
        return None
    if operator != "^":
        value = (
            a + b
            if operator == "+"
            else a - b
            if operator == "-"
            else a * b
            if operator == "*"
            else a / b
        )
        return value if _bits(value) <= _MOST_BITS else None
    if (
        b.denominator > 1
        or abs(b) > _MOST_POWER
        or _bits(a) * abs(b) > _MOST_BITS
        or (not a and b <= 0)
    ):
        return None
    return a**b.numerator


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())
